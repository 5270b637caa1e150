// Verifies ranges of logs in the database.

import type { TenantId } from '@tallystick/contract';
import type { RangeStore } from '../../fsck/range.ts';
import type { StreamsAround } from '../../fsck/stream-bounds.ts';
import { type StreamRow, streamRowIn } from '../../fsck/stream-row.ts';
import { numberOrNone, textIn } from '../../rows/columns.ts';
import type { LogIdentity } from '../../rows/log-identity.ts';
import type { SealedRows } from '../../sealing/sealed-rows.ts';
import type { Statements } from '../connection/by-tenant.ts';
import { type Database, statement } from '../connection/database.ts';
import { faultOf } from '../fsck/damage.ts';
import { lotOf, outlinesOf } from '../fsck/rows.ts';
import { OF_SPAN } from './deletions.ts';
import { ENTRIES_WITH_CONTENTS } from './log-columns.ts';
import { readerOf, singleStatements, storedTrees, TreeTables } from '../tree/tree-tables.ts';

const STREAM_COLUMNS = 'first_index, stream_id, created_at_ms, purged_at_ms';
const OWN_BEGIN = '(SELECT first_index FROM streams WHERE tenant_id = $1 AND stream_id = $2)';
const STREAMS_AROUND = statement(
  `(SELECT 'first' AS place, ${STREAM_COLUMNS} FROM streams WHERE tenant_id = $1 ORDER BY first_index LIMIT 1)
   UNION ALL (SELECT 'own', ${STREAM_COLUMNS} FROM streams WHERE tenant_id = $1 AND stream_id = $2)
   UNION ALL (SELECT 'before', ${STREAM_COLUMNS} FROM streams WHERE tenant_id = $1 AND first_index < ${OWN_BEGIN}
     ORDER BY first_index DESC LIMIT 1)
   UNION ALL (SELECT 'next', ${STREAM_COLUMNS} FROM streams WHERE tenant_id = $1 AND first_index > ${OWN_BEGIN}
     ORDER BY first_index LIMIT 1)`,
);

const FIRST_CONTENT = statement(
  `SELECT min(contents.leaf_index) AS leaf_index FROM ${ENTRIES_WITH_CONTENTS} WHERE ${OF_SPAN}`,
);

export function rangeStore(
  database: Database,
  tables: TreeTables,
  tenant: TenantId,
  sealed?: SealedRows,
): RangeStore<LogIdentity> {
  const statements = singleStatements(database, readerOf(tenant));
  return {
    ...storedTrees(tables, statements, tenant),
    nextBegin: (log) => tables.nextBegin(statements, log),
    rows: (_, first, last) => lotOf(statements, tenant, first, last, sealed),
    outlines: (_, first, last) => outlinesOf(statements, tenant, first, last),
    entries: (log, first, end) => tables.entries(statements, log, first - log.firstIndex, end - first),
    async firstContent(_, first, end) {
      const [row] = await statements.query(FIRST_CONTENT, [tenant, first, end]);
      return numberOrNone(row, 'leaf_index');
    },
    streamsAround: (streamId) => streamsAround(statements, tenant, streamId),
    faultOf,
  };
}

async function streamsAround(
  statements: Statements,
  tenant: TenantId,
  streamId: string,
): Promise<StreamsAround> {
  const rows = await statements.query(STREAMS_AROUND, [tenant, streamId]);
  const at = (place: string): StreamRow | undefined => {
    const row = rows.find((each) => textIn(each, 'place') === place);
    return row && streamRowIn(row);
  };
  return { first: at('first'), before: at('before'), own: at('own'), next: at('next') };
}
