// When the content of an event expires, through the whole service, on the real store.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Clock, systemClock } from '../runtime/clock.ts';
import { expiryAfter } from '../runtime/expiry.ts';
import { EVENT } from '../testing/bound-operations.ts';
import { startEventsApp } from '../testing/events-app.ts';

let behindMs = 0;
const clock: Clock = { ...systemClock, now: () => systemClock.now() - behindMs };
const { acme } = startEventsApp({ clock });

const timesOf = async (eventId: string) => {
  const { receivedAt, retention } = (await acme.get(eventId)).body;
  return [receivedAt, retention.expiresAt].map((time: string) => Date.parse(time)) as [number, number];
};

test("an event expires the tenant's period after it was received, also when the clock was set back", async () => {
  const ids: string[] = [(await acme.ingest(EVENT)).body.eventId];
  behindMs = 3_600_000;
  ids.push((await acme.ingest(EVENT)).body.eventId);
  const batch = await acme.ingestBatch({ events: [EVENT, { ...EVENT, tenantId: 'acme' }] });
  ids.push(...batch.body.results.map(({ eventId }) => eventId!));
  const [first, ...others] = await Promise.all(ids.map(timesOf));
  assert.equal(others.length, 3);
  for (const [receivedAtMs, expiresAtMs] of others) {
    assert.equal(receivedAtMs, first![0], 'time in a log never runs backwards');
    assert.equal(expiresAtMs, expiryAfter(receivedAtMs, 'P7Y'));
  }
});
