import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AuditError, type Permission } from '@tallystick/contract';
import { createFakeClock } from '../testing/fake-clock.ts';
import { createSystemRandom } from '../runtime/random.ts';
import { type ApiKeyRecord, hashOfKey, makeKey } from './api-keys.ts';
import { type Caller, callerOfToken, type TokenFacts } from './caller.ts';
import { createAuthenticate, type Credentials } from './credentials.ts';

const random = createSystemRandom();
const clock = createFakeClock();

function keyFor(keyId: string, facts: Partial<ApiKeyRecord>): [string, ApiKeyRecord] {
  const key = makeKey(keyId, random);
  const record: ApiKeyRecord = {
    keyId,
    tenantId: 'acme',
    name: 'test',
    roles: [],
    scopes: [],
    clearance: undefined,
    createdAtMs: clock.now(),
    createdBy: 'system',
    expiresAtMs: undefined,
    revokedAtMs: undefined,
    replaces: undefined,
    firstKeyId: undefined,
    replacedBy: undefined,
    uniqueName: undefined,
    hash: hashOfKey(key),
    version: 1,
    ...facts,
  };
  return [key, record];
}

const [operatorKey, operator] = keyFor('01KE0000000000000000000001', { roles: ['Operator'] });
const [otherKey, other] = keyFor('01KE0000000000000000000002', { roles: ['Admin'], tenantId: 'other' });
const [platformKey, platform] = keyFor('01KE0000000000000000000003', { roles: ['Admin'], tenantId: '*' });
const [revokedKey, revoked] = keyFor('01KE0000000000000000000004', { roles: ['Admin'], revokedAtMs: 1 });
const [officeKey, office] = keyFor('01KE0000000000000000000007', {
  roles: ['Admin'],
  allowedNetworks: ['203.0.113.0/24', '2001:db8::/32', '198.51.100.7'],
});
const [endingKey, ending] = keyFor('01KE0000000000000000000008', {
  expiresAtMs: clock.now() + 15 * 86_400_000,
});
const [secondKey, second] = keyFor('01KE0000000000000000000005', {
  replaces: operator.keyId,
  firstKeyId: operator.keyId,
});
const [thirdKey, third] = keyFor('01KE0000000000000000000006', {
  replaces: second.keyId,
  firstKeyId: operator.keyId,
});
const kept = new Map(
  [
    [operatorKey, operator] as const,
    [otherKey, other] as const,
    [platformKey, platform] as const,
    [revokedKey, revoked] as const,
    [secondKey, second] as const,
    [thirdKey, third] as const,
    [officeKey, office] as const,
    [endingKey, ending] as const,
  ].map(([key, record]) => [Buffer.from(hashOfKey(key)).toString('hex'), record]),
);

const tokenFacts: TokenFacts = {
  issuer: 'tallystick',
  subject: 'ana',
  tenant: 'acme',
  roles: ['Auditor'],
  scopes: ['audit:read', 'audit:export'],
  permissions: [],
  clearance: undefined,
  requiresScope: true,
};
const tokens: Record<string, Caller> = {
  'auditor.token': callerOfToken(tokenFacts),
  'no.tenant': callerOfToken({ ...tokenFacts, tenant: undefined }),
};

const used: string[] = [];
const warnings: unknown[] = [];
const authenticate = createAuthenticate({
  clock,
  telemetry: { warn: (message, facts) => void warnings.push([message, facts]) },
  uses: { used: ({ keyId }, nowMs) => void used.push(`${keyId} at ${nowMs}`) },
  keys: {
    findByHash: (hash) => Promise.resolve(kept.get(Buffer.from(hash).toString('hex'))),
  },
  tokens: {
    verify(token) {
      const caller = tokens[token];
      const code = token === 'expired' ? 'TOKEN_EXPIRED' : 'UNAUTHENTICATED';
      return caller === undefined ? Promise.reject(new AuditError(code, 'no')) : Promise.resolve(caller);
    },
  },
});

async function verdictOn(credentials: Partial<Credentials>): Promise<string> {
  try {
    return (await authenticate({ authorization: undefined, apiKey: undefined, ...credentials })).name;
  } catch (error) {
    if (!(error instanceof AuditError)) throw error;
    for (const secret of [credentials.apiKey, credentials.authorization].filter(
      (value) => value !== undefined,
    ))
      assert.ok(secret.length < 20 || !error.message.includes(secret), error.message);
    return error.code;
  }
}

test('one credential per header, in its form, or nobody is let in', async () => {
  const table: [string, Partial<Credentials>, string][] = [
    ['a key', { apiKey: operatorKey }, 'key:01KE0000000000000000000001'],
    ['a token', { authorization: 'Bearer auditor.token' }, 'token:tallystick#ana'],
    ['the scheme in lower case', { authorization: 'bearer  auditor.token' }, 'token:tallystick#ana'],
    ['nothing', {}, 'UNAUTHENTICATED'],
    ['a key sent twice', { apiKey: `${operatorKey}, ${operatorKey}` }, 'UNAUTHENTICATED'],
    [
      'a token sent twice',
      { authorization: 'Bearer auditor.token, Bearer auditor.token' },
      'UNAUTHENTICATED',
    ],
    ['a token under another scheme', { authorization: 'Basic auditor.token' }, 'UNAUTHENTICATED'],
    ['a token without a scheme', { authorization: 'auditor.token' }, 'UNAUTHENTICATED'],
    ['a scheme without a token', { authorization: 'Bearer ' }, 'UNAUTHENTICATED'],
    ['a key as a token', { authorization: `Bearer ${operatorKey}` }, 'UNAUTHENTICATED'],
    ['an unknown key', { apiKey: makeKey('01KE0000000000000000000009', random) }, 'UNAUTHENTICATED'],
    ['a key of 300 characters', { apiKey: 'k'.repeat(300) }, 'UNAUTHENTICATED'],
    ['a revoked key', { apiKey: revokedKey }, 'API_KEY_REVOKED'],
    ['an expired token', { authorization: 'Bearer expired' }, 'TOKEN_EXPIRED'],
  ];
  for (const [what, credentials, expected] of table)
    assert.equal(await verdictOn(credentials), expected, what);
});

test('a key in the place of a token is told its own header', async () => {
  const message = 'Authorization holds an API key: send it in the header X-API-Key.';
  for (const key of [operatorKey, 'tsk_', operatorKey.slice(0, 40)]) {
    assert.throws(() => authenticate({ authorization: `Bearer ${key}`, apiKey: undefined }), { message });
  }
});

test('two credentials must both be valid and for the same tenant', async () => {
  const authorization = 'Bearer auditor.token';
  const table: [string, Partial<Credentials>, string][] = [
    ['both of acme', { authorization, apiKey: operatorKey }, 'token:tallystick#ana'],
    ['a platform key beside the token', { authorization, apiKey: platformKey }, 'token:tallystick#ana'],
    ['two tenants', { authorization, apiKey: otherKey }, 'UNAUTHENTICATED'],
    ['a token for no tenant', { authorization: 'Bearer no.tenant', apiKey: platformKey }, 'UNAUTHENTICATED'],
    ['an unknown key', { authorization, apiKey: 'unknown' }, 'UNAUTHENTICATED'],
    ['an unknown token', { authorization: 'Bearer x', apiKey: operatorKey }, 'UNAUTHENTICATED'],
    ['an expired token', { authorization: 'Bearer expired', apiKey: operatorKey }, 'TOKEN_EXPIRED'],
    ['a revoked key', { authorization, apiKey: revokedKey }, 'API_KEY_REVOKED'],
    ['an empty key', { authorization, apiKey: '' }, 'UNAUTHENTICATED'],
  ];
  for (const [what, credentials, expected] of table)
    assert.equal(await verdictOn(credentials), expected, what);
});

test('with two credentials a caller may do and see what both allow', async () => {
  const both = await authenticate({ authorization: 'Bearer auditor.token', apiKey: operatorKey });
  const expected: [Permission, string | undefined][] = [
    ['audit.events.read', undefined],
    ['audit.events.write', 'INSUFFICIENT_SCOPE'],
    ['audit.exports.manage', 'FORBIDDEN'],
    ['audit.platform.manage', 'FORBIDDEN'],
  ];
  for (const [permission, refusal] of expected) assert.equal(both.refusal(permission), refusal, permission);
  assert.deepEqual([both.tenant, both.namesTenant, both.clearance], ['acme', true, 'Internal']);
});

test('a key that works counts as used, also beside a token that does not; one that is refused does not', async () => {
  const usesOf = async (credentials: Partial<Credentials>) => {
    used.length = 0;
    await verdictOn(credentials);
    return [...used];
  };
  const operatorUse = [`${operator.keyId} at ${clock.now()}`];
  assert.deepEqual(await usesOf({ apiKey: operatorKey }), operatorUse);
  assert.deepEqual(await usesOf({ apiKey: operatorKey, authorization: 'Bearer expired' }), operatorUse);
  assert.deepEqual(await usesOf({ authorization: 'Bearer auditor.token' }), []);
  assert.deepEqual(await usesOf({ apiKey: revokedKey }), []);
  assert.deepEqual(await usesOf({ apiKey: makeKey('01KE0000000000000000000009', random) }), []);
});

test('the caller of a key is made once', async () => {
  const credentials = { authorization: undefined, apiKey: platformKey };
  const caller = await authenticate(credentials);
  assert.equal(await authenticate(credentials), caller);
  assert.deepEqual([caller.tenant, caller.clearance], ['*', 'Secret']);
  assert.equal(caller.refusal('audit.platform.manage'), undefined);
});

test('a caller stays the same over rotations of its key', async () => {
  const byKey = (apiKey: string) => authenticate({ authorization: undefined, apiKey });
  const first = `key:${operator.keyId}`;
  for (const [key, record] of [
    [thirdKey, third],
    [secondKey, second],
    [operatorKey, operator],
  ] as const) {
    const { name, identity } = await byKey(key);
    assert.deepEqual([name, identity], [`key:${record.keyId}`, first]);
  }
});

test('a token is known by issuer and subject, not by its other claims or a key beside it', async () => {
  const authorization = 'Bearer auditor.token';
  for (const apiKey of [undefined, operatorKey, platformKey])
    assert.equal((await authenticate({ authorization, apiKey })).identity, 'token:tallystick#ana');
  assert.equal(callerOfToken({ ...tokenFacts, roles: ['Admin'] }).identity, 'token:tallystick#ana');
  assert.notEqual(callerOfToken({ ...tokenFacts, issuer: 'other' }).identity, 'token:tallystick#ana');
});

test('a key that belongs to some networks works from these alone, and not where nobody knows from where', async () => {
  const table: [(() => string) | undefined, string][] = [
    [() => '203.0.113.200', office.keyId],
    [() => '::ffff:203.0.113.1', office.keyId],
    [() => '2001:db8:1::1', office.keyId],
    [() => '198.51.100.7', office.keyId],
    [() => '198.51.100.8', 'FORBIDDEN'],
    [() => '2001:db9::1', 'FORBIDDEN'],
    [() => 'unknown', 'FORBIDDEN'],
    [undefined, 'FORBIDDEN'],
  ];
  for (const [address, expected] of table) {
    const verdict = await verdictOn({ apiKey: officeKey, ...(address && { address }) });
    assert.equal(verdict.replace('key:', ''), expected, address?.());
  }
  assert.equal(await verdictOn({ apiKey: operatorKey }), `key:${operator.keyId}`);
});

test('a key that is used and soon ends is warned of, once a day', async () => {
  const use = async () => {
    warnings.length = 0;
    await verdictOn({ apiKey: endingKey });
    return warnings.length;
  };
  assert.equal(await use(), 0);
  await clock.advance(1.5 * 86_400_000);
  assert.deepEqual([await use(), await use()], [1, 0]);
  await clock.advance(86_400_000);
  assert.equal(await use(), 1);
  const [[message, facts]] = warnings as [[string, { keyId: string }]];
  assert.match(message, /ends soon/);
  assert.equal(facts.keyId, ending.keyId);
});
