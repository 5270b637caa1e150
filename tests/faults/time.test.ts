// P13: time may lie. Whatever the wall clock does, the order of the log, its chain, the ids and the 24 hours of a key
// hold; and P3's edge: a key lives for 24 hours, to the millisecond.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFakeClock } from '../../packages/server/src/runtime/fake-clock.ts';
import { startTestApp } from '../../packages/server/src/testing/test-app.ts';
import { Client, event } from './client.ts';
import { readLog } from './read-log.ts';
import { KEY } from './running.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

async function startInTime() {
  const clock = createFakeClock(Date.UTC(2026, 5, 1, 12));
  const app = await startTestApp({ TALLYSTICK_ADMIN_KEY: KEY }, { clock });
  const client = new Client(app.url);
  const send = async (marker: string, key?: string) => {
    const reply = await client.ask({ body: event(marker), ...(key === undefined ? {} : { key }) });
    const { eventId, timestamp } = reply.body as { eventId: string; timestamp: string };
    return { status: reply.status, eventId, receivedAtMs: Date.parse(timestamp) };
  };
  return {
    clock,
    send,
    dataDirectory: app.dataDirectory,
    async [Symbol.asyncDispose]() {
      client[Symbol.dispose]();
      await app[Symbol.asyncDispose]();
    },
  };
}

test('the clock goes an hour back, a day ahead and back again: order, chain and ids hold', async () => {
  await using service = await startInTime();
  const { clock, send, dataDirectory } = service;
  const startMs = clock.now();
  const sent = [];
  for (const [i, jumpMs] of [0, -HOUR_MS, 0, DAY_MS, 0, -10 * DAY_MS, 1].entries()) {
    clock.setNow(startMs + jumpMs);
    sent.push(await send(`a-${i}`), await send(`b-${i}`));
  }
  assert.deepEqual(
    sent.filter(({ status }) => status !== 201),
    [],
  );
  const inLog = (readLog(dataDirectory).get('acme') ?? []).map(({ eventId, receivedAtMs }) => ({
    status: 201,
    eventId,
    receivedAtMs,
  }));
  assert.deepEqual(inLog, sent);
  const ids = sent.map(({ eventId }) => eventId);
  assert.deepEqual(ids, ids.toSorted());
  assert.equal(new Set(ids).size, ids.length);
});

test('a key lives for 24 hours of time that really passed, whatever the clock says', async () => {
  await using service = await startInTime();
  const { clock, send } = service;
  const startMs = clock.now();
  const first = await send('once', 'key');
  assert.equal(first.status, 201);
  for (const jumpMs of [-HOUR_MS, DAY_MS + HOUR_MS, 30 * DAY_MS, 0]) {
    clock.setNow(startMs + jumpMs);
    assert.deepEqual(await send('once', 'key'), { ...first, status: 200 }, `${jumpMs}`);
  }
  clock.setNow(startMs);
  await clock.advance(DAY_MS - 1);
  assert.deepEqual(await send('once', 'key'), { ...first, status: 200 });
  await clock.advance(1);
  const second = await send('once', 'key');
  assert.equal(second.status, 201);
  assert.notEqual(second.eventId, first.eventId);
});

test('what is too far ahead is judged by the clock of that moment', async () => {
  await using service = await startInTime();
  const { clock } = service;
  clock.setNow(Date.UTC(2026, 0, 2, 2, 59, 5, 677));
  assert.equal((await service.send('a millisecond too early')).status, 422);
  clock.setNow(Date.UTC(2026, 0, 2, 2, 59, 5, 678));
  assert.equal((await service.send('just in time')).status, 201);
});
