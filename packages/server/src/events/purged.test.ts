// Events whose content is removed, as readers get them: through the whole service, on the real store.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CLASSIFICATIONS, type Classification } from '@tallystick/contract';
import { noteVerifier, parseEventProof, verifyEventProof } from '@tallystick/evidence';
import { alteredEvents } from '../testing/altered-events.ts';
import { EVENT } from '../testing/bound-operations.ts';
import { eventCaller } from '../testing/event-caller.ts';
import { startEventsApp } from '../testing/events-app.ts';
import { finderOf } from '../testing/found-events.ts';
import { purgeBeside } from '../testing/purge.ts';

const { app } = startEventsApp();
const { ask, threeOf, reportsOf } = alteredEvents(app);

const SECOND = [{ firstIndex: 1, endIndex: 2 }];

for (const isLeft of [true, false]) {
  const when = isLeft ? 'whose notice is there and whose content is not deleted yet' : 'that is purged';

  test(`of an event ${when} a tombstone is left for readers who are cleared for it`, async () => {
    const { tenant, eventId, page, codesOf } = await threeOf(`tombstone-${isLeft}`);
    const before = (await eventCaller(app, tenant).get(eventId)).body;
    await purgeBeside(app, { tenant, spans: SECOND, isLeft });
    for (const clearance of ['Confidential', 'Secret'] as const) {
      const { status, body } = await eventCaller(app, tenant, clearance).get(eventId);
      assert.equal(status, 200);
      const { purgedAt, ...rest } = body as typeof body & { purgedAt: string };
      const { tenantId, kind, sequence, receivedAt, integrity } = before;
      assert.deepEqual(rest, { eventId, tenantId, kind, sequence, receivedAt, integrity });
      assert.ok(purgedAt >= receivedAt && purgedAt.endsWith('Z'));
      assert.deepEqual(await codesOf(clearance), ['200', 200]);
    }
    for (const clearance of ['Public', 'Internal'] as const)
      assert.deepEqual(await codesOf(clearance), ['404 EVENT_NOT_FOUND', 404]);
    for (const clearance of CLASSIFICATIONS) {
      const shown = (await page(clearance)).map((event) => ('withheld' in event ? event.withheld : 'shown'));
      assert.deepEqual(shown, ['shown', 'Purged', 'shown', 'shown'], 'the notice is the last one');
    }
    const [, purged] = await page();
    const { sequence, integrity } = before;
    assert.deepEqual(purged, { sequence, eventId, withheld: 'Purged', integrity });
    assert.equal(reportsOf(tenant).length, 0);
  });

  test(`an event ${when} is not listed and not found, and the others are`, async () => {
    const { tenant, ids } = await threeOf(`lists-${isLeft}`);
    const finder = finderOf(app, tenant);
    await finder.caughtUp();
    await purgeBeside(app, { tenant, spans: SECOND, isLeft });
    const left = new Set([ids[0], ids[2]]);
    const { body: list } = await finder.list('sort=timestamp');
    assert.deepEqual(new Set(list.data.map(({ eventId }) => eventId)), left);
    const { body: found } = await finder.search({ query: 'Delete' });
    assert.deepEqual(new Set(found.results.map(({ eventId }) => eventId)), left);
    assert.equal(reportsOf(tenant).length, 0);
  });
}

test('the proof of a purged event holds, and so does one that was given before', async () => {
  const { tenant, eventId } = await threeOf('proofs');
  const proof = async () => (await ask(tenant, `/audit-events/${eventId}/proof`)).body;
  const before = await proof();
  await purgeBeside(app, { tenant, spans: SECOND });
  const after = await proof();
  const headers = { 'X-API-Key': 'Secret', 'X-Tenant-Id': tenant };
  const key = await (await fetch(`${app.url}/api/v1/log/t/${tenant}/key`, { headers })).text();
  const verifiers = [await noteVerifier(key.trim())];
  for (const [given, whole] of [
    [before, true],
    [after, false],
  ] as const) {
    const verdict = await verifyEventProof(parseEventProof(JSON.stringify(given)), { verifiers });
    assert.deepEqual([verdict.entry.eventId, verdict.whole], [eventId, whole]);
  }
});

test('a secret that is purged stays one that is not there for those below Confidential, and no read of it is noted', async () => {
  const { tenant, eventId, page, codesOf } = await threeOf('secret', { classification: 'Secret' });
  const withheld = async (clearance: Classification) => {
    const [, second] = await page(clearance);
    return 'withheld' in second! && second.withheld;
  };
  await purgeBeside(app, { tenant, spans: SECOND });
  const sizeBefore = (await page('Internal')).length;
  for (const [clearance, codes, shown] of [
    ['Internal', ['404 EVENT_NOT_FOUND', 404], 'Clearance'],
    ['Confidential', ['404 EVENT_NOT_FOUND', 404], 'Purged'],
    ['Secret', ['200', 200], 'Purged'],
  ] as const) {
    assert.deepEqual(await codesOf(clearance), codes);
    assert.equal(await withheld(clearance), shown);
  }
  assert.equal((await page('Internal')).length, sizeBefore, eventId);
});

test('the id of a purged event is taken', async () => {
  const caller = eventCaller(app, 'taken');
  const event = { ...EVENT, eventId: '01KE00000000000000000000AB' };
  assert.equal((await caller.ingest(event)).status, 201);
  assert.equal((await caller.ingest(event)).status, 200);
  assert.equal((await caller.get(`${event.eventId}/proof`)).status, 200);
  await purgeBeside(app, { tenant: 'taken', spans: [{ firstIndex: 0, endIndex: 1 }] });
  assert.equal((await caller.ingest(event)).code, '409 EVENT_ID_CONFLICT');
});

test('a verification of the stream counts what is purged, and finds no fault', async () => {
  const { tenant } = await threeOf('verified');
  await purgeBeside(app, { tenant, spans: SECOND });
  const { body } = await ask(tenant, '/event-streams');
  const { streamId } = (body as { data: { streamId: string }[] }).data[0]!;
  const headers = { 'X-API-Key': 'Secret', 'X-Tenant-Id': tenant };
  const asked = await fetch(`${app.url}/api/v1/event-streams/${streamId}/verify`, {
    method: 'POST',
    headers,
  });
  const path = asked.headers.get('location')!.slice('/api/v1'.length);
  for (;;) {
    const { body: answer } = await ask(tenant, path);
    const { status, verdict } = answer as { status: string; verdict: Record<string, unknown> };
    if (status === 'Pending' || status === 'Processing') continue;
    assert.deepEqual([status, verdict['verified'], verdict['expiredEvents']], ['Completed', true, 1]);
    break;
  }
});
