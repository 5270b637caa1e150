// Tokens of an identity provider, which here is a real HTTP server.

import assert from 'node:assert/strict';
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { AuditError } from '@tallystick/contract';
import { SignJWT } from 'jose';
import { CLAIM_NAMES } from '../access/local-issuer.ts';
import { createTokens } from '../access/tokens.ts';
import { createFakeClock } from '../runtime/fake-clock.ts';
import { createOpenIdIssuer, type FetchTimes } from './openid-issuer.ts';

const NOW_MS = Date.UTC(2026, 5, 1);
const TIMES: FetchTimes = { timeoutMs: 10_000, cooldownMs: 0, keptMs: 600_000 };
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
  mode: 'answers' | 'hangs' | 'fails' | 'lies' | 'redirects';
  readonly requests: string[];
}

async function startProvider(keys: SigningKey[]) {
  const provider: Provider = { keys, mode: 'answers', requests: [] };
  const server = createServer((request, response) => {
    provider.requests.push(request.url!);
    if (provider.mode === 'hangs') return;
    const json = (body: unknown) => response.end(JSON.stringify(body));
    if (provider.mode === 'fails') response.writeHead(500).end();
    else if (provider.mode === 'redirects') response.writeHead(302, { location: '/keys' }).end();
    else if (request.url === '/keys') json({ keys: provider.keys.map(({ jwk }) => jwk) });
    else json({ issuer: provider.mode === 'lies' ? 'https://evil.test' : url, jwks_uri: `${url}/keys` });
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
  const tokens = createTokens([createOpenIdIssuer(settingsFor(url), TIMES)], createFakeClock(NOW_MS));
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
  const tokens = createTokens([createOpenIdIssuer(settingsFor(url), TIMES)], createFakeClock(NOW_MS));
  for (const stranger of [signingKey('k1'), signingKey('k9')]) {
    await assert.rejects(tokens.verify(await sign(url, stranger)), { code: 'UNAUTHENTICATED' });
  }
});

test('while the provider is away, tokens by keys that we have go on; others cannot be judged', async () => {
  const key = signingKey('k1');
  await using running = await startProvider([key]);
  const { url, provider } = running;
  const tokens = createTokens([createOpenIdIssuer(settingsFor(url), TIMES)], createFakeClock(NOW_MS));
  await tokens.verify(await sign(url, key));
  provider.mode = 'fails';
  await assert.rejects(tokens.verify(await sign(url, signingKey('k2'))), { code: 'UPSTREAM_TIMEOUT' });
  assert.equal((await tokens.verify(await sign(url, key, { n: 2 }))).tenant, 'acme');
});

test('an address for the keys in the settings makes discovery needless', async () => {
  const key = signingKey('k1');
  await using running = await startProvider([key]);
  const { url, provider } = running;
  const issuer = createOpenIdIssuer(settingsFor('https://id.example.com', `${url}/keys`), TIMES);
  const tokens = createTokens([issuer], createFakeClock(NOW_MS));
  assert.equal((await tokens.verify(await sign('https://id.example.com', key))).tenant, 'acme');
  assert.deepEqual(provider.requests, ['/keys']);
});

test('a provider that hangs, fails, lies or sends us elsewhere is UPSTREAM_TIMEOUT, and asked again', async () => {
  const key = signingKey('k1');
  await using running = await startProvider([key]);
  const { url, provider } = running;
  const tokens = createTokens([createOpenIdIssuer(settingsFor(url), IMPATIENT)], createFakeClock(NOW_MS));
  const token = await sign(url, key);
  for (const mode of ['hangs', 'fails', 'lies', 'redirects'] as const) {
    provider.mode = mode;
    const error: unknown = await tokens.verify(token).catch((thrown: unknown) => thrown);
    assert.ok(error instanceof AuditError && error.code === 'UPSTREAM_TIMEOUT', mode);
  }
  provider.mode = 'answers';
  assert.equal((await tokens.verify(token)).tenant, 'acme');
});

test('a provider that is gone is UPSTREAM_TIMEOUT', async () => {
  const running = await startProvider([]);
  await running[Symbol.asyncDispose]();
  const tokens = createTokens([createOpenIdIssuer(settingsFor(running.url), TIMES)], createFakeClock(NOW_MS));
  const token = await sign(running.url, signingKey('k1'));
  await assert.rejects(tokens.verify(token), { code: 'UPSTREAM_TIMEOUT' });
});
