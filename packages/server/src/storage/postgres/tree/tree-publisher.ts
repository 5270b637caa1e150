// Stores checkpoints with the hashes of the tiles that are full by then, in one commit. A checkpoint that is not larger
// than the newest one is skipped, so that none is ever replaced; a stored one only ever gains signatures. While a lease
// changes hands, another node may sign the same log, so publications are serialized by a lock: otherwise two could each
// find theirs the largest.

import type { TenantId } from '@tallystick/contract';
import type { CosignedCheckpoint, PublishedLog, StoredCheckpoint } from '../../../streams/tree.ts';
import { hasGained } from '../../tree/gained-signatures.ts';
import { numberOf, textIn } from '../../rows/columns.ts';
import { checkpointIn } from '../../rows/log-identity.ts';
import { ofTenants, rowForEach, rowsFor } from '../connection/by-tenant.ts';
import { ALL_TENANTS, type Database, statement, type Transaction } from '../connection/database.ts';
import { stillHeld } from '../nodes/held-shares.ts';

/** The state of a log after a publication by any node. */
export interface PublishedState {
  readonly tenant: TenantId;
  readonly epoch: number;
  /** The largest size to store. */
  readonly size: number;
  readonly newest: StoredCheckpoint | undefined;
  /** The newest checkpoint is exactly the one to store. */
  readonly isOwn: boolean;
  /** Nothing was stored: another node has taken over its share. */
  readonly isLost: boolean;
}

/** The lease of a log's share, as this node knows it. */
export interface Leased {
  readonly share: number;
  readonly token: number;
}

/** An arbitrary unique number. */
const PUBLISHING = 0x7472_6565;

const LOCK = statement(`SELECT pg_advisory_xact_lock(${PUBLISHING})`);
const INSERT_TILE_HASHES = statement(
  `INSERT INTO tile_hashes (tenant_id, epoch, level, place, hash)
   SELECT * FROM unnest($1::text[], $2::integer[], $3::integer[], $4::bigint[], $5::bytea[]) ON CONFLICT DO NOTHING`,
);
const INSERT_CHECKPOINTS = statement(
  `INSERT INTO checkpoints (tenant_id, epoch, size, note, published_at_ms)
   SELECT heads.tenant_id, signed.epoch, signed.size, signed.note, $5::bigint
   FROM unnest($1::text[], $2::integer[], $3::bigint[], $4::text[]) AS signed (tenant_id, epoch, size, note)
   JOIN heads ON heads.tenant_id = signed.tenant_id
   WHERE signed.size > coalesce((SELECT max(size) FROM checkpoints
     WHERE checkpoints.tenant_id = heads.tenant_id AND checkpoints.epoch = signed.epoch), 0)
   ON CONFLICT DO NOTHING`,
);
const NEWEST = ofTenants(
  2,
  (
    only,
  ) => `SELECT newest.* FROM unnest($1::text[], $2::integer[]) WITH ORDINALITY AS log (tenant, epoch, number)
   LEFT JOIN LATERAL (SELECT size, note, published_at_ms FROM checkpoints
     WHERE tenant_id = log.tenant AND checkpoints.epoch = log.epoch${only('tenant_id')} ORDER BY size DESC LIMIT 1) AS newest ON true
   ORDER BY log.number`,
);
/** Always in the same order, to prevent deadlocks. */
const LOCK_NOTES = ofTenants(
  3,
  (only) => `SELECT checkpoints.tenant_id, checkpoints.epoch, checkpoints.size, note FROM checkpoints
   WHERE (tenant_id, epoch, size) IN (SELECT * FROM unnest($1::text[], $2::integer[], $3::bigint[]))${only('tenant_id')}
   ORDER BY tenant_id, epoch, size FOR UPDATE`,
);
const REPLACE_NOTES = statement(
  `UPDATE checkpoints SET note = gained.note
   FROM unnest($1::text[], $2::integer[], $3::bigint[], $4::text[]) AS gained (tenant_id, epoch, size, note)
   WHERE checkpoints.tenant_id = gained.tenant_id AND checkpoints.epoch = gained.epoch
     AND checkpoints.size = gained.size`,
);

export class TreePublisher {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Takes the lease of each log, if logs are divided among nodes. */
  async publish(
    logs: readonly PublishedLog[],
    nowMs: number,
    leased?: readonly Leased[],
  ): Promise<PublishedState[]> {
    if (logs.length === 0) return [];
    return this.#database.inTransaction(ALL_TENANTS, async (transaction) => {
      const held = await stillHeld(
        transaction,
        leased && new Map(leased.map(({ share, token }) => [share, token])),
      );
      const isLost = (_: PublishedLog, i: number) => held?.has(leased![i]!.share) === false;
      const lost = logs.filter(isLost).map(lostState);
      const own = logs.filter((log, i) => !isLost(log, i));
      return [...lost, ...(own.length === 0 ? [] : await publishIn(transaction, own, nowMs))];
    });
  }

  /** Returns for each whether its note is the stored one now. */
  async cosign(checkpoints: readonly CosignedCheckpoint[]): Promise<boolean[]> {
    if (checkpoints.length === 0) return [];
    return this.#database.inTransaction(ALL_TENANTS, async (transaction) => {
      // By name, in the order of locking.
      const inOrder = checkpoints.toSorted((one, other) => (one.tenant < other.tenant ? -1 : 1));
      const rows = await rowsFor(transaction, LOCK_NOTES, inOrder, columnsOf);
      const stored = new Map(
        rows.map((row) => [
          keyOf(textIn(row, 'tenant_id'), numberOf(row, 'epoch'), numberOf(row, 'size')),
          textIn(row, 'note'),
        ]),
      );
      const gained = new Map<string, CosignedCheckpoint>();
      const outcomes = checkpoints.map((checkpoint) => {
        const { tenant, epoch, size, note } = checkpoint;
        const key = keyOf(tenant, epoch, size);
        const before = gained.get(key)?.note ?? stored.get(key);
        if (before === undefined || !hasGained(before, note)) return false;
        gained.set(key, checkpoint);
        return true;
      });
      const changed = [...gained.values()];
      if (changed.length > 0)
        await transaction.change(REPLACE_NOTES, [...columnsOf(changed), changed.map(({ note }) => note)]);
      return outcomes;
    });
  }
}

async function publishIn(
  transaction: Transaction,
  logs: readonly PublishedLog[],
  nowMs: number,
): Promise<PublishedState[]> {
  // Sent without waiting in between: the lock is held until the last one is answered.
  const locked = transaction.query(LOCK);
  const hashes = insertTileHashes(transaction, logs);
  const checkpoints = insertCheckpoints(transaction, logs, nowMs);
  const newest = rowForEach(transaction, NEWEST, logs, (some) => [
    some.map(({ tenant }) => tenant),
    some.map(({ epoch }) => epoch),
  ]);
  const [, , , rows] = await Promise.all([locked, hashes, checkpoints, newest]);
  return logs.map((log, i) => {
    const newest = rows[i]?.['size'] === null ? undefined : checkpointIn(rows[i]);
    const isOwn = newest?.note === log.checkpoints.at(-1)?.note;
    return { ...lostState(log), newest, isOwn, isLost: false };
  });
}

function lostState({ tenant, epoch, checkpoints }: PublishedLog): PublishedState {
  const size = checkpoints.at(-1)?.size ?? 0;
  return { tenant, epoch, size, newest: undefined, isOwn: false, isLost: true };
}

function columnsOf(checkpoints: readonly CosignedCheckpoint[]) {
  return [
    checkpoints.map(({ tenant }) => tenant),
    checkpoints.map(({ epoch }) => epoch),
    checkpoints.map(({ size }) => size),
  ] as const;
}

function keyOf(tenant: TenantId, epoch: number, size: number): string {
  return `${epoch} ${size} ${tenant}`;
}

async function insertTileHashes(transaction: Transaction, logs: readonly PublishedLog[]): Promise<void> {
  const hashes = logs.flatMap(({ tenant, epoch, tileHashes }) =>
    tileHashes.map((each) => ({ ...each, tenant, epoch })),
  );
  if (hashes.length === 0) return;
  await transaction.change(INSERT_TILE_HASHES, [
    hashes.map(({ tenant }) => tenant),
    hashes.map(({ epoch }) => epoch),
    hashes.map(({ level }) => level),
    hashes.map(({ place }) => place),
    hashes.map(({ hash }) => hash),
  ]);
}

async function insertCheckpoints(
  transaction: Transaction,
  logs: readonly PublishedLog[],
  nowMs: number,
): Promise<void> {
  const signed = logs.flatMap(({ tenant, epoch, checkpoints }) =>
    checkpoints.map((each) => ({ ...each, tenant, epoch })),
  );
  await transaction.change(INSERT_CHECKPOINTS, [
    signed.map(({ tenant }) => tenant),
    signed.map(({ epoch }) => epoch),
    signed.map(({ size }) => size),
    signed.map(({ note }) => note),
    nowMs,
  ]);
}
