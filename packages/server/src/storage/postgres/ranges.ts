// Ranges of logs in the database, for whoever verifies them.

import { EvidenceError } from '@tallystick/evidence';
import type { TenantId } from '@tallystick/contract';
import type { LogRow, RowContent } from '../fsck/log-row.ts';
import type { RangeStore } from '../fsck/range.ts';
import { fault } from '../fsck/store-fault.ts';
import type { StreamsAround } from '../fsck/stream-bounds.ts';
import { type StreamRow, streamRowIn } from '../fsck/stream-row.ts';
import { blobOf, numberOf, textIn } from '../rows/columns.ts';
import type { LogPlace } from '../rows/log-place.ts';
import { type Database, type Row, statement } from './database.ts';
import { ENTRIES_WITH_CONTENTS } from './log-columns.ts';
import { type Asked, askedAlone, readerOf, tenantTrees, TreeTables } from './tree-tables.ts';

/** Enough to fill the lanes of the hash pools, and no more once their texts are so large together; one is always read. */
const LOT_ROWS = 256;
const LOT_BYTES_MAX = 4 * 1024 * 1024;

const LOT = statement(
  `SELECT * FROM (
     SELECT entries.leaf_index, classification, entry, leaf, root1, root2,
       contents.leaf_index AS content_id, text1, text2, seeds, key_id,
       sum(octet_length(text1) + octet_length(text2)) OVER (ORDER BY entries.leaf_index
         ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS bytes_before
     FROM ${ENTRIES_WITH_CONTENTS}
     WHERE entries.tenant_id = $1 AND entries.leaf_index >= $2 AND entries.leaf_index <= $3) AS lot
   WHERE coalesce(bytes_before, 0) < ${LOT_BYTES_MAX} ORDER BY leaf_index`,
);
const NEXT_ENTRY = statement(
  'SELECT leaf_index FROM entries WHERE tenant_id = $1 AND leaf_index >= $2 AND leaf_index <= $3 ORDER BY leaf_index LIMIT 1',
);
const ENTRY = statement('SELECT entry FROM entries WHERE tenant_id = $1 AND leaf_index = $2');
const STREAM_COLUMNS = 'first_index, stream_id, created_at_ms';
const OWN_BEGIN = '(SELECT first_index FROM streams WHERE tenant_id = $1 AND stream_id = $2)';
const STREAMS_AROUND = statement(
  `(SELECT 'first' AS place, ${STREAM_COLUMNS} FROM streams WHERE tenant_id = $1 ORDER BY first_index LIMIT 1)
   UNION ALL (SELECT 'own', ${STREAM_COLUMNS} FROM streams WHERE tenant_id = $1 AND stream_id = $2)
   UNION ALL (SELECT 'before', ${STREAM_COLUMNS} FROM streams WHERE tenant_id = $1 AND first_index < ${OWN_BEGIN}
     ORDER BY first_index DESC LIMIT 1)
   UNION ALL (SELECT 'next', ${STREAM_COLUMNS} FROM streams WHERE tenant_id = $1 AND first_index > ${OWN_BEGIN}
     ORDER BY first_index LIMIT 1)`,
);

export function rangeStore(database: Database, tables: TreeTables, tenant: TenantId): RangeStore<LogPlace> {
  const asked = askedAlone(database, readerOf(tenant));
  return {
    ...tenantTrees(tables, asked, tenant),
    nextBegin: (log) => tables.nextBegin(asked, log),
    rows: (_, first, last) => rowsFrom(asked, tenant, first, last),
    async entry(_, index) {
      const [row] = await asked.query(ENTRY, [tenant, index]);
      return row && blobOf(row, 'entry');
    },
    streamsAround: (streamId) => streamsAround(asked, tenant, streamId),
    faultOf,
  };
}

async function rowsFrom(asked: Asked, tenant: TenantId, first: number, last: number): Promise<LogRow[]> {
  const lot = async (from: number) =>
    (await asked.query(LOT, [tenant, from, Math.min(last, from + LOT_ROWS - 1)])).map(rowIn);
  const rows = await lot(first);
  if (rows.length > 0 || first + LOT_ROWS > last) return rows;
  // So many are missing that the next one is told of, not the end.
  const [next] = await asked.query(NEXT_ENTRY, [tenant, first, last]);
  return next === undefined ? [] : lot(numberOf(next, 'leaf_index'));
}

async function streamsAround(asked: Asked, tenant: TenantId, streamId: string): Promise<StreamsAround> {
  const rows = await asked.query(STREAMS_AROUND, [tenant, streamId]);
  const at = (place: string): StreamRow | undefined => {
    const row = rows.find((each) => textIn(each, 'place') === place);
    return row && streamRowIn(row);
  };
  return { first: at('first'), before: at('before'), own: at('own'), next: at('next') };
}

function rowIn(row: Row): LogRow {
  return {
    sequenceIndex: numberOf(row, 'leaf_index'),
    classification: numberOf(row, 'classification'),
    entry: blobOf(row, 'entry'),
    leaf: blobOf(row, 'leaf'),
    root1: blobOf(row, 'root1'),
    root2: blobOf(row, 'root2'),
    content: row['content_id'] === null ? undefined : contentIn(row),
  };
}

function contentIn(row: Row): RowContent {
  return {
    text1: blobOf(row, 'text1'),
    text2: blobOf(row, 'text2'),
    seeds: blobOf(row, 'seeds'),
    isSealed: row['key_id'] !== null,
  };
}

/** data_corrupted and index_corrupted: the pages of a table are not those of one. */
const DAMAGED: readonly unknown[] = ['XX001', 'XX002'];

/** The fault that an error stands for; throws the error itself if it is none of the data. */
function faultOf(error: unknown): EvidenceError {
  if (error instanceof EvidenceError) return error;
  if (error instanceof Error && 'code' in error && DAMAGED.includes(error.code))
    return fault('MALFORMED', `the database is damaged: ${error.message}`);
  throw error;
}
