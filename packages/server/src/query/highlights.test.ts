import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AuditEvent } from '@tallystick/contract';
import * as fc from 'fast-check';
import { HIGHLIGHTED_FIELDS_MAX, highlightsOf } from './highlights.ts';
import { matches } from './matches.ts';
import { parseQuery } from './query-parser.ts';
import { anyEvent, anyQuery } from './testing/any-query.ts';
import { shownEvent, withheldEvent } from './testing/shown-event.ts';

function highlights(written: string, event: AuditEvent = shownEvent()): Record<string, string[]> {
  const { query, fault } = parseQuery(written);
  assert.ok(query, fault?.issue);
  return highlightsOf(query, event);
}

test('words are marked where they stand, in the text as it is', () => {
  const table: [written: string, highlights: Record<string, string[]>][] = [
    ['REFUND', { 'payload.note': ['The customer asked for a «refund».'] }],
    ['refu*', { 'payload.note': ['The customer asked for a «refund».'] }],
    ['"asked for" refund', { 'payload.note': ['The customer «asked for» a «refund».'] }],
    ['muller', { 'resource.resourceName': ['Rechnung für «Müller»'] }],
    ['a-1', { 'payload.lines[0].sku': ['«A-1»'] }],
    ['1000.5', { 'payload.amount': ['«1000.5»'] }],
    ['2026', { 'payload."due date"': ['«2026»-02-01'] }],
    ['invoice', { action: ['Delete.«Invoice»'], 'resource.resourceType': ['«Invoice»'] }],
    // A term of a field marks only there.
    ['payload.tags:finance', { 'payload.tags[1]': ['«finance»'] }],
    [
      'payload.note:for context:browser',
      { 'payload.note': ['The customer asked «for» a refund.'], 'context.agent.name': ['«browser»'] },
    ],
    ['actor:acme', { 'actor.userName': ['ana@«acme».test'] }],
    // Either side of an OR.
    ['nothing OR refund', { 'payload.note': ['The customer asked for a «refund».'] }],
    // What is compared as a whole, or must not be there, is not marked.
    ['action:Delete.Invoice payload.amount:1000.5 payload.amount:>1 payload.note:* -refund', {}],
    ['', {}],
  ];
  for (const [written, expected] of table) assert.deepEqual(highlights(written), expected, written);
});

test('phrases that overlap are one', () => {
  const event = shownEvent({ payload: { note: '東京都庁 a b c' } });
  assert.deepEqual(highlights('東京都 "a b" "b c"', event), { 'payload.note': ['«東京都»庁 «a b c»'] });
});

test('marks that the text has are left as they are', () => {
  const event = shownEvent({ payload: { note: '«a» b' } });
  assert.deepEqual(highlights('b', event), { 'payload.note': ['«a» «b»'] });
});

test('nothing is marked that does not match', () => {
  assert.deepEqual(highlights('refund', withheldEvent()), {});
  assert.deepEqual(highlights('refu*', shownEvent({ classification: 'Secret' })), {});
  assert.deepEqual(highlights('"refund asked"'), {});
});

test(`at most ${HIGHLIGHTED_FIELDS_MAX} fields are shown, in the order of the event`, () => {
  const event = shownEvent({ payload: { list: Array.from({ length: 30 }, () => 'refund') } });
  assert.deepEqual(Object.keys(highlights('refund delete', event)), [
    'action',
    ...Array.from({ length: HIGHLIGHTED_FIELDS_MAX - 1 }, (_, i) => `payload.list[${i}]`),
  ]);
});

test('every fragment has a mark, and words have one exactly where they match (seed 20260113)', () => {
  fc.assert(
    fc.property(anyQuery, anyEvent, (query, event) => {
      for (const [path, [fragment]] of Object.entries(highlightsOf(query, event))) {
        assert.match(fragment!, /«[^»]+»/u, path);
      }
      if (query.kind === 'Text') {
        assert.equal(Object.keys(highlightsOf(query, event)).length > 0, matches(query, event));
      }
    }),
    { seed: 20_260_113, numRuns: 500 },
  );
});
