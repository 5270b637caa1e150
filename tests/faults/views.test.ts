// P9: lists and searches show the log, even after a crash of the process that indexes it. It is killed at random moments
// while events arrive, and while the views are made anew: afterwards every event is found, once, and no other.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { type Backend, BACKENDS } from './backends.ts';
import { event } from './client.ts';
import { KEY, type Service, startService } from './running.ts';
import { SIZE } from './size.ts';

const TENANT = 'acme';
const ROUNDS = SIZE.isLong ? 40 : 2;
const BATCH = SIZE.isLong ? 200 : 100;
/** In each round: what is sent is indexed, too, before the end. */
const BATCHES_MAX = SIZE.isLong ? Infinity : 10;
const EVENT = 1;
const HEADERS = { 'X-API-Key': KEY, 'X-Tenant-Id': TENANT, 'Content-Type': 'application/json' };
/** However slow the machine is. */
const PATIENCE_MS = 120_000;

async function ask(service: Service, path: string, body?: object): Promise<Response> {
  const way = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
  return fetch(`${service.url}/api/v1/${path}`, { headers: HEADERS, ...way });
}

/** Sends until the service is gone; tells of each batch that was answered. */
async function sendUntilKilled(service: Service, round: number, onSent: () => void): Promise<void> {
  for (let i = 0; i < BATCHES_MAX; i++) {
    const events = Array.from({ length: BATCH }, (_, k) => event(`r${round}-${i}-${k}`));
    try {
      await (await ask(service, 'audit-events/batch', { events })).arrayBuffer();
      onSent();
    } catch {
      return;
    }
  }
}

async function untilCaughtUp(service: Service): Promise<void> {
  const deadline = Date.now() + PATIENCE_MS;
  for (;;) {
    const response = await ask(service, 'audit-events?limit=1');
    if (response.headers.get('x-projection-lag-ms') === '0') return;
    assert.ok(Date.now() < deadline, 'the views do not come after the log');
    await pause(50);
  }
}

/** The ids of all pages, and what was counted. */
async function listed(service: Service): Promise<{ ids: string[]; counted: number }> {
  const ids: string[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const path = `audit-events?limit=1000&kind=Event,Notice&sort=timestamp${cursor === '' ? '' : `&cursor=${cursor}`}`;
    const page = (await (await ask(service, path)).json()) as Page;
    ids.push(...page.data.map(({ eventId }) => eventId));
    ({ cursor } = page.pagination);
  }
  const search = { filters: { kinds: ['Event', 'Notice'] }, aggregations: ['byAction'] };
  const { aggregations } = (await (await ask(service, 'audit-events/search', search)).json()) as Searched;
  return { ids, counted: aggregations.byAction.reduce((sum, { count }) => sum + count, 0) };
}

interface Page {
  readonly data: readonly { readonly eventId: string }[];
  readonly pagination: { readonly cursor: string | null };
}

interface Searched {
  readonly aggregations: { readonly byAction: readonly { readonly count: number }[] };
}

async function assertWhole(service: Service, backend: Backend): Promise<number> {
  await untilCaughtUp(service);
  const { ids, counted } = await listed(service);
  const log = (await backend.readLog()).get(TENANT) ?? [];
  const inLog = log.filter(({ kind }) => kind === EVENT).map(({ eventId }) => eventId);
  assert.deepEqual(ids.toSorted(), inLog.toSorted());
  assert.equal(counted, inLog.length);
  return inLog.length;
}

/** Killed again and again while events arrive and views are made; gives how many events there are. */
async function requireShown(backend: Backend): Promise<number> {
  for (let round = 0; round < ROUNDS; round++) {
    await using service = await startService(backend.start);
    // Every other time the views are being made anew, too; or still are, from the time before.
    const { status } =
      round % 2 === 1 ? await ask(service, 'admin/projections/rebuild', {}) : { status: 202 };
    assert.ok([202, 409].includes(status), `${status}`);
    const sent = Promise.withResolvers<void>();
    const sending = sendUntilKilled(service, round, sent.resolve);
    // There is something to index by then, however slow the machine is.
    await Promise.race([sent.promise, sending]);
    await pause(Math.random() * 1500);
    service.kill('SIGKILL');
    await Promise.all([service.ended, sending]);
  }
  const count = await whileStarted(backend, (service) => assertWhole(service, backend));
  assert.ok(count >= ROUNDS * BATCH, `${count}`);
  await backend.forgetViews();
  await whileStarted(backend, (service) => assertWhole(service, backend));
  return count;
}

async function whileStarted<T>({ start }: Backend, work: (service: Service) => Promise<T>): Promise<T> {
  await using service = await startService(start);
  const done = await work(service);
  service.kill('SIGTERM');
  await service.ended;
  return done;
}

for (const [name, open] of Object.entries(BACKENDS))
  test(`views on ${name} show the log after ${ROUNDS} kills at random moments, and again once they are thrown away`, async (t) => {
    await using backend = await open();
    t.diagnostic(`${await requireShown(backend)} events, ${ROUNDS} kills`);
  });

test('control: an event that is missing in the views is seen by this', async () => {
  await using backend = await BACKENDS.PostgreSQL();
  await whileStarted(backend, async (service) => {
    await ask(service, 'audit-events/batch', { events: [event('a'), event('b')] });
    await assertWhole(service, backend);
  });
  await backend.damageViews?.(TENANT);
  await assert.rejects(whileStarted(backend, (service) => assertWhole(service, backend)));
});
