// A tenant with its settings, as a row of either database.

import { createHash } from 'node:crypto';
import type { StoredTenant } from '../../access/tenants.ts';
import type { RecordKind } from '../../records/records.ts';
import { LATEST_MS } from '../../runtime/clock.ts';
import { blobOf, numberOf, readOr, textIn } from './columns.ts';
import { holdsAsOf, holdsAsOfIn, NO_HOLDS } from './hold-notices.ts';
import { RECORD_COLUMNS, recordIn, unreadable } from './record-row.ts';
import type { Backend } from '../table.ts';

/** The key of the HMACs by which repeated requests are recognised. */
export const FINGERPRINT_KEY_BYTES = 32;

/**
 * What opens the index of a tenant, besides its key under the keyring: made of the key of fingerprints, to which it does not lead back. Where
 * that one was replaced, the one before is kept.
 */
export function indexKeyIn(row: Readonly<Record<string, unknown>>): Uint8Array {
  return row['kept_index_key'] === null
    ? createHash('sha256').update('index of events ').update(blobOf(row, 'fingerprint_key')).digest()
    : blobOf(row, 'kept_index_key');
}

const TENANT_COLUMN = { SQLite: 'tenant', PostgreSQL: 'tenant_id' } as const;

export function tenantsWith(backend: Backend): string {
  const tenant = TENANT_COLUMN[backend];
  const same = `records.${tenant} = tenants.${tenant}`;
  const has = (kind: RecordKind) =>
    `CASE WHEN EXISTS (SELECT 1 FROM records WHERE ${same} AND records.kind = '${kind}') THEN 1 ELSE 0 END`;
  return `SELECT tenants.tenant_id, fingerprint_key, created_at_ms,
      ${has('Policy')} AS has_policies, ${has('LegalHold')} AS has_holds, (${holdsAsOf(`entries.${tenant} = tenants.${tenant}`, backend)}) AS holds_as_of,
      ${RECORD_COLUMNS} FROM tenants
    LEFT JOIN records ON ${same} AND records.kind = 'Tenant' AND records.id = ''`;
}

/** Reads a row of `tenantsWith`. */
export function tenantIn(row: Readonly<Record<string, unknown>>): StoredTenant {
  const tenantId = textIn(row, 'tenant_id');
  const asOf = holdsAsOfIn(row);
  // Rows that the log tells of, and that are gone, are missed by who reads them.
  const isNoted = asOf !== NO_HOLDS;
  return {
    tenantId,
    fingerprintKey: blobOf(row, 'fingerprint_key'),
    // No log covers this column: a changed value must not stop the service for the tenant.
    createdAtMs: Math.min(
      readOr(() => numberOf(row, 'created_at_ms'), 0),
      LATEST_MS,
    ),
    hasPolicies: isNoted || numberOf(row, 'has_policies') === 1,
    hasHolds: isNoted || numberOf(row, 'has_holds') === 1,
    holdsAsOf: asOf,
    settings:
      row['kind'] === null
        ? undefined
        : readOr(() => recordIn(row), unreadable({ tenant_id: tenantId, kind: 'Tenant', id: '' })),
  };
}
