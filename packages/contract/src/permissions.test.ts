// The table of permissions, read from both sides.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OPERATIONS } from './operations.ts';
import {
  PERMISSION_NAMES,
  PERMISSIONS,
  permissionsOfRole,
  permissionsOfScope,
  ROLE_NAMES,
  ROLES,
  SCOPES,
} from './permissions.ts';

test('an Admin holds everything in the tenant, and nothing of the platform', () => {
  const ofTenant = PERMISSION_NAMES.filter((name) => name !== 'audit.platform.manage');
  assert.deepEqual(permissionsOfRole('Admin'), ofTenant);
});

test('a Viewer reads and verifies; an Auditor also holds and exports, and cannot write', () => {
  assert.deepEqual(permissionsOfRole('Viewer'), ['audit.events.read', 'audit.integrity.verify']);
  assert.deepEqual(permissionsOfRole('Auditor'), [
    'audit.events.read',
    'audit.integrity.verify',
    'audit.policies.read',
    'audit.holds.manage',
    'audit.exports.manage',
  ]);
});

test('an Operator sends events and mends, but changes no policy and makes no key', () => {
  const held = new Set(permissionsOfRole('Operator'));
  for (const name of ['audit.events.write', 'audit.webhooks.manage', 'audit.admin.operate'] as const)
    assert.ok(held.has(name));
  for (const name of ['audit.policies.write', 'audit.keys.manage', 'audit.exports.manage'] as const)
    assert.ok(!held.has(name));
});

test('clearances are Secret for Admin and Auditor, Internal for the others', () => {
  const clearances = ROLE_NAMES.map((role) => [role, ROLES[role].clearance]);
  assert.deepEqual(clearances, [
    ['Admin', 'Secret'],
    ['Operator', 'Internal'],
    ['Auditor', 'Secret'],
    ['Viewer', 'Internal'],
  ]);
});

test('a scope grants its permissions; one scope covers reading and writing policies', () => {
  assert.deepEqual(permissionsOfScope('audit:write'), ['audit.events.write']);
  assert.deepEqual(permissionsOfScope('audit:policy'), ['audit.policies.read', 'audit.policies.write']);
  assert.equal(SCOPES.length, 10);
  assert.equal(PERMISSIONS['audit.platform.manage'].scope, null);
});

test('every permission is asked for by some operation', () => {
  const asked = new Set(OPERATIONS.map(({ permission }) => permission));
  assert.deepEqual(
    PERMISSION_NAMES.filter((name) => !asked.has(name)),
    [],
  );
});
