// Combines roles, scopes and permission claims into the permissions of a credential. Roles alone allow what they hold,
// scopes or permission claims alone what they name, and both together what both allow. A credential without any allows
// nothing, and neither does a list of unknown roles: a misspelt role must not lift the limits that it was meant to set.

import {
  type Classification,
  CLASSIFICATIONS,
  type Permission,
  PERMISSION_NAMES,
  permissionsOfRole,
  permissionsOfScope,
  type Role,
  ROLE_NAMES,
  ROLES,
  SCOPES,
} from '@tallystick/contract';

/** The claims of a credential as they are; unknown names may be among them. */
export interface Grants {
  readonly roles: readonly string[];
  readonly scopes: readonly string[];
  readonly permissions: readonly string[];
  /** A bearer token needs a scope or a permission claim, even if its roles would do. */
  readonly requiresScope: boolean;
  /** A platform key; only it can hold `audit.platform.manage`. */
  readonly isPlatformKey: boolean;
}

export type AccessRefusal = 'FORBIDDEN' | 'INSUFFICIENT_SCOPE';

export function refusalsOf(grants: Grants): (permission: Permission) => AccessRefusal | undefined {
  const byRoles = new Set(grants.roles.filter(isRole).flatMap(permissionsOfRole));
  const byScopes = new Set([
    ...grants.scopes.filter(isScope).flatMap(permissionsOfScope),
    ...grants.permissions.filter(isPermission),
  ]);
  // Scopes such as `openid` are not ours and have no effect.
  const hasScopes = byScopes.size > 0;
  const hasRoles = grants.roles.length > 0;
  const isPlatformAdmin = grants.isPlatformKey && grants.roles.includes('Admin') && !hasScopes;

  return (permission) => {
    if (permission === 'audit.platform.manage') return isPlatformAdmin ? undefined : 'FORBIDDEN';
    if ((hasScopes || grants.requiresScope) && !byScopes.has(permission)) return 'INSUFFICIENT_SCOPE';
    if (hasRoles ? byRoles.has(permission) : hasScopes) return undefined;
    return 'FORBIDDEN';
  };
}

/** The highest classification seen unredacted: as stated, else the highest of the roles, else Internal. */
export function clearanceOf(stated: Classification | undefined, roles: readonly string[]): Classification {
  if (stated !== undefined) return stated;
  const known = roles.filter(isRole).map((role): Classification => ROLES[role].clearance);
  return known.length === 0 ? 'Internal' : known.reduce(higher);
}

/** The roles by which Access rules judge a caller; one without any that is known is judged as a viewer. */
export function rolesJudged(roles: readonly string[]): readonly Role[] {
  const known = roles.filter(isRole);
  return known.length === 0 ? ['Viewer'] : known;
}

export function isAtLeast(classification: Classification, other: Classification): boolean {
  return CLASSIFICATIONS.indexOf(classification) >= CLASSIFICATIONS.indexOf(other);
}

export function lower(a: Classification, b: Classification): Classification {
  return CLASSIFICATIONS.indexOf(a) <= CLASSIFICATIONS.indexOf(b) ? a : b;
}

export function higher(a: Classification, b: Classification): Classification {
  return lower(a, b) === a ? b : a;
}

const isRole = isOneOf(ROLE_NAMES);
const isScope = isOneOf(SCOPES);
const isPermission = isOneOf(PERMISSION_NAMES);
export const isClassification = isOneOf(CLASSIFICATIONS);

function isOneOf<T extends string>(names: readonly T[]): (name: unknown) => name is T {
  return (name): name is T => (names as readonly unknown[]).includes(name);
}
