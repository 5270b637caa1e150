// What a service answers, as a table for people or as JSON.

import { padTo } from './fit-text.ts';
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

/** A line for each, with its title before it. */
export function titledLines(rows: readonly (readonly [title: string, value: string])[]): string[] {
  const width = Math.max(...rows.map(([title]) => title.length));
  return rows.map(([title, value]) => `${padTo(title, width)}  ${printable(value)}`);
}

/** An escape in JSON means the same character. */
export function jsonLines(value: unknown): string[] {
  return JSON.stringify(value, null, 2).split('\n').map(printable);
}
