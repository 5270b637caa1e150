// Who may do what: the permissions, the OAuth scope that carries each, and the roles that hold it. One table; the
// access rules of the server and the reference page are both read from it.

import type { Classification } from './schemas/primitives.ts';
import { keysOf } from './typed-object.ts';

/** Roles from the widest to the narrowest, with the highest classification that each sees unredacted. */
export const ROLES = {
  Admin: { clearance: 'Secret', meaning: 'Runs the tenant: everything in it.' },
  Operator: {
    clearance: 'Internal',
    meaning: 'Keeps it working: sends events, mends deliveries and projections.',
  },
  Auditor: {
    clearance: 'Secret',
    meaning: 'Reads everything, proves it, holds and exports it; changes nothing.',
  },
  Viewer: { clearance: 'Internal', meaning: 'Reads events and checks proofs.' },
} as const satisfies Record<string, { clearance: Classification; meaning: string }>;

export type Role = keyof typeof ROLES;
export const ROLE_NAMES = keysOf(ROLES);

interface PermissionFacts {
  /** The OAuth scope; null where no token can carry it. */
  readonly scope: string | null;
  readonly allows: string;
  readonly roles: readonly Role[];
}

export const PERMISSIONS = {
  'audit.events.write': {
    scope: 'audit:write',
    allows: 'Send events, singly and in batches.',
    roles: ['Admin', 'Operator'],
  },
  'audit.events.read': {
    scope: 'audit:read',
    allows: 'List, get, search and explain events; read streams and violations.',
    roles: ['Admin', 'Operator', 'Auditor', 'Viewer'],
  },
  'audit.integrity.verify': {
    scope: 'audit:verify',
    allows: 'Get proofs, checkpoints and tiles; verify streams.',
    roles: ['Admin', 'Operator', 'Auditor', 'Viewer'],
  },
  'audit.policies.read': {
    scope: 'audit:policy',
    allows: 'Read policies and templates; validate a policy.',
    roles: ['Admin', 'Operator', 'Auditor'],
  },
  'audit.policies.write': {
    scope: 'audit:policy',
    allows: 'Create, change and delete policies; seal streams.',
    roles: ['Admin'],
  },
  'audit.holds.manage': {
    scope: 'audit:hold',
    allows: 'Place, read and release legal holds.',
    roles: ['Admin', 'Auditor'],
  },
  'audit.events.redact': {
    scope: 'audit:redact',
    allows: 'Redact stored events and erase what is stored about a person.',
    roles: ['Admin'],
  },
  'audit.exports.manage': {
    scope: 'audit:export',
    allows: 'Request, download, deliver and delete exports.',
    roles: ['Admin', 'Auditor'],
  },
  'audit.webhooks.manage': {
    scope: 'audit:webhooks',
    allows: 'Manage webhook subscriptions and their deliveries.',
    roles: ['Admin', 'Operator'],
  },
  'audit.admin.operate': {
    scope: 'audit:admin',
    allows: "See the tenant's status and metrics; rebuild projections; handle dead letters.",
    roles: ['Admin', 'Operator'],
  },
  'audit.keys.manage': {
    scope: 'audit:keys',
    allows: 'Make, list, rotate and revoke API keys of the tenant.',
    roles: ['Admin'],
  },
  'audit.platform.manage': {
    scope: null,
    allows:
      "Manage tenants and other tenants' keys; see and steer the whole process. Platform keys with role Admin only.",
    roles: [],
  },
} as const satisfies Record<string, PermissionFacts>;

export type Permission = keyof typeof PERMISSIONS;
export const PERMISSION_NAMES = keysOf(PERMISSIONS);

export type Scope = Exclude<(typeof PERMISSIONS)[Permission]['scope'], null>;
export const SCOPES = [
  ...new Set(PERMISSION_NAMES.map((name) => PERMISSIONS[name].scope).filter((scope) => scope !== null)),
] as Scope[];

export function permissionsOfRole(role: Role): Permission[] {
  return PERMISSION_NAMES.filter((name) => (PERMISSIONS[name].roles as readonly Role[]).includes(role));
}

export function permissionsOfScope(scope: Scope): Permission[] {
  return PERMISSION_NAMES.filter((name) => PERMISSIONS[name].scope === scope);
}
