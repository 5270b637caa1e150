// The stored tree of a log, besides its entries: checkpoints by size, tile hashes, epochs.

import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { CheckpointRow, EpochRow } from '../../fsck/stored-rows.ts';
import { bytesIn, FIRST_INTEGER, integerIn, textIn } from './rows.ts';

interface Log {
  readonly tenant: number;
  readonly epoch: number;
}

/** More conditions follow. */
export const STREAMS_OF_TENANT =
  'SELECT first_index, stream_id, created_at_ms, purged_at_ms FROM streams WHERE tenant = ?';

export class TreeRows {
  readonly #newest: StatementSync;
  readonly #checkpoints: StatementSync;
  readonly #tileHashes: StatementSync;
  readonly #tileHashCount: StatementSync;
  readonly #epochs: StatementSync;
  readonly #entryAt: StatementSync;
  readonly #epochsNamed: readonly StatementSync[];

  constructor(db: DatabaseSync) {
    const ofLog = 'tenant = ? AND epoch = ?';
    this.#newest = db.prepare(`SELECT coalesce(max(size), 0) AS size FROM checkpoints WHERE ${ofLog}`);
    this.#checkpoints = db.prepare(
      `SELECT size, note FROM checkpoints WHERE ${ofLog} AND size > ? ORDER BY size LIMIT ?`,
    );
    this.#tileHashes = db.prepare(
      `SELECT place, hash FROM tile_hashes WHERE ${ofLog} AND level = ? AND place >= ? AND place < ?`,
    );
    this.#tileHashCount = db.prepare(`SELECT count(*) AS count FROM tile_hashes WHERE ${ofLog}`);
    this.#epochs = db.prepare(
      'SELECT epoch, first_index, previous_checkpoint FROM epochs WHERE tenant = ? ORDER BY epoch',
    );
    this.#entryAt = db.prepare('SELECT 1 FROM entries WHERE tenant = ? AND leaf_index = ?');
    this.#epochsNamed = ['checkpoints', 'tile_hashes'].map((table) =>
      db.prepare(`SELECT epoch FROM ${table} WHERE tenant = ? AND epoch > ? ORDER BY epoch LIMIT 1`),
    );
  }

  /** The size of the newest checkpoint; 0 if there is none. */
  newestSize({ tenant, epoch }: Log): number {
    return integerIn(this.#newest.get(tenant, epoch)?.['size']);
  }

  /** At most `limit` checkpoints after a size; without a size, from the first row on, even if its size is invalid. */
  checkpoints({ tenant, epoch }: Log, after: number | undefined, limit: number): CheckpointRow[] {
    return this.#checkpoints
      .all(tenant, epoch, after ?? FIRST_INTEGER, limit)
      .map((row) => ({ size: integerIn(row['size']), note: textIn(row['note']) }));
  }

  /** By index, from `from` to `end` (exclusive). */
  tileHashes({ tenant, epoch }: Log, level: number, from: number, end: number): Map<number, Uint8Array> {
    const rows = this.#tileHashes.all(tenant, epoch, level, from, end);
    return new Map(rows.map((row) => [integerIn(row['place']), bytesIn(row['hash'])]));
  }

  tileHashCount({ tenant, epoch }: Log): number {
    return integerIn(this.#tileHashCount.get(tenant, epoch)?.['count']);
  }

  /** The epochs after the first log, in order: one per restore. */
  epochs(tenant: number): EpochRow[] {
    return this.#epochs.all(tenant).map((row) => ({
      epoch: integerIn(row['epoch']),
      firstIndex: integerIn(row['first_index']),
      previousCheckpoint: textIn(row['previous_checkpoint']),
    }));
  }

  /** In the tenant's sequence. */
  hasEntryAt(tenant: number, index: number): boolean {
    return this.#entryAt.get(tenant, index) !== undefined;
  }

  /** The epochs that checkpoints and tile hashes refer to, found by skipping from one to the next. */
  *epochsNamed(tenant: number): Generator<number> {
    for (const next of this.#epochsNamed) {
      for (let row = next.get(tenant, FIRST_INTEGER); row !== undefined; ) {
        const epoch = integerIn(row['epoch']);
        yield epoch;
        row = next.get(tenant, epoch);
      }
    }
  }
}
