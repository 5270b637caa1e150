// The keys of stored secrets in journal.db.

import type { DatabaseSync } from 'node:sqlite';
import type { TenantId } from '@tallystick/contract';
import { keyIn } from '../../rows/key-row.ts';
import type { StoredKey } from '../../sealing/provide-keys.ts';
import type { SecretKeyRows } from '../../sealing/secret-keys.ts';
import { ADD_KEY } from '../append/journal-keys.ts';

const OF_TENANT = `tenant = (SELECT tenant FROM tenants WHERE tenant_id = ?1) AND purpose = 'Secret'`;

/** In the transaction of the caller. */
export function secretKeyRows(
  db: DatabaseSync,
  tenant: TenantId,
): SecretKeyRows & { find(keyId: string): StoredKey | undefined } {
  const one = (where: string, ...values: readonly string[]) => {
    const row = db
      .prepare(`SELECT * FROM tenant_keys WHERE ${OF_TENANT} AND ${where}`)
      .get(tenant, ...values);
    return row && keyIn(row);
  };
  return {
    open: () => one(`state = 'Open'`),
    find: (keyId) => one('key_id = ?2', keyId),
    add: ({ keyId, purpose, month, state, overId, sealed, ringKey, createdAtMs }) =>
      db.prepare(ADD_KEY).run(tenant, keyId, purpose, month, state, overId, sealed, ringKey, createdAtMs)
        .changes === 1,
  };
}
