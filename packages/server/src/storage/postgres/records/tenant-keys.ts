// The keys of tenants in the database, beside what the writer needs for each pool: postgres/append/pool-keys.ts.

import type { TenantId } from '@tallystick/contract';
import type { Random } from '../../../runtime/random.ts';
import type { TenantKeyStore } from '../../../streams/removal/tenant-keys.ts';
import { runAsync } from '../../resumable.ts';
import { numberOf, textIn } from '../../rows/columns.ts';
import { keyIn } from '../../rows/key-row.ts';
import { destroyKeys, type KeyRows, renewKeys } from '../../sealing/key-changes.ts';
import type { Keyring } from '../../sealing/keyring.ts';
import { ALL_TENANTS, type Database, statement, type Transaction } from '../connection/database.ts';

const RING_KEYS = statement(`SELECT DISTINCT ring_key FROM tenant_keys WHERE state <> 'Destroyed'`);
const NAMED_RING_KEYS = statement('SELECT DISTINCT ring_key FROM tenant_keys');
const TENANTS = statement(
  'SELECT DISTINCT tenant_id FROM tenant_keys WHERE tenant_id > $1 ORDER BY tenant_id LIMIT $2',
);
const ALL = statement(
  `SELECT * FROM tenant_keys WHERE tenant_id = $1 ORDER BY purpose <> 'Tenant', key_id FOR UPDATE`,
);
const PUT = statement(
  'UPDATE tenant_keys SET state = $3, sealed = $4, ring_key = $5 WHERE tenant_id = $1 AND key_id = $2',
);
const CLOSE = statement(
  `UPDATE tenant_keys SET state = 'Closed' WHERE tenant_id = $1 AND state = 'Open'
     AND (purpose <> 'Tenant' OR $2) AND ($3::integer IS NULL OR (month > 0 AND month < $3))`,
);
const CLOSED = statement(
  `SELECT key_id, month FROM tenant_keys
   WHERE tenant_id = $1 AND purpose = 'Content' AND state = 'Closed' AND month > 0`,
);
/** Content under a key expires in the month of the key, so that one partition is read. */
const IS_USED = statement(
  'SELECT 1 FROM contents WHERE tenant_id = $1 AND content_month = $2 AND key_id = $3 LIMIT 1',
);
const EMPTIED = statement(
  `SELECT month FROM tenant_keys WHERE purpose = 'Content' AND month > 0 AND month < $1
   GROUP BY month HAVING bool_and(state = 'Destroyed')`,
);

/** The keys of the keyring that have sealed some of them that are not destroyed. */
export async function ringKeysIn(database: Database, scope = ALL_TENANTS): Promise<string[]> {
  return (await database.read(scope, RING_KEYS)).map((row) => textIn(row, 'ring_key'));
}

/** These, and those that have sealed nothing but keys that are destroyed: no command takes a key out of a keyring. */
export async function namedRingKeysIn(database: Database): Promise<string[]> {
  return (await database.read(ALL_TENANTS, NAMED_RING_KEYS)).map((row) => textIn(row, 'ring_key'));
}

export interface TenantKeyParts {
  readonly ring: Keyring | undefined;
  readonly random: Random;
}

export function createTenantKeyStore(database: Database, { ring, random }: TenantKeyParts): TenantKeyStore {
  const changing = <T>(tenant: TenantId, work: (transaction: Transaction) => Promise<T>) =>
    database.inTransaction({ role: 'Writer', tenants: [tenant] }, work);
  const close = (tenant: TenantId, isWhole: boolean, before: number | null) =>
    changing(
      tenant,
      async (transaction) => void (await transaction.change(CLOSE, [tenant, isWhole, before])),
    );
  return {
    tenants: async (after, limit) =>
      (await database.read(ALL_TENANTS, TENANTS, [after ?? '', limit])).map((row) =>
        textIn(row, 'tenant_id'),
      ),
    close: (tenant) => close(tenant, true, null),
    rotate: (tenant) => close(tenant, false, null),
    closeBefore: (tenant, before) => close(tenant, false, before),
    renew: (tenant) =>
      ring === undefined
        ? Promise.resolve(0)
        : changing(tenant, (transaction) =>
            runAsync(renewKeys(tenant, rowsOf(tenant, transaction), { ring, random })),
          ),
    async destroyUnused(tenant) {
      // Closed before: no more content comes under those that are destroyed.
      const unused = await unusedKeysOf(tenant, database);
      return changing(tenant, (transaction) => runAsync(destroyKeys(rowsOf(tenant, transaction), unused)));
    },
    emptiedMonths: async (before) =>
      (await database.read(ALL_TENANTS, EMPTIED, [before])).map((row) => numberOf(row, 'month')),
    ringKeys: () => ringKeysIn(database),
  };
}

async function unusedKeysOf(tenant: TenantId, database: Database): Promise<Set<string>> {
  const scope = { role: 'Reader', tenants: [tenant] } as const;
  const unused = new Set<string>();
  for (const row of await database.read(scope, CLOSED, [tenant])) {
    const keyId = textIn(row, 'key_id');
    if ((await database.read(scope, IS_USED, [tenant, numberOf(row, 'month'), keyId])).length === 0)
      unused.add(keyId);
  }
  return unused;
}

function rowsOf(tenant: TenantId, transaction: Transaction): KeyRows {
  return {
    all: async () => (await transaction.query(ALL, [tenant])).map(keyIn),
    put: ({ keyId, state, sealed, ringKey }) =>
      transaction.change(PUT, [tenant, keyId, state, sealed, ringKey]),
  };
}
