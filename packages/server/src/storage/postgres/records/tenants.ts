// Tenants on PostgreSQL: concurrent lookups or creations share one statement.

import type { TenantId } from '@tallystick/contract';
import { INSTALLATION } from '@tallystick/evidence';
import type { StoredTenant, TenantStore } from '../../../access/tenants.ts';
import type { Random } from '../../../runtime/random.ts';
import { numberOf } from '../../rows/columns.ts';
import { LAST_ID } from '../../rows/last-id.ts';
import { RECORDS_COUNTED_MAX } from '../../rows/record-row.ts';
import { FINGERPRINT_KEY_BYTES, tenantIn, tenantsWith } from '../../rows/tenant-row.ts';
import { TenantPool } from '../../pool/tenant-pool.ts';
import { ALL_TENANTS, type Database, type Row, statement } from '../connection/database.ts';
import { NEW_VERSION } from './records.ts';

const TENANTS = tenantsWith('PostgreSQL');
const READ = statement(`${TENANTS} WHERE tenants.tenant_id = ANY ($1::text[])`);
const ADD = statement(
  `INSERT INTO tenants (tenant_id, fingerprint_key, created_at_ms)
   SELECT id, key, $3::bigint FROM unnest($1::text[], $2::bytea[]) AS wanted (id, key)
   ORDER BY id COLLATE "C" ON CONFLICT (tenant_id) DO NOTHING`,
);
const ADD_HEADS = statement(
  `INSERT INTO heads (tenant_id) SELECT id FROM unnest($1::text[]) AS wanted (id)
   ORDER BY id COLLATE "C" ON CONFLICT (tenant_id) DO NOTHING`,
);
const REPLACE_KEY = statement(
  'UPDATE tenants SET kept_index_key = index_key, fingerprint_key = $2 WHERE tenant_id = $1',
);
const LISTED = `${TENANTS} WHERE tenants.tenant_id <> '${INSTALLATION}' AND coalesce(state, 'Active') = ANY ($1::text[])`;
const RISING = statement(`${LISTED} AND tenants.tenant_id > $2 ORDER BY tenants.tenant_id LIMIT $3`);
const FALLING = statement(`${LISTED} AND tenants.tenant_id < $2 ORDER BY tenants.tenant_id DESC LIMIT $3`);
const COUNT = statement(`SELECT count(*) AS count FROM (${LISTED} LIMIT ${RECORDS_COUNTED_MAX}) AS counted`);

export function createTenantStore(database: Database, random: Random): TenantStore {
  let newestMs = 0;
  const reads = new TenantPool(async (ids) =>
    byId(await database.read({ role: 'Reader', tenants: ids }, READ, [ids])),
  );
  const writes = new TenantPool((ids) => ensureTenants(database, ids, random, newestMs));
  return {
    find: (tenantId) => reads.ask(tenantId),
    async ensure(tenantId, nowMs) {
      newestMs = nowMs;
      return (await writes.ask(tenantId))!;
    },
    async replaceFingerprintKey(tenantId) {
      const key = random.bytes(FINGERPRINT_KEY_BYTES);
      await database.inTransaction({ role: 'Writer', tenants: [tenantId] }, async (transaction) => {
        if ((await transaction.change(REPLACE_KEY, [tenantId, key])) === 0)
          throw new Error(`there is no tenant ${tenantId}`);
        await transaction.change(NEW_VERSION);
      });
      return key;
    },
    page: async ({ way, beyond, limit }, states) =>
      (way === 'Rising'
        ? await database.read(ALL_TENANTS, RISING, [states, beyond ?? '', limit])
        : await database.read(ALL_TENANTS, FALLING, [states, beyond ?? LAST_ID, limit])
      ).map(tenantIn),
    count: async (states) => numberOf((await database.read(ALL_TENANTS, COUNT, [states]))[0], 'count'),
  };
}

/** Creates the missing ones, with the heads of their logs. */
async function ensureTenants(
  database: Database,
  ids: readonly TenantId[],
  random: Random,
  nowMs: number,
): Promise<Map<TenantId, StoredTenant>> {
  return database.inTransaction({ role: 'Writer', tenants: ids }, async (transaction) => {
    const fingerprintKeys = ids.map(() => random.bytes(FINGERPRINT_KEY_BYTES));
    const [, , rows] = await Promise.all([
      transaction.change(ADD, [ids, fingerprintKeys, nowMs]),
      transaction.change(ADD_HEADS, [ids]),
      // Another node may have created some of them first.
      transaction.query(READ, [ids]),
    ]);
    return byId(rows);
  });
}

function byId(rows: readonly Row[]): Map<TenantId, StoredTenant> {
  return new Map(rows.map(tenantIn).map((tenant) => [tenant.tenantId, tenant]));
}
