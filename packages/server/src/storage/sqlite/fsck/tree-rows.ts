// What is stored of the tree of a log beside its entries: checkpoints by size, hashes of tiles, epochs.

import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import { bytesIn, FIRST_INTEGER, integerIn, textIn } from './rows.ts';

export interface CheckpointRow {
  readonly size: number;
  readonly note: string;
}

export interface EpochRow {
  readonly epoch: number;
  readonly firstIndex: number;
  readonly previousCheckpoint: string;
}

interface Log {
  readonly tenant: number;
  readonly epoch: number;
}

export class TreeRows {
  readonly #newest: StatementSync;
  readonly #checkpointAfter: StatementSync;
  readonly #tileHash: StatementSync;
  readonly #tileHashCount: StatementSync;
  readonly #epochs: StatementSync;
  readonly #entryAt: StatementSync;
  readonly #epochsNamed: readonly StatementSync[];

  constructor(db: DatabaseSync) {
    const ofLog = 'tenant = ? AND epoch = ?';
    this.#newest = db.prepare(`SELECT coalesce(max(size), 0) AS size FROM checkpoints WHERE ${ofLog}`);
    this.#checkpointAfter = db.prepare(
      `SELECT size, note FROM checkpoints WHERE ${ofLog} AND size > ? ORDER BY size LIMIT 1`,
    );
    this.#tileHash = db.prepare(`SELECT hash FROM tile_hashes WHERE ${ofLog} AND level = ? AND place = ?`);
    this.#tileHashCount = db.prepare(`SELECT count(*) AS count FROM tile_hashes WHERE ${ofLog}`);
    this.#epochs = db.prepare(
      'SELECT epoch, first_index, previous_checkpoint FROM epochs WHERE tenant = ? ORDER BY epoch',
    );
    this.#entryAt = db.prepare('SELECT 1 FROM entries WHERE tenant = ? AND leaf_index = ?');
    this.#epochsNamed = ['checkpoints', 'tile_hashes'].map((table) =>
      db.prepare(`SELECT epoch FROM ${table} WHERE tenant = ? AND epoch > ? ORDER BY epoch LIMIT 1`),
    );
  }

  /** Of the newest checkpoint; 0 without one. */
  newestSize({ tenant, epoch }: Log): number {
    return integerIn(this.#newest.get(tenant, epoch)?.['size']);
  }

  /** The next one behind a size; the first one of all, whatever its size says, where none is given. */
  checkpointAfter({ tenant, epoch }: Log, size: number | undefined): CheckpointRow | undefined {
    const after: SQLInputValue = size ?? FIRST_INTEGER;
    const row = this.#checkpointAfter.get(tenant, epoch, after);
    return row === undefined ? undefined : { size: integerIn(row['size']), note: textIn(row['note']) };
  }

  tileHash({ tenant, epoch }: Log, level: number, place: number): Uint8Array | undefined {
    const row = this.#tileHash.get(tenant, epoch, level, place);
    return row === undefined ? undefined : bytesIn(row['hash']);
  }

  tileHashCount({ tenant, epoch }: Log): number {
    return integerIn(this.#tileHashCount.get(tenant, epoch)?.['count']);
  }

  /** Those after the first log, in order: one for each restore. */
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

  /** The epochs that checkpoints and hashes of tiles speak of, skipping from one to the next. */
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
