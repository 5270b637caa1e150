// What is believed of a bearer token, and above all what is not.

import assert from 'node:assert/strict';
import { createHmac, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { test } from 'node:test';
import { AuditError } from '@tallystick/contract';
import { type JWTPayload, SignJWT } from 'jose';
import { createFakeClock } from '../testing/fake-clock.ts';
import { createLocalIssuer, LOCAL_ISSUER, signToken, type TokenRequest } from './local-issuer.ts';
import { TOKEN_LIFETIME_SECONDS_MAX } from './token-lifetime.ts';
import { createTokens, type Issuer } from './tokens.ts';

const NOW_MS = Date.UTC(2026, 5, 1);
const NOW_S = NOW_MS / 1000;
const ed25519 = () => generateKeyPairSync('ed25519').privateKey;
const privateKey = ed25519();

const REQUEST: TokenRequest = {
  tenant: 'acme',
  subject: 'ana',
  roles: ['Auditor'],
  scopes: ['audit:read', 'audit:verify'],
  clearance: undefined,
  lifetimeSeconds: 3600,
};

function setUp(key: KeyObject | undefined = privateKey) {
  const clock = createFakeClock(NOW_MS);
  const seen = { loads: 0 };
  const kept: { key: KeyObject | undefined } = { key };
  const issuer = createLocalIssuer(() => {
    seen.loads++;
    return Promise.resolve(kept.key);
  });
  return { clock, seen, kept, tokens: createTokens([issuer], clock) };
}

const good = await signToken(privateKey, REQUEST, NOW_MS);
const partsOf = (token: string) => token.split('.') as [string, string, string];
const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
const decode = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString()) as JWTPayload;
const [HEADER, PAYLOAD, SIGNATURE] = partsOf(good);
const { kid } = decode(HEADER) as { kid: string };

/** A token that the right key has signed, with some claims changed; undefined takes one away. */
async function signed(
  claims: Record<string, unknown>,
  header: Record<string, unknown> = {},
  key = privateKey,
) {
  const all = JSON.parse(JSON.stringify({ ...decode(PAYLOAD), ...claims })) as JWTPayload;
  return new SignJWT(all).setProtectedHeader({ alg: 'EdDSA', kid, ...header }).sign(key);
}

async function verdictOn(token: string, tokens = setUp().tokens): Promise<string> {
  try {
    return (await tokens.verify(token)).name;
  } catch (error) {
    if (!(error instanceof AuditError)) throw error;
    assert.ok(!error.message.includes(token.slice(0, 20)), 'a message shows the token');
    return error.code;
  }
}

test('a token of the local issuer is the caller that it names', async () => {
  const caller = await setUp().tokens.verify(good);
  assert.deepEqual(
    {
      name: caller.name,
      tenant: caller.tenant,
      namesTenant: caller.namesTenant,
      clearance: caller.clearance,
    },
    { name: 'token:tallystick#ana', tenant: 'acme', namesTenant: true, clearance: 'Secret' },
  );
  assert.equal(caller.refusal('audit.events.read'), undefined);
  assert.equal(caller.refusal('audit.events.write'), 'INSUFFICIENT_SCOPE');
  assert.equal(caller.refusal('audit.platform.manage'), 'FORBIDDEN');
});

test('no token is signed for longer than a day', async () => {
  const request = { ...REQUEST, lifetimeSeconds: TOKEN_LIFETIME_SECONDS_MAX };
  assert.equal(await verdictOn(await signToken(privateKey, request, NOW_MS)), 'token:tallystick#ana');
  for (const lifetimeSeconds of [86_401, Number.POSITIVE_INFINITY, Number.NaN]) {
    assert.throws(
      () => signToken(privateKey, { ...REQUEST, lifetimeSeconds }, NOW_MS),
      /at most 86400 seconds/,
    );
  }
});

test('a token that is not signed, not ours, not for us or not in force is refused', async () => {
  const publicX = privateKey.export({ format: 'jwk' }).x!;
  const hs256 = `${encode({ alg: 'HS256', kid })}.${PAYLOAD}`;
  const mac = (secret: string | Buffer) => createHmac('sha256', secret).update(hs256).digest('base64url');
  const none = encode({ alg: 'none', kid });
  const table: [string, string | Promise<string>, string][] = [
    ['expired', signed({ exp: NOW_S - 6 }), 'TOKEN_EXPIRED'],
    ['expired within the leeway', signed({ exp: NOW_S - 4 }), 'token:tallystick#ana'],
    ['without an end', signed({ exp: undefined }), 'UNAUTHENTICATED'],
    ['an end that is no number', signed({ exp: 'never' }), 'UNAUTHENTICATED'],
    ['not yet valid', signed({ nbf: NOW_S + 6 }), 'UNAUTHENTICATED'],
    ['not yet valid, within the leeway', signed({ nbf: NOW_S + 4 }), 'token:tallystick#ana'],
    ['alg none, without a signature', `${none}.${PAYLOAD}.`, 'UNAUTHENTICATED'],
    ['alg none, with one', `${none}.${PAYLOAD}.${SIGNATURE}`, 'UNAUTHENTICATED'],
    ['HS256 under the public key, as text', `${hs256}.${mac(publicX)}`, 'UNAUTHENTICATED'],
    [
      'HS256 under the public key, as bytes',
      `${hs256}.${mac(Buffer.from(publicX, 'base64url'))}`,
      'UNAUTHENTICATED',
    ],
    ['HS256 under nothing', `${hs256}.${mac('')}`, 'UNAUTHENTICATED'],
    ['another audience', signed({ aud: 'somebody-else' }), 'UNAUTHENTICATED'],
    ['no audience', signed({ aud: undefined }), 'UNAUTHENTICATED'],
    ['another issuer', signed({ iss: 'https://login.example.com' }), 'UNAUTHENTICATED'],
    ['no issuer', signed({ iss: undefined }), 'UNAUTHENTICATED'],
    ['another key under our key id', signed({}, {}, ed25519()), 'UNAUTHENTICATED'],
    ['another key id', signed({}, { kid: 'other' }), 'UNAUTHENTICATED'],
    ['no key id', signed({}, { kid: undefined }), 'UNAUTHENTICATED'],
    [
      'a critical header that we do not know',
      `${encode({ alg: 'EdDSA', kid, crit: ['x'], x: 1 })}.${PAYLOAD}.${SIGNATURE}`,
      'UNAUTHENTICATED',
    ],
    [
      'a changed payload',
      `${HEADER}.${encode({ ...decode(PAYLOAD), tenant_id: 'other' })}.${SIGNATURE}`,
      'UNAUTHENTICATED',
    ],
    [
      'a changed header',
      `${encode({ alg: 'EdDSA', kid, typ: 'x' })}.${PAYLOAD}.${SIGNATURE}`,
      'UNAUTHENTICATED',
    ],
    ['a cut signature', good.slice(0, -4), 'UNAUTHENTICATED'],
    ['no signature', `${HEADER}.${PAYLOAD}.`, 'UNAUTHENTICATED'],
    ['two parts', `${HEADER}.${PAYLOAD}`, 'UNAUTHENTICATED'],
    ['no JSON', 'a.b.c', 'UNAUTHENTICATED'],
    ['far too long', `${good}${'A'.repeat(20_000)}`, 'UNAUTHENTICATED'],
    ['no subject', signed({ sub: undefined }), 'UNAUTHENTICATED'],
    ['a subject that is a list', signed({ sub: ['ana'] }), 'UNAUTHENTICATED'],
    ['a subject that is a number', signed({ sub: 42 }), 'UNAUTHENTICATED'],
    ['a subject with a line break', signed({ sub: 'a\nb' }), 'UNAUTHENTICATED'],
    ['a tenant for all', signed({ tenant_id: '*' }), 'UNAUTHENTICATED'],
    ['a tenant that is no text', signed({ tenant_id: ['acme'] }), 'UNAUTHENTICATED'],
    ['a clearance that we do not know', signed({ clearance: 'TopSecret' }), 'UNAUTHENTICATED'],
    ['roles that are no texts', signed({ roles: [1] }), 'UNAUTHENTICATED'],
    ['scopes that are no texts', signed({ scope: { a: 1 } }), 'UNAUTHENTICATED'],
  ];
  for (const [what, token, expected] of table) assert.equal(await verdictOn(await token), expected, what);
});

test('claims: a missing tenant is none; scopes come as text or list; clearance and permissions count', async () => {
  const { tokens } = setUp();
  assert.equal((await tokens.verify(await signed({ tenant_id: undefined }))).tenant, undefined);
  const listed = await tokens.verify(await signed({ scope: ['audit:write'], roles: undefined }));
  assert.equal(listed.refusal('audit.events.write'), undefined);
  assert.equal(listed.clearance, 'Internal');
  const claims = { permissions: ['audit.exports.manage'], scope: undefined, clearance: 'Confidential' };
  const permitted = await tokens.verify(await signed(claims));
  assert.equal(permitted.refusal('audit.exports.manage'), undefined);
  assert.equal(permitted.refusal('audit.events.read'), 'INSUFFICIENT_SCOPE');
  assert.equal(permitted.clearance, 'Confidential');
});

test('a token in use is not verified again, until it ends or five minutes have passed', async () => {
  const { tokens, clock, seen, kept } = setUp();
  const caller = await tokens.verify(good);
  assert.equal(await tokens.verify(good), caller);
  assert.equal(seen.loads, 1);
  await clock.advance(300_000);
  assert.notEqual(await tokens.verify(good), caller);
  kept.key = undefined;
  await clock.advance(3_600_000);
  assert.equal(await verdictOn(good, tokens), 'TOKEN_EXPIRED');
});

test('a clock that was behind at the start counts as it is now', async () => {
  const { tokens, clock } = setUp();
  await tokens.verify(good);
  clock.setNow(NOW_MS + 3_605_000);
  assert.equal(await verdictOn(good, tokens), 'TOKEN_EXPIRED');
  assert.equal(
    await verdictOn(await signToken(privateKey, REQUEST, clock.now()), tokens),
    'token:tallystick#ana',
  );
});

test('a clock that ran ahead for a while keeps no token in memory for longer', async () => {
  const { tokens, clock } = setUp();
  clock.setNow(NOW_MS + 1_800_000);
  const caller = await tokens.verify(good);
  clock.setNow(NOW_MS);
  assert.equal(await tokens.verify(good), caller);
  await clock.advance(300_000);
  assert.notEqual(await tokens.verify(good), caller);
});

test('a key that is made after the start counts at once', async () => {
  const { tokens, kept } = setUp();
  kept.key = undefined;
  assert.equal(await verdictOn(good, tokens), 'UNAUTHENTICATED');
  kept.key = privateKey;
  assert.equal(await verdictOn(good, tokens), 'token:tallystick#ana');
  kept.key = ed25519();
  assert.equal(await verdictOn(await signToken(kept.key, REQUEST, NOW_MS), tokens), 'token:tallystick#ana');
});

test('several issuers: each is held to its own key, audience and claim names', async () => {
  const { privateKey: rsa, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const other: Issuer = {
    issuer: 'https://id.example.com/',
    audience: 'api://audit',
    algorithms: ['RS256'],
    claims: {
      tenant: 'https://x.test/org',
      roles: 'realm_access.roles',
      scopes: 'scp',
      permissions: 'p',
      clearance: 'c',
    },
    requiresScope: false,
    keyFor: () => Promise.resolve(publicKey),
  };
  const clock = createFakeClock(NOW_MS);
  const tokens = createTokens([createLocalIssuer(() => Promise.resolve(privateKey)), other], clock);
  const claims = {
    iss: other.issuer,
    aud: ['x', other.audience],
    sub: 'svc',
    exp: NOW_S + 60,
    'https://x.test/org': 'acme',
    realm_access: { roles: ['Operator'] },
  };
  const sign = (more: object = {}) =>
    new SignJWT({ ...claims, ...more }).setProtectedHeader({ alg: 'RS256' }).sign(rsa);
  const caller = await tokens.verify(await sign());
  assert.deepEqual([caller.name, caller.tenant], ['token:https://id.example.com/#svc', 'acme']);
  assert.equal(caller.refusal('audit.events.write'), undefined);
  assert.equal(caller.refusal('audit.keys.manage'), 'FORBIDDEN');
  const asLocal = await sign({
    iss: LOCAL_ISSUER,
    aud: LOCAL_ISSUER,
    tenant_id: 'acme',
    scope: 'audit:read',
  });
  assert.equal(await verdictOn(asLocal, tokens), 'UNAUTHENTICATED');
  const asOther = await signed({ iss: other.issuer, aud: other.audience });
  assert.equal(await verdictOn(asOther, tokens), 'UNAUTHENTICATED');
});
