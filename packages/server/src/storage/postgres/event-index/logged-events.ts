// Events as the index reads them from the log, in portions that are bounded by their number and by their size.

import type { TenantId } from '@tallystick/contract';
import { type EventRow, NOWHERE } from '../../event-index/logged-event.ts';
import { blobOrNone, numberOf, readOr } from '../../rows/columns.ts';
import { decidedBy } from '../../rows/stored-content.ts';
import type { SealedRows } from '../../sealing/sealed-rows.ts';
import type { Statements } from '../connection/by-tenant.ts';
import { type Row, statement } from '../connection/database.ts';
import {
  CHECKED_COLUMNS,
  ENTRIES_WITH_CONTENTS,
  NOTICES_OF_ENTRY,
  WITH_CONTENTS,
} from '../log/log-columns.ts';

/** A row of the log, not looked into yet; `stored` is the row as it came. */
export interface LoggedRow extends EventRow {
  readonly stored: Row;
}

const COLUMNS = `${CHECKED_COLUMNS}, entries.tenant_id, ${decidedBy('tenant_id')},
  (SELECT stream_id FROM streams WHERE streams.tenant_id = entries.tenant_id AND first_index <= entries.leaf_index
   ORDER BY first_index DESC LIMIT 1) AS stream_id`;
/** Of the texts of an event. */
export const BYTES = 'coalesce(octet_length(text1), 0) + coalesce(octet_length(text2), 0)';

/** What comes before so many bytes are together; the first one always does. */
const within = (bytes: string) => `taken - bytes < ${bytes} OR place = 1`;

const at = (entries: string) =>
  statement(
    `SELECT * FROM (
       SELECT ${COLUMNS}, ${NOTICES_OF_ENTRY}, asked.place AS asked_place, row_number() OVER w AS place, ${BYTES} AS bytes,
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
/** Those at these indexes, in their order, and how many were looked for. One that is not there is left out. */
export async function rowsAt(
  statements: Statements,
  tenant: TenantId,
  indexes: readonly number[],
  bytesMax: number,
  sealed: SealedRows,
): Promise<{ readonly rows: readonly LoggedRow[]; readonly readCount: number }> {
  if (indexes.length === 0) return { rows: [], readCount: 0 };
  const asked = (await statements.isDistributed()) ? AT_JOINED : AT;
  const rows = await statements.query(asked, [tenant, indexes, bytesMax]);
  const readCount = isCut(rows) ? numberOf(rows.at(-1), 'asked_place') : indexes.length;
  return { rows: rows.map((row) => loggedRow(row, sealed)), readCount };
}

function isCut(rows: readonly Row[]): boolean {
  return rows.length > 0 && rows.length < numberOf(rows[0], 'whole');
}

function loggedRow(stored: Row, sealed: SealedRows): LoggedRow {
  let row: EventRow['row'] | undefined;
  return {
    index: readOr(() => numberOf(stored, 'leaf_index'), NOWHERE),
    // Made for who looks: a page of events is shown without it.
    get row() {
      if (row === undefined) {
        const opened = sealed.open(stored);
        row = { ...opened, text1: textOf(opened, 'text1'), text2: textOf(opened, 'text2') };
      }
      return row;
    },
    stored,
  };
}

/**
 * Bytes that are no text are replaced on the way: nobody but who has changed them put them there, and what is found is
 * looked at before it is shown.
 */
export function textOf(row: Row, column: string): string | null {
  if (typeof row[column] === 'string') return row[column];
  const bytes = blobOrNone(row, column);
  return bytes === undefined
    ? null
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString();
}
