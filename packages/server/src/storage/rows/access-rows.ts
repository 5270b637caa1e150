// Keys and tenants as rows of any database: the columns have the same names in all of them, and each holds what its own
// backend has put there, so these casts only repeat it.

import {
  type Classification,
  type Duration,
  type KeyId,
  LIMITS,
  type Role,
  type Scope,
  type TenantId,
} from '@tallystick/contract';
import type { ApiKeyRecord } from '../../access/api-keys.ts';
import type { TenantRecord } from '../../access/tenants.ts';

type Row = Readonly<Record<string, unknown>>;

export function keyOf(row: Row): ApiKeyRecord {
  return {
    keyId: row['key_id'] as KeyId,
    tenantId: row['tenant_id'] as TenantId | '*',
    name: row['name'] as string,
    roles: namesIn(row['roles']) as Role[],
    scopes: namesIn(row['scopes']) as Scope[],
    clearance: (row['clearance'] ?? undefined) as Classification | undefined,
    createdAtMs: row['created_at_ms'] as number,
    createdBy: row['created_by'] as string,
    expiresAtMs: (row['expires_at_ms'] ?? undefined) as number | undefined,
    revokedAtMs: (row['revoked_at_ms'] ?? undefined) as number | undefined,
    replaces: (row['replaces'] ?? undefined) as KeyId | undefined,
  };
}

/** The values of the columns of `api_keys`, in the order of KEY_COLUMNS. */
export function keyValues(
  record: ApiKeyRecord,
  hash: Uint8Array,
): readonly (string | number | Uint8Array | null)[] {
  const { keyId, tenantId, name, roles, scopes, clearance = null, createdAtMs, createdBy } = record;
  const { expiresAtMs = null, revokedAtMs = null, replaces = null } = record;
  const facts = [keyId, tenantId, name, roles.join(' '), scopes.join(' '), clearance];
  return [...facts, hash, createdAtMs, createdBy, expiresAtMs, revokedAtMs, replaces];
}

export const KEY_COLUMNS =
  'key_id, tenant_id, name, roles, scopes, clearance, hash, created_at_ms, created_by, expires_at_ms, revoked_at_ms, replaces';

/** So many are counted for a list: past its exact total it only says that there are more. */
export const KEYS_COUNTED_MAX = LIMITS.listExactTotalMax + 1;

export function tenantOf(row: Row): TenantRecord {
  return {
    tenantId: row['tenant_id'] as TenantId,
    tier: row['tier'] as TenantRecord['tier'],
    region: (row['region'] ?? undefined) as string | undefined,
    status: row['status'] as TenantRecord['status'],
    defaultClassification: row['default_classification'] as Classification,
    defaultRetention: row['default_retention'] as Duration,
    fingerprintKey: row['fingerprint_key'] as Uint8Array,
  };
}

/** Of the key that makes the HMACs by which repeated requests are recognised. */
export const FINGERPRINT_KEY_BYTES = 32;

function namesIn(names: unknown): string[] {
  return typeof names === 'string' && names !== '' ? names.split(' ') : [];
}
