// A search that takes long, beside everything else that the service does.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LIMITS } from '@tallystick/contract';
import { type Clock, systemClock } from '../runtime/clock.ts';
import { EVENT } from '../testing/bound-operations.ts';
import { startEventsApp } from '../testing/events-app.ts';
import { finderOf } from '../testing/found-events.ts';

/** On a busy machine a search may take longer than it is given; here it is about what else it takes. */
const clock: Clock = {
  ...systemClock,
  after: (delayMs, run) =>
    systemClock.after(delayMs === LIMITS.searchTimeoutMs ? 20 * delayMs : delayMs, run),
};
const EVENTS = 300;
const TERMS = 64;
/** Of the thread that answers all, by the processor's time: it cannot have kept anybody waiting for longer. */
const BUSY_MS_MAX = 1000;

const note = Array.from({ length: 700 }, (_, i) => `word${i}`).join(' ');
const query = Array.from({ length: TERMS }, (_, i) => `word${i * 10}`).join(' ');
const { app } = startEventsApp({ clock }, async (started) => {
  const events = Array.from({ length: EVENTS }, () => ({ ...EVENT, payload: { note } }));
  assert.equal((await started.acme.ingestBatch({ events })).code, '201');
  await finderOf(started.app).caughtUp();
});
const longSearch = (limit: number) => finderOf(app).search({ query, pagination: { limit } });

test('as many words as a query may have, marked in a page of long events, leave the process free for others', async () => {
  const before = process.threadCpuUsage();
  const { code, body } = await longSearch(1000);
  const { user, system } = process.threadCpuUsage(before);
  assert.equal(code, '200');
  assert.equal(body.results.length, EVENTS);
  for (const { highlights } of body.results) assert.match(highlights!['payload.note']!.join(), /«word\d+»/);
  const busyMs = (user + system) / 1000;
  assert.ok(busyMs < BUSY_MS_MAX, `${busyMs} ms`);
});

test('the long searches of one tenant, however many, keep no other tenant waiting', async () => {
  const others = ['one', 'two', 'three'].map((tenant) => finderOf(app, tenant));
  // All threads have been started before.
  await Promise.all(others.map((other) => other.list()));
  let answered = 0;
  const searches = Array.from({ length: 6 }, async () => {
    const { code } = await longSearch(EVENTS);
    answered++;
    assert.equal(code, '200');
  });
  await new Promise((resolve) => setTimeout(resolve, 100));
  assert.equal((await others[0]!.list()).code, '200');
  // Who waited for them would be answered behind most of them.
  assert.ok(answered < 2, `${answered} were answered first`);
  await Promise.all(searches);
});
