// The index against the plain definition: every event in memory, each one looked at. In its long form: tests/faults.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Aggregation, AuditEvent } from '@tallystick/contract';
import * as fc from 'fast-check';
import type { QueriedEvent } from '../../../query/queried-event.ts';
import { EVERYTHING } from '../../../query/query.ts';
import { parseQuery } from '../../../query/query-parser.ts';
import { shownEvent } from '../../../query/testing/shown-event.ts';
import { question, said } from '../../event-index/testing/any-question.ts';
import type { Said } from '../../event-index/testing/plain-definition.ts';
import { FIRST_DOCS } from './first-docs.ts';
import { IndexedLogs, requireFound } from './testing/indexed-log.ts';

let logs: IndexedLogs;
before(async () => {
  logs = await IndexedLogs.open();
});
after(() => logs?.[Symbol.asyncDispose]());

const sequencesOf = (events: readonly { readonly stored: { readonly index: number } }[]) =>
  events.map(({ stored }) => stored.index + 1);

/** Behind so many others that about a half of them are the first docs of a view, and the others are not. */
function onBothSides(events: readonly Said[]): Said[] {
  const others = fc.sample(said, 8);
  const before = Array.from(
    { length: FIRST_DOCS - Math.floor(events.length / 2) },
    (_, i) => others[i % others.length]!,
  );
  return [...before, ...events];
}

const PLACES = { 'the first docs': (events: Said[]) => events, 'and the docs behind them': onBothSides };

for (const [where, placed] of Object.entries(PLACES)) {
  test(`finds what the plain definition finds, in its order and as many, for every reader, query and filter: ${where}`, async () => {
    await logs.tenantWith([shownEvent({ context: {}, payload: { note: 'refund ana' } })]);
    await fc.assert(
      fc.asyncProperty(
        fc.array(said, { minLength: 1, maxLength: 25 }),
        fc.array(question, { minLength: 30, maxLength: 30 }),
        async (events, questions) => {
          const tenant = await logs.tenantWith(placed(events));
          for (const asked of questions) await requireFound(logs, tenant, asked);
        },
      ),
      { numRuns: placed === onBothSides ? 3 : 8 },
    );
  });

  test(`finds the same where more match than are gathered, and the order is walked instead: ${where}`, async () => {
    const tenant = await logs.tenantWith(placed(fc.sample(said, 50)));
    const walking = { index: logs.indexWith({ gatheredMax: 3 }), gatheredMax: 3 };
    for (const asked of fc.sample(question, 50)) await requireFound(logs, tenant, asked, walking);
  });
}

test('pages lead on and back through the same events, whatever the order', async () => {
  const tenant = await logs.tenantWith(fc.sample(said, 60));
  for (const asked of fc.sample(question, 30)) {
    const all = (await logs.find(tenant, asked)).events;
    for (let i = 0; i < all.length; i += 7) {
      const beyond = all[i]!.place;
      const next = await logs.find(tenant, { ...asked, beyond, rowsMax: 5 });
      assert.deepEqual(sequencesOf(next.events), sequencesOf(all.slice(i + 1, i + 6)));
      const previous = await logs.find(tenant, { ...asked, beyond, rowsMax: 5, direction: 'Previous' });
      const before = all.slice(Math.max(0, i - 5), i).toReversed();
      assert.deepEqual(sequencesOf(previous.events), sequencesOf(before));
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
  const notes = ['zebra', 'zebu', 'zero', 'ze', 'z', 'yak', '東京都', '東'];
  const classes = ['Internal', 'Confidential'] as const;
  const tenant = await logs.tenantWith(
    notes.flatMap((note) => classes.map((classification) => noting(note, { classification }))),
  );
  const written = [
    'ze* OR zeb* OR zebr* OR zebra',
    'zebra OR ze*',
    'z* OR "ze bra"* OR zeb*',
    '-(ze* OR zebra*)',
    '(ze* OR zer*) -(zeb* OR zebra*)',
    '東* OR 東京* OR 京都*',
    'payload.note:ze* OR ze* OR payload.note:zeb*',
  ];
  for (const text of written) assert.ok((await requireFound(logs, tenant, asking(text))) > 0, text);
});

test('an event of more terms than a row of the database holds is found by all of them', async () => {
  const wide = Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`key${i}`, i]));
  const long = { ...noting('long'), actor: { actorType: 'User' as const, userId: '\u{1F600}'.repeat(512) } };
  const tenant = await logs.tenantWith([noting('plain'), { ...noting('wide'), payload: { wide } }, long]);
  const written = [
    'payload.wide.key19999:19999',
    'payload.wide.key12345:>12344',
    '0',
    'plain',
    'long',
    '-plain',
    'payload.wide.key7:* OR plain',
    'actor.userId:*',
    'action:*',
  ];
  for (const text of written) assert.ok((await requireFound(logs, tenant, asking(text))) > 0, text);
  const { total } = await logs.find(tenant, asking('nowhere'));
  assert.equal(total, 0);
  const [view] = await logs.raw('SELECT large_docs FROM views WHERE tenant_id = $1', [tenant]);
  assert.equal(view?.['large_docs'], '2');
});

test('a query that is too long for the database is answered all the same', async () => {
  const tenant = await logs.tenantWith([noting('a', { payload: { deep: 5 } }), noting('b')]);
  const path = `payload.${'k'.repeat(30)}`;
  const text = Array.from({ length: 60 }, (_, i) => `${path}${i}:>${i}`).join(' OR ');
  assert.equal(await requireFound(logs, tenant, asking(`${text} OR payload.deep:>4`)), 1);
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

for (const [where, placed] of Object.entries(PLACES))
  test(`counts what is found by each of its properties, as this reader sees it: ${where}`, async () => {
    const tenant = await logs.tenantWith(placed(fc.sample(said, 80)));
    const aggregations = Object.keys(KEY_OF) as Aggregation[];
    let ofEverything = 0;
    for (const asked of fc.sample(question, 80)) {
      const expected = await logs.expected(tenant, asked);
      const { aggregations: counted } = await logs.find(tenant, { ...asked, aggregations });
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
    assert.ok(ofEverything > 5, `${ofEverything}`);
  });
