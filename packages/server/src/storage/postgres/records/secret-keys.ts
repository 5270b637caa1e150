// The keys of stored secrets in the database.

import type { TenantId } from '@tallystick/contract';
import type { SecretKeys } from '../../../keys/secret-box.ts';
import type { Clock } from '../../../runtime/clock.ts';
import { runAsync } from '../../resumable.ts';
import { keyIn } from '../../rows/key-row.ts';
import type { Keyring } from '../../sealing/keyring.ts';
import type { NewKeyParts } from '../../sealing/provide-keys.ts';
import { provideSecretKey, type SecretKeyRows, usableSecretKey } from '../../sealing/secret-keys.ts';
import { ADD_KEY } from '../append/pool-keys.ts';
import { type Database, statement, type Transaction } from '../connection/database.ts';

const OPEN = statement(
  `SELECT * FROM tenant_keys WHERE tenant_id = $1 AND purpose = 'Secret' AND state = 'Open'`,
);
const FIND = statement(
  `SELECT * FROM tenant_keys WHERE tenant_id = $1 AND purpose = 'Secret' AND key_id = $2`,
);

export interface SecretKeyParts extends Omit<NewKeyParts, 'ring' | 'nowMs'> {
  readonly ring: Keyring | undefined;
  readonly clock: Pick<Clock, 'now'>;
}

export function createSecretKeys(
  database: Database,
  { ring, random, nextId, clock }: SecretKeyParts,
): SecretKeys {
  return {
    async current(tenant) {
      if (ring === undefined) throw new Error('there is no keyring to seal a key with');
      const parts = { ring, random, nextId, nowMs: clock.now() };
      return database.inTransaction({ role: 'Writer', tenants: [tenant] }, (transaction) =>
        runAsync(provideSecretKey(tenant, rowsOf(tenant, transaction), parts)),
      );
    },
    async find(tenant, keyId) {
      const [row] = await database.read({ role: 'Reader', tenants: [tenant] }, FIND, [tenant, keyId]);
      return row && usableSecretKey(tenant, keyIn(row), ring);
    },
  };
}

function rowsOf(tenant: TenantId, transaction: Transaction): SecretKeyRows {
  return {
    async open() {
      const [row] = await transaction.query(OPEN, [tenant]);
      return row && keyIn(row);
    },
    async add({ keyId, purpose, month, state, overId, sealed, ringKey, createdAtMs }) {
      const values = [tenant, keyId, purpose, month, state, overId, sealed, ringKey, createdAtMs];
      return (await transaction.change(ADD_KEY, values)) === 1;
    },
  };
}
