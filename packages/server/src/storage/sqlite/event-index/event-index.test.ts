// The index against the plain definition: every event in memory, each one looked at.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Aggregation } from '@tallystick/contract';
import * as fc from 'fast-check';
import type { OrderStep, Question, Sight } from '../../../events/event-index.ts';
import type { QueriedEvent } from '../../../query/queried-event.ts';
import { EVERYTHING } from '../../../query/query.ts';
import { parseQuery } from '../../../query/query-parser.ts';
import { anyEvent, anyQuery } from '../../../query/testing/any-query.ts';
import { shownEvent } from '../../../query/testing/shown-event.ts';
import { ALL_CLASSES, IndexedLog, type Said } from './testing/indexed-log.ts';

const WRITTEN = [
  'refund',
  'ana',
  '"a b"',
  're*',
  'action:Delete.*',
  'actor:ana',
  'actor:u-1',
  'actor:"ana acme"',
  'resource:m*',
  'payload.note:refund',
  'payload.list:10',
  'payload.note:*',
  'context:true',
  'payload:null',
  '-refund',
  'NOT payload.note:*',
  'outcome:success',
  'classification:conf*',
  'kind:event',
  'userName:acme',
  'actor.serviceId:*',
  'timestamp:>=2026-01-02',
  'refund OR -ana',
  'payload.list:>5 -action:create.*',
  'eventId:01*',
  'submittedBy:key*',
  'correlationId:7d3f0c52*',
].map((text) => parseQuery(text).query!);

const timestamps = fc.constantFrom(
  '2026-01-02T03:04:05.123456789Z',
  '2026-01-02T03:04:05.123Z',
  '2026-01-02T03:59:59.999999999Z',
  '2026-02-28T23:59:59.999Z',
  '2026-03-01T00:00:00.000Z',
  '2024-02-29T12:00:00.5Z',
  '1999-12-31T23:00:00.000Z',
  '1969-07-20T20:17:40.000Z',
);
const said: fc.Arbitrary<Said> = fc
  .record({
    event: anyEvent,
    timestamp: timestamps,
    action: fc.constantFrom('Delete.Invoice', 'Create.Invoice', 'Create.User', 'Delete'),
    userId: fc.constantFrom('u-1', 'U-1', 'u-2', undefined),
    serviceName: fc.constantFrom('Ana Service', undefined),
    outcome: fc.constantFrom('Success' as const, 'Denied' as const),
    isNotice: fc.boolean(),
  })
  .map(({ event, timestamp, action, userId, serviceName, outcome, isNotice }) => ({
    timestamp,
    action,
    outcome,
    kind: isNotice ? 'Notice' : 'Event',
    actor: {
      actorType: userId === undefined ? 'Service' : 'User',
      ...(userId === undefined ? {} : { userId, userName: `${userId} of acme` }),
      ...(serviceName === undefined ? {} : { serviceName }),
    },
    resource: event.resource,
    correlationId: event.correlationId,
    classification: event.classification,
    submittedBy: event.submittedBy,
    context: event.context ?? {},
    payload: event.payload ?? {},
  }));

const sight: fc.Arbitrary<Sight> = fc.constantFrom(
  { visible: ALL_CLASSES, whole: ALL_CLASSES },
  { visible: ALL_CLASSES, whole: ALL_CLASSES.slice(0, 3) },
  { visible: ALL_CLASSES.slice(0, 3), whole: ALL_CLASSES.slice(0, 2) },
  { visible: ALL_CLASSES.slice(0, 3), whole: ALL_CLASSES.slice(0, 1) },
);
const step: fc.Arbitrary<OrderStep> = fc.record({
  field: fc.constantFrom('timestamp' as const, 'eventId' as const, 'action' as const),
  isDescending: fc.boolean(),
});
const some = <T>(values: readonly T[]) => fc.subarray([...values]);
const filters: fc.Arbitrary<Question['filters']> = fc.record(
  {
    actions: some(['Delete.*', 'Create.User', 'delete.*']),
    actorIds: some(['u-1', 'u-*', 'U-1']),
    actorTypes: some(['User', 'Service'] as const),
    outcomes: some(['Denied', 'Failure'] as const),
    classifications: some(ALL_CLASSES),
    kinds: some(['Event', 'Notice'] as const),
    resourceIds: some(['INV-*', 'inv-42']),
    correlationIds: some(['7d3f0c52-6a3e-4b51-9a0e-2f6b1f3c9d11', '7D3F0C52-6a3e-4b51-9a0e-2f6b1f3c9d11']),
    timeRange: fc.record({ from: timestamps, to: timestamps }, { requiredKeys: [] }),
  },
  { requiredKeys: [] },
);
const question = fc.record({
  query: fc.oneof(anyQuery, fc.constantFrom(...WRITTEN), fc.constant(EVERYTHING)),
  filters: fc.oneof(fc.constant({}), filters),
  sight,
  order: fc.array(step, { minLength: 1, maxLength: 3 }),
});

const sequencesOf = (events: readonly { readonly stored: { readonly index: number } }[]) =>
  events.map(({ stored }) => stored.index + 1);

test('finds what the plain definition finds, in its order and as many, for every reader, query and filter', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(said, { minLength: 1, maxLength: 25 }),
      fc.array(question, { minLength: 30, maxLength: 30 }),
      async (events, questions) => {
        await using log = await IndexedLog.open();
        await log.append('acme', events);
        await log.append('other', [shownEvent({ context: {}, payload: { note: 'refund ana' } })]);
        log.follow();
        for (const asked of questions) {
          const expected = log.expected('acme', asked);
          const found = log.find('acme', asked);
          assert.deepEqual(
            sequencesOf(found.events),
            expected.map(({ sequence }) => sequence),
          );
          assert.equal(found.total, expected.length);
        }
      },
    ),
    { numRuns: 15 },
  );
});

test('finds the same where more match than are gathered, and the order is walked instead', async () => {
  await using log = await IndexedLog.open({ gatheredMax: 3 });
  await log.append('acme', fc.sample(said, 50));
  log.follow();
  for (const asked of fc.sample(question, 300)) {
    const expected = log.expected('acme', asked);
    const found = log.find('acme', asked);
    assert.deepEqual(
      sequencesOf(found.events),
      expected.map(({ sequence }) => sequence),
    );
    assert.ok(
      found.total === expected.length || (found.total === 4 && expected.length > 4),
      `${found.total} of ${expected.length}`,
    );
  }
});

test('pages lead on and back through the same events, whatever the order', async () => {
  await using log = await IndexedLog.open();
  await log.append('acme', fc.sample(said, 60));
  log.follow();
  for (const asked of fc.sample(question, 40)) {
    const all = log.find('acme', asked).events;
    for (let i = 0; i < all.length; i += 7) {
      const beyond = all[i]!.place;
      const next = log.find('acme', { ...asked, beyond, rowsMax: 5 }).events;
      assert.deepEqual(sequencesOf(next), sequencesOf(all.slice(i + 1, i + 6)));
      const previous = log.find('acme', { ...asked, beyond, rowsMax: 5, direction: 'Previous' }).events;
      assert.deepEqual(sequencesOf(previous), sequencesOf(all.slice(Math.max(0, i - 5), i).toReversed()));
    }
  }
});

const KEY_OF: Record<Aggregation, (event: QueriedEvent) => string> = {
  byAction: ({ action }) => action,
  byActor: ({ actor }) =>
    actor.userId ?? actor.serviceId ?? actor.userName ?? actor.serviceName ?? actor.actorType,
  byResource: ({ resource }) => resource.resourceType,
  byClassification: ({ classification }) => classification,
  byActorType: ({ actor }) => actor.actorType,
  byOutcome: ({ outcome }) => outcome,
  byDay: ({ timestamp }) => timestamp.slice(0, 10),
  byHour: ({ timestamp }) => `${timestamp.slice(0, 13)}:00:00.000Z`,
};

test('counts what is found by each of its properties, as this reader sees it', async () => {
  await using log = await IndexedLog.open();
  await log.append('acme', fc.sample(said, 80));
  log.follow();
  const aggregations = Object.keys(KEY_OF) as Aggregation[];
  let ofEverything = 0;
  for (const asked of fc.sample(question, 150)) {
    const expected = log.expected('acme', asked);
    const { aggregations: counted } = log.find('acme', { ...asked, aggregations });
    if (asked.query === EVERYTHING) ofEverything++;
    for (const aggregation of aggregations) {
      const counts = new Map<string, number>();
      for (const event of expected) {
        const key = KEY_OF[aggregation](event);
        counts.set(key, (counts.get(key) ?? 0) + 1);
      }
      const found = counted![aggregation]!.map(({ key, count }) => [key, count] as const);
      assert.deepEqual(new Map(found), counts, aggregation);
      assert.equal(counted!.otherCount, undefined);
    }
  }
  // These come from the counts alone.
  assert.ok(ofEverything > 10, `${ofEverything}`);
});
