// Queries of every shape, and events of few words, so that one often asks for the other.

import type { AuditEvent } from '@tallystick/contract';
import * as fc from 'fast-check';
import { FIELD_NAMES, ruleOf } from '../fields.ts';
import type { ContentPath, Field, Query, Term } from '../query.ts';
import { phraseOf } from '../tokens.ts';
import { shownEvent } from './shown-event.ts';

const plain = <T>(model: { [K in keyof T]: fc.Arbitrary<T[K]> }): fc.Arbitrary<T> =>
  fc.record<T>(model, { noNullPrototype: true });

const word = fc.constantFrom('ana', 'refund', 'INV-42', 'Müller', '東京都', 'a b', '10', 'true', 're', 'OR');
const text = fc
  .oneof(word, fc.string({ unit: 'grapheme', minLength: 1 }))
  .filter((any) => phraseOf(any, false).words.length > 0);
const prefix = fc.boolean();
const operator = fc.constantFrom('>' as const, '>=' as const, '<' as const, '<=' as const);
const number = fc
  .oneof(fc.constantFrom(0, 10, -2.5), fc.double({ noNaN: true, noDefaultInfinity: true }))
  .map((any) => any + 0);
const key = fc.oneof(fc.constantFrom('note', 'list', 'a.b'), fc.string({ unit: 'grapheme' }));

const step = fc.oneof(key, fc.nat({ max: 3 }), fc.constant(null));
const longPath = fc
  .tuple(
    fc.constantFrom('context' as const, 'payload' as const),
    fc.array(step, { minLength: 1, maxLength: 3 }),
  )
  .map(([head, steps]): ContentPath => [head, ...steps]);
const path = fc.oneof(longPath, fc.constantFrom<ContentPath>(['context'], ['payload']));
const content = path.map((path): Field => ({ path }));
const named = fc.constantFrom(...FIELD_NAMES).map((name): Field => ({ name }));
const free = named.filter(({ name }) => {
  const rule = ruleOf(name!);
  return rule.time === undefined && rule.choices === undefined;
});
const time = fc.constantFrom('timestamp' as const, 'receivedAt' as const).map((name): Field => ({ name }));
const times = fc.constantFrom('2026-01-02', '2026-01-02T03:04:05.123Z', '1999-12-31T23:59:59.000Z');

const term: fc.Arbitrary<Term> = fc.oneof(
  plain({ kind: fc.constant('Text' as const), text, prefix }),
  plain({ kind: fc.constant('Value' as const), field: fc.oneof(content, free), text, prefix }),
  plain({ kind: fc.constant('Existence' as const), field: fc.oneof(content, named) }),
  plain({
    kind: fc.constant('Comparison' as const),
    field: longPath.map((path): Field => ({ path })),
    operator,
    value: number,
  }),
  plain({
    kind: fc.constant('Comparison' as const),
    field: time,
    operator: fc.oneof(operator, fc.constant('=' as const)),
    value: times,
  }),
);

/** Every query that can be written. */
export const anyQuery: fc.Arbitrary<Query> = fc.letrec<{ query: Query }>((tie) => ({
  query: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    term,
    plain({ kind: fc.constant('Not' as const), of: tie('query') }),
    plain({
      kind: fc.constantFrom('And' as const, 'Or' as const),
      of: fc.array(tie('query'), { minLength: 2, maxLength: 3 }),
    }),
  ),
})).query;

const value = fc.oneof(word, number, fc.boolean(), fc.constant(null));
const members = fc.dictionary(key, fc.oneof(value, fc.array(value), fc.dictionary(key, value)));

export const anyEvent: fc.Arbitrary<AuditEvent> = plain({
  context: members,
  payload: members,
  classification: fc.constantFrom('Public', 'Internal', 'Confidential', 'Secret'),
}).map(shownEvent);
