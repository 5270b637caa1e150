// Who is let in: the steps authenticate, resolve-tenant and authorize.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AuditError, type OperationName, operationNamed, OPERATIONS } from '@tallystick/contract';
import type { Caller } from '../access/caller.ts';
import { authenticate, authorize } from './authenticate.ts';
import { resolveTenant } from './resolve-tenant.ts';

const caller = (facts: Partial<Caller> = {}): Caller => ({
  name: 'key:01KE0000000000000000000042',
  identity: 'key:01KE0000000000000000000042',
  tenant: 'acme',
  namesTenant: false,
  roles: ['Admin'],
  clearance: 'Internal',
  refusal: () => undefined,
  ...facts,
});

const ingest = operationNamed('events.ingest');

async function messageOf(run: () => unknown): Promise<string> {
  try {
    await run();
  } catch (error) {
    return error instanceof AuditError ? error.message : String(error);
  }
  return 'none';
}

async function codeOf(run: () => unknown): Promise<string> {
  try {
    await run();
  } catch (error) {
    return error instanceof AuditError ? error.code : String(error);
  }
  return 'none';
}

test('without an authenticator no operation that needs a permission is let through', async () => {
  const credentials = { authorization: 'Bearer x', apiKey: 'tsk_x' };
  for (const operation of OPERATIONS) {
    const expected = operation.permission === null ? 'none' : 'UNAUTHENTICATED';
    assert.equal(
      await codeOf(() => authenticate(operation, credentials, undefined)),
      expected,
      operation.name,
    );
  }
});

test('without a credential the authenticator is not even asked', async () => {
  const verify = () => assert.fail('asked');
  assert.equal(
    await codeOf(() => authenticate(ingest, { authorization: undefined, apiKey: undefined }, verify)),
    'UNAUTHENTICATED',
  );
});

test('both credentials reach the authenticator, and its word counts', async () => {
  const seen: unknown[] = [];
  const credentials = { authorization: 'Bearer t', apiKey: 'k' };
  const found = await authenticate(ingest, credentials, (shown) => {
    seen.push(shown);
    return Promise.resolve(caller());
  });
  assert.equal(found?.tenant, 'acme');
  assert.deepEqual(seen, [{ authorization: 'Bearer t', apiKey: 'k' }]);
  const expired = () => Promise.reject(new AuditError('TOKEN_EXPIRED', 'expired'));
  assert.equal(await codeOf(() => authenticate(ingest, credentials, expired)), 'TOKEN_EXPIRED');
});

test('an open operation ignores credentials', async () => {
  const verify = () => assert.fail('asked');
  const credentials = { authorization: 'x', apiKey: undefined };
  assert.equal(await authenticate(operationNamed('health.get'), credentials, verify), undefined);
});

test('the tenant is resolved from header, claim and path, and all must agree', async () => {
  const token = { namesTenant: true };
  const path = operationNamed('log.checkpoint');
  const table: [string, Partial<Caller>, string | undefined, string | undefined, string][] = [
    ['a key with its tenant in the header', {}, 'acme', undefined, 'acme'],
    ['a key without a header, bound or not', {}, undefined, undefined, 'MISSING_TENANT'],
    ['a key and another tenant', {}, 'other', undefined, 'TENANT_MISMATCH'],
    ['a platform key with any tenant', { tenant: '*' }, 'other', undefined, 'other'],
    ['a platform key without a tenant', { tenant: '*' }, undefined, undefined, 'MISSING_TENANT'],
    ['a token by its claim', token, undefined, undefined, 'acme'],
    ['a token and an equal header', token, 'acme', undefined, 'acme'],
    ['a token and another header', token, 'other', undefined, 'TENANT_MISMATCH'],
    [
      'a token for no tenant, header or not',
      { ...token, tenant: undefined },
      'acme',
      undefined,
      'TENANT_MISMATCH',
    ],
    ['a token for no tenant', { ...token, tenant: undefined }, undefined, undefined, 'MISSING_TENANT'],
    ['the path', {}, undefined, 'acme', 'acme'],
    ['the path and an equal header', {}, 'acme', 'acme', 'acme'],
    ['the path and another header', { tenant: '*' }, 'other', 'acme', 'TENANT_MISMATCH'],
    ["the path of another's", {}, undefined, 'other', 'TENANT_MISMATCH'],
  ];
  for (const [what, facts, header, inPath, expected] of table) {
    const operation = inPath === undefined ? ingest : path;
    let found: unknown;
    const code = await codeOf(() => {
      found = resolveTenant(operation, caller(facts), header, inPath);
    });
    assert.equal(code === 'none' ? found : code, expected, what);
  }
});

test('a badly formed tenant header is refused, even where the claim would do', async () => {
  for (const header of ['', '-a', 'a b', 'a,b', 'acme, acme', 'a'.repeat(65), 'ä', '../x']) {
    const run = () => resolveTenant(ingest, caller({ namesTenant: true }), header, undefined);
    assert.equal(await codeOf(run), 'INVALID_HEADER', header);
  }
});

test('a missing role and a missing scope are told apart', async () => {
  for (const refusal of ['FORBIDDEN', 'INSUFFICIENT_SCOPE'] as const) {
    assert.equal(await codeOf(() => authorize(ingest, caller({ refusal: () => refusal }))), refusal);
  }
  assert.equal(await codeOf(() => authorize(ingest, caller())), 'none');
  assert.equal(await codeOf(() => authorize(ingest, undefined)), 'FORBIDDEN');
});

test('who may not is told which scope or role would do', async () => {
  const refused = (name: OperationName, refusal: 'FORBIDDEN' | 'INSUFFICIENT_SCOPE') =>
    messageOf(() => authorize(operationNamed(name), caller({ refusal: () => refusal })));
  const needs = 'This needs the permission audit.events.write: send a credential with';
  assert.equal(
    await refused('events.ingest', 'INSUFFICIENT_SCOPE'),
    `${needs} the scope audit:write and, if it has roles, the role Admin or Operator.`,
  );
  assert.equal(await refused('events.ingest', 'FORBIDDEN'), `${needs} the role Admin or Operator.`);
  assert.equal(
    await refused('tenants.create', 'FORBIDDEN'),
    'This needs the permission audit.platform.manage: send a platform key with the role Admin.',
  );
});

test('a token that is for another tenant is told its own; a key, which somebody may have found, is not', async () => {
  const path = operationNamed('log.checkpoint');
  const asked = (facts: Partial<Caller>, header: string | undefined, inPath?: string) =>
    messageOf(() => resolveTenant(inPath === undefined ? ingest : path, caller(facts), header, inPath));
  const token = { namesTenant: true };
  const claimless = { ...token, tenant: undefined };
  assert.equal(await asked(token, 'other'), 'X-Tenant-Id must be acme, the tenant that the token is for.');
  assert.equal(await asked({}, 'other'), 'X-Tenant-Id must be the tenant that the API key is for.');
  assert.equal(await asked({}, undefined, 'other'), 'tenantId must be the tenant that the API key is for.');
  assert.equal(
    await asked({ tenant: '*' }, 'other', 'acme'),
    'X-Tenant-Id must be the tenant in the path, or left out.',
  );
  assert.match(await asked({}, undefined), /header X-Tenant-Id/);
  assert.match(await asked(claimless, undefined), /no tenant claim/);
  assert.match(await asked(claimless, 'acme'), /no tenant claim/);
});
