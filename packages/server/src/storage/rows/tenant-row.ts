// A tenant with its settings, as a row of either database.

import type { StoredTenant } from '../../access/tenants.ts';
import type { RecordKind } from '../../records/records.ts';
import { LATEST_MS } from '../../runtime/clock.ts';
import { blobOf, numberOf, readOr, textIn } from './columns.ts';
import { holdsAsOf, holdsAsOfIn, RECORD_COLUMNS, recordIn, unreadable } from './record-row.ts';

/** The key of the HMACs by which repeated requests are recognised. */
export const FINGERPRINT_KEY_BYTES = 32;

/** `same` is the condition that rows of `tenants` and `records` belong to one tenant. */
export function tenantsWith(same: string): string {
  const has = (kind: RecordKind) =>
    `CASE WHEN EXISTS (SELECT 1 FROM records WHERE ${same} AND records.kind = '${kind}') THEN 1 ELSE 0 END`;
  return `SELECT tenants.tenant_id, fingerprint_key, created_at_ms,
      ${has('Policy')} AS has_policies, ${has('LegalHold')} AS has_holds, (${holdsAsOf(same)}) AS holds_as_of,
      ${RECORD_COLUMNS} FROM tenants
    LEFT JOIN records ON ${same} AND records.kind = 'Tenant' AND records.id = ''`;
}

/** Reads a row of `tenantsWith`. */
export function tenantIn(row: Readonly<Record<string, unknown>>): StoredTenant {
  const tenantId = textIn(row, 'tenant_id');
  return {
    tenantId,
    fingerprintKey: blobOf(row, 'fingerprint_key'),
    // No log covers this column: a changed value must not stop the service for the tenant.
    createdAtMs: Math.min(
      readOr(() => numberOf(row, 'created_at_ms'), 0),
      LATEST_MS,
    ),
    hasPolicies: numberOf(row, 'has_policies') === 1,
    hasHolds: numberOf(row, 'has_holds') === 1,
    holdsAsOf: holdsAsOfIn(row),
    settings:
      row['kind'] === null
        ? undefined
        : readOr(() => recordIn(row), unreadable({ tenant_id: tenantId, kind: 'Tenant', id: '' })),
  };
}
