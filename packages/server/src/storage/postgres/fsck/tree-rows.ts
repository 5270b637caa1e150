// The stored rows of a tenant's logs besides their entries: checkpoints by size, tile hashes, epochs, streams, heads.

import type { TenantId } from '@tallystick/contract';
import { equalBytes } from '@tallystick/evidence';
import { fault } from '../../fsck/store-fault.ts';
import type { CheckpointRow, EpochRow, LogEnd, LogOf, TreeRows } from '../../fsck/stored-rows.ts';
import { type StreamRow, streamRowIn } from '../../fsck/stream-row.ts';
import { blobOf, blobOrNone, numberOf, textIn } from '../../rows/columns.ts';
import { statement } from '../connection/database.ts';
import type { Statements } from '../connection/by-tenant.ts';
import { FIRST_INTEGER } from './rows.ts';

const OF_LOG = 'tenant_id = $1 AND epoch = $2';
const NEWEST = statement(`SELECT coalesce(max(size), 0) AS size FROM checkpoints WHERE ${OF_LOG}`);
const CHECKPOINTS = statement(
  `SELECT size, note FROM checkpoints WHERE ${OF_LOG} AND size > $3 ORDER BY size LIMIT $4`,
);
const TILE_HASHES = statement(
  `SELECT place, hash FROM tile_hashes WHERE ${OF_LOG} AND level = $3 AND place >= $4 AND place < $5`,
);
const TILE_HASH_COUNT = statement(`SELECT count(*) AS count FROM tile_hashes WHERE ${OF_LOG}`);
const ENTRY_AT = statement('SELECT 1 FROM entries WHERE tenant_id = $1 AND leaf_index = $2');
const EPOCHS = statement(
  'SELECT epoch, first_index, previous_checkpoint FROM epochs WHERE tenant_id = $1 ORDER BY epoch',
);
const STREAMS = statement(
  `SELECT first_index, stream_id, created_at_ms, purged_at_ms FROM streams
   WHERE tenant_id = $1 AND first_index > $2 ORDER BY first_index LIMIT $3`,
);
const HEAD = statement('SELECT next_index, leaf FROM heads WHERE tenant_id = $1');

/** Skips from one to the next, at a cost that does not depend on the number of rows. */
const epochsIn = (table: string) => {
  const next = (condition: string) =>
    `(SELECT epoch FROM ${table} WHERE tenant_id = $1 ${condition} ORDER BY epoch LIMIT 1)`;
  return `${next('')} UNION ALL
    SELECT ${next(`AND epoch > of_${table}.epoch`)} FROM of_${table} WHERE of_${table}.epoch IS NOT NULL`;
};
const NAMED = ['checkpoints', 'tile_hashes'];
const EPOCHS_NAMED = statement(
  `WITH RECURSIVE ${NAMED.map((table) => `of_${table} AS (${epochsIn(table)})`).join(', ')}
   ${NAMED.map((table) => `SELECT epoch FROM of_${table} WHERE epoch IS NOT NULL`).join(' UNION ')}`,
);

export function treeRows(statements: Statements): TreeRows<TenantId> {
  return {
    newestSize: async ({ tenant, epoch }) =>
      numberOf((await statements.query(NEWEST, [tenant, epoch]))[0], 'size'),
    async checkpoints({ tenant, epoch }: LogOf<TenantId>, after, limit): Promise<CheckpointRow[]> {
      const rows = await statements.query(CHECKPOINTS, [tenant, epoch, after ?? FIRST_INTEGER, limit]);
      return rows.map((row) => ({ size: numberOf(row, 'size'), note: textIn(row, 'note') }));
    },
    async tileHashes({ tenant, epoch }, level, from, end) {
      const rows = await statements.query(TILE_HASHES, [tenant, epoch, level, from, end]);
      return new Map(rows.map((row) => [numberOf(row, 'place'), blobOf(row, 'hash')]));
    },
    tileHashCount: async ({ tenant, epoch }) =>
      numberOf((await statements.query(TILE_HASH_COUNT, [tenant, epoch]))[0], 'count'),
    hasEntryAt: async (tenant, index) => (await statements.query(ENTRY_AT, [tenant, index])).length > 0,
  };
}

export async function epochsOf(statements: Statements, tenant: TenantId): Promise<EpochRow[]> {
  return (await statements.query(EPOCHS, [tenant])).map((row) => ({
    epoch: numberOf(row, 'epoch'),
    firstIndex: numberOf(row, 'first_index'),
    previousCheckpoint: textIn(row, 'previous_checkpoint'),
  }));
}

/** The epochs that checkpoints and tile hashes refer to. */
export async function epochsNamed(statements: Statements, tenant: TenantId): Promise<number[]> {
  return (await statements.query(EPOCHS_NAMED, [tenant])).map((row) => numberOf(row, 'epoch'));
}

export async function streamsOf(
  statements: Statements,
  tenant: TenantId,
  after: number | undefined,
  limit: number,
): Promise<StreamRow[]> {
  return (await statements.query(STREAMS, [tenant, after ?? FIRST_INTEGER, limit])).map(streamRowIn);
}

/** Appends rely on the head: one that is not the end of the log hides entries, or makes the next append fail. */
export async function requireHead(
  statements: Statements,
  tenant: TenantId,
  { nextIndex, leaf }: LogEnd,
): Promise<void> {
  const [row] = await statements.query(HEAD, [tenant]);
  const last = nextIndex === 0 ? undefined : nextIndex - 1;
  if (row === undefined) throw fault('TRUNCATED', 'there is no row that says where its log ends', last);
  const said = numberOf(row, 'next_index');
  if (said !== nextIndex)
    throw fault('INDEX_MISMATCH', `its head says that it has ${said} entries, and it has ${nextIndex}`, last);
  const saidLeaf = blobOrNone(row, 'leaf');
  const isSame =
    leaf === undefined || saidLeaf === undefined ? leaf === saidLeaf : equalBytes(leaf, saidLeaf);
  if (!isSame) throw fault('LEAF_MISMATCH', 'its head is not its last leaf', last);
}
