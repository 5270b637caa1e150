// Tenants in journal.db.

import type { DatabaseSync } from 'node:sqlite';
import type { TenantId } from '@tallystick/contract';
import { INSTALLATION } from '@tallystick/evidence';
import type { TenantStore } from '../../../access/tenants.ts';
import type { Calls } from '../../../runtime/calls.ts';
import type { Random } from '../../../runtime/random.ts';
import { numberOf } from '../../rows/columns.ts';
import { LAST_ID } from '../../rows/last-id.ts';
import { RECORDS_COUNTED_MAX } from '../../rows/record-row.ts';
import { FINGERPRINT_KEY_BYTES, indexKeyIn, tenantIn, tenantsWith } from '../../rows/tenant-row.ts';
import { TenantPool } from '../../pool/tenant-pool.ts';
import type { JournalOwner } from '../append/journal-owner.ts';
import { NEW_VERSION } from './records.ts';

/** A tenant to create unless it exists, with its key. */
export interface NewTenant {
  readonly tenantId: TenantId;
  readonly fingerprintKey: Uint8Array;
}

/** Runs inside the caller's transaction. */
export function addTenants(db: DatabaseSync, tenants: readonly NewTenant[], nowMs: number): void {
  const add = db.prepare(
    `INSERT INTO tenants (tenant_id, fingerprint_key, created_at_ms) VALUES (?, ?, ?)
     ON CONFLICT (tenant_id) DO NOTHING`,
  );
  for (const { tenantId, fingerprintKey } of tenants) add.run(tenantId, fingerprintKey, nowMs);
}

/** Runs inside the caller's transaction. */
export function replaceFingerprintKey(db: DatabaseSync, { tenantId, fingerprintKey }: NewTenant): void {
  const read = db.prepare('SELECT fingerprint_key, kept_index_key FROM tenants WHERE tenant_id = ?');
  const row = read.get(tenantId);
  if (row === undefined) throw new Error(`there is no tenant ${tenantId}`);
  db.prepare('UPDATE tenants SET kept_index_key = ?, fingerprint_key = ? WHERE tenant_id = ?').run(
    indexKeyIn(row),
    fingerprintKey,
    tenantId,
  );
  db.prepare(NEW_VERSION).run();
}

const TENANTS = tenantsWith('SQLite');
const LISTED = `tenant_id <> '${INSTALLATION}' AND coalesce(state, 'Active') IN (SELECT value FROM json_each(?))`;

export function createTenantStore(
  reading: DatabaseSync,
  owner: Calls<JournalOwner>,
  random: Random,
): TenantStore {
  const one = reading.prepare(`${TENANTS} WHERE tenant_id = ?`);
  const rising = reading.prepare(`${TENANTS} WHERE ${LISTED} AND tenant_id > ? ORDER BY tenant_id LIMIT ?`);
  const falling = reading.prepare(
    `${TENANTS} WHERE ${LISTED} AND tenant_id < ? ORDER BY tenant_id DESC LIMIT ?`,
  );
  const count = reading.prepare(
    `SELECT count(*) AS count FROM (${TENANTS} WHERE ${LISTED} LIMIT ${RECORDS_COUNTED_MAX})`,
  );
  for (const statement of [one, rising, falling]) statement.setReadBigInts(true);
  const find = (tenantId: TenantId) => {
    const row = one.get(tenantId);
    return row && tenantIn(row);
  };
  let newestMs = 0;
  const writes = new TenantPool(async (ids) => {
    const fresh = ids.map((tenantId) => ({ tenantId, fingerprintKey: random.bytes(FINGERPRINT_KEY_BYTES) }));
    await owner.addTenants(fresh, newestMs);
    return new Map(ids.map((tenantId) => [tenantId, find(tenantId)!]));
  });
  return {
    find: async (tenantId) => find(tenantId),
    async ensure(tenantId, nowMs) {
      newestMs = nowMs;
      return find(tenantId) ?? (await writes.ask(tenantId))!;
    },
    async replaceFingerprintKey(tenantId) {
      const fingerprintKey = random.bytes(FINGERPRINT_KEY_BYTES);
      await owner.replaceFingerprintKey({ tenantId, fingerprintKey });
      return fingerprintKey;
    },
    async page({ way, beyond, limit }, states) {
      const listed = JSON.stringify(states);
      const rows =
        way === 'Rising'
          ? rising.all(listed, beyond ?? '', limit)
          : falling.all(listed, beyond ?? LAST_ID, limit);
      return rows.map(tenantIn);
    },
    count: async (states) => numberOf(count.get(JSON.stringify(states)), 'count'),
  };
}
