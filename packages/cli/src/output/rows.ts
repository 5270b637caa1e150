// What a service answers, as a table for people or as JSON.

import type { LineOutput } from './line-output.ts';
import { printable } from './printable.ts';
import { type Columns, tableLines } from './table.ts';

export interface JsonOption {
  readonly json?: true;
}

export async function writeRows<Row>(
  rows: readonly Row[],
  columns: Columns<Row>,
  { json }: JsonOption,
  out: LineOutput,
): Promise<void> {
  await out.write(json ? jsonLines(rows) : tableLines(columns, rows));
}

/** An escape in JSON means the same character. */
export function jsonLines(value: unknown): string[] {
  return JSON.stringify(value, null, 2).split('\n').map(printable);
}
