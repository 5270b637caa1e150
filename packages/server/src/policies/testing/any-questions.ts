// Lists, searches and trials of policies in the few words that the events of any-worlds.ts have, so that one often asks for the
// other.

import * as fc from 'fast-check';
import { AGGREGATIONS } from '../../testing/found-events.ts';
import { anyCondition, WORDS } from './any-worlds.ts';
import type { Questions } from './world-answers.ts';

const word = fc.constantFrom(...WORDS);
const path = fc.constantFrom(
  'payload',
  'payload.note',
  'payload.list',
  'payload.person',
  'payload.person.name',
  'payload.person.email',
  'payload.gold',
  'context',
  'context.team',
  'actor',
  'resource',
  'userName',
  'resourceName',
);
const term = fc.oneof(
  word,
  word.map((any) => `${any.slice(0, 2)}*`),
  fc.tuple(word, word).map(([one, other]) => `"${one} ${other}"`),
  fc.tuple(path, word).map(([at, any]) => `${at}:${any}`),
  fc.tuple(path, word).map(([at, any]) => `${at}:${any.slice(0, 1)}*`),
  path.map((at) => `${at}:*`),
  fc
    .tuple(
      fc.constantFrom('payload.amount', 'payload.list'),
      fc.constantFrom('>', '>=', '<', '<='),
      fc.constantFrom(5, 10),
    )
    .map((parts) => parts.join('').replace(/(?=[<>])/, ':')),
  fc.constantFrom(
    'redacted',
    'action:delete.*',
    'outcome:denied',
    'classification:confidential',
    'classification:secret',
    'actor:u-1',
    'payload.serial:*',
    's1',
  ),
);
const query = fc.oneof(
  term,
  term.map((any) => `-${any}`),
  fc.tuple(term, term).map(([one, other]) => `${one} ${other}`),
  fc.tuple(term, term).map(([one, other]) => `${one} OR -${other}`),
);

const filter = fc.constantFrom(
  'action=Delete.*',
  'actorId=u-1',
  'actorType=Service',
  'resourceType=P*',
  'resourceId=R-1&outcome=Denied',
  'classification=Secret,Confidential',
  'classification=Internal',
  'outcome=Success',
  'correlationId=7d3f0c52-6a3e-4b51-9a0e-2f6b1f3c9d11',
  'startTime=2026-01-01T02:30:00Z&endTime=2026-01-02T03:00:00Z',
  'kind=Event,Notice',
);
const sort = fc.constantFrom('timestamp', '-timestamp', 'eventId', '-action', 'action,-timestamp');
const list = fc.oneof(
  fc.tuple(filter, sort).map(([asked, by]) => `${asked}&sort=${by}`),
  fc.tuple(query, sort).map(([asked, by]) => `q=${encodeURIComponent(asked)}&sort=${by}`),
);

const search = fc
  .record({
    query: fc.option(query, { nil: undefined }),
    sort: fc.constantFrom(
      [{ field: 'relevance' }],
      [{ field: 'relevance' }],
      [{ field: 'timestamp', order: 'desc' }],
      [{ field: 'action', order: 'asc' }],
    ),
    filters: fc.constantFrom({}, {}, { classifications: ['Internal', 'Secret'] }, { actions: ['Delete.*'] }),
  })
  .map(({ query: asked, ...others }) => ({
    ...(asked !== undefined && { query: asked }),
    ...others,
    aggregations: AGGREGATIONS,
  }));

const trial = fc
  .record({ conditions: anyCondition, isRecent: fc.boolean() })
  .map(({ conditions, isRecent }) => ({
    name: 'Trial',
    policyType: 'Classification',
    rules: [{ conditions, effect: { classification: 'Public' } }],
    ...(isRecent && { timeRange: { from: '2026-01-02T00:00:00Z' } }),
  }));

export const anyQuestions: fc.Arbitrary<Questions> = fc.record({
  // Everything is always asked for.
  lists: fc.array(list, { minLength: 6, maxLength: 6 }).map((lists) => ['limit=5', 'sort=action', ...lists]),
  searches: fc
    .array(search, { minLength: 12, maxLength: 12 })
    .map((all) => [{ aggregations: AGGREGATIONS }, ...all]),
  trials: fc.array(trial, { minLength: 6, maxLength: 6 }),
});
