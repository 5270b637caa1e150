// Why a rule matches, in paths and values.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseConditions } from './condition.ts';
import type { EventFacts } from './event-facts.ts';
import { matchedValues } from './matched-values.ts';

const FACTS: EventFacts = {
  action: 'Approve.Invoice',
  actor: { actorType: 'User', userId: 'u-1' },
  resource: { resourceType: 'Invoice', resourceId: '42' },
  outcome: 'Success',
  classification: 'Internal',
  correlationId: undefined,
  content: () => ({
    payload: {
      amount: 1250.5,
      note: 'x'.repeat(500),
      card: '4111 1111 1111 1111',
      lines: [{ sku: 'chair' }, { sku: 'desk' }],
    },
  }),
};

function valuesOf(conditions: object) {
  return matchedValues(parseConditions(conditions, '').conditions ?? [], FACTS);
}

test('each condition names its path and the value that is there', () => {
  assert.deepEqual(
    valuesOf({ action: 'Approve.*', 'payload.amount': { gt: 1000 }, actor: { userId: ['u-1', 'u-2'] } }),
    [
      { field: 'action', value: 'Approve.Invoice' },
      { field: 'payload.amount', value: 1250.5 },
      { field: 'actor.userId', value: 'u-1' },
    ],
  );
});

test('of a list it is the element that matches', () => {
  assert.deepEqual(valuesOf({ 'payload.lines[*].sku': 'desk' }), [
    { field: 'payload.lines[1].sku', value: 'desk' },
  ]);
});

test('what is not there has no value, and neither has what a detector found', () => {
  assert.deepEqual(valuesOf({ 'payload.iban': { exists: false } }), [{ field: 'payload.iban' }]);
  assert.deepEqual(valuesOf({ payload: { detects: 'CardNumber' } }), [{ field: 'payload.card' }]);
});

test('long texts are cut, and objects are seen in the event itself', () => {
  const [note, lines] = valuesOf({ 'payload.note': { exists: true }, 'payload.lines': { exists: true } });
  assert.equal(String(note?.value).length, 200);
  assert.deepEqual(lines, { field: 'payload.lines' });
});
