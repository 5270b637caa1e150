// The keys of tenants in the database, for the writer. A key takes new content only while it is open, and a pool keeps those that it
// uses locked until it is committed: whoever closes one waits for that, and what is not in the database by then is
// under other keys.

import type { TenantId } from '@tallystick/contract';
import type { Clock } from '../../../runtime/clock.ts';
import type { Random } from '../../../runtime/random.ts';
import { runAsync } from '../../resumable.ts';
import { numberOf, textIn } from '../../rows/columns.ts';
import { keyIn } from '../../rows/key-row.ts';
import type { Keyring } from '../../sealing/keyring.ts';
import type { MissingKeys, PoolSealer } from '../../sealing/pool-sealer.ts';
import { keyFaultOf, provideKeys, type TenantKeyTable } from '../../sealing/provide-keys.ts';
import { ofTenants, rowsFor } from '../connection/by-tenant.ts';
import { type Database, statement, type Transaction } from '../connection/database.ts';

export interface PoolKeysParts {
  readonly ring: Keyring;
  readonly sealer: PoolSealer;
  readonly random: Random;
  readonly nextId: () => string;
  readonly clock: Pick<Clock, 'now'>;
}

const OPEN = statement(
  `SELECT * FROM tenant_keys WHERE tenant_id = $1 AND state = 'Open'
     AND (purpose = 'Tenant' OR month = ANY ($2::integer[]))
   ORDER BY key_id`,
);
/** Changes nothing where there is an open one of the same purpose and month. */
export const ADD_KEY = statement(
  `INSERT INTO tenant_keys (tenant_id, key_id, purpose, month, state, over_id, sealed, ring_key, blocks, created_at_ms)
   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0, $9) ON CONFLICT DO NOTHING`,
);
/**
 * Never before the time, in milliseconds: a database that is restored, or whose counter was set back, gives out no block again that
 * was used since.
 */
export const TAKE_BLOCK = statement(
  `UPDATE tenant_keys SET blocks = greatest(blocks, (extract(epoch FROM clock_timestamp()) * 1000)::bigint) + 1
   WHERE tenant_id = $1 AND key_id = $2 RETURNING blocks - 1 AS block`,
);
const STILL_OPEN = ofTenants(
  2,
  (only) => `SELECT key_id FROM tenant_keys
   WHERE tenant_id = ANY ($1::text[]) AND key_id = ANY ($2::text[]) AND state = 'Open'${only('tenant_id')} FOR SHARE`,
);

export class PoolKeys {
  readonly #database: Database;
  readonly #parts: PoolKeysParts;

  constructor(database: Database, parts: PoolKeysParts) {
    this.#database = database;
    this.#parts = parts;
  }

  /** Which keys take new content may have changed. */
  forget(): void {
    this.#parts.sealer.forget();
  }

  /** Locks the keys that may be used, and forgets those that do not take new content any more. */
  async confirm(transaction: Transaction, tenants: readonly TenantId[]): Promise<void> {
    const { sealer } = this.#parts;
    const known = sealer.current(tenants);
    if (known.length === 0) return;
    const rows = await rowsFor(transaction, STILL_OPEN, known, (keys) => [
      [...new Set(keys.map(({ tenant }) => tenant))],
      keys.map(({ keyId }) => keyId),
    ]);
    sealer.keepOnly(tenants, new Set(rows.map((row) => textIn(row, 'key_id'))));
  }

  /** In commits of their own: a block of nonces is durable before any of them is used. Throws TenantFault. */
  async provide(missing: MissingKeys['months']): Promise<void> {
    // In order of tenants: of two nodes that make keys of the same tenants, one waits for the other.
    for (const tenant of [...missing.keys()].sort()) {
      const months = [...missing.get(tenant)!];
      const parts = { ...this.#parts, nowMs: this.#parts.clock.now() };
      const scope = { role: 'Writer', tenants: [tenant] } as const;
      const use = await this.#database
        .inTransaction(scope, (transaction) =>
          runAsync(provideKeys(tenant, months, tableOf(tenant, transaction), parts)),
        )
        .catch((error: unknown) => {
          throw keyFaultOf(tenant, error);
        });
      use();
    }
  }
}

function tableOf(tenant: TenantId, transaction: Transaction): TenantKeyTable {
  return {
    open: async (months) => (await transaction.query(OPEN, [tenant, months])).map(keyIn),
    add: async ({ keyId, purpose, month, state, overId, sealed, ringKey, createdAtMs }) => {
      const values = [tenant, keyId, purpose, month, state, overId, sealed, ringKey, createdAtMs];
      return (await transaction.change(ADD_KEY, values)) === 1;
    },
    async takeBlock(keyId) {
      const [row] = await transaction.query(TAKE_BLOCK, [tenant, keyId]);
      return numberOf(row, 'block');
    },
  };
}
