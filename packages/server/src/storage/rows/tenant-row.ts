// A tenant with its settings, as a row of any database.

import type { StoredTenant } from '../../access/tenants.ts';
import { blobOf, numberOf, textIn } from './columns.ts';
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
  return {
    tenantId: textIn(row, 'tenant_id'),
    fingerprintKey: blobOf(row, 'fingerprint_key'),
    createdAtMs: numberOf(row, 'created_at_ms'),
    settings: row['kind'] === null ? undefined : recordIn(row),
  };
}
