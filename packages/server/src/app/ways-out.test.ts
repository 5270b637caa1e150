import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { SignJWT } from 'jose';
import { loadConfig } from '../config/config.ts';
import { systemClock } from '../runtime/clock.ts';
import { ForwardProxy } from '../testing/forward-proxy.ts';
import { startTestApp } from '../testing/test-app.ts';
import { createWaysOut, type WaysOut } from './ways-out.ts';

const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const keys = [{ ...publicKey.export({ format: 'jwk' }), kid: 'k', alg: 'ES256' }];

/** An identity provider, and to others a server that answers. */
const provider = createServer((request, response) => {
  const answer = request.url === '/keys' ? { keys } : { issuer: url, jwks_uri: `${url}/keys` };
  response.end(JSON.stringify(answer));
});
let url: string;
before(async () => {
  provider.listen(0, '127.0.0.1');
  await once(provider, 'listening');
  url = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`;
});
after(() => {
  provider.close();
  provider.closeAllConnections();
});

test('plain HTTP reaches witnesses on loopback in every environment, and identity providers on loopback outside Production', async () => {
  const outcome = (way: WaysOut['witnesses'], address: string) =>
    way.send({ url: address, answerBytesMax: 1000, timeoutMs: 60_000 }).then(
      ({ status }) => status,
      ({ fault }: { fault: string }) => fault,
    );
  for (const [Environment, local] of [
    ['Production', 'NotAllowed'],
    ['Development', 200],
    ['Test', 200],
  ] as const) {
    const { config } = loadConfig({ variables: { Environment }, workingDirectory: import.meta.dirname });
    using ways = createWaysOut(config, systemClock);
    assert.equal(await outcome(ways.identityProviders, url), local, Environment);
    assert.equal(await outcome(ways.witnesses, url), 200, Environment);
    for (const way of [ways.identityProviders, ways.witnesses]) {
      assert.equal(await outcome(way, 'http://192.0.2.1/'), 'NotAllowed', Environment);
    }
  }
});

test('webhooks go to public addresses over https, unless a setting allows private ones', async () => {
  const waysOut = (variables: Record<string, string>) =>
    createWaysOut(loadConfig({ variables, workingDirectory: import.meta.dirname }).config, systemClock);
  const request = { url, answerBytesMax: 1000, timeoutMs: 60_000 };

  using usual = waysOut({});
  await assert.rejects(usual.webhooks.send(request), { fault: 'NotAllowed' });
  assert.match((await usual.webhooks.judge(url)) ?? '', /begins with https:/);
  assert.match((await usual.webhooks.judge('https://127.0.0.1/')) ?? '', /is not public/);
  assert.equal(await usual.webhooks.judge('https://consumer.invalid/'), undefined, 'it may resolve later');

  using wide = waysOut({ Webhooks__AllowPrivateTargets: 'true' });
  assert.equal((await wide.webhooks.send(request)).status, 200);
  assert.equal(await wide.webhooks.judge(url), undefined);
  await assert.rejects(wide.webhooks.send({ ...request, url: 'http://169.254.169.254/latest' }), {
    fault: 'NotAllowed',
  });
});

test('webhooks go through the proxy that is set', async () => {
  await using proxy = await ForwardProxy.start();
  const variables = { Webhooks__AllowPrivateTargets: 'true', Webhooks__Proxy: proxy.url('me:hunter2') };
  const { config } = loadConfig({ variables, workingDirectory: import.meta.dirname });
  using ways = createWaysOut(config, systemClock);
  assert.equal((await ways.webhooks.send({ url, answerBytesMax: 1000, timeoutMs: 60_000 })).status, 200);
  assert.deepEqual(
    proxy.asked.map(({ to }) => to),
    [new URL(url).host],
  );
  assert.equal((await ways.witnesses.send({ url, answerBytesMax: 1000, timeoutMs: 60_000 })).status, 200);
  assert.equal(proxy.asked.length, 1, 'nothing else does');
});

test('a service in Test accepts tokens of a provider on loopback', async () => {
  await using app = await startTestApp({
    Environment: 'Test',
    Authentication__Issuers__0__Issuer: url,
    Authentication__Issuers__0__Audience: 'audit',
  });
  const token = await new SignJWT({ tenant_id: 'acme', scope: 'audit:read' })
    .setProtectedHeader({ alg: 'ES256', kid: 'k' })
    .setIssuer(url)
    .setAudience('audit')
    .setSubject('svc')
    .setExpirationTime('1h')
    .sign(privateKey);
  const response = await fetch(`${app.url}/api/v1/audit-events`, {
    headers: { authorization: `Bearer ${token}` },
  });
  assert.equal(response.status, 200, await response.text());
});
