// The limits over real HTTP: what a client sees of them.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ALLOWED, believeKey, boundOperations, EVENT } from '../testing/bound-operations.ts';
import { startTestApp, type TestApp } from '../testing/test-app.ts';
import { WITH_PLATFORM_KEY } from '../testing/admin-caller.ts';

const LIMITED = {
  RateLimiting__EnableRateLimiting: 'true',
  RateLimiting__GlobalLimiter__PermitLimit: '5',
  RateLimiting__GlobalLimiter__Window: '00:01:00',
};

const start = (settings: Record<string, string> = {}) =>
  startTestApp({ ...LIMITED, ...settings }, { authenticate: believeKey, operations: boundOperations() });

const list = (app: TestApp, headers: Record<string, string> = {}) =>
  fetch(`${app.url}/api/v1/audit-events`, { headers: { ...ALLOWED, ...headers } });

const seen = ({ status, headers }: Response) => [
  status,
  headers.get('x-ratelimit-limit'),
  headers.get('x-ratelimit-remaining'),
];

test('the sixth request in a window of five is refused, and says when to come back', async () => {
  await using app = await start();
  for (let left = 4; left >= 0; left--) {
    const answer = await list(app);
    assert.deepEqual(seen(answer), [200, '5', String(left)]);
    const resetInS = Number(answer.headers.get('x-ratelimit-reset')) - Date.now() / 1000;
    assert.ok(resetInS > 0 && resetInS <= 61, `reset in ${resetInS} s`);
    assert.equal(answer.headers.get('retry-after'), null);
  }
  const refused = await list(app);
  assert.deepEqual(seen(refused), [429, '5', '0']);
  const retryAfter = Number(refused.headers.get('retry-after'));
  assert.ok(retryAfter >= 1 && retryAfter <= 60, `${retryAfter} s`);
  const { error } = (await refused.json()) as { error: { code: string; message: string } };
  assert.equal(error.code, 'RATE_LIMITED');
  assert.match(error.message, /limit Global allows 5 in 60 s/);
});

test('refusals of other kinds count and are told of the limit, too; paths that are not there are not counted', async () => {
  await using app = await start();
  const unknown = await fetch(`${app.url}/api/v1/nothing`, { headers: ALLOWED });
  assert.deepEqual(seen(unknown), [404, null, null]);
  const stranger = await fetch(`${app.url}/api/v1/audit-events`);
  assert.deepEqual(seen(stranger), [401, '5', '4']);
  const wrong = await fetch(`${app.url}/api/v1/audit-events?limit=0`, { headers: ALLOWED });
  assert.deepEqual(seen(wrong), [400, '5', '3']);
});

test('probes and documents are never refused, and do not count', async () => {
  await using app = await start();
  for (let i = 0; i < 6; i++) await list(app);
  for (const path of ['/health/live', '/api/v1/health', '/health/ready'])
    assert.deepEqual(seen(await fetch(app.url + path)), [200, null, null], path);
});

test('senders that a trusted proxy tells apart have permits of their own', async () => {
  await using app = await start();
  for (let i = 0; i < 6; i++) await list(app, { 'X-Test-Id': 'one' });
  assert.equal((await list(app, { 'X-Test-Id': 'one' })).status, 429);
  assert.equal((await list(app, { 'X-Test-Id': 'two' })).status, 200);
  assert.equal((await list(app, { 'X-Forwarded-For': '203.0.113.7, 127.0.0.1' })).status, 200);
  assert.deepEqual(seen(await list(app, { 'X-Forwarded-For': '203.0.113.7' })), [200, '5', '3']);
});

test('a tenant has one ingestion limit for all its senders, and the limiter with the fewest permits is shown', async () => {
  await using app = await start({ RateLimiting__GlobalLimiter__PermitLimit: '100000' });
  const send = () =>
    fetch(`${app.url}/api/v1/audit-events`, {
      method: 'POST',
      headers: { ...ALLOWED, 'Content-Type': 'application/json' },
      body: JSON.stringify(EVENT),
    });
  assert.deepEqual(seen(await send()), [201, '1000', '999']);
  for (let i = 0; i < 9; i++)
    await Promise.all(Array.from({ length: 100 }, async () => (await send()).text()));
  for (let i = 0; i < 99; i++) await (await send()).text();
  const refused = await send();
  assert.deepEqual(seen(refused), [429, '1000', '0']);
  assert.equal((await list(app)).status, 200, 'reading goes on');
});

test('a queue lets requests wait for the next window', async () => {
  await using app = await start({
    RateLimiting__GlobalLimiter__PermitLimit: '1',
    RateLimiting__GlobalLimiter__QueueLimit: '2',
    RateLimiting__GlobalLimiter__Window: '00:00:00.400',
  });
  const startedAt = performance.now();
  const answers = await Promise.all([list(app), list(app), list(app), list(app)]);
  const statuses = answers.map(({ status }) => status).sort((a, b) => a - b);
  assert.deepEqual(statuses, [200, 200, 200, 429]);
  assert.ok(performance.now() - startedAt >= 750, 'two windows later');
});

test('a request that waits when the service stops is answered', async () => {
  await using app = await start({
    RateLimiting__GlobalLimiter__PermitLimit: '1',
    RateLimiting__GlobalLimiter__QueueLimit: '1',
    RateLimiting__GlobalLimiter__Window: '01:00:00',
  });
  await list(app);
  const both = [list(app), list(app)];
  // The queue has room for one: who is refused stands behind the other.
  assert.equal((await Promise.race(both)).status, 429);
  await app[Symbol.asyncDispose]();
  for (const answer of await Promise.all(both)) assert.equal(answer.status, 429);
});

test('an operator gives permits back; that is never refused', async () => {
  await using app = await startTestApp({
    ...LIMITED,
    ...WITH_PLATFORM_KEY,
    RateLimiting__GlobalLimiter__AutoReplenishment: 'false',
    RateLimiting__GlobalLimiter__Window: '00:00:00.050',
  });
  const headers = { 'X-API-Key': WITH_PLATFORM_KEY.TALLYSTICK_ADMIN_KEY, 'X-Tenant-Id': 'acme' };
  const read = () => fetch(`${app.url}/api/v1/audit-events`, { headers });
  for (let i = 0; i < 6; i++) await read();
  await new Promise((resolve) => setTimeout(resolve, 120));
  assert.equal((await read()).status, 429);
  const replenish = () => fetch(`${app.url}/api/v1/admin/rate-limits/replenish`, { method: 'POST', headers });
  const answer = await replenish();
  assert.equal(answer.status, 200);
  const body = (await answer.json()) as { replenishedAt: string; limiters: string[] };
  assert.deepEqual(body.limiters, ['Global', 'Ingestion']);
  assert.ok(Math.abs(Date.parse(body.replenishedAt) - Date.now()) < 60_000);
  assert.deepEqual(seen(await read()), [200, '5', '4']);
});

test('switched off, nothing is limited and no header says anything', async () => {
  await using app = await startTestApp({}, { authenticate: believeKey, operations: boundOperations() });
  for (let i = 0; i < 20; i++) assert.deepEqual(seen(await list(app)), [200, null, null]);
});
