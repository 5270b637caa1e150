import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Rule } from '@tallystick/contract';
import type { EventFacts } from '../policies/event-facts.ts';
import type { PolicyRecord } from '../policies/policy.ts';
import { TENANT } from '../testing/test-call.ts';
import type { HoldRecord } from './hold.ts';
import { holdsOn } from './hold-judge.ts';

const facts = (more: Partial<EventFacts> = {}): EventFacts => ({
  action: 'Delete.Invoice',
  actor: { actorType: 'User', userId: 'u-1' },
  resource: { resourceType: 'Invoice', resourceId: 'INV-1' },
  outcome: 'Success',
  classification: 'Internal',
  correlationId: '7d3f0c52-6a3e-4b51-9a0e-2f6b1f3c9d11',
  content: () => ({ payload: { iban: 'DE1' } }),
  ...more,
});

const holdOf = (holdId: string, more: Partial<HoldRecord> = {}) => ({ holdId, ...more }) as HoldRecord;

function policyOf(policyId: string, rules: readonly Partial<Rule>[], policyType = 'Retention'): PolicyRecord {
  const whole = rules.map((rule, i) => ({ ruleId: `r${i}`, enabled: true, conditions: {}, ...rule }));
  return { policyId, policyType, priority: 1, rules: whole } as unknown as PolicyRecord;
}

const HOLDING = { effect: { retentionPeriod: 'P1D', legalHold: true } };

test('a hold covers what its conditions and its range both say, at both ends of the range', () => {
  const judge = holdsOn({
    ...TENANT,
    holds: [
      holdOf('all'),
      holdOf('range', { range: { fromSequence: 3, toSequence: 5 } }),
      holdOf('conditions', { conditions: { action: 'Read.Invoice' } }),
      holdOf('both', { conditions: { 'payload.iban': 'DE1' }, range: { fromSequence: 5, toSequence: 5 } }),
    ],
  });
  const at = (sequence: number) => judge.holding(sequence, facts());
  assert.deepEqual([at(2), at(3), at(4)], [['all'], ['all', 'range'], ['all', 'range']]);
  assert.deepEqual([at(5), at(6)], [['all', 'range', 'both'], ['all']]);
  assert.deepEqual(judge.holding(9, facts({ action: 'Read.Invoice' })), ['all', 'conditions']);
  assert.equal(judge.isHeld(9, facts()), true);
});

test('rules of Retention policies with legalHold hold, once for each policy, and others do not', () => {
  const judge = holdsOn({
    ...TENANT,
    policies: [
      policyOf('twice', [HOLDING, { ...HOLDING, conditions: { action: 'Delete.Invoice' } }]),
      policyOf('off', [{ ...HOLDING, enabled: false }]),
      policyOf('only kept', [{ effect: { retentionPeriod: 'P1D', legalHold: false } }]),
      policyOf('other', [{ effect: { classification: 'Secret' } }], 'Classification'),
    ],
  });
  assert.deepEqual(judge.holding(1, facts()), ['twice']);
});

test('without holds nothing is held, and of a tenant whose records were altered everything is', () => {
  const nothing = holdsOn({ ...TENANT, policies: [policyOf('a', [{ effect: { retentionPeriod: 'P1D' } }])] });
  assert.deepEqual(
    [nothing.isEmpty, nothing.isHeld(1, facts()), nothing.holding(1, facts())],
    [true, false, []],
  );
  const unknown = holdsOn({ ...TENANT, isAltered: true });
  assert.deepEqual(
    [unknown.isEmpty, unknown.isHeld(1, facts()), unknown.holding(1, facts()).length],
    [false, true, 1],
  );
});

test('of what a reader does not see no hold is told, whether it covers the event or not', () => {
  const judge = holdsOn({
    ...TENANT,
    holds: [
      holdOf('of the withheld', { conditions: { 'payload.iban': 'DE1' } }),
      holdOf('of the missing', { conditions: { 'payload.other': { exists: false } } }),
      holdOf('of facts', { conditions: { action: 'Delete.Invoice' } }),
      holdOf('of a place', { range: { fromSequence: 1, toSequence: 9 } }),
    ],
  });
  const redaction = { fields: ['payload', 'context'], reason: 'ClassificationAboveClearance' } as const;
  const seen = judge.holdingSeen(1, facts(), { ...redaction, fields: [...redaction.fields] });
  assert.deepEqual(seen, ['of facts', 'of a place']);
  assert.equal(judge.holdingSeen(1, facts(), undefined).length, 4);
});

test('a judge is compiled once for each version of a tenant', () => {
  const tenant = { ...TENANT, holds: [holdOf('one')] };
  assert.equal(holdsOn(tenant), holdsOn(tenant));
  assert.notEqual(holdsOn({ ...tenant }), holdsOn(tenant));
});

test('for a caller from whom something is withheld, the rest of a hold decides', () => {
  const judge = holdsOn({
    ...TENANT,
    holds: [holdOf('both', { conditions: { action: 'Delete.Invoice', 'payload.iban': 'DE1' } })],
  });
  const redaction = { fields: ['payload'], reason: 'ClassificationAboveClearance' } as const;
  const other = { content: () => ({ payload: { iban: 'DE2' } }) };
  const asked = (more: Partial<EventFacts>, withheld?: typeof redaction) =>
    judge.isHeldFor(1, facts(more), withheld && { ...withheld, fields: [...withheld.fields] });
  assert.deepEqual([asked({}), asked(other)], [true, false]);
  assert.deepEqual([asked({}, redaction), asked(other, redaction)], [true, true]);
  assert.equal(asked({ action: 'Read.Invoice' }, redaction), false);
});
