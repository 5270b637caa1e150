// A row of `api_keys`, which older versions used before there were records.

import type { Classification, Role, Scope } from '@tallystick/contract';
import type { OlderKey } from '../../access/older-keys.ts';
import { blobOf, numberOf, numberOrNone, textIn, textOrNone } from './columns.ts';

/** An older version wrote each column with this type, so these casts are safe. */
export function olderKeyIn(row: Readonly<Record<string, unknown>>): OlderKey {
  return {
    keyId: textIn(row, 'key_id'),
    tenantId: textIn(row, 'tenant_id'),
    name: textIn(row, 'name'),
    roles: namesIn(row, 'roles') as Role[],
    scopes: namesIn(row, 'scopes') as Scope[],
    clearance: textOrNone(row, 'clearance') as Classification | undefined,
    hash: blobOf(row, 'hash'),
    createdAtMs: numberOf(row, 'created_at_ms'),
    createdBy: textIn(row, 'created_by'),
    expiresAtMs: numberOrNone(row, 'expires_at_ms'),
    revokedAtMs: numberOrNone(row, 'revoked_at_ms'),
    replaces: textOrNone(row, 'replaces'),
  };
}

function namesIn(row: Readonly<Record<string, unknown>>, column: string): string[] {
  const names = textIn(row, column);
  return names === '' ? [] : names.split(' ');
}
