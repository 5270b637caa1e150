// Every operation × every role and none × its scope, all other scopes and none × API keys, bearer tokens and platform keys: each
// request is let in, or refused with the code that the table says. Every request carries a query parameter that no operation
// knows, so that one which is let in is refused for that, right behind authorization, and changes nothing.

import assert from 'node:assert/strict';
import type { KeyObject } from 'node:crypto';
import { Agent, request } from 'node:http';
import { after, before, describe, it } from 'node:test';
import { type Operation, OPERATIONS } from '@tallystick/contract';
import { decodeProtectedHeader, SignJWT } from 'jose';
import { LOCAL_ISSUER, signToken } from '../access/local-issuer.ts';
import { loadOrMakeTokenKey } from '../storage/keys/token-key.ts';
import {
  ACCESS_TABLE,
  type AccessRow,
  ALL_ROLES,
  ALL_SCOPES,
  OPEN_OPERATIONS,
  type RoleName,
} from '../testing/access-table.ts';
import { PLATFORM_KEY, WITH_PLATFORM_KEY } from '../testing/admin-caller.ts';
import { ask } from '../testing/ask.ts';
import { startTestApp, type TestApp } from '../testing/test-app.ts';

const TENANT = 'acme';
const LET_IN = '400 INVALID_PARAMETER';
const NO_ROLE = '403 FORBIDDEN';
const NO_SCOPE = '403 INSUFFICIENT_SCOPE';
const ROLE_CASES: readonly (RoleName | undefined)[] = [...ALL_ROLES, undefined];
const SCOPE_CASES = ['own', 'others', 'none'] as const;
type ScopeCase = (typeof SCOPE_CASES)[number];
type Headers = Readonly<Record<string, string>>;

let app: TestApp;
let tokenKey: KeyObject;
let tokenHeader: { alg: string; kid: string };
let revokedKey: string;
const agent = new Agent({ keepAlive: true });
const keys = new Map<string, string>();

before(async () => {
  app = await startTestApp({ ...WITH_PLATFORM_KEY, Telemetry__Level: 'Warn' });
  tokenKey = await loadOrMakeTokenKey(app.dataDirectory, 'test');
  const issued = await signToken(
    tokenKey,
    { tenant: TENANT, subject: 'matrix', roles: [], scopes: [], clearance: undefined, lifetimeSeconds: 60 },
    Date.now(),
  );
  tokenHeader = { alg: 'EdDSA', kid: decodeProtectedHeader(issued).kid! };
  revokedKey = await keyWith(TENANT, ['Admin'], ALL_SCOPES);
  keys.clear();
  const path = `/api/v1/admin/api-keys/${revokedKey.split('_')[1]}`;
  assert.equal((await ask(app, 'DELETE', path, { key: PLATFORM_KEY, tenant: TENANT })).code, '204');
});
after(async () => {
  agent.destroy();
  await app[Symbol.asyncDispose]();
});

function scopesOf({ scope }: AccessRow, scopeCase: ScopeCase): readonly string[] {
  if (scopeCase === 'others') return ALL_SCOPES.filter((each) => each !== scope);
  return scopeCase === 'own' && scope !== null ? [scope] : [];
}

/** Made once for each set of roles and scopes. */
async function keyWith(
  tenantId: string,
  roles: readonly string[],
  scopes: readonly string[],
): Promise<string> {
  const name = JSON.stringify([tenantId, roles, scopes]);
  const known = keys.get(name);
  if (known !== undefined) return known;
  const { code, body } = await ask<{ key: string }>(app, 'POST', '/api/v1/admin/api-keys', {
    key: PLATFORM_KEY,
    tenant: TENANT,
    body: { name: 'of the matrix', tenantId, roles, scopes },
  });
  assert.equal(code, '201', name);
  keys.set(name, body.key);
  return body.key;
}

const byKey = (key: string, tenant = TENANT): Headers => ({ 'x-api-key': key, 'x-tenant-id': tenant });

async function byToken(claims: object, expiresInSeconds = 600): Promise<Headers> {
  const token = await new SignJWT({ tenant_id: TENANT, ...claims })
    .setProtectedHeader(tokenHeader)
    .setIssuer(LOCAL_ISSUER)
    .setAudience(LOCAL_ISSUER)
    .setSubject('matrix')
    .setExpirationTime(Math.floor(Date.now() / 1000) + expiresInSeconds)
    .sign(tokenKey);
  return { authorization: `Bearer ${token}`, 'x-tenant-id': TENANT };
}

const ID = '01KE0000000000000000000042';

function pathOf({ rest }: Operation, tenant = TENANT): string {
  const path = rest.path.replace('{tenantId}', tenant).replaceAll(/\{\w+\+?\}/g, ID);
  return `${rest.atRoot === true ? '' : '/api/v1'}${path}?unknown=1`;
}

/** `400 INVALID_PARAMETER`: with an agent of its own, because there are thousands of requests. */
function codeOf(method: string, path: string, headers: Headers): Promise<string> {
  return new Promise((resolve, reject) => {
    const sent = request(`${app.url}${path}`, { method, headers, agent }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => (text += chunk));
      response.on('end', () => {
        const code = /"error":\{"code":"(\w+)"/.exec(text)?.[1] ?? '';
        resolve(`${response.statusCode} ${code}`.trim());
      });
    });
    sent.on('error', reject);
    sent.end();
  });
}

const operationNamed = (name: string): Operation => OPERATIONS.find((each) => each.name === name)!;

interface Case {
  readonly who: string;
  readonly headers: Headers;
  readonly path?: string;
  readonly expected: string;
}

/** What is refused for its scope is told so, whatever its roles are. */
function verdict(isInScope: boolean, isInRole: boolean): string {
  if (!isInScope) return NO_SCOPE;
  return isInRole ? LET_IN : NO_ROLE;
}

/** By the table: roles alone allow what they hold, scopes alone what they name, both together what both allow. */
function keyVerdict(row: AccessRow, role: RoleName | undefined, scopes: ScopeCase, isPlatformKey: boolean) {
  if (row.scope === null) return isPlatformKey && role === 'Admin' && scopes !== 'others' ? LET_IN : NO_ROLE;
  const isInRole = role === undefined ? scopes !== 'none' : row.roles.includes(role);
  return verdict(scopes !== 'others', isInRole);
}

function tokenVerdict(row: AccessRow, role: RoleName | undefined, scopes: ScopeCase): string {
  if (row.scope === null) return NO_ROLE;
  return verdict(scopes === 'own', role === undefined || row.roles.includes(role));
}

async function grantedCases(row: AccessRow): Promise<Case[]> {
  const cases: Case[] = [];
  for (const role of ROLE_CASES) {
    const roles = role === undefined ? [] : [role];
    for (const scopeCase of SCOPE_CASES) {
      const scopes = scopesOf(row, scopeCase);
      const who = `${role ?? 'no role'}, scopes: ${scopeCase}`;
      for (const tenant of [TENANT, '*']) {
        const headers = byKey(await keyWith(tenant, roles, scopes));
        const expected = keyVerdict(row, role, scopeCase, tenant === '*');
        cases.push({ who: `a key of ${tenant}, ${who}`, headers, expected });
      }
      const scoped = await byToken({ roles, scope: scopes.join(' ') });
      cases.push({ who: `a token, ${who}`, headers: scoped, expected: tokenVerdict(row, role, scopeCase) });
      if (scopeCase === 'none') continue;
      const permitted = await byToken({ roles, permissions: permissionsOf(row, scopeCase) });
      const expected = tokenVerdict(row, role, scopeCase);
      cases.push({ who: `a token, ${who} as permission claims`, headers: permitted, expected });
    }
  }
  return cases;
}

function permissionsOf({ permission }: AccessRow, scopeCase: 'own' | 'others'): readonly string[] {
  if (scopeCase === 'own') return [permission];
  return ACCESS_TABLE.map((row) => row.permission).filter((other) => other !== permission);
}

/** Credentials that are none, are for another tenant, or come in pairs; and addresses that look as if they needed none. */
async function refusedCases(row: AccessRow, operation: Operation): Promise<Case[]> {
  const every = ALL_SCOPES.join(' ');
  const admin = byKey(await keyWith(TENANT, ['Admin'], []));
  const token = await byToken({ roles: ['Admin'], scope: every });
  const narrow = await byToken({ roles: ['Admin'], scope: scopesOf(row, 'others').join(' ') });
  const lesser = byKey(await keyWith(TENANT, [], scopesOf(row, 'others')));
  const isOfPlatform = row.scope === null;
  const [nobody, mismatch] = ['401 UNAUTHENTICATED', '403 TENANT_MISMATCH'];
  const elsewhere = { 'x-tenant-id': 'globex' };
  const inPath = pathOf(operation, 'globex');
  const isInNoTenant = operation.tenant === 'None';
  const link = `${pathOf(operation)}&expires=4102444800&signature=AAAA`;
  return [
    { who: 'nobody', headers: { 'x-tenant-id': TENANT }, expected: nobody },
    { who: 'an unknown key', headers: byKey('tsk_who_knows_this'), expected: nobody },
    { who: 'a revoked key', headers: byKey(revokedKey), expected: '401 API_KEY_REVOKED' },
    { who: 'a forged token', headers: { authorization: `${token['authorization']}A` }, expected: nobody },
    { who: 'an expired token', headers: await byToken({ scope: every }, -60), expected: '401 TOKEN_EXPIRED' },
    {
      who: 'a key as a bearer token',
      headers: { authorization: `Bearer ${PLATFORM_KEY}` },
      expected: nobody,
    },
    ...[admin, token].map((headers) => ({
      who: 'somebody of another tenant',
      headers: { ...headers, ...elsewhere },
      path: inPath,
      expected: isInNoTenant ? NO_ROLE : mismatch,
    })),
    {
      who: 'both, of which the token may not',
      headers: { ...admin, ...narrow },
      expected: isOfPlatform ? NO_ROLE : NO_SCOPE,
    },
    {
      who: 'both, of which the key may not',
      headers: { ...lesser, ...token },
      expected: isOfPlatform ? NO_ROLE : NO_SCOPE,
    },
    {
      who: 'both, of two tenants',
      headers: { ...byKey(await keyWith('globex', ['Admin'], [])), ...token },
      expected: nobody,
    },
    {
      who: 'a key and a forged token',
      headers: { ...admin, authorization: 'Bearer a.b.c' },
      expected: nobody,
    },
    {
      who: 'a link that nobody signed',
      headers: { 'x-tenant-id': TENANT },
      path: link,
      expected: operation.signedLink === true ? LET_IN : nobody,
    },
  ];
}

describe('who may call what', () => {
  it('the table has a row for every operation, and each once', () => {
    const rows = [...ACCESS_TABLE.flatMap(({ operations }) => operations), ...OPEN_OPERATIONS];
    assert.deepEqual(rows.toSorted(), OPERATIONS.map(({ name }) => name).toSorted());
  });

  for (const row of ACCESS_TABLE) {
    let granted: readonly Case[] | undefined;
    for (const name of row.operations) {
      it(`${name} needs ${row.permission}`, async () => {
        const operation = operationNamed(name);
        const wrong: string[] = [];
        const judge = async ({ who, headers, path, expected }: Case) => {
          const code = await codeOf(operation.rest.method, path ?? pathOf(operation), headers);
          if (code !== expected) wrong.push(`${who}: ${code} in place of ${expected}`);
        };
        granted ??= await grantedCases(row);
        for (const each of granted) await judge(each);
        for (const each of await refusedCases(row, operation)) await judge(each);
        assert.deepEqual(wrong, []);
      });
    }
  }

  it('what a version, the lack of one and HEAD add is no way around', async () => {
    const viewer = byKey(await keyWith(TENANT, ['Viewer'], []));
    for (const row of ACCESS_TABLE) {
      for (const operation of row.operations.map(operationNamed)) {
        const { method, atRoot } = operation.rest;
        const path = pathOf(operation);
        const paths = atRoot ? [path] : [path, path.replace('/v1/', '/v2/'), path.replace('/v1/', '/')];
        const expected = row.roles.includes('Viewer') ? '400' : '403';
        for (const each of paths) {
          for (const asked of method === 'GET' ? ['GET', 'HEAD'] : [method]) {
            const of = async (headers: Headers) => (await codeOf(asked, each, headers)).slice(0, 3);
            assert.equal(await of(viewer), expected, `${asked} ${each}`);
            assert.equal(await of({ 'x-tenant-id': TENANT }), '401', `${asked} ${each}`);
          }
        }
      }
    }
  });

  it('open operations look at no credential', async () => {
    for (const operation of OPEN_OPERATIONS.map(operationNamed)) {
      for (const headers of [{}, byKey('tsk_who_knows_this'), { authorization: 'Bearer a.b.c' }]) {
        const code = await codeOf('GET', pathOf(operation), headers);
        assert.match(code, /^(?:200|400 INVALID_PARAMETER)$/, operation.name);
      }
    }
  });

  it('keys of other tenants are out of reach of an Admin of the tenant, and of a platform key without that role', async () => {
    const theirs = await keyWith('globex', ['Viewer'], []);
    const keyPath = `/api/v1/admin/api-keys/${theirs.split('_')[1]}`;
    const asked = async (key: string, method: string, path: string, body?: unknown) =>
      (await ask(app, method, path, { key, tenant: TENANT, body })).code;
    const admin = await keyWith(TENANT, ['Admin'], []);
    const scoped = await keyWith('*', [], ['audit:keys']);
    for (const key of [admin, scoped]) {
      for (const tenantId of ['globex', '*']) {
        const request = { name: 'x', tenantId, roles: ['Viewer'] };
        assert.match(await asked(key, 'POST', '/api/v1/admin/api-keys', request), /^403 /);
        assert.match(await asked(key, 'GET', `/api/v1/admin/api-keys?tenantId=${tenantId}`), /^403 /);
      }
      assert.equal(await asked(key, 'GET', keyPath), '404 KEY_NOT_FOUND');
      assert.equal(await asked(key, 'POST', `${keyPath}/rotate`), '404 KEY_NOT_FOUND');
      assert.equal(await asked(key, 'DELETE', keyPath), '404 KEY_NOT_FOUND');
    }
    assert.equal(await asked(PLATFORM_KEY, 'GET', keyPath), '200');
  });
});
