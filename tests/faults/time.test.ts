// P13: the wall clock may be wrong. The order of the log, its chain, the ids and the 24 hours of a key do not depend on
// it; and P3's edge: a key lives for 24 hours, to the millisecond. Clocks that lie at a start: restarts.test.ts.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { DAY_MS, HOUR_MS, startInTime } from './in-time.ts';
import { eventsOf } from './read-log.ts';
import { temporaryFolder } from './running.ts';

test('the clock goes an hour back, a day ahead and back again: order, chain and ids hold', async () => {
  using folder = temporaryFolder();
  const dataDirectory = join(folder.path, 'data');
  await using service = await startInTime(dataDirectory);
  const { clock, send } = service;
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
  const inLog = eventsOf(dataDirectory, 'acme').map(({ eventId, receivedAtMs }) => ({
    status: 201,
    eventId,
    receivedAtMs,
  }));
  assert.deepEqual(inLog, sent);
  const ids = sent.map(({ eventId }) => eventId);
  assert.deepEqual(ids, ids.toSorted());
  assert.equal(new Set(ids).size, ids.length);
});

test('a key lives for 24 hours of elapsed time, not of the wall clock', async () => {
  using folder = temporaryFolder();
  await using service = await startInTime(join(folder.path, 'data'));
  const { clock } = service;
  const send = () => service.send('once', { key: 'key' });
  const startMs = clock.now();
  const first = await send();
  assert.equal(first.status, 201);
  for (const jumpMs of [-HOUR_MS, DAY_MS + HOUR_MS, 30 * DAY_MS, 0]) {
    clock.setNow(startMs + jumpMs);
    assert.deepEqual(await send(), { ...first, status: 200 }, `${jumpMs}`);
  }
  clock.setNow(startMs);
  // Most of it at once: what the service does in each second of a day takes a quarter of a minute.
  await clock.leap(DAY_MS - HOUR_MS / 60);
  await clock.advance(HOUR_MS / 60 - 1);
  assert.deepEqual(await send(), { ...first, status: 200 });
  await clock.advance(1);
  const second = await send();
  assert.equal(second.status, 201);
  assert.notEqual(second.eventId, first.eventId);
});

test('what is too far ahead is judged by the clock of that moment', async () => {
  using folder = temporaryFolder();
  await using service = await startInTime(join(folder.path, 'data'));
  const { clock } = service;
  clock.setNow(Date.UTC(2026, 0, 2, 2, 59, 5, 677));
  assert.equal((await service.send('a millisecond too early')).status, 422);
  clock.setNow(Date.UTC(2026, 0, 2, 2, 59, 5, 678));
  assert.equal((await service.send('just in time')).status, 201);
});
