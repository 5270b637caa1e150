// What an event has in common with others, through the whole service, on the real store.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type AuditEvent, type Classification, LIMITS } from '@tallystick/contract';
import { EVENT } from '../testing/bound-operations.ts';
import { eventCaller } from '../testing/event-caller.ts';
import { startEventsApp } from '../testing/events-app.ts';
import { finderOf } from '../testing/found-events.ts';

const { app } = startEventsApp();

const ASKED = 'includeRelatedEntities=true';
const UUID = '7d3f0c52-6a3e-4b51-9a0e-2f6b1f3c9d11';

async function read(tenant: string, eventId: string, query = ASKED, clearance = 'Secret', version = 'v2') {
  const response = await fetch(`${app.url}/api/${version}/audit-events/${eventId}?${query}`, {
    headers: { 'X-API-Key': clearance, 'X-Tenant-Id': tenant },
  });
  return { status: response.status, event: (await response.json()) as AuditEvent };
}

async function ingest(tenant: string, events: readonly object[]): Promise<string[]> {
  const caller = eventCaller(app, tenant);
  const ids: string[] = [];
  for (const event of events) ids.push((await caller.ingest({ ...EVENT, ...event })).body.eventId);
  // Who may not know of a secret does not read one by that.
  await finderOf(app, tenant, 'Internal').caughtUp();
  return ids;
}

async function relatedTo(tenant: string, eventId: string, clearance: Classification = 'Secret') {
  const { status, event } = await read(tenant, eventId, ASKED, clearance);
  assert.equal(status, 200);
  return event.relatedEntities!.map(({ relation, eventId: id }) => `${relation} ${id}`);
}

const other = (name: string) => ({
  actor: { actorType: 'User', userId: name },
  resource: { resourceType: 'Invoice', resourceId: name },
});
const at = (minute: number) => new Date(Date.UTC(2026, 0, 2, 3, minute)).toISOString();

test('names what has the same correlation, resource or actor, newest first, and not the event itself', async () => {
  const [asked, , both, service, near] = await ingest('ties', [
    { ...other('u-1'), correlationId: UUID, timestamp: at(1) },
    { ...other('none') },
    { ...other('u-1'), timestamp: at(2), action: 'Create.Invoice' },
    { ...other('alone'), actor: { actorType: 'Service', serviceId: 'u-1' }, timestamp: at(3) },
    { ...other('U-1'), correlationId: UUID.toUpperCase(), timestamp: at(4) },
    { ...other('none'), resource: { resourceType: 'Order', resourceId: 'u-1' }, timestamp: at(5) },
  ]);
  const { event } = await read('ties', asked!);
  const made = { eventId: both, action: 'Create.Invoice', timestamp: at(2) };
  assert.deepEqual(event.relatedEntities, [
    { relation: 'SameCorrelation', eventId: near, action: 'Delete.Invoice', timestamp: at(4) },
    { relation: 'SameResource', ...made },
    { relation: 'SameActor', ...made },
  ]);
  assert.deepEqual(await relatedTo('ties', service!), []);
});

test('related entities are shown on request only, in version 2 alone, and of no other tenant', async () => {
  const [first, second] = await ingest('asks', [{}, {}]);
  await ingest('foreign', [{}, {}]);
  assert.ok(!('relatedEntities' in (await read('asks', first!, '')).event));
  assert.ok(!('relatedEntities' in (await read('asks', first!, 'includeRelatedEntities=false')).event));
  assert.equal((await read('asks', first!, ASKED, 'Secret', 'v1')).status, 400);
  assert.deepEqual(await relatedTo('asks', first!), [`SameResource ${second}`, `SameActor ${second}`]);
});

test('no reader is told of what is withheld from it, and that secrets were named is in the log', async () => {
  const [plain, secret] = await ingest('secrets', [{}, { classification: 'Secret' }]);
  assert.deepEqual(await relatedTo('secrets', plain!, 'Internal'), []);
  const notices = async () => {
    const finder = finderOf(app, 'secrets', 'Internal');
    await finder.caughtUp();
    const { body } = await finder.list('kind=Notice&action=Read.SecretEvent');
    return body.data.map(({ payload }) => payload!['subjectIds']);
  };
  assert.deepEqual(await notices(), []);
  assert.deepEqual(await relatedTo('secrets', plain!), [`SameResource ${secret}`, `SameActor ${secret}`]);
  assert.deepEqual(await notices(), [[secret]]);
});

test('a star in an identifier is a star, and capitals are not small letters', async () => {
  const [star, same] = await ingest('stars', [
    { ...other('a*'), timestamp: at(1) },
    { ...other('a*'), timestamp: at(2) },
    ...Array.from({ length: LIMITS.relatedEntitiesMax + 5 }, () => ({ ...other('ab'), timestamp: at(3) })),
    { ...other('A*'), timestamp: at(4) },
  ]);
  assert.deepEqual(await relatedTo('stars', star!), [`SameResource ${same}`, `SameActor ${same}`]);
});

test('those that only look the same do not stand in the way of those that are', async () => {
  // A letter and its accent apart: it begins as the other does, and to a query it is the same.
  const alike = 'a\u0301*';
  const [star, same] = await ingest('alike', [
    { ...other('a*'), timestamp: at(1) },
    { ...other('a*'), timestamp: at(2) },
    ...Array.from({ length: LIMITS.relatedEntitiesMax + 5 }, () => ({ ...other(alike), timestamp: at(3) })),
  ]);
  assert.deepEqual(await relatedTo('alike', star!), [`SameResource ${same}`, `SameActor ${same}`]);
});

test('a name that reads like a redaction is a name for every reader', async () => {
  const [open, confidential] = await ingest('brackets', [
    { ...other('[REDACTED]'), timestamp: at(1) },
    { ...other('[REDACTED]'), timestamp: at(2), classification: 'Confidential' },
  ]);
  const tied = [`SameResource ${confidential}`, `SameActor ${confidential}`];
  assert.deepEqual(await relatedTo('brackets', open!), tied);
  assert.deepEqual(await relatedTo('brackets', open!, 'Internal'), tied);
});

test('of each relation the newest are named', async () => {
  const count = LIMITS.relatedEntitiesMax + 2;
  const ids = await ingest(
    'many',
    Array.from({ length: count }, (_, i) => ({
      timestamp: at(i),
      resource: { resourceType: 'X', resourceId: `${i}` },
    })),
  );
  const newest = ids.slice(-LIMITS.relatedEntitiesMax).toReversed();
  assert.deepEqual(
    await relatedTo('many', ids[0]!),
    newest.map((id) => `SameActor ${id}`),
  );
});

test('an actor without an identifier is like no other', async () => {
  const actor = { actorType: 'System' };
  const [first] = await ingest('nameless', [
    { actor, resource: { resourceType: 'X', resourceId: '1' } },
    { actor, resource: { resourceType: 'X', resourceId: '2' } },
  ]);
  assert.deepEqual(await relatedTo('nameless', first!), []);
});
