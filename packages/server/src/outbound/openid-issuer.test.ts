// Tokens of an identity provider, which here is a real HTTP server.

import assert from 'node:assert/strict';
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import { AuditError } from '@tallystick/contract';
import { SignJWT } from 'jose';
import { CLAIM_NAMES } from '../access/local-issuer.ts';
import { createTokens } from '../access/tokens.ts';
import { systemClock } from '../runtime/clock.ts';
import { createFakeClock } from '../testing/fake-clock.ts';
import type { Facts } from '../telemetry.ts';
import { anyAddress, loopbackOnly, noAddress } from './http/address-rules.ts';
import { createOutboundHttp } from './http/guarded-http.ts';
import {
  createOpenIdIssuer,
  type FetchTimes,
  type OpenIdParts,
  type OpenIdSettings,
} from './openid-issuer.ts';

const NOW_MS = Date.UTC(2026, 5, 1);
const TIMES: FetchTimes = { timeoutMs: 10_000, windowMs: 0, keptMs: 600_000, pauseMs: 0 };
/** For a provider that hangs. */
const IMPATIENT: FetchTimes = { ...TIMES, timeoutMs: 150 };

interface SigningKey {
  readonly kid: string;
  readonly privateKey: KeyObject;
  readonly jwk: object;
}

function signingKey(kid: string): SigningKey {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return { kid, privateKey, jwk: { ...publicKey.export({ format: 'jwk' }), kid, alg: 'ES256', use: 'sig' } };
}

/** What the provider does; a test may change it at any moment. */
interface Provider {
  keys: SigningKey[];
  mode: 'answers' | 'hangs' | 'fails' | 'lies' | 'redirects' | 'floods' | 'drips';
  /** Undefined: at its own origin. */
  jwksUri?: string;
  readonly requests: string[];
}

/** A byte now and then, so that the connection is never idle for long. */
function drip(response: ServerResponse): void {
  const timer = setInterval(() => response.write(' '), 20);
  response.once('close', () => clearInterval(timer));
}

async function startProvider(keys: SigningKey[]) {
  const provider: Provider = { keys, mode: 'answers', requests: [] };
  const documentFor = (path: string) => {
    if (path === '/keys') return JSON.stringify({ keys: provider.keys.map(({ jwk }) => jwk) });
    const issuer = provider.mode === 'lies' ? 'https://evil.test' : url;
    return JSON.stringify({ issuer, jwks_uri: provider.jwksUri ?? `${url}/keys` });
  };
  const server = createServer((request, response) => {
    provider.requests.push(request.url!);
    if (provider.mode === 'hangs') return;
    if (provider.mode === 'fails') response.writeHead(500).end();
    else if (provider.mode === 'redirects') response.writeHead(302, { location: '/keys' }).end();
    else if (provider.mode === 'floods') response.end(' '.repeat(300 * 1024) + documentFor(request.url!));
    else if (provider.mode === 'drips') drip(response);
    else response.end(documentFor(request.url!));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    provider,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const settingsFor = (issuer: string, jwksUri?: string) => ({
  issuer,
  audience: 'audit',
  jwksUri,
  algorithms: ['ES256', 'EdDSA'],
  claims: CLAIM_NAMES,
  requiresScope: true,
});

const http = createOutboundHttp({ clock: systemClock, https: anyAddress, http: loopbackOnly });
after(() => http[Symbol.dispose]());

const PARTS: OpenIdParts = { http, clock: systemClock, telemetry: { warn: () => {} }, times: TIMES };
const issuerFor = (settings: OpenIdSettings, times = TIMES) =>
  createOpenIdIssuer(settings, { ...PARTS, times });

function sign(issuer: string, { kid, privateKey }: SigningKey, claims: object = {}): Promise<string> {
  return new SignJWT({ tenant_id: 'acme', scope: 'openid audit:write', ...claims })
    .setProtectedHeader({ alg: 'ES256', kid })
    .setIssuer(issuer)
    .setAudience('audit')
    .setSubject('svc')
    .setExpirationTime(NOW_MS / 1000 + 60)
    .sign(privateKey);
}

test('keys are found by discovery, fetched once, and again for a key id that is new', async () => {
  const [first, second] = [signingKey('k1'), signingKey('k2')];
  await using running = await startProvider([first]);
  const { url, provider } = running;
  const tokens = createTokens([issuerFor(settingsFor(url))], createFakeClock(NOW_MS));
  const caller = await tokens.verify(await sign(url, first));
  assert.deepEqual([caller.name, caller.tenant], [`token:${url}#svc`, 'acme']);
  assert.equal(caller.refusal('audit.events.write'), undefined);
  assert.equal(caller.refusal('audit.events.read'), 'INSUFFICIENT_SCOPE');
  await tokens.verify(await sign(url, first, { n: 2 }));
  assert.deepEqual(provider.requests, ['/.well-known/openid-configuration', '/keys']);
  provider.keys = [second];
  await tokens.verify(await sign(url, second));
  assert.deepEqual(provider.requests.slice(2), ['/keys']);
});

test('a token by a key that the provider does not have is refused', async () => {
  await using running = await startProvider([signingKey('k1')]);
  const { url } = running;
  const tokens = createTokens([issuerFor(settingsFor(url))], createFakeClock(NOW_MS));
  for (const stranger of [signingKey('k1'), signingKey('k9')]) {
    await assert.rejects(tokens.verify(await sign(url, stranger)), { code: 'UNAUTHENTICATED' });
  }
});

test('while the provider is away, tokens by keys that we have go on; others cannot be judged', async () => {
  const key = signingKey('k1');
  await using running = await startProvider([key]);
  const { url, provider } = running;
  const tokens = createTokens([issuerFor(settingsFor(url))], createFakeClock(NOW_MS));
  await tokens.verify(await sign(url, key));
  provider.mode = 'fails';
  await assert.rejects(tokens.verify(await sign(url, signingKey('k2'))), { code: 'UPSTREAM_TIMEOUT' });
  assert.equal((await tokens.verify(await sign(url, key, { n: 2 }))).tenant, 'acme');
});

test('an address for the keys in the settings makes discovery needless', async () => {
  const key = signingKey('k1');
  await using running = await startProvider([key]);
  const { url, provider } = running;
  const issuer = issuerFor(settingsFor('https://id.example.com', `${url}/keys`));
  const tokens = createTokens([issuer], createFakeClock(NOW_MS));
  assert.equal((await tokens.verify(await sign('https://id.example.com', key))).tenant, 'acme');
  assert.deepEqual(provider.requests, ['/keys']);
});

test('a provider that hangs, fails, lies, floods, drips or redirects is UPSTREAM_TIMEOUT, and is asked again', async () => {
  const key = signingKey('k1');
  await using running = await startProvider([key]);
  const { url, provider } = running;
  const tokens = createTokens([issuerFor(settingsFor(url), IMPATIENT)], createFakeClock(NOW_MS));
  const token = await sign(url, key);
  for (const mode of ['hangs', 'fails', 'lies', 'redirects', 'floods', 'drips'] as const) {
    provider.mode = mode;
    const error: unknown = await tokens.verify(token).catch((thrown: unknown) => thrown);
    assert.ok(error instanceof AuditError && error.code === 'UPSTREAM_TIMEOUT', mode);
  }
  provider.mode = 'answers';
  assert.equal((await tokens.verify(token)).tenant, 'acme');
});

test('keys that discovery names on another origin, or over another scheme, are not fetched', async () => {
  const key = signingKey('k1');
  await using running = await startProvider([key]);
  await using elsewhere = await startProvider([key]);
  const { url, provider } = running;
  const tokens = createTokens([issuerFor(settingsFor(url))], createFakeClock(NOW_MS));
  const token = await sign(url, key);
  const secure = `${url.replace('http:', 'https:')}/keys`;
  const data = `data:application/json,${encodeURIComponent(JSON.stringify({ keys: [key.jwk] }))}`;
  for (const jwksUri of [`${elsewhere.url}/keys`, secure, data, '/keys', 'file:///keys']) {
    provider.jwksUri = jwksUri;
    await assert.rejects(tokens.verify(token), { code: 'UPSTREAM_TIMEOUT' }, jwksUri);
  }
  assert.deepEqual(elsewhere.provider.requests, []);
  // Control: the operator may name that origin.
  const named = createTokens([issuerFor(settingsFor(url, `${elsewhere.url}/keys`))], createFakeClock(NOW_MS));
  assert.equal((await named.verify(token)).tenant, 'acme');
});

test('without plain HTTP, as in Production, a provider that has nothing else is not asked', async () => {
  const key = signingKey('k1');
  await using running = await startProvider([key]);
  const { url, provider } = running;
  using secure = createOutboundHttp({ clock: systemClock, https: anyAddress, http: noAddress });
  const token = await sign(url, key);
  for (const settings of [settingsFor(url), settingsFor(url, `${url}/keys`)]) {
    const issuer = createOpenIdIssuer(settings, { ...PARTS, http: secure });
    const tokens = createTokens([issuer], createFakeClock(NOW_MS));
    await assert.rejects(tokens.verify(token), { code: 'UPSTREAM_TIMEOUT' });
  }
  assert.deepEqual(provider.requests, []);
});

test('the diagnostics say why a provider cannot be used, once a minute and not once for each token', async () => {
  await using running = await startProvider([signingKey('k1')]);
  const { url, provider } = running;
  provider.jwksUri = 'https://keys.example/keys';
  const clock = createFakeClock(NOW_MS);
  const told: unknown[] = [];
  const telemetry = { warn: (_: string, facts?: Facts) => void told.push(facts) };
  const issuer = createOpenIdIssuer(settingsFor(url), { ...PARTS, clock, telemetry });
  const tokens = createTokens([issuer], clock);
  const tryOnce = async (n: number) => {
    await assert.rejects(tokens.verify(await sign(url, signingKey('k1'), { n })));
  };
  await tryOnce(1);
  await tryOnce(2);
  const why = `${url}/.well-known/openid-configuration names keys at "https://keys.example/keys", which is not on ${url}; set JwksUri to allow it`;
  assert.deepEqual(told, [{ issuer: url, why }]);
  await clock.advance(59_999);
  await tryOnce(3);
  assert.equal(told.length, 1);
  await clock.advance(1);
  await tryOnce(4);
  assert.equal(told.length, 2);
});

test('a provider that is gone is UPSTREAM_TIMEOUT', async () => {
  const running = await startProvider([]);
  await running[Symbol.asyncDispose]();
  const tokens = createTokens([issuerFor(settingsFor(running.url))], createFakeClock(NOW_MS));
  const token = await sign(running.url, signingKey('k1'));
  await assert.rejects(tokens.verify(token), { code: 'UPSTREAM_TIMEOUT' });
});
