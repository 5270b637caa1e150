// The options that say what a key or a token allows, checked against the contract before anything is touched.

import {
  type Classification,
  CLASSIFICATIONS,
  PERMISSIONS,
  permissionsOfRole,
  type Role,
  ROLE_NAMES,
  type Scope,
  SCOPES,
  TENANT_ID_PATTERN,
  type TenantId,
} from '@tallystick/contract';
import type { Command } from 'commander';
import { CannotRun } from './cannot-run.ts';
import { namesIn, oneOf } from './given-option.ts';

export interface AccessOptions {
  readonly tenant: string;
  readonly role?: readonly string[];
  readonly scope?: readonly string[];
  readonly clearance?: string;
}

export interface Allowed {
  readonly roles: Role[];
  readonly scopes: Scope[];
  readonly clearance: Classification | undefined;
}

export function addAccessOptions(command: Command): Command {
  return command
    .option('--role <role...>', `what it may do: ${ROLE_NAMES.join(', ')}`)
    .option('--scope <scope...>', `what it may do; beside --role, only this of it: ${SCOPES.join(', ')}`)
    .option('--clearance <classification>', `what it may see: ${CLASSIFICATIONS.join(', ')}`);
}

export function allowedBy({ role, scope, clearance }: AccessOptions): Allowed {
  const roles = namesIn(role).map((name) => oneOf(ROLE_NAMES, name, 'role'));
  const scopes = namesIn(scope).map((name) => oneOf(SCOPES, name, 'scope'));
  if (roles.length + scopes.length === 0)
    throw new CannotRun('without --role and --scope it could do nothing');
  return {
    roles: [...new Set(roles)],
    scopes: [...new Set(scopes)],
    clearance: clearance === undefined ? undefined : oneOf(CLASSIFICATIONS, clearance, 'classification'),
  };
}

export function tenantIn(text: string): TenantId {
  if (new RegExp(TENANT_ID_PATTERN).test(text)) return text;
  const form = '1 to 64 letters, digits, dots, underscores or hyphens, beginning with a letter or digit';
  throw new CannotRun(`${JSON.stringify(text.slice(0, 80))} is no tenant: it is ${form}`);
}

/** What a token needs to name, since one without scopes may do nothing: if none are given, those of its roles. */
export function tokenScopes(allowed: Allowed): Scope[] {
  const useless = uselessScopes(allowed);
  if (useless !== undefined) throw new CannotRun(useless);
  return allowed.scopes.length > 0 ? allowed.scopes : scopesOfRoles(allowed.roles);
}

/** Beside roles, scopes narrow what those may do: says which scopes no role has, so that they could never be used. */
export function uselessScopes({ roles, scopes }: Allowed): string | undefined {
  const ofRoles = scopesOfRoles(roles);
  const foreign = roles.length === 0 ? [] : scopes.filter((scope) => !ofRoles.includes(scope));
  return foreign.length === 0
    ? undefined
    : `--scope ${foreign.join(' ')} is not among the scopes of --role ${roles.join(' ')}: ${ofRoles.join(', ')}`;
}

function scopesOfRoles(roles: readonly Role[]): Scope[] {
  const scopes = roles.flatMap(permissionsOfRole).map((permission) => PERMISSIONS[permission].scope);
  return [...new Set(scopes.filter((scope) => scope !== null))];
}
