// Verifies ranges of logs in the journal.

import type { DatabaseSync } from 'node:sqlite';
import type { TenantId } from '@tallystick/contract';
import type { RangeVerdict } from '../../../streams/tree.ts';
import type { TrustedKey } from '../../fsck/notes.ts';
import * as range from '../../fsck/range.ts';
import type { StreamsAround } from '../../fsck/stream-bounds.ts';
import { type StreamRow, streamRowIn } from '../../fsck/stream-row.ts';
import { type LogIdentity, storedTrees, TreeTables } from '../tree/tree-tables.ts';
import type { SealedRows } from '../../sealing/sealed-rows.ts';
import { numberOf } from '../../rows/columns.ts';
import { IS_EVENT } from '../log/deletions.ts';
import { faultOf } from './damage.ts';
import { LogRows } from './rows.ts';
import { STREAMS_OF_TENANT, TreeRows } from './tree-rows.ts';

/** Yields the number of checked events; throws only errors that are not a verdict. */
export function checkRange(
  db: DatabaseSync,
  logOrigin: string,
  request: range.RangeOf,
  keys?: readonly TrustedKey[],
  sealed?: SealedRows,
): Generator<number, RangeVerdict> {
  // SQLite is synchronous, so it never yields a promise.
  const store = rangeStores(db, logOrigin, sealed)(request.tenant);
  return range.checkRange(store, request, keys) as Generator<number, RangeVerdict>;
}

/** Of each tenant, over the same statements. */
export function rangeStores(
  db: DatabaseSync,
  logOrigin: string,
  sealed?: SealedRows,
): (tenant: TenantId) => range.RangeStore<LogIdentity> {
  const tables = new TreeTables(db, logOrigin);
  const [rows, tree] = [new LogRows(db, sealed), new TreeRows(db)];
  const firstContent = db.prepare(
    `SELECT leaf_index FROM entries JOIN contents USING (id)
     WHERE tenant = ? AND leaf_index >= ? AND leaf_index < ? AND ${IS_EVENT} ORDER BY leaf_index LIMIT 1`,
  );
  return (tenant) => ({
    ...storedTrees(tables, tenant),
    nextBegin: (log) => tree.epochs(log.tenant).find(({ epoch }) => epoch > log.epoch)?.firstIndex,
    rows: (log, first, last) => rows.lot(log.tenant, first, last),
    outlines: (log, first, last) => rows.outlines(log.tenant, first, last),
    entries: (log, first, end) => tables.entries(log, first - log.firstIndex, end - first),
    firstContent: (log, first, end) => {
      const found = firstContent.get(log.tenant, first, end);
      return found && numberOf(found, 'leaf_index');
    },
    streamsAround: (streamId) => streamsAround(db, tenant, streamId),
    faultOf,
  });
}

function streamsAround(db: DatabaseSync, tenantId: string, streamId: string): StreamsAround {
  const tenant = '(SELECT tenant FROM tenants WHERE tenant_id = ?)';
  const streams = STREAMS_OF_TENANT.replace('?', tenant);
  const get = (condition: string, ...values: (string | number)[]): StreamRow | undefined => {
    const row = db.prepare(`${streams} ${condition} LIMIT 1`).get(tenantId, ...values);
    return row && streamRowIn(row);
  };
  const first = get('ORDER BY first_index');
  const own = get('AND stream_id = ?', streamId);
  if (own === undefined) return { first, own, before: undefined, next: undefined };
  const before = get('AND first_index < ? ORDER BY first_index DESC', own.firstIndex);
  const next = get('AND first_index > ? ORDER BY first_index', own.firstIndex);
  return { first, before, own, next };
}
