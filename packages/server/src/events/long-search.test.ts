// A search that takes long, beside everything else that the service does.

import assert from 'node:assert/strict';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { before, test } from 'node:test';
import { EVENT } from '../testing/bound-operations.ts';
import { eventCaller } from '../testing/event-caller.ts';
import { startEventsApp } from '../testing/events-app.ts';
import { finderOf } from '../testing/found-events.ts';

const { app } = await startEventsApp();
const EVENTS = 300;
const TERMS = 64;
const STILL_NS_MAX = 1e9;

const note = Array.from({ length: 700 }, (_, i) => `word${i}`).join(' ');
const query = Array.from({ length: TERMS }, (_, i) => `word${i * 10}`).join(' ');
const longSearch = (limit: number) => finderOf(app).search({ query, pagination: { limit } });

before(async () => {
  const events = Array.from({ length: EVENTS }, () => ({ ...EVENT, payload: { note } }));
  assert.equal((await eventCaller(app).ingestBatch({ events })).code, '201');
  await finderOf(app).caughtUp();
});

test('as many words as a query may have, marked in a page of long events, leave the process free for others', async () => {
  const stillness = monitorEventLoopDelay({ resolution: 5 });
  stillness.enable();
  const { code, body } = await longSearch(1000);
  stillness.disable();
  assert.equal(code, '200');
  assert.equal(body.results.length, EVENTS);
  for (const { highlights } of body.results) assert.match(highlights!['payload.note']!.join(), /«word\d+»/);
  assert.ok(stillness.max < STILL_NS_MAX, `${stillness.max / 1e6} ms`);
});

test('the long searches of one tenant, however many, keep no other tenant waiting', async () => {
  const others = ['one', 'two', 'three'].map((tenant) => finderOf(app, tenant));
  // All threads have been started before.
  await Promise.all(others.map((other) => other.list()));
  let answered = 0;
  // Each is long beside what the others ask, and short beside the time that a search has: they wait for one another.
  const searches = Array.from({ length: 8 }, () =>
    longSearch(EVENTS / 5).then(({ code }) => assert.equal(code, '200') ?? answered++),
  );
  await new Promise((resolve) => setTimeout(resolve, 100));
  assert.equal((await others[0]!.list()).code, '200');
  // Who waited for them would be answered behind all of them, or nearly so.
  assert.ok(answered < searches.length / 2, `${answered} were answered first`);
  await Promise.all(searches);
});
