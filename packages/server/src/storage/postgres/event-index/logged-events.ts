// Events as the index reads them from the log, in portions that are bounded by their number and by their size.

import type { TenantId } from '@tallystick/contract';
import { type EventRow, NOWHERE } from '../../event-index/logged-event.ts';
import { blobOrNone, numberOf, readOr } from '../../rows/columns.ts';
import { bigints, texts } from '../connection/binary-arrays.ts';
import { type Row, statement, type Transaction } from '../connection/database.ts';
import { CHECKED_COLUMNS, ENTRIES_WITH_CONTENTS, NOTICE_INDEX, WITH_CONTENTS } from '../log/log-columns.ts';

/** A row of the log, not looked into yet; `stored` is the row as it came. */
export interface LoggedRow extends EventRow {
  readonly stored: Row;
}

const COLUMNS = `${CHECKED_COLUMNS}, entries.tenant_id,
  (SELECT stream_id FROM streams WHERE streams.tenant_id = entries.tenant_id AND first_index <= entries.leaf_index
   ORDER BY first_index DESC LIMIT 1) AS stream_id`;
const BYTES = 'coalesce(octet_length(text1), 0) + coalesce(octet_length(text2), 0)';

/** What comes before so many bytes are together; the first one always does. */
const within = (bytes: string) => `taken - bytes < ${bytes} OR place = 1`;

const RANGE = statement(
  `SELECT * FROM (
     SELECT ${COLUMNS}, row_number() OVER w AS place, ${BYTES} AS bytes, sum(${BYTES}) OVER w AS taken,
       count(*) OVER () AS whole
     FROM ${ENTRIES_WITH_CONTENTS}
     WHERE entries.tenant_id = $1 AND entries.leaf_index >= $2 AND entries.leaf_index < $3
     WINDOW w AS (ORDER BY entries.leaf_index)
   ) AS portion WHERE ${within('$4')} ORDER BY place`,
);
const at = (entries: string) =>
  statement(
    `SELECT * FROM (
       SELECT ${COLUMNS}, ${NOTICE_INDEX}, asked.place AS asked_place, row_number() OVER w AS place, ${BYTES} AS bytes,
         sum(${BYTES}) OVER w AS taken, count(*) OVER () AS whole
       FROM unnest($2::bigint[]) WITH ORDINALITY AS asked (index, place)
       ${entries}
       WINDOW w AS (ORDER BY asked.place)
     ) AS portion WHERE ${within('$3')} ORDER BY place`,
  );
// One by one, which LIMIT makes sure of: a join might go through all entries of the tenant.
const AT =
  at(`JOIN LATERAL (SELECT * FROM entries WHERE entries.tenant_id = $1 AND entries.leaf_index = asked.index LIMIT 1)
  AS entries ON true ${WITH_CONTENTS}`);
/** Where tables are distributed, which does not allow for that. */
const AT_JOINED = at(
  `JOIN (${ENTRIES_WITH_CONTENTS}) ON entries.tenant_id = $1 AND entries.leaf_index = asked.index`,
);
/**
 * Asked before `rowsOfMany`, in its transaction: by a plan from when there were few entries, all of them might be gone through
 * for each log.
 */
export const BY_INDEX = statement('SET LOCAL enable_seqscan = off');
// Of each log by itself, which LIMIT makes sure of: a join might go through all entries there are.
const RANGES = statement(
  `SELECT * FROM (
     SELECT ${COLUMNS}, asked.place AS asked_place, row_number() OVER w AS place, ${BYTES} AS bytes,
       sum(${BYTES}) OVER w AS taken, count(*) OVER () AS whole
     FROM unnest($1::text[], $2::bigint[], $3::bigint[]) WITH ORDINALITY AS asked (tenant_id, from_index, end_index, place)
     JOIN LATERAL (SELECT * FROM entries WHERE entries.tenant_id = asked.tenant_id
       AND entries.leaf_index >= asked.from_index AND entries.leaf_index < asked.end_index
       ORDER BY entries.leaf_index LIMIT $4) AS entries ON true
     ${WITH_CONTENTS}
     WINDOW w AS (ORDER BY asked.place, entries.leaf_index)
   ) AS portion WHERE ${within('$5')} ORDER BY place`,
);

export interface LoggedPortion {
  readonly rows: readonly LoggedRow[];
  /** There are more, which were left because all are so large together. */
  readonly isCut: boolean;
}

/** Of a tenant, from one index to before another. */
export async function rowsBetween(
  transaction: Transaction,
  tenant: TenantId,
  range: { readonly fromIndex: number; readonly endIndex: number; readonly bytesMax: number },
): Promise<LoggedPortion> {
  const rows = await transaction.query(RANGE, [tenant, range.fromIndex, range.endIndex, range.bytesMax]);
  return { rows: rows.map(loggedRow), isCut: isCut(rows) };
}

/** From one index to before another. */
export interface LogRange {
  readonly tenant: TenantId;
  readonly fromIndex: number;
  readonly endIndex: number;
}

/** A row of one of several logs. */
export interface LoggedOfMany extends LoggedRow {
  /** That of its range among those that were asked for. */
  readonly place: number;
}

/** Of some logs, one log after the other. Not where tables are distributed. */
export async function rowsOfMany(
  transaction: Transaction,
  ranges: readonly LogRange[],
  bytesMax: number,
): Promise<{ readonly rows: readonly LoggedOfMany[]; readonly isCut: boolean }> {
  const rows = await transaction.query(RANGES, [
    texts(ranges.map(({ tenant }) => tenant)),
    bigints(ranges.map(({ fromIndex }) => fromIndex)),
    bigints(ranges.map(({ endIndex }) => endIndex)),
    Math.max(0, ...ranges.map(({ fromIndex, endIndex }) => endIndex - fromIndex)),
    bytesMax,
  ]);
  return {
    rows: rows.map((row) => ({ ...loggedRow(row), place: numberOf(row, 'asked_place') - 1 })),
    isCut: isCut(rows),
  };
}

/** Those at these indexes, in their order, and how many were looked for. One that is not there is left out. */
export async function rowsAt(
  transaction: Transaction,
  tenant: TenantId,
  indexes: readonly number[],
  bytesMax: number,
): Promise<{ readonly rows: readonly LoggedRow[]; readonly readCount: number }> {
  if (indexes.length === 0) return { rows: [], readCount: 0 };
  const asked = (await transaction.isDistributed()) ? AT_JOINED : AT;
  const rows = await transaction.query(asked, [tenant, indexes, bytesMax]);
  const readCount = isCut(rows) ? numberOf(rows.at(-1), 'asked_place') : indexes.length;
  return { rows: rows.map(loggedRow), readCount };
}

function isCut(rows: readonly Row[]): boolean {
  return rows.length > 0 && rows.length < numberOf(rows[0], 'whole');
}

function loggedRow(stored: Row): LoggedRow {
  let row: EventRow['row'] | undefined;
  return {
    index: readOr(() => numberOf(stored, 'leaf_index'), NOWHERE),
    // Made for who looks: a page of events is shown without it.
    get row() {
      row ??= { ...stored, text1: textOf(stored, 'text1'), text2: textOf(stored, 'text2') };
      return row;
    },
    stored,
  };
}

/**
 * Bytes that are no text are replaced on the way: nobody but who has changed them put them there, and what is found is
 * looked at before it is shown.
 */
function textOf(row: Row, column: string): string | null {
  const bytes = blobOrNone(row, column);
  return bytes === undefined
    ? null
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString();
}
