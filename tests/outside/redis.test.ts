// Two services that count requests through one Redis, a real one.

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { ALLOWED, believeKey, boundOperations } from '../../packages/server/src/testing/bound-operations.ts';
import { freePort } from '../../packages/server/src/testing/free-port.ts';
import { startTestApp, type TestApp } from '../../packages/server/src/testing/test-app.ts';
import { until } from '../../packages/server/src/testing/until.ts';

const SERVER = ['/usr/bin/redis-server', '/usr/local/bin/redis-server', '/usr/bin/valkey-server'].find(
  (path) => existsSync(path),
);
const skip = SERVER === undefined ? 'there is no Redis on this machine' : false;

const answers = (port: number) =>
  new Promise<boolean>((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(true);
    }).on('error', () => resolve(false));
  });

async function startRedis(port: number, t: TestContext): Promise<ChildProcess> {
  const folder = mkdtempSync(join(tmpdir(), 'tallystick-redis-'));
  const options = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--dir', folder];
  const redis = spawn(SERVER!, options, { stdio: 'ignore' });
  t.after(async () => {
    await stop(redis);
    rmSync(folder, { recursive: true, force: true });
  });
  await until(() => answers(port));
  return redis;
}

async function stop(redis: ChildProcess): Promise<void> {
  if (redis.exitCode !== null || redis.signalCode !== null) return;
  const ended = new Promise((resolve) => redis.once('exit', resolve));
  redis.kill('SIGKILL');
  await ended;
}

const limited = (redisPort: number, more: Record<string, string> = {}) =>
  startTestApp(
    {
      RateLimiting__EnableRateLimiting: 'true',
      RateLimiting__GlobalLimiter__PermitLimit: '5',
      RateLimiting__GlobalLimiter__Window: '00:01:00',
      Redis__Url: `redis://127.0.0.1:${redisPort}`,
      ...more,
    },
    { authenticate: believeKey, operations: boundOperations() },
  );

const statusOf = async (app: TestApp, sender: string) => {
  const answer = await fetch(`${app.url}/api/v1/audit-events`, {
    headers: { ...ALLOWED, 'X-Test-Id': sender },
  });
  await answer.body?.cancel();
  return answer.status;
};

const healthOf = async (app: TestApp) => {
  const answer = await fetch(`${app.url}/api/v1/health`);
  const { status, entries } = (await answer.json()) as {
    status: string;
    entries: Record<string, { status: string } | undefined>;
  };
  return [answer.status, status, entries['rates']?.status];
};

test('two nodes count together; without Redis each counts for itself and says so; then together again', {
  skip,
}, async (t) => {
  const port = await freePort();
  let redis = await startRedis(port, t);
  await using one = await limited(port);
  await using other = await limited(port);
  await until(async () => (await healthOf(one))[2] === 'Healthy' && (await healthOf(other))[2] === 'Healthy');
  const together: number[] = [];
  for (let i = 0; i < 4; i++) together.push(await statusOf(one, 'a'), await statusOf(other, 'a'));
  assert.deepEqual(together, [200, 200, 200, 200, 200, 429, 429, 429]);
  await stop(redis);
  const alone: number[] = [];
  for (let i = 0; i < 6; i++) alone.push(await statusOf(one, 'b'));
  assert.deepEqual(alone, [200, 200, 200, 200, 200, 429]);
  assert.equal(await statusOf(other, 'b'), 200);
  assert.deepEqual(await healthOf(one), [200, 'Degraded', 'Degraded']);
  redis = await startRedis(port, t);
  await until(async () => {
    await Promise.all([statusOf(one, 'c'), statusOf(other, 'c')]);
    return (await healthOf(one))[2] === 'Healthy' && (await healthOf(other))[2] === 'Healthy';
  });
  const again: number[] = [];
  for (let i = 0; i < 3; i++) again.push(await statusOf(one, 'd'), await statusOf(other, 'd'));
  assert.deepEqual(again, [200, 200, 200, 200, 200, 429]);
});

test('a Redis that hangs keeps nobody waiting for long', { skip }, async (t) => {
  const port = await freePort();
  const redis = await startRedis(port, t);
  await using app = await limited(port);
  await until(async () => (await healthOf(app))[2] === 'Healthy');
  assert.equal(await statusOf(app, 'a'), 200);
  redis.kill('SIGSTOP');
  const startedAt = performance.now();
  for (let i = 0; i < 5; i++) await statusOf(app, 'a');
  const ms = performance.now() - startedAt;
  redis.kill('SIGCONT');
  assert.ok(ms < 1000, `${ms} ms for five requests`);
});

test('permits that are given back are given back for all nodes', { skip }, async (t) => {
  const port = await freePort();
  await startRedis(port, t);
  const settings = { RateLimiting__GlobalLimiter__AutoReplenishment: 'false' };
  await using one = await limited(port, settings);
  await using other = await limited(port, settings);
  await until(async () => (await healthOf(one))[2] === 'Healthy' && (await healthOf(other))[2] === 'Healthy');
  for (let i = 0; i < 5; i++) assert.equal(await statusOf(one, 'a'), 200);
  assert.equal(await statusOf(other, 'a'), 429);
  const answer = await fetch(`${one.url}/api/v1/admin/rate-limits/replenish`, {
    method: 'POST',
    headers: ALLOWED,
  });
  assert.equal(answer.status, 200);
  assert.equal(await statusOf(other, 'a'), 200);
});
