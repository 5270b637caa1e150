import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type Permission,
  PERMISSION_NAMES,
  permissionsOfRole,
  permissionsOfScope,
  ROLE_NAMES,
  SCOPES,
} from '@tallystick/contract';
import * as fc from 'fast-check';
import { clearanceOf, type Grants, lower, refusalsOf } from './roles.ts';

const grants = (facts: Partial<Grants>): Grants => ({
  roles: [],
  scopes: [],
  permissions: [],
  requiresScope: false,
  isPlatformKey: false,
  ...facts,
});

const allowed = (facts: Partial<Grants>): Permission[] => {
  const refusal = refusalsOf(grants(facts));
  return PERMISSION_NAMES.filter((name) => refusal(name) === undefined);
};

test('roles alone allow what they hold, scopes alone what they name', () => {
  for (const role of ROLE_NAMES) assert.deepEqual(allowed({ roles: [role] }), permissionsOfRole(role));
  for (const scope of SCOPES) assert.deepEqual(allowed({ scopes: [scope] }), permissionsOfScope(scope));
  assert.deepEqual(allowed({ permissions: ['audit.events.write'] }), ['audit.events.write']);
  assert.deepEqual(allowed({}), []);
});

test('roles and scopes together allow what both allow, for any of them', () => {
  fc.assert(
    fc.property(
      fc.subarray(ROLE_NAMES, { minLength: 1 }),
      fc.subarray(SCOPES, { minLength: 1 }),
      (roles, scopes) => {
        const byRoles = new Set(roles.flatMap(permissionsOfRole));
        const byScopes = new Set(scopes.flatMap(permissionsOfScope));
        assert.deepEqual(new Set(allowed({ roles, scopes })), byRoles.intersection(byScopes));
      },
    ),
  );
});

test('the refusal says what is lacking: scope before role', () => {
  const table: [string, Partial<Grants>, Permission, string | undefined][] = [
    ['no role, no scope', {}, 'audit.events.read', 'FORBIDDEN'],
    ['another role', { roles: ['Viewer'] }, 'audit.events.write', 'FORBIDDEN'],
    ['another scope', { scopes: ['audit:read'] }, 'audit.events.write', 'INSUFFICIENT_SCOPE'],
    [
      'role, but another scope',
      { roles: ['Admin'], scopes: ['audit:read'] },
      'audit.events.write',
      'INSUFFICIENT_SCOPE',
    ],
    [
      'scope, but another role',
      { roles: ['Viewer'], scopes: ['audit:write'] },
      'audit.events.write',
      'FORBIDDEN',
    ],
    [
      'a token with a role alone',
      { roles: ['Admin'], requiresScope: true },
      'audit.events.read',
      'INSUFFICIENT_SCOPE',
    ],
    [
      'a token with a permission claim',
      { permissions: ['audit.events.read'], requiresScope: true },
      'audit.events.read',
      undefined,
    ],
    [
      'scopes of others bind nothing',
      { roles: ['Viewer'], scopes: ['openid', 'email'] },
      'audit.events.read',
      undefined,
    ],
    [
      'a role that we do not know',
      { roles: ['viewer'], scopes: ['audit:read'] },
      'audit.events.read',
      'FORBIDDEN',
    ],
    [
      'one that we know beside it',
      { roles: ['x', 'Viewer'], scopes: ['audit:read'] },
      'audit.events.read',
      undefined,
    ],
  ];
  for (const [what, facts, permission, expected] of table) {
    assert.equal(refusalsOf(grants(facts))(permission), expected, what);
  }
});

test('only a platform key with role Admin and no scopes manages the platform', () => {
  const table: [Partial<Grants>, string | undefined][] = [
    [{ roles: ['Admin'], isPlatformKey: true }, undefined],
    [{ roles: ['Admin'] }, 'FORBIDDEN'],
    [{ roles: ['Operator'], isPlatformKey: true }, 'FORBIDDEN'],
    [{ roles: ['Admin'], scopes: ['audit:admin'], isPlatformKey: true }, 'FORBIDDEN'],
    [{ permissions: ['audit.platform.manage'], isPlatformKey: true }, 'FORBIDDEN'],
  ];
  for (const [facts, expected] of table) {
    assert.equal(refusalsOf(grants(facts))('audit.platform.manage'), expected, JSON.stringify(facts));
  }
});

test('clearance is what is stated, else the highest of the roles, else Internal', () => {
  assert.equal(clearanceOf('Public', ['Admin']), 'Public');
  assert.equal(clearanceOf(undefined, ['Viewer', 'Auditor', 'Operator']), 'Secret');
  assert.equal(clearanceOf(undefined, ['Viewer']), 'Internal');
  assert.equal(clearanceOf(undefined, ['auditor']), 'Internal');
  assert.equal(clearanceOf(undefined, []), 'Internal');
  assert.equal(lower('Secret', 'Confidential'), 'Confidential');
});
