// What a caller was told of a job holds after a restart, and at every other node: the verification or the rebuild goes on,
// its Location answers, and its idempotency key gives the first answer again.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { BackgroundOperation, EventStream, List, StreamVerification } from '@tallystick/contract';
import { EVENT } from '../testing/bound-operations.ts';
import { believeClearance, eventCaller } from '../testing/event-caller.ts';
import { openDatabases } from '../testing/postgres-server.ts';
import { startTestApp, type TestApp } from '../testing/test-app.ts';
import { until } from '../testing/until.ts';

const folder = mkdtempSync(join(tmpdir(), 'tallystick-jobs-'));
after(() => rmSync(folder, { recursive: true, force: true }));

interface Asked {
  readonly status: number;
  readonly location: string | null;
  readonly body: StreamVerification & BackgroundOperation & List<EventStream>;
}

async function ask(app: TestApp, path: string, key?: string): Promise<Asked> {
  const headers = new Headers({ 'X-API-Key': 'Secret', 'X-Tenant-Id': 'acme' });
  if (key !== undefined) headers.set('Idempotency-Key', key);
  const response = await fetch(`${app.url}${path}`, { method: key === undefined ? 'GET' : 'POST', headers });
  return {
    status: response.status,
    location: response.headers.get('location'),
    // A test knows which of these it is.
    body: (await response.json()) as Asked['body'],
  };
}

/** Asks for both; gives for each what it was asked by, and what was answered. */
async function askForBoth(app: TestApp): Promise<[path: string, first: Asked][]> {
  const events = Array.from({ length: 300 }, () => EVENT);
  assert.equal((await eventCaller(app, 'acme').ingestBatch({ events })).status, 201);
  const streamId = (await ask(app, '/api/v1/event-streams')).body.data[0]!.streamId;
  const paths = [`/api/v1/event-streams/${streamId}/verify`, '/api/v1/admin/projections/rebuild'];
  const asked: [string, Asked][] = [];
  for (const path of paths) asked.push([path, await ask(app, path, 'key')]);
  return asked;
}

async function requireKnown(app: TestApp, asked: readonly (readonly [string, Asked])[]): Promise<void> {
  for (const [path, first] of asked) {
    assert.equal(first.status, 202);
    await until(async () => (await ask(app, first.location!)).body.status === 'Completed');
    const again = await ask(app, path, 'key');
    assert.deepEqual([again.status, again.body], [200, first.body], path);
    assert.equal(again.location, first.location);
  }
  const { body } = await ask(app, asked[0]![1].location!);
  assert.deepEqual([body.verdict?.verified, body.verdict?.checkedEvents], [true, 300]);
}

test('after a restart on SQLite', async () => {
  const settings = { Storage__DataDirectory: join(folder, 'sqlite') };
  const start = () => startTestApp(settings, { authenticate: believeClearance });
  const asked = await (async () => {
    await using app = await start();
    return await askForBoth(app);
  })();
  await using app = await start();
  await requireKnown(app, asked);
});

test('at another node on PostgreSQL, also once the one that was asked is gone', async () => {
  await using server = await openDatabases();
  const url = await server.createDatabase();
  const start = (node: string) =>
    startTestApp(
      {
        Environment: 'Test',
        Storage__Url: url,
        Storage__DataDirectory: join(folder, 'postgres'),
        Node__Name: node,
      },
      { authenticate: believeClearance },
    );
  await using other = await start('other');
  const asked = await (async () => {
    await using first = await start('first');
    const both = await askForBoth(first);
    for (const [, { location }] of both) assert.equal((await ask(other, location!)).status, 200);
    return both;
  })();
  await requireKnown(other, asked);
});
