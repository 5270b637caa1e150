// The metadata of a stream, with the whole service and a real store.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EventStream, List } from '@tallystick/contract';
import { ask as askOf } from '../testing/ask.ts';
import { EVENT } from '../testing/bound-operations.ts';
import { believeClearance, eventCaller } from '../testing/event-caller.ts';
import { startTestApp, type TestApp } from '../testing/test-app.ts';

async function ask<T>(app: TestApp, path: string, method = 'GET', body?: object): Promise<T> {
  const told = await askOf<T>(app, method, `/api/v1${path}`, { key: 'Secret', tenant: 'acme', body });
  assert.equal(told.status, 200);
  return told.body;
}

async function newestOf(app: TestApp): Promise<EventStream> {
  const { data } = await ask<List<EventStream>>(app, '/event-streams');
  return data[0]!;
}

/** As list, get and seal show it. */
async function metadataOf(app: TestApp): Promise<unknown[]> {
  assert.equal((await eventCaller(app).ingest(EVENT)).status, 201);
  const listed = await newestOf(app);
  const path = `/event-streams/${listed.streamId}`;
  const got = await ask<EventStream>(app, path);
  const sealed = await ask<EventStream>(app, `${path}/seal`, 'POST');
  return [listed.metadata, got.metadata, sealed.metadata];
}

const three = (metadata: object) => [metadata, metadata, metadata];

test("a stream's metadata names the region of the instance", async () => {
  const settings = { Tenants__Region: 'eu-central' };
  await using app = await startTestApp(settings, { authenticate: believeClearance });
  assert.deepEqual(await metadataOf(app), three({ region: 'eu-central' }));
});

test('or the region that the tenant is pinned to, and none if there is none', async () => {
  await using app = await startTestApp({}, { authenticate: believeClearance });
  assert.deepEqual(await metadataOf(app), three({}));
  await ask(app, '/admin/tenants/acme', 'PUT', { region: 'us' });
  assert.deepEqual(await metadataOf(app), three({ region: 'us' }));
});
