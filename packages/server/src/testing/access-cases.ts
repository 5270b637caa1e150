// Who asks, and what they must be told by the table: roles and scopes by keys, platform keys and tokens, and credentials that
// let nobody in. A credential is made when it is asked for; a test that asks fewer cases makes fewer.

import assert from 'node:assert/strict';
import type { ErrorCode, Operation } from '@tallystick/contract';
import { decodeProtectedHeader, SignJWT } from 'jose';
import { LOCAL_ISSUER, signToken } from '../access/local-issuer.ts';
import { loadOrMakeTokenKey } from '../storage/keys/token-key.ts';
import { ACCESS_TABLE, type AccessRow, ALL_ROLES, ALL_SCOPES, type RoleName } from './access-table.ts';
import { PLATFORM_KEY } from './admin-caller.ts';
import { ask } from './ask.ts';
import type { TestApp } from './test-app.ts';

export const TENANT = 'acme';
export const ELSEWHERE = 'globex';
const ROLE_CASES: readonly (RoleName | undefined)[] = [...ALL_ROLES, undefined];
const SCOPE_CASES = ['own', 'others', 'none'] as const;
type ScopeCase = (typeof SCOPE_CASES)[number];

/** LetIn: the operation is reached, whatever it answers. */
export type Verdict = 'LetIn' | ErrorCode;

/** What a request says about its sender. */
export interface Sender {
  readonly key?: string;
  readonly token?: string;
  readonly tenant?: string;
}

export interface AccessCase {
  readonly who: string;
  /** Cases of one means and verdict differ in the roles and scopes that lead there. */
  readonly means: string;
  readonly by: () => Promise<Sender>;
  /** Where the address of the request names a tenant, it is another one. */
  readonly isElsewhere?: true;
  /** The address has a link that nobody signed. */
  readonly isLinked?: true;
  readonly expected: Verdict;
}

export interface CredentialMaker {
  /** Made once for each set of roles and scopes. */
  readonly keyWith: (
    tenantId: string,
    roles: readonly string[],
    scopes: readonly string[],
  ) => Promise<string>;
  readonly tokenWith: (claims: object, expiresInSeconds?: number) => Promise<string>;
  readonly revokedKey: string;
}

/** The service must know the platform's key. */
export async function createCredentials(app: TestApp): Promise<CredentialMaker> {
  const tokenKey = await loadOrMakeTokenKey(app.dataDirectory, 'test');
  const request = { tenant: TENANT, subject: 'matrix', roles: [], scopes: [], clearance: undefined } as const;
  const issued = await signToken(tokenKey, { ...request, lifetimeSeconds: 60 }, Date.now());
  const header = { alg: 'EdDSA', kid: decodeProtectedHeader(issued).kid! };
  const keys = new Map<string, Promise<string>>();
  const made = async (tenantId: string, roles: readonly string[], scopes: readonly string[]) => {
    const body = { name: 'of the matrix', tenantId, roles, scopes };
    const asking = { key: PLATFORM_KEY, tenant: TENANT, body };
    const told = await ask<{ key: string }>(app, 'POST', '/api/v1/admin/api-keys', asking);
    assert.equal(told.code, '201', JSON.stringify(body));
    return told.body.key;
  };
  const revokedKey = await made(TENANT, ['Admin'], ALL_SCOPES);
  const path = `/api/v1/admin/api-keys/${revokedKey.split('_')[1]}`;
  assert.equal((await ask(app, 'DELETE', path, { key: PLATFORM_KEY, tenant: TENANT })).code, '204');
  return {
    revokedKey,
    keyWith(...wanted) {
      const name = JSON.stringify(wanted);
      const key = keys.get(name) ?? made(...wanted);
      keys.set(name, key);
      return key;
    },
    tokenWith: (claims, expiresInSeconds = 600) =>
      new SignJWT({ tenant_id: TENANT, ...claims })
        .setProtectedHeader(header)
        .setIssuer(LOCAL_ISSUER)
        .setAudience(LOCAL_ISSUER)
        .setSubject('matrix')
        .setExpirationTime(Math.floor(Date.now() / 1000) + expiresInSeconds)
        .sign(tokenKey),
  };
}

const byKey = (key: string, tenant = TENANT): Sender => ({ key, tenant });

/** What is refused for its scope is told so, whatever its roles are. */
function verdict(isInScope: boolean, isInRole: boolean): Verdict {
  if (!isInScope) return 'INSUFFICIENT_SCOPE';
  return isInRole ? 'LetIn' : 'FORBIDDEN';
}

/** By the table: roles alone allow what they hold, scopes alone what they name, both together what both allow. */
function keyVerdict(row: AccessRow, role: RoleName | undefined, scopes: ScopeCase, isPlatformKey: boolean) {
  if (row.scope === null)
    return isPlatformKey && role === 'Admin' && scopes !== 'others' ? 'LetIn' : 'FORBIDDEN';
  const isInRole = role === undefined ? scopes !== 'none' : row.roles.includes(role);
  return verdict(scopes !== 'others', isInRole);
}

function tokenVerdict(row: AccessRow, role: RoleName | undefined, scopes: ScopeCase): Verdict {
  if (row.scope === null) return 'FORBIDDEN';
  return verdict(scopes === 'own', role === undefined || row.roles.includes(role));
}

function scopesOf({ scope }: AccessRow, scopeCase: ScopeCase): readonly string[] {
  if (scopeCase === 'others') return ALL_SCOPES.filter((each) => each !== scope);
  return scopeCase === 'own' && scope !== null ? [scope] : [];
}

function permissionsOf({ permission }: AccessRow, scopeCase: 'own' | 'others'): readonly string[] {
  if (scopeCase === 'own') return [permission];
  return ACCESS_TABLE.map((row) => row.permission).filter((other) => other !== permission);
}

export function grantedCases(row: AccessRow, { keyWith, tokenWith }: CredentialMaker): AccessCase[] {
  const cases: AccessCase[] = [];
  const byToken = (who: string, claims: object, expected: Verdict) => {
    const by = async () => ({ token: await tokenWith(claims), tenant: TENANT });
    cases.push({ who: `a token, ${who}`, means: 'a token', by, expected });
  };
  for (const role of ROLE_CASES) {
    const roles = role === undefined ? [] : [role];
    for (const scopeCase of SCOPE_CASES) {
      const scopes = scopesOf(row, scopeCase);
      const who = `${role ?? 'no role'}, scopes: ${scopeCase}`;
      for (const tenant of [TENANT, '*']) {
        const means = `a key of ${tenant}`;
        const by = async () => byKey(await keyWith(tenant, roles, scopes));
        const expected = keyVerdict(row, role, scopeCase, tenant === '*');
        cases.push({ who: `${means}, ${who}`, means, by, expected });
      }
      const expected = tokenVerdict(row, role, scopeCase);
      byToken(who, { roles, scope: scopes.join(' ') }, expected);
      if (scopeCase === 'none') continue;
      const permissions = permissionsOf(row, scopeCase);
      byToken(`${who} as permission claims`, { roles, permissions }, expected);
    }
  }
  return cases;
}

/** Credentials that are none, are for another tenant, or come in pairs; and addresses that look as if they needed none. */
export function refusedCases(row: AccessRow, operation: Operation, maker: CredentialMaker): AccessCase[] {
  const { keyWith, tokenWith, revokedKey } = maker;
  const scope = ALL_SCOPES.join(' ');
  const admin = async () => byKey(await keyWith(TENANT, ['Admin'], []));
  const token = async () => ({ token: await tokenWith({ roles: ['Admin'], scope }), tenant: TENANT });
  const narrow = async () => {
    const claims = { roles: ['Admin'], scope: scopesOf(row, 'others').join(' ') };
    return { token: await tokenWith(claims), tenant: TENANT };
  };
  const lesser = async () => byKey(await keyWith(TENANT, [], scopesOf(row, 'others')));
  const both = (one: AccessCase['by'], other: AccessCase['by']) => async () => ({
    ...(await one()),
    ...(await other()),
  });
  const refused = (who: string, by: AccessCase['by'], expected: Verdict = 'UNAUTHENTICATED'): AccessCase => ({
    who,
    means: who,
    by,
    expected,
  });
  const plain = (by: Sender) => () => Promise.resolve(by);
  const notBoth = row.scope === null ? 'FORBIDDEN' : 'INSUFFICIENT_SCOPE';
  const forged = async () => ({ token: `${(await token()).token}A`, tenant: TENANT });
  const expired = async () => ({ token: await tokenWith({ scope }, -60), tenant: TENANT });
  const ofTwo = both(async () => byKey(await keyWith(ELSEWHERE, ['Admin'], [])), token);
  const withForged = both(admin, plain({ token: 'a.b.c' }));
  const linked = operation.signedLink === true ? 'LetIn' : 'UNAUTHENTICATED';
  const elsewhere = [admin, token].map((by): AccessCase => {
    const expected = operation.tenant === 'None' ? 'FORBIDDEN' : 'TENANT_MISMATCH';
    const there = both(by, plain({ tenant: ELSEWHERE }));
    return { ...refused('somebody of another tenant', there, expected), isElsewhere: true };
  });
  return [
    refused('nobody', plain({ tenant: TENANT })),
    refused('an unknown key', plain(byKey('tsk_who_knows_this'))),
    refused('a revoked key', plain(byKey(revokedKey)), 'API_KEY_REVOKED'),
    refused('a forged token', forged),
    refused('an expired token', expired, 'TOKEN_EXPIRED'),
    refused('a key as a bearer token', plain({ token: PLATFORM_KEY })),
    ...elsewhere,
    refused('both, of which the token may not', both(admin, narrow), notBoth),
    refused('both, of which the key may not', both(lesser, token), notBoth),
    refused('both, of two tenants', ofTwo),
    refused('a key and a forged token', withForged),
    { ...refused('a link that nobody signed', plain({ tenant: TENANT }), linked), isLinked: true },
  ];
}
