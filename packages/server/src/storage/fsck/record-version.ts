// A version of a record as a row of either database, and where the rows behind it begin.

import { numberOf } from '../rows/columns.ts';
import { recordIn } from '../rows/record-row.ts';
import type { RecordReference, RecordVersion } from './stored-rows.ts';

export function recordVersionIn(row: Readonly<Record<string, unknown>>): RecordVersion {
  return { ...recordIn(row), isPast: numberOf(row, 'is_past') === 1 };
}

/** Kind, id, version and whether it is past; nulls for the beginning. */
export function placeOfVersion(
  after: RecordReference | undefined,
): [string | null, string | null, number | null, number | null] {
  if (after === undefined) return [null, null, null, null];
  return [after.kind, after.id, after.version, after.isPast ? 1 : 0];
}
