// Segments and tails against the plain definition: every event in memory, each one looked at.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import type { Found, Question } from '../../../events/event-index.ts';
import type { AccessRule, AccessRules } from '../../../policies/access-rules.ts';
import { indexSightOf } from '../../../policies/sight.ts';
import type { QueriedEvent } from '../../../query/queried-event.ts';
import { parseQuery } from '../../../query/query-parser.ts';
import { question, said } from '../testing/any-question.ts';
import { expectedOf, questionOf, requireSame, type Said } from '../testing/plain-definition.ts';
import { Answerer } from './answer.ts';
import type { Searched } from '../segments/searched.ts';
import { Segment } from '../segments/segment.ts';
import { chunkOf, segmentOf } from '../testing/memory-pieces.ts';
import { eventsOf } from '../testing/searched-events.ts';

const READ_AT_ONCE = 7;

/** Some of each. */
function piecesOf(events: readonly (QueriedEvent | undefined)[], cuts: readonly number[]): Searched[] {
  const ends = [...new Set([...cuts.filter((cut) => cut < events.length), events.length])].sort(
    (a, b) => a - b,
  );
  let from = 0;
  return ends.map((end, i) => {
    const own = events.slice(from, end);
    const piece = i % 2 === 0 ? segmentOf(own, from) : chunkOf(own, from);
    from = end;
    return piece;
  });
}

async function find(
  events: readonly (QueriedEvent | undefined)[],
  pieces: readonly Searched[],
  asked: Partial<Question>,
  gatheredMax?: number,
  totalMax?: number,
): Promise<Found> {
  // A few at a time, as large events are.
  const read = (indexes: readonly number[]) => ({
    events: new Map(
      indexes.slice(0, READ_AT_ONCE).flatMap((index) => (events[index] ? [[index, events[index]]] : [])),
    ),
    readCount: Math.min(READ_AT_ONCE, indexes.length),
  });
  const deadline = { throwIfPassed() {}, signal: new AbortController().signal } as never;
  const answerer = new Answerer(
    pieces,
    questionOf(asked),
    {
      removals: [],
      events: async (indexes) => read(indexes),
      stored: async (indexes) => ({
        events: new Map(indexes.map((index) => [index, { index } as never])),
        readCount: indexes.length,
      }),
      queried: ({ index }) => events[index],
    },
    deadline,
    gatheredMax,
  );
  return { ...(await answerer.answer(totalMax)), state: undefined as never };
}

test('finds what the plain definition finds, in its order and as many, for every reader, query and filter', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(said, { minLength: 1, maxLength: 40 }),
      fc.array(fc.integer({ min: 1, max: 39 }), { maxLength: 4 }),
      fc.array(question, { minLength: 30, maxLength: 30 }),
      async (all, cuts, questions) => {
        const events = eventsOf(all);
        const pieces = piecesOf(events, cuts);
        for (const asked of questions) {
          const expected = expectedOf(events, asked);
          requireSame(expected, await find(events, pieces, asked), asked);
          requireSame(expected, await find(events, pieces, asked, 0), asked);
        }
      },
    ),
    { numRuns: 30 },
  );
});

test('pages lead on and back through the same events, whatever the order', async () => {
  const events = eventsOf(fc.sample(said, 60));
  const pieces = piecesOf(events, [17, 20, 40]);
  const indexesOf = ({ events: found }: Found) => found.map(({ place }) => place.index);
  for (const asked of fc.sample(question, 40)) {
    const all = await find(events, pieces, asked);
    for (let i = 0; i < all.events.length; i += 7) {
      const beyond = all.events[i]!.place;
      const next = await find(events, pieces, { ...asked, beyond, rowsMax: 5 });
      assert.deepEqual(indexesOf(next), indexesOf(all).slice(i + 1, i + 6));
      const walked = await find(events, pieces, { ...asked, beyond, rowsMax: 5 }, 0);
      assert.deepEqual(indexesOf(walked), indexesOf(next));
      const previous = await find(
        events,
        pieces,
        { ...asked, beyond, rowsMax: 5, direction: 'Previous' },
        i % 3,
      );
      assert.deepEqual(
        indexesOf(previous),
        indexesOf(all)
          .slice(Math.max(0, i - 5), i)
          .toReversed(),
      );
    }
  }
});

test('events whose content is removed are found by no question', async () => {
  const all = eventsOf(fc.sample(said, 40));
  const events = all.map((event, i) => (i % 3 === 0 ? undefined : event));
  const pieces = piecesOf(events, [9, 21]);
  const everyKind: Partial<Question> = { filters: { kinds: ['Event', 'Notice'] } };
  for (const asked of [{}, everyKind, ...fc.sample(question, 60)]) {
    const expected = expectedOf(
      events.filter((event) => event !== undefined),
      asked,
    );
    requireSame(expected, await find(events, pieces, asked), asked);
    requireSame(expected, await find(events, pieces, asked, 0), asked);
  }
});

test('where the newest pieces decide page and total, no other one is searched', async () => {
  const events = eventsOf(
    Array.from({ length: 40 }, (_, i) => ({
      ...fc.sample(said, 1)[0]!,
      timestamp: new Date(Date.UTC(2026, 0, 1, 0, i)).toISOString(),
      kind: 'Event' as const,
      classification: 'Public' as const,
      payload: { note: i % 2 === 0 ? 'a late refund' : 'a refund, late' },
    })),
  );
  const pieces = [0, 10, 20, 30].map((from) => {
    const piece = segmentOf(events.slice(from, from + 10), from);
    return from >= 20 ? piece : new Segment(piece.footer, { read: () => assert.fail('it was searched') });
  });
  const asked = { query: parseQuery('"late refund"').query!, rowsMax: 4, isScored: false };
  const found = await find(events, pieces, asked, undefined, 8);
  assert.deepEqual([found.total, found.events.map(({ place }) => place.index)], [9, [38, 36, 34, 32]]);
  await assert.rejects(find(events, pieces, asked, undefined, 10), /it was searched/);
});

test('how well an event fits does not tell how often its words stand where they are withheld', async () => {
  const base: Said = { ...fc.sample(said, 1)[0]!, kind: 'Event', classification: 'Internal', context: {} };
  const rule = (conditions: AccessRule['conditions'], effect: AccessRule['effect']): AccessRule => ({
    policyId: 'p',
    policyName: 'p',
    policyVersion: 1,
    ruleId: 'r',
    conditions,
    effect: { access: 'Allow', roles: ['Viewer'], ...effect },
  });
  const scoresUnder = async (rules: readonly AccessRule[], withheld: string) => {
    const notes = ['a late refund', 'late', ...Array.from({ length: 6 }, () => withheld)];
    const events = eventsOf(
      notes.map((note, i) => ({ ...base, action: i < 2 ? 'Show.Note' : 'Withhold.Note', payload: { note } })),
    );
    const access: AccessRules = {
      roles: [{ role: 'Viewer', clearance: 'Internal' }],
      ceiling: 'Secret',
      rules,
      classifying: [],
    };
    const asked = {
      query: parseQuery('refund OR late').query!,
      sight: { ...indexSightOf('Internal'), access },
    };
    const found = await find(events, piecesOf(events, [3]), asked);
    return found.events.map(({ place, score }) => [place.index, score]);
  };
  const rules: [AccessRule['conditions'], AccessRule['effect']][] = [
    [{ action: 'Withhold.Note' }, { redactFields: ['payload.note'] }],
    [{ action: 'Withhold.Note' }, { access: 'Deny' }],
    [{ 'payload.note': ['refund', 'other'] }, { access: 'Deny' }],
    [{ 'payload.note': ['refund', 'other'] }, { maxClassification: 'Public' }],
  ];
  for (const [conditions, effect] of rules) {
    const [one, other] = [
      await scoresUnder([rule(conditions, effect)], 'refund'),
      await scoresUnder([rule(conditions, effect)], 'other'),
    ];
    assert.deepEqual(one, other, JSON.stringify(effect));
    assert.equal(one.length, 2);
  }
  // Control: where the index can tell what is seen, a rare word counts more than a frequent one.
  const denied = await scoresUnder([rule({ action: 'Withhold.Note' }, { access: 'Deny' })], 'refund');
  const [late, both] = denied.map(([, score]) => score!);
  assert.ok(both! > 2 * late!, `${both} ${late}`);
});
