// What the settings make of /mcp: its own rate policy, and whether it is there at all.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ask } from '../../testing/ask.ts';
import { ALLOWED, believeKey, boundOperations } from '../../testing/bound-operations.ts';
import { postMessage } from '../../testing/mcp-caller.ts';
import { startTestApp, type TestApp } from '../../testing/test-app.ts';

const GLOBAL = {
  RateLimiting__GlobalLimiter__PermitLimit: '2',
  RateLimiting__GlobalLimiter__Window: '01:00:00',
};
const MCP = {
  McpRateLimiting__McpLimiter__PermitLimit: '3',
  McpRateLimiting__McpLimiter__Window: '00:30:00',
};
const ON = { RateLimiting__EnableRateLimiting: 'true' };

const start = (settings: Record<string, string>) =>
  startTestApp(settings, { authenticate: believeKey, operations: boundOperations() });

const ping = (app: TestApp) =>
  postMessage(app, { jsonrpc: '2.0', id: 1, method: 'ping' }, { headers: ALLOWED });
const list = (app: TestApp) => ask(app, 'GET', '/api/v1/audit-events', { headers: ALLOWED });

const seen = ({ status, headers }: { readonly status: number; readonly headers: Headers }) => [
  status,
  headers.get('X-RateLimit-Limit'),
  headers.get('X-RateLimit-Remaining'),
];

test('/mcp has a window of its own, which neither takes permits of the global one nor needs them', async () => {
  await using app = await start({ ...ON, ...GLOBAL, ...MCP });
  for (const left of ['1', '0']) assert.deepEqual(seen(await list(app)), [200, '2', left]);
  assert.deepEqual(seen(await list(app)), [429, '2', '0']);
  for (const left of ['2', '1', '0']) assert.deepEqual(seen(await ping(app)), [200, '3', left]);
  const refused = await ping(app);
  assert.deepEqual(seen(refused), [429, '3', '0']);
  const retryAfter = Number(refused.headers.get('Retry-After'));
  assert.ok(retryAfter >= 1 && retryAfter <= 1800, `${retryAfter} s`);
  const resetInS = Number(refused.headers.get('X-RateLimit-Reset')) - Date.now() / 1000;
  assert.ok(resetInS > 0 && resetInS <= 1801, `reset in ${resetInS} s`);
  const { message, data } = refused.answer.error!;
  assert.match(message, /^RATE_LIMITED: .*limit MCP allows 3 in 1800 s/);
  assert.equal((data as { error: { code: string } }).error.code, 'RATE_LIMITED');
});

test('/mcp is limited only where its own permits are set and rate limiting is enabled', async () => {
  for (const settings of [
    { ...ON, ...GLOBAL },
    { ...GLOBAL, ...MCP },
  ]) {
    await using app = await start(settings);
    for (let i = 0; i < 5; i++) assert.deepEqual(seen(await ping(app)), [200, null, null]);
  }
});

test('with Mcp__Enabled=false neither /mcp nor its metadata is there', async () => {
  await using app = await start({ Mcp__Enabled: 'false' });
  const paths = [
    '/mcp',
    '/.well-known/oauth-protected-resource',
    '/.well-known/oauth-protected-resource/mcp',
  ];
  for (const path of paths) {
    for (const method of ['GET', 'POST', 'DELETE', 'OPTIONS']) {
      const { code } = await ask(app, method, path, { headers: ALLOWED });
      assert.equal(code, '404 ROUTE_NOT_FOUND', `${method} ${path}`);
    }
  }
  assert.equal((await ping(app)).status, 404);
});
