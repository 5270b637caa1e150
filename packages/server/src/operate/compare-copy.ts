// Holds a copy against what it was copied from: every row of every table, as it is read back, and the logs that follow
// from them. Nothing that the database says of itself is believed, and there is nothing in it that was not copied.

import { equalBytes } from '@tallystick/evidence';
import {
  COPIED_TABLES,
  type CopiedRow,
  type CopiedTable,
  type CopiedValue,
  keyIn,
  portionsOf,
} from '../storage/rows/copied-tables.ts';
import { CopiedLogFault, CopiedLogs, type CopiedLog, type SourceLogs } from './copied-logs.ts';

export interface SourceRows extends SourceLogs {
  rows(table: CopiedTable): Iterable<CopiedRow>;
}

export interface TargetRows {
  /** A row as the target has it. */
  asHere(table: CopiedTable, row: CopiedRow): CopiedRow;
  between(
    table: CopiedTable,
    after: readonly CopiedValue[] | undefined,
    last: readonly CopiedValue[] | undefined,
    limit: number,
  ): Promise<CopiedRow[]>;
}

/** Where the two differ, in words. */
export class CopyDiffers extends Error {}

/** Gives the logs, which are the same on both sides; throws CopyDiffers. */
export async function compareCopy(
  source: SourceRows,
  target: TargetRows,
  onRows: (rows: number) => void,
): Promise<CopiedLog[]> {
  const logs = new CopiedLogs(source);
  try {
    for (const table of COPIED_TABLES) await compareTable(table, source, target, logs, onRows);
    return logs.end();
  } catch (error) {
    if (error instanceof CopiedLogFault) throw new CopyDiffers(`tenant ${error.tenant}: ${error.message}`);
    throw error;
  }
}

async function compareTable(
  table: CopiedTable,
  source: SourceRows,
  target: TargetRows,
  logs: CopiedLogs,
  onRows: (rows: number) => void,
): Promise<void> {
  let after: CopiedValue[] | undefined;
  for (const portion of portionsOf(source.rows(table))) {
    const last = keyIn(table, portion.at(-1)!);
    // One more than there should be would be found, too.
    const found = await target.between(table, after, last, portion.length + 1);
    for (const [i, row] of portion.entries()) requireSame(table, target.asHere(table, row), found[i]);
    requireNone(table, found[portion.length]);
    if (table.name === 'entries') logs.take(found);
    onRows(portion.length);
    after = last;
  }
  requireNone(table, (await target.between(table, after, undefined, 1))[0]);
}

function requireSame(table: CopiedTable, wanted: CopiedRow, found: CopiedRow | undefined): void {
  const differing =
    found === undefined
      ? 'it is missing'
      : Object.keys(wanted)
          .filter((column) => !isSame(wanted[column]!, found[column]))
          .map((column) => `${column} is another`)[0];
  if (differing !== undefined) throw new CopyDiffers(`${nameOf(table, wanted)}: ${differing}`);
}

function requireNone(table: CopiedTable, found: CopiedRow | undefined): void {
  if (found !== undefined) throw new CopyDiffers(`${nameOf(table, found)}: it was not copied`);
}

function isSame(wanted: CopiedValue, found: CopiedValue | undefined): boolean {
  if (wanted instanceof Uint8Array) return found instanceof Uint8Array && equalBytes(wanted, found);
  return wanted === found;
}

/** As an operator looks for it. */
function nameOf(table: CopiedTable, row: CopiedRow): string {
  const [tenant, ...rest] = keyIn(table, row);
  const place = table.key.slice(1).map((column, i) => `${column} ${String(rest[i])}`);
  return [`tenant ${String(tenant)}`, `table ${table.name}`, ...place].join(', ');
}
