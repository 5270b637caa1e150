// Tokens of real OpenID providers at the real service: what they may claim, how their keys change, what forgers try (RFC 8725), and
// what the service does when a provider fails.

import assert from 'node:assert/strict';
import { createHmac, type KeyObject, randomBytes, sign } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import type { AuditEvent, IngestReceipt } from '@tallystick/contract';
import { NEW_ID_FETCHES_MAX } from '../outbound/openid-keys.ts';
import { ask as askOf } from '../testing/ask.ts';
import { EVENT } from '../testing/bound-operations.ts';
import { type Misbehaviour, OpenIdProvider, providerKey } from '../testing/openid-provider.ts';
import { startTestApp, type TestApp } from '../testing/test-app.ts';

const AUDIENCE = 'https://audit.test';
const MISBEHAVIOURS: readonly Misbehaviour[] = ['fails', 'cuts', 'redirects', 'floods', 'lies', 'no JSON'];
const ADMIN = { tenant_id: 'acme', roles: ['Admin'] };
const [K1, K2, R1] = [providerKey('k1'), providerKey('k2'), providerKey('r1', 'RS256')];

let own: OpenIdProvider;
/** Its claims have other names, and its roles do without a scope. */
let other: OpenIdProvider;
let failing: OpenIdProvider[];
/** Nobody should ask it for anything. */
let attacker: OpenIdProvider;
let app: TestApp;

before(async () => {
  own = await OpenIdProvider.start({ audience: AUDIENCE, keys: [K1] });
  other = await OpenIdProvider.start({ audience: 'urn:audit', keys: [R1], algorithm: 'RS256' });
  attacker = await OpenIdProvider.start({ audience: AUDIENCE, keys: [providerKey('k1')] });
  failing = await Promise.all(
    MISBEHAVIOURS.map(() => OpenIdProvider.start({ audience: AUDIENCE, keys: [K1] })),
  );
  for (const [i, misbehaviour] of MISBEHAVIOURS.entries()) failing[i]!.misbehaves = misbehaviour;
  const settings = [own, ...failing].map(({ issuer }) => ({ Issuer: issuer, Audience: AUDIENCE }));
  const others = {
    Issuer: other.issuer,
    Audience: 'urn:audit',
    JwksUri: `${other.issuer}/jwks`,
    Algorithms: 'RS256',
    TenantClaim: 'https://acme.test/org',
    RolesClaim: 'realm_access.roles',
    ScopesClaim: 'scp',
    ClearanceClaim: 'attributes.audit.level',
    RequireScope: 'false',
  };
  const variables = [...settings, others].flatMap((issuer, i) =>
    Object.entries(issuer).map(([name, value]) => [`Authentication__Issuers__${i}__${name}`, value]),
  );
  app = await startTestApp({
    Environment: 'Test',
    ...(Object.fromEntries(variables) as Record<string, string>),
  });
});
after(async () => {
  await app?.[Symbol.asyncDispose]();
  for (const provider of [own, other, attacker, ...failing]) await provider[Symbol.asyncDispose]();
});

const ask = <T>(token: string, method = 'GET', path = '/audit-events?limit=1', body?: unknown) =>
  askOf<T>(app, method, `/api/v1${path}`, { headers: { Authorization: `Bearer ${token}` }, body });
const codeOf = async (token: string) => (await ask(token)).code;

type Json = Readonly<Record<string, unknown>>;
const encode = (value: unknown) =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');
const bytesSignedBy = (key: KeyObject, text: string) =>
  sign('sha256', Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' });

/** As the provider would have made it. A text takes the place of all claims, or of the whole header. */
function signed(claims: Json | string, header: Json | string = {}, key = K1.privateKey): string {
  const head = typeof header === 'string' ? header : { alg: 'ES256', typ: 'at+jwt', kid: 'k1', ...header };
  const text = `${encode(head)}.${encode(typeof claims === 'string' ? claims : { ...soundClaims(), ...claims })}`;
  return `${text}.${bytesSignedBy(key, text).toString('base64url')}`;
}

const nowS = () => Math.floor(Date.now() / 1000);
const soundClaims = () => ({
  iss: own.issuer,
  aud: AUDIENCE,
  sub: 'producer',
  exp: nowS() + 600,
  iat: nowS(),
  scope: 'audit:read',
  tenant_id: 'acme',
  jti: randomBytes(8).toString('hex'),
});

/** Signed by the right key, and of the right issuer, where nothing else is said. */
function forgeries(): readonly (readonly [what: string, token: string])[] {
  const stranger = providerKey('k1');
  const mine = stranger.publicKey.export({ format: 'jwk' });
  const by = (header: Json) => signed({}, header, stranger.privateKey);
  const sound = signed({});
  const [head, body, signature] = sound.split('.') as [string, string, string];
  const withSignature = (bytes: Uint8Array) => `${head}.${body}.${Buffer.from(bytes).toString('base64url')}`;
  const unsigned = (header: Json) => `${encode(header)}.${body}.`;
  const hmac = (secret: string | Buffer) => {
    const text = `${encode({ alg: 'HS256', typ: 'at+jwt', kid: 'k1' })}.${body}`;
    return `${text}.${createHmac('sha256', secret).update(text).digest('base64url')}`;
  };
  const pem = K1.publicKey.export({ format: 'pem', type: 'spki' });
  const text = JSON.stringify(soundClaims()).slice(1);
  return [
    ['alg none', unsigned({ alg: 'none' })],
    ['alg nOnE', unsigned({ alg: 'nOnE' })],
    ['alg none with the signature', `${encode({ alg: 'none', kid: 'k1' })}.${body}.${signature}`],
    ['no alg', signed({}, { alg: undefined })],
    ['an alg that is a list', signed({}, { alg: ['ES256'] })],
    ['HS256 under the public key in PEM', hmac(pem)],
    ['HS256 under the public key in DER', hmac(K1.publicKey.export({ format: 'der', type: 'spki' }))],
    ['HS256 under the public key as JWK', hmac(JSON.stringify(K1.publicKey.export({ format: 'jwk' })))],
    ['HS256 under nothing', hmac('')],
    ['another algorithm for the key', signed({}, { alg: 'ES384' })],
    ['a key of the sender under our key id', by({})],
    ['a key in the header', by({ jwk: mine })],
    ['an address of keys', by({ jku: `${attacker.issuer}/jwks` })],
    ['an address of certificates', by({ x5u: `${attacker.issuer}/chain.pem` })],
    ['certificates in the header', by({ x5c: ['MIIB'] })],
    ['a critical extension', signed({}, { crit: ['audit'], audit: 1 })],
    ['no critical extension, of those that there are', signed({}, { crit: [] })],
    ['a payload that is not encoded', signed({}, { crit: ['b64'], b64: false })],
    ...['logout+jwt', 'dpop+jwt', 'secevent+jwt', 'JOSE', 'at+jwt ', ''].map(
      (typ) => [`the type ${JSON.stringify(typ)}`, signed({}, { typ })] as const,
    ),
    ['a type that is none', signed({}, { typ: 5 })],
    ['a member of the header twice', signed({}, '{"alg":"none","typ":"at+jwt","kid":"k1","alg":"ES256"}')],
    ['a claim twice', signed(`{"tenant_id":"globex",${text}`)],
    ['a claim twice, once escaped', signed(`{"tenant\\u005fid":"globex",${text}`)],
    ['claims that are a list', signed('[]')],
    ['claims that are no JSON', signed('{')],
    ['the issuer of others', signed({ iss: other.issuer, aud: 'urn:audit' })],
    ['an issuer that nobody knows', signed({ iss: 'https://evil.test' })],
    ['an issuer that is a list', signed({ iss: [own.issuer] })],
    ['an issuer with a slash', signed({ iss: `${own.issuer}/` })],
    ['no issuer', signed({ iss: undefined })],
    ['the audience of others', signed({ aud: 'urn:audit' })],
    ['audiences without ours', signed({ aud: ['producer', `${AUDIENCE}/`] })],
    ['no audience', signed({ aud: undefined })],
    ['expired', signed({ exp: nowS() - 60 })],
    ['without an end', signed({ exp: undefined })],
    ['an end that is text', signed({ exp: '9999999999' })],
    ['an end beyond all numbers', signed(`{"exp":1e999,${text.replace(/"exp":\d+,/, '')}`)],
    ['not valid yet', signed({ nbf: nowS() + 60 })],
    ['no subject', signed({ sub: undefined })],
    ['a subject with a line break', signed({ sub: 'a\nb' })],
    ['a signature of zeros', withSignature(new Uint8Array(64))],
    ['a signature of the order of the curve', withSignature(Buffer.concat([P256_ORDER, P256_ORDER]))],
    ['a signature in DER', withSignature(sign('sha256', Buffer.from(`${head}.${body}`), K1.privateKey))],
    ['a signature of one byte less', withSignature(Buffer.from(signature, 'base64url').subarray(1))],
    [
      'a signature of one byte more',
      withSignature(Buffer.concat([Buffer.from(signature, 'base64url'), P256_ORDER])),
    ],
    ['no signature', `${head}.${body}.`],
    ['the signature of another token', `${head}.${body}.${signed({}).split('.')[2]}`],
    [
      'a packed, encrypted token',
      `${encode({ alg: 'RSA-OAEP', enc: 'A256GCM', zip: 'DEF' })}.AAAA.AAAA.AAAA.AAAA`,
    ],
    ['a long one', signed({ filling: 'x'.repeat(9200) })],
    ['one that is too long for any header', signed({ filling: 'x'.repeat(14_000) })],
  ];
}

const P256_ORDER = Buffer.from('ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551', 'hex');
const EXPECTED: Readonly<Record<string, RegExp>> = {
  expired: /^401 TOKEN_EXPIRED$/,
  'one that is too long for any header': /^400 INVALID_HEADER$/,
};

/** What a reader of key ids might look up, or not compare as it should. Each may be worth a fetch. */
const KEY_IDS: readonly unknown[] = [
  '../../../dev/null',
  "k1' OR '1'='1",
  '__proto__',
  'K1',
  'k1\0',
  '',
  5,
  ['k1'],
  {},
  'x'.repeat(5000),
];

describe('tokens of an OpenID provider', () => {
  it('let their caller in by discovery, and the log says who it was', async () => {
    const token = await own.issue(ADMIN);
    const made = await ask<IngestReceipt>(token, 'POST', '/audit-events', EVENT);
    assert.equal(made.code, '201');
    const read = await ask<AuditEvent>(token, 'GET', `/audit-events/${made.body.eventId}`);
    assert.equal(read.body.submittedBy, `token:${own.issuer}#producer`);
    assert.deepEqual(own.asked, ['/.well-known/openid-configuration', '/jwks']);
  });

  it('allow what both their scopes and their roles allow', async () => {
    const writer = await own.issue(ADMIN, 'audit:write');
    assert.equal(await codeOf(writer), '403 INSUFFICIENT_SCOPE');
    const viewer = await own.issue({ ...ADMIN, roles: ['Viewer'] });
    assert.equal(await codeOf(viewer), '200');
    assert.equal((await ask(viewer, 'POST', '/audit-events', EVENT)).code, '403 FORBIDDEN');
    assert.equal(await codeOf(await own.issue(ADMIN, '')), '403 INSUFFICIENT_SCOPE');
    assert.equal(await codeOf(await own.issue({ roles: ['Admin'] })), '400 MISSING_TENANT');
  });

  it('of another issuer are read by the names of its claims, which may be paths; roles do where no scope is required', async () => {
    const claims = { 'https://acme.test/org': 'globex', realm_access: { roles: ['Admin'] } };
    const token = await other.issue(claims, '');
    assert.equal((await ask(token, 'POST', '/audit-events', EVENT)).code, '201');
    assert.deepEqual(other.asked, ['/jwks']);
    const usual = await other.issue({ tenant_id: 'globex', roles: ['Admin'] }, '');
    assert.equal(await codeOf(usual), '400 MISSING_TENANT');
    const powerless = await other.issue({ 'https://acme.test/org': 'globex' }, '');
    assert.equal(await codeOf(powerless), '403 FORBIDDEN');
  });

  it('show as much of an event as their clearance does', async () => {
    const claims = (level?: string) => ({
      'https://acme.test/org': 'globex',
      realm_access: { roles: ['Admin'] },
      ...(level !== undefined && { attributes: { audit: { level } } }),
    });
    const event = { ...EVENT, classification: 'Confidential', payload: { iban: 'GB33' } };
    const made = await ask<IngestReceipt>(await other.issue(claims(), ''), 'POST', '/audit-events', event);
    const seen = async (level?: string) => {
      const token = await other.issue(claims(level), '');
      return (await ask<AuditEvent>(token, 'GET', `/audit-events/${made.body.eventId}`)).body.payload;
    };
    assert.deepEqual(await seen(), { iban: 'GB33' });
    assert.deepEqual(await seen('Confidential'), { iban: 'GB33' });
    assert.deepEqual(await seen('Internal'), {});
    assert.equal(await codeOf(await other.issue(claims('Everything'), '')), '401 UNAUTHENTICATED');
  });

  it('go on while the provider changes its keys: old ones as long as they are published, new ones at once', async () => {
    const [before1, before2] = [await own.issue(ADMIN), await own.issue(ADMIN)];
    const asked = own.asked.length;
    own.publish([K2, K1]);
    assert.equal(await codeOf(await own.issue(ADMIN)), '200', 'the new key at once');
    assert.equal(await codeOf(before1), '200', 'the old one beside it');
    own.publish([K2]);
    assert.equal(await codeOf(before2), '200', 'what is known stays for a while');
    assert.deepEqual(own.asked.slice(asked), ['/jwks']);
    own.publish([K1]);
  });

  it('are taken with the types and audiences that access tokens have', async () => {
    const sound = [{ typ: undefined }, { typ: 'JWT' }, { typ: 'application/at+jwt' }].map((header) =>
      signed({}, header),
    );
    for (const token of [...sound, signed({ aud: ['x', AUDIENCE] })])
      assert.equal(await codeOf(token), '200');
  });

  it('are not what forgers make, and none of that is worth a fetch', async () => {
    const asked = own.asked.length;
    for (const [what, token] of forgeries()) {
      const { code, text } = await ask(token);
      assert.match(code, EXPECTED[what] ?? /^401 UNAUTHENTICATED$/, `${what}: ${text}`);
      assert.ok(!text.includes(token.slice(-20)), `${what} is shown`);
    }
    assert.deepEqual(own.asked.slice(asked), []);
    assert.deepEqual(attacker.asked, []);
  });

  it('by unknown keys are refused without a flood of fetches, and others are served meanwhile', async () => {
    const asked = own.asked.length;
    const stranger = providerKey('x');
    const tokens = Array.from({ length: 200 }, (_, i) =>
      signed({}, { kid: `unknown-${i}` }, stranger.privateKey),
    );
    const sound = await own.issue(ADMIN);
    const codes = await Promise.all([...tokens.map(codeOf), codeOf(sound)]);
    assert.equal(codes.pop(), '200');
    assert.deepEqual(new Set(codes), new Set(['401 UNAUTHENTICATED']));
    for (const kid of KEY_IDS)
      assert.equal(await codeOf(signed({}, { kid })), '401 UNAUTHENTICATED', String(kid));
    for (const token of tokens.slice(0, 20)) assert.equal(await codeOf(token), '401 UNAUTHENTICATED');
    const fetches = own.asked.length - asked;
    assert.ok(fetches <= NEW_ID_FETCHES_MAX, `${fetches} fetches`);
  });

  for (const [i, misbehaviour] of MISBEHAVIOURS.entries()) {
    it(`cannot be judged while the provider misbehaves (${misbehaviour}), which is then left alone for a moment`, async () => {
      const provider = failing[i]!;
      const token = await provider.issue(ADMIN);
      const first = await ask(token);
      assert.equal(first.code, '504 UPSTREAM_TIMEOUT', first.text);
      const asked = provider.asked.length;
      const beganAt = performance.now();
      const codes = await Promise.all(Array.from({ length: 20 }, () => codeOf(token)));
      assert.deepEqual(new Set(codes), new Set(['504 UPSTREAM_TIMEOUT']));
      // Discovery and keys, in every second.
      const most = 2 * Math.ceil((performance.now() - beganAt) / 1000 + 1);
      assert.ok(provider.asked.length - asked <= most, `asked ${provider.asked.length - asked} times`);
      assert.equal(await codeOf(await own.issue(ADMIN)), '200', 'other issuers go on');
    });
  }
});
