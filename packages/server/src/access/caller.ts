// The authenticated party of a call: what a verified credential says about its sender.

import type { Classification, Permission, Role, TenantId } from '@tallystick/contract';
import type { ApiKeyRecord } from './api-keys.ts';
import { clearanceOf, lower, type AccessRefusal, refusalsOf, rolesJudged } from './roles.ts';

export interface Caller {
  /** `key:<keyId>` or `token:<issuer>#<subject>`: what events record as `submittedBy`. */
  readonly name: string;
  /**
   * Equal for all requests of one caller: the name, but for a rotated key the name of the first key of its
   * chain of rotations, so that a rotation does not change it.
   */
  readonly identity: string;
  /** The tenant that the credential is for; `*` for a platform key, undefined for a token that names none. */
  readonly tenant: TenantId | '*' | undefined;
  /** A token's claim names the tenant of a call; the tenant that a key is bound to does not. */
  readonly namesTenant: boolean;
  /** Those that Access rules judge it by: one without any is judged as a viewer. */
  readonly roles: readonly Role[];
  /** The highest classification that is shown unredacted. */
  readonly clearance: Classification;
  /** Why the caller lacks the permission; undefined if it has it. */
  readonly refusal: (permission: Permission) => AccessRefusal | undefined;
}

/** The claims of a verified token. */
export interface TokenFacts {
  readonly issuer: string;
  readonly subject: string;
  readonly tenant: TenantId | undefined;
  readonly roles: readonly string[];
  readonly scopes: readonly string[];
  readonly permissions: readonly string[];
  readonly clearance: Classification | undefined;
  readonly requiresScope: boolean;
}

export type KeyGrants = Pick<ApiKeyRecord, 'tenantId' | 'roles' | 'scopes' | 'clearance'>;

export function callerOfKey(
  key: KeyGrants & Pick<ApiKeyRecord, 'keyId'> & Partial<Pick<ApiKeyRecord, 'firstKeyId'>>,
): Caller {
  const { keyId, tenantId, roles, scopes, clearance } = key;
  const isPlatformKey = tenantId === '*';
  return {
    name: `key:${keyId}`,
    identity: `key:${key.firstKeyId ?? key.keyId}`,
    tenant: tenantId,
    namesTenant: false,
    roles: rolesJudged(roles),
    clearance: clearanceOf(clearance, roles),
    refusal: refusalsOf({ roles, scopes, permissions: [], requiresScope: false, isPlatformKey }),
  };
}

export function callerOfToken(token: TokenFacts): Caller {
  const { roles } = token;
  const name = `token:${token.issuer}#${token.subject}`;
  return {
    name,
    identity: name,
    tenant: token.tenant,
    namesTenant: true,
    roles: rolesJudged(roles),
    clearance: clearanceOf(token.clearance, roles),
    refusal: refusalsOf({ ...token, isPlatformKey: false }),
  };
}

/**
 * The caller of a request with both a token and a key: the token identifies it, and it may do and see what both allow.
 * Undefined when they are not for the same tenant; a platform key is for every tenant that a token can name.
 */
export function callerOfBoth(token: Caller, key: Caller): Caller | undefined {
  if (token.tenant === undefined || (key.tenant !== '*' && key.tenant !== token.tenant)) return undefined;
  return {
    ...token,
    roles: [...new Set([...token.roles, ...key.roles])],
    clearance: lower(token.clearance, key.clearance),
    refusal: (permission) => token.refusal(permission) ?? key.refusal(permission),
  };
}
