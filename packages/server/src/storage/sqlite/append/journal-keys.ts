// The keys of tenants in journal.db, for the writer.

import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { TenantId } from '@tallystick/contract';
import type { Clock } from '../../../runtime/clock.ts';
import type { Random } from '../../../runtime/random.ts';
import { runSync } from '../../resumable.ts';
import { TenantFault } from '../../pool/tenant-fault.ts';
import { numberOf } from '../../rows/columns.ts';
import { keyIn } from '../../rows/key-row.ts';
import type { Keyring } from '../../sealing/keyring.ts';
import type { MissingKeys, PoolSealer } from '../../sealing/pool-sealer.ts';
import { orKeyFault, provideKeys, type TenantKeyTable } from '../../sealing/provide-keys.ts';
import { inTransaction } from '../connection/database.ts';

export interface JournalKeysParts {
  readonly ring: Keyring;
  readonly sealer: PoolSealer;
  readonly random: Random;
  readonly nextId: () => string;
  readonly clock: Pick<Clock, 'now'>;
}

const OF_TENANT = 'tenant = (SELECT tenant FROM tenants WHERE tenant_id = ?1)';

/** Changes nothing where there is an open one of the same purpose and month. */
export const ADD_KEY = `INSERT INTO tenant_keys (tenant, key_id, purpose, month, state, over_id, sealed, ring_key, blocks, created_at_ms)
   SELECT tenant, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 0, ?9 FROM tenants WHERE tenant_id = ?1 ON CONFLICT DO NOTHING`;

/**
 * Never before the time, in milliseconds: a database that is restored, or whose counter was set back, gives out no block again that
 * was used since.
 */
export const TAKE_BLOCK = `UPDATE tenant_keys SET blocks = max(blocks, CAST(unixepoch('subsec') * 1000 AS INTEGER)) + 1
   WHERE ${OF_TENANT} AND key_id = ?2 RETURNING blocks - 1 AS block`;

export class JournalKeys {
  readonly #db: DatabaseSync;
  readonly #parts: JournalKeysParts;
  readonly #open: StatementSync;
  readonly #add: StatementSync;
  readonly #takeBlock: StatementSync;
  #version: number | undefined;

  constructor(db: DatabaseSync, parts: JournalKeysParts) {
    this.#db = db;
    this.#parts = parts;
    this.#open = db.prepare(
      `SELECT * FROM tenant_keys WHERE ${OF_TENANT} AND state = 'Open'
         AND (purpose = 'Tenant' OR month IN (SELECT value FROM json_each(?2)))`,
    );
    this.#add = db.prepare(ADD_KEY);
    this.#takeBlock = db.prepare(TAKE_BLOCK);
  }

  /** `version` changes when another connection has committed, which may have closed keys. */
  begin(version: number | undefined): void {
    if (version !== this.#version) this.#parts.sealer.forget();
    this.#version = version;
  }

  /**
   * In a commit of its own: a block of nonces is durable before any of them is used. Returns the fault of a tenant whose keys cannot
   * be used; then none are made.
   */
  provide(missing: MissingKeys['months']): TenantFault | undefined {
    const parts = { ...this.#parts, nowMs: this.#parts.clock.now() };
    try {
      const uses = inTransaction(this.#db, () =>
        [...missing].map(([tenant, months]) =>
          orKeyFault(tenant, () => runSync(provideKeys(tenant, [...months], this.#tableOf(tenant), parts))),
        ),
      );
      for (const use of uses) use();
      return undefined;
    } catch (error) {
      if (error instanceof TenantFault) return error;
      throw error;
    }
  }

  #tableOf(tenant: TenantId): TenantKeyTable {
    return {
      open: (months) => this.#open.all(tenant, JSON.stringify(months)).map(keyIn),
      add: ({ keyId, purpose, month, state, overId, sealed, ringKey, createdAtMs }) =>
        this.#add.run(tenant, keyId, purpose, month, state, overId, sealed, ringKey, createdAtMs).changes ===
        1,
      takeBlock: (keyId) => numberOf(this.#takeBlock.get(tenant, keyId), 'block'),
    };
  }
}
