// P17: no request makes the others wait, and none takes much memory to refuse. Beside each of a table of hostile bodies, and
// beside pages of sound events that are much work to read, a cheap GET is answered in time.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { type EventStream, type List, OPERATIONS } from '@tallystick/contract';
import { type Backend, BACKENDS } from './backends.ts';
import { heavyRules } from './heavy-rules.ts';
import { heavyBodies, heavyToRead, type HostileBody, hostileBodies } from './hostile-bodies.ts';
import { Probe, PROMISED_MS } from './probe.ts';
import { KEY, startService, temporaryFolder } from './running.ts';
import { SIZE } from './size.ts';
import { requireInTime, type Seen, send, sendUntilInTime } from './waiting.ts';

const GROWTH_MB_MAX = SIZE.isLong ? 100 : 150;

const BATCH = '/audit-events/batch';

async function sendAll(bodies: Iterable<HostileBody>, script?: string): Promise<Seen[]> {
  using folder = temporaryFolder();
  const start = { dataDirectory: join(folder.path, 'data') };
  await using service = await startService(script === undefined ? start : { ...start, script });
  await using probe = new Probe(`${service.url}/api/v1/health/live`);
  // The thread that reads large bodies is there before anything is measured.
  await send(service, { name: 'first', path: BATCH, text: `{"x":"${'x'.repeat(1024 * 1024)}"}` }, probe);
  const seen: Seen[] = [];
  for (const body of bodies) seen.push(await sendUntilInTime(service, body, probe));
  return seen;
}

test('the table has hostile bodies for every operation that takes one', () => {
  const paths = new Set(
    [...hostileBodies(false)].map(({ path }) => path.replace(/\/[0-9A-Z]{26}(?=\/|$)/, '/{}')),
  );
  const taking = OPERATIONS.filter(({ rest }) => rest.body !== undefined);
  assert.deepEqual(paths, new Set(taking.map(({ rest }) => rest.path.replace(/\{\w+\}/, '{}'))));
});

test('hostile bodies are refused', async (t) => {
  const seen = await sendAll(hostileBodies(SIZE.isLong));
  assert.ok(seen.length >= 40, `${seen.length} bodies`);
  for (const { name, status } of seen) {
    // A verdict on a bad policy is a sound answer.
    const isVerdict = status === 200 && name.startsWith('/policies/validate: ');
    assert.ok(status === 400 || status === 422 || isVerdict, `${name}: ${status}`);
  }
  await t.test('beside each a cheap GET is answered in time', (test) => requireInTime(test, seen));
  await t.test('no batch makes the service take much memory', (test) => {
    const batches = seen.filter(({ name }) => name.startsWith(`${BATCH}: `));
    for (const { name, grewMb } of batches) test.diagnostic(`${name}: ${grewMb.toFixed(0)} MB`);
    assert.deepEqual(
      batches.filter(({ grewMb }) => grewMb > GROWTH_MB_MAX),
      [],
    );
  });
});

test('so it is beside sound bodies that are as much work as a body can be', async (t) => {
  // Each is seconds of work for all threads of the service together, which is for a quiet machine.
  const [first] = heavyBodies();
  const seen = await sendAll([...heavyRules(), ...(SIZE.isLong ? heavyBodies() : [first!])]);
  for (const { name, status } of seen)
    assert.equal(status, name.startsWith('/policies/validate: ') ? 200 : 201, name);
  requireInTime(t, seen);
});

/** Until all that the tenant has sent is found. */
async function caughtUp(ask: (path: string) => Promise<Response>): Promise<void> {
  for (;;) {
    const { headers } = await ask('/audit-events?limit=1&actorId=nobody-at-all');
    if (headers.get('x-projection-lag-ms') === '0') return;
    await pause(100);
  }
}

async function readPages(backend: Backend): Promise<Seen[]> {
  await using service = await startService(backend.start);
  await using probe = new Probe(`${service.url}/api/v1/health/live`);
  const [first, ...others] = heavyToRead();
  const bodies = [first!, ...(SIZE.isLong ? others : [])];
  const seen: Seen[] = [];
  for (const [i, body] of bodies.entries()) {
    const tenant = `tenant-${i}`;
    const headers = { 'X-API-Key': KEY, 'X-Tenant-Id': tenant };
    const ask = (path: string) => fetch(`${service.url}/api/v1${path}`, { headers });
    assert.equal((await send(service, { ...body, tenant }, probe)).status, 201, body.name);
    await caughtUp(ask);
    const streams = (await (await ask('/event-streams')).json()) as List<EventStream>;
    const pages = [
      { path: '/audit-events?limit=1000' },
      { path: '/audit-events/search', text: '{"pagination":{"limit":1000}}' },
      { path: '/audit-events/search', text: '{"query":"b","pagination":{"limit":20}}' },
      { path: `/event-streams/${streams.data[0]!.streamId}/events?limit=1000` },
    ];
    for (const page of pages)
      seen.push(await sendUntilInTime(service, { ...page, name: body.name, tenant }, probe));
  }
  return seen;
}

/** To read such pages takes a database minutes beside other tests. */
const PAGED = Object.entries(BACKENDS).filter(([name]) => SIZE.isLong || name === 'SQLite');

for (const [name, open] of PAGED) {
  test(`on ${name} so it is beside pages of sound events that are much work to read`, async (t) => {
    await using backend = await open();
    const seen = await readPages(backend);
    for (const page of seen) assert.equal(page.status, 200, page.name);
    requireInTime(t, seen);
  });
}

test('control: where large bodies are parsed on the thread that answers everybody, the others wait', async () => {
  const hard = [...hostileBodies(true)].filter(({ name }) => name === 'a payload of a million keys');
  assert.equal(hard.length, 1);
  const [seen] = await sendAll(hard, join(import.meta.dirname, 'processes/parses-itself.ts'));
  assert.ok(seen!.waitedMs > PROMISED_MS, `others waited ${seen!.waitedMs} ms`);
});
