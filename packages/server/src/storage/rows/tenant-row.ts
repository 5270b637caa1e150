// A tenant with its settings, as a row of any database.

import type { TenantId } from '@tallystick/contract';
import type { StoredTenant } from '../../access/tenants.ts';
import type { StoredRecord } from '../../records/records.ts';
import { LATEST_MS } from '../../runtime/clock.ts';
import { blobOf, numberOf, readOr, textIn } from './columns.ts';
import { RECORD_COLUMNS, recordIn } from './record-row.ts';

/** Of the key that makes the HMACs by which repeated requests are recognised. */
export const FINGERPRINT_KEY_BYTES = 32;

/** `same` says when rows of `tenants` and `records` are of one tenant. */
export function tenantsWith(same: string): string {
  return `SELECT tenants.tenant_id, fingerprint_key, created_at_ms, ${RECORD_COLUMNS} FROM tenants
    LEFT JOIN records ON ${same} AND records.kind = 'Tenant' AND records.id = ''`;
}

/** Of a row that `tenantsWith` gives. */
export function tenantIn(row: Readonly<Record<string, unknown>>): StoredTenant {
  const tenantId = textIn(row, 'tenant_id');
  return {
    tenantId,
    fingerprintKey: blobOf(row, 'fingerprint_key'),
    // No log speaks of it: one that somebody has changed must not keep the tenant from being served.
    createdAtMs: Math.min(
      readOr(() => numberOf(row, 'created_at_ms'), 0),
      LATEST_MS,
    ),
    settings: row['kind'] === null ? undefined : readOr(() => recordIn(row), unreadable(tenantId)),
  };
}

/** Settings that are there and are none of ours. */
function unreadable(owner: TenantId): StoredRecord {
  const nothing = new Uint8Array();
  const copies = { state: '', uniqueName: undefined, lookup: undefined };
  return { owner, kind: 'Tenant', id: '', version: 0, body: '{}', ...copies, salt: nothing, mac: nothing };
}
