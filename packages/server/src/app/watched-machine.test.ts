// What the health of a running service says of the machine under it, and of its followers: on PostgreSQL, whose locks hold up a
// follower as a hung one would be, and with a clock that is wrong.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { HealthReport } from '@tallystick/contract';
import { Pool } from 'pg';
import { systemClock } from '../runtime/clock.ts';
import { PLATFORM_KEY, WITH_PLATFORM_KEY } from '../testing/admin-caller.ts';
import { EVENT } from '../testing/bound-operations.ts';
import { createAuthority } from '../testing/certificates.ts';
import { type PostgresServer, startPostgres } from '../testing/postgres-server.ts';
import { startTestApp, type TestApp } from '../testing/test-app.ts';
import { until } from '../testing/until.ts';

const DAY_MS = 86_400_000;
const AHEAD_MS = 60_000;

const folder = mkdtempSync(join(tmpdir(), 'tallystick-watched-'));
const authority = createAuthority();
let server: PostgresServer;
let pool: Pool;
let app: TestApp;
before(async () => {
  server = await startPostgres();
  const url = await server.createDatabase();
  pool = new Pool({ connectionString: url, max: 1 });
  const notAfter = new Date(Date.now() + 10 * DAY_MS);
  const { certificate, key } = authority.issue({ hosts: ['localhost', '127.0.0.1'], notAfter });
  const files = { certificate: join(folder, 'certificate.pem'), key: join(folder, 'key.pem') };
  writeFileSync(files.certificate, certificate);
  writeFileSync(files.key, key);
  app = await startTestApp(
    {
      ...WITH_PLATFORM_KEY,
      Storage__Url: url,
      Server__Tls__Certificate: files.certificate,
      Server__Tls__Key: files.key,
      // More than any disk has.
      Health__FreeMebibytesDegraded: String(2 ** 30),
      Health__LagMax: 'PT2S',
    },
    { clock: { ...systemClock, now: () => systemClock.now() + AHEAD_MS } },
  );
});
after(async () => {
  await app?.[Symbol.asyncDispose]();
  await pool?.end();
  await server?.[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

interface Asked {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
}

function ask(path: string, { method = 'GET', headers = {}, body }: Asked = {}) {
  return new Promise<{ status: number; text: string }>((resolve, reject) => {
    const options = { ca: authority.certificate, agent: false, method, headers };
    request(`${app.url}${path}`, options, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (piece: string) => (text += piece));
      response.on('end', () => resolve({ status: response.statusCode!, text }));
    })
      .on('error', reject)
      .end(body);
  });
}

async function health(): Promise<HealthReport> {
  return JSON.parse((await ask('/api/v1/health')).text) as HealthReport;
}

const of = async (name: string) => {
  const { status, description } = (await health()).entries[name]!;
  return `${status}: ${description}`;
};

test('health tells of a disk that fills up, a certificate that ends and a clock that is wrong, and names no path', async () => {
  await until(async () => (await health()).status === 'Degraded' && /MiB/.test(await of('storage')));
  const storage = await of('storage');
  assert.match(storage, /^Degraded: The disk of the data directory has less than 1073741824 MiB free: /);
  assert.match(storage, / The certificate of this service ends at 20\d\d-\S+Z: /);
  await until(async () => /more than 1 s ahead of that of the database/.test(await of('log')));
  const { status, text } = await ask('/api/v1/health');
  assert.equal(status, 200, 'it works all the same');
  assert.equal((await ask('/health/ready')).status, 200);
  assert.ok(!text.includes(app.dataDirectory) && !text.includes(folder));
  for (const name of ['views', 'webhooks', 'exports']) assert.match(await of(name), /^Healthy/);
  const metrics = (await ask('/metrics', { headers: { 'X-API-Key': PLATFORM_KEY } })).text;
  const valueOf = (name: string) => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(metrics)?.[1]);
  assert.ok(valueOf('tallystick_disk_free_bytes{place="data directory"}') > 0);
  assert.ok(Math.abs(valueOf('tallystick_clock_offset_seconds') - AHEAD_MS / 1000) < 30);
  assert.ok(valueOf('tallystick_certificate_end_seconds') > Date.now() / 1000);
  assert.equal(valueOf('tallystick_job_kinds_stuck'), 0);
});

test('a follower that hangs is told of while the log grows, without a name of a tenant, and sound once it goes on', async () => {
  const headers = { 'X-API-Key': PLATFORM_KEY, 'X-Tenant-Id': 'acme', 'Content-Type': 'application/json' };
  // What waits for a lock of a session waits until that has ended.
  const locking = await pool.connect();
  using _ = { [Symbol.dispose]: () => locking.release(true) };
  await locking.query('BEGIN');
  await locking.query('LOCK TABLE tallystick.positions IN ACCESS EXCLUSIVE MODE');
  const subscription = { name: 'all', url: 'https://consumer.example/', eventTypes: ['*'] };
  const made = await ask('/api/v1/webhooks/subscriptions', {
    method: 'POST',
    headers,
    body: JSON.stringify(subscription),
  });
  assert.equal(made.status, 201);
  const sent = await ask('/api/v1/audit-events', { method: 'POST', headers, body: JSON.stringify(EVENT) });
  assert.equal(sent.status, 201);
  await until(async () =>
    (await of('webhooks')).startsWith('Degraded: Deliveries have stood still for more than 2 s'),
  );
  assert.doesNotMatch(JSON.stringify(await health()), /acme/);
  await locking.query('ROLLBACK');
  await until(async () => (await of('webhooks')).startsWith('Healthy'));
  const lines = app.lines.map(({ message }) => message);
  assert.ok(lines.includes('the notifier has caught up with the log'));
});
