// Which pages of other origins may ask, over real HTTP.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ALLOWED, believeKey, boundOperations } from '../../testing/bound-operations.ts';
import { startTestApp, type TestApp } from '../../testing/test-app.ts';

const CONSOLE = 'https://console.example';
const start = (settings: Record<string, string> = {}) =>
  startTestApp(settings, { authenticate: believeKey, operations: boundOperations() });
const allowing = () => start({ Server__CorsOrigins: `${CONSOLE}, http://localhost:5173` });

const preflight = (app: TestApp, origin: string, path = '/api/v1/audit-events') =>
  fetch(app.url + path, {
    method: 'OPTIONS',
    headers: {
      Origin: origin,
      'Access-Control-Request-Method': 'POST',
      'Access-Control-Request-Headers': 'content-type, x-api-key,x-tenant-id',
    },
  });

test('a page of an allowed origin may ask, and read what answers say in their headers', async () => {
  await using app = await allowing();
  const asked = await preflight(app, CONSOLE);
  assert.equal(asked.status, 204);
  assert.equal(asked.headers.get('access-control-allow-origin'), CONSOLE);
  assert.match(asked.headers.get('access-control-allow-methods') ?? '', /\bPATCH\b/);
  assert.equal(asked.headers.get('access-control-allow-headers'), 'content-type, x-api-key,x-tenant-id');
  assert.equal(asked.headers.get('access-control-allow-credentials'), null);
  const answer = await fetch(`${app.url}/api/v1/audit-events`, { headers: { ...ALLOWED, Origin: CONSOLE } });
  assert.equal(answer.status, 200);
  assert.equal(answer.headers.get('access-control-allow-origin'), CONSOLE);
  assert.match(answer.headers.get('access-control-expose-headers') ?? '', /X-Correlation-Id.*Retry-After/);
  assert.match(answer.headers.get('vary') ?? '', /Origin/);
  const refused = await fetch(`${app.url}/api/v1/audit-events`, {
    headers: { Origin: 'http://localhost:5173' },
  });
  assert.equal(refused.status, 401);
  assert.equal(
    refused.headers.get('access-control-allow-origin'),
    'http://localhost:5173',
    'errors can be read',
  );
});

test('a page of any other origin is told nothing, and OPTIONS is no method here', async () => {
  await using app = await allowing();
  for (const origin of [
    'https://evil.example',
    'https://console.example.evil',
    `${CONSOLE}:8443`,
    'null',
    'http://console.example',
  ]) {
    const asked = await preflight(app, origin);
    assert.equal(asked.status, 404, origin);
    assert.equal(asked.headers.get('access-control-allow-origin'), null, origin);
    assert.match(asked.headers.get('vary') ?? '', /Origin/, 'a cache must not give it to others');
    await asked.body?.cancel();
  }
  const plain = await fetch(`${app.url}/api/v1/audit-events`, {
    method: 'OPTIONS',
    headers: { Origin: CONSOLE },
  });
  assert.equal(plain.status, 404, 'no preflight');
  await plain.body?.cancel();
});

test('names of headers that are none are not sent back', async () => {
  await using app = await allowing();
  const asked = await fetch(`${app.url}/api/v1/health`, {
    method: 'OPTIONS',
    headers: {
      Origin: CONSOLE,
      'Access-Control-Request-Method': 'GET',
      'Access-Control-Request-Headers': 'a b<c>',
    },
  });
  assert.equal(asked.status, 204);
  assert.equal(asked.headers.get('access-control-allow-headers'), null);
});

test('without the setting nobody else may ask', async () => {
  await using app = await start();
  assert.equal((await preflight(app, CONSOLE)).status, 404);
  const answer = await fetch(`${app.url}/api/v1/health`, { headers: { Origin: CONSOLE } });
  assert.equal(answer.headers.get('access-control-allow-origin'), null);
  assert.doesNotMatch(answer.headers.get('vary') ?? '', /Origin/);
});
