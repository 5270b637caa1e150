// The index against the plain definition: every event in memory, each one looked at. In its long form: tests/faults.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Aggregation, AuditEvent } from '@tallystick/contract';
import * as fc from 'fast-check';
import type { QueriedEvent } from '../../../query/queried-event.ts';
import { EVERYTHING } from '../../../query/query.ts';
import { parseQuery } from '../../../query/query-parser.ts';
import { shownEvent } from '../../../query/testing/shown-event.ts';
import { question, said } from '../../event-index/testing/any-question.ts';
import type { Said } from '../../event-index/testing/plain-definition.ts';
import { IndexedLog, requireFound } from './testing/indexed-log.ts';

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
        for (const asked of questions) requireFound(log, 'acme', asked);
      },
    ),
    { numRuns: 8 },
  );
});

test('finds the same where more match than are gathered, and the order is walked instead', async () => {
  await using log = await IndexedLog.open({ gatheredMax: 3 });
  await log.append('acme', fc.sample(said, 50));
  log.follow();
  for (const asked of fc.sample(question, 150)) requireFound(log, 'acme', asked, 3);
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

const asking = (text: string) => ({ query: parseQuery(text).query! });

function noting(note: string, more: Partial<AuditEvent> = {}): Said {
  // Each gets an id of its own.
  const { eventId: _, ...said } = shownEvent({ context: {}, payload: { note }, ...more });
  return said;
}

test('alternatives of which one covers another find what each of them finds', async () => {
  await using log = await IndexedLog.open();
  const notes = ['zebra', 'zebu', 'zero', 'ze', 'z', 'yak', '東京都', '東'];
  const classes = ['Internal', 'Confidential'] as const;
  await log.append(
    'acme',
    notes.flatMap((note) => classes.map((classification) => noting(note, { classification }))),
  );
  log.follow();
  const written = [
    'ze* OR zeb* OR zebr* OR zebra',
    'zebra OR ze*',
    'zebra* OR ze* OR ze* OR ze*',
    'z* OR "ze bra"* OR zeb*',
    '-(ze* OR zebra*)',
    '(ze* OR zer*) -(zeb* OR zebra*)',
    '東* OR 東京* OR 京都*',
    'payload.note:ze* OR ze* OR payload.note:zeb*',
  ];
  for (const text of written) assert.ok(requireFound(log, 'acme', asking(text)) > 0, text);
});

test('finds the same where most of the oldest match and few of the newest, or the other way round', async () => {
  for (const [oldest, newest] of [
    ['zebra', 'yak'],
    ['yak', 'zebra'],
  ]) {
    await using log = await IndexedLog.open({ gatheredMax: 3 });
    const noted = (note: string, hour: number) =>
      Array.from({ length: 800 }, (_, i) =>
        noting(i % 100 === 0 ? 'zero' : note, {
          timestamp: new Date(Date.UTC(2026, 0, 2, hour, 0, i)).toISOString(),
        }),
      );
    await log.append('acme', [...noted(oldest!, 1), ...noted(newest!, 2)]);
    log.follow();
    const written = ['z*', 'y* OR zer*', 'z* OR zz*', 'z* -zer*'];
    for (const text of written) {
      for (const isDescending of [true, false])
        assert.ok(
          requireFound(log, 'acme', { ...asking(text), order: [{ field: 'timestamp', isDescending }] }, 3) >
            0,
        );
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
