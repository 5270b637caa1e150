// Stores checkpoints with the hashes of the tiles that are full by then. Runs in the writer's transaction. A checkpoint
// that is not larger than the newest one is skipped, so that none is ever replaced; a stored one only ever gains
// signatures.

import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { CosignedCheckpoint, PublishedLog } from '../../../streams/tree.ts';
import { hasGained } from '../../tree/gained-signatures.ts';
import { numberOf, textIn } from '../../rows/columns.ts';

export class TreePublisher {
  readonly #tenant: StatementSync;
  readonly #insertCheckpoint: StatementSync;
  readonly #insertTileHash: StatementSync;
  readonly #note: StatementSync;
  readonly #replaceNote: StatementSync;

  constructor(db: DatabaseSync) {
    this.#tenant = db.prepare('SELECT tenant FROM tenants WHERE tenant_id = ?');
    this.#insertCheckpoint = db.prepare(
      `INSERT INTO checkpoints (tenant, epoch, size, note, published_at_ms)
       SELECT ?1, ?2, ?3, ?4, ?5
       WHERE ?3 > coalesce((SELECT max(size) FROM checkpoints WHERE tenant = ?1 AND epoch = ?2), 0)`,
    );
    this.#insertTileHash = db.prepare(
      'INSERT OR IGNORE INTO tile_hashes (tenant, epoch, level, place, hash) VALUES (?, ?, ?, ?, ?)',
    );
    this.#note = db.prepare(
      `SELECT checkpoints.tenant, note FROM checkpoints JOIN tenants ON tenants.tenant = checkpoints.tenant
       WHERE tenant_id = ? AND epoch = ? AND size = ?`,
    );
    this.#replaceNote = db.prepare(
      'UPDATE checkpoints SET note = ?4 WHERE tenant = ?1 AND epoch = ?2 AND size = ?3',
    );
  }

  publish(logs: readonly PublishedLog[], nowMs: number): void {
    for (const { tenant: tenantId, epoch, checkpoints, tileHashes } of logs) {
      const tenant = numberOf(this.#tenant.get(tenantId), 'tenant');
      for (const { level, place, hash } of tileHashes) {
        this.#insertTileHash.run(tenant, epoch, level, place, hash);
      }
      for (const { size, note } of checkpoints) {
        this.#insertCheckpoint.run(tenant, epoch, size, note, nowMs);
      }
    }
  }

  /** Returns for each whether its note is the stored one now. */
  cosign(checkpoints: readonly CosignedCheckpoint[]): boolean[] {
    return checkpoints.map(({ tenant: tenantId, epoch, size, note }) => {
      const row = this.#note.get(tenantId, epoch, size);
      if (row === undefined || !hasGained(textIn(row, 'note'), note)) return false;
      this.#replaceNote.run(numberOf(row, 'tenant'), epoch, size, note);
      return true;
    });
  }
}
