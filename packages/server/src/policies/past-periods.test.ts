import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Rule } from '@tallystick/contract';
import type { StoredRecord } from '../records/records.ts';
import { expiryAfter } from '../runtime/expiry.ts';
import { DECIDED_BEFORE_MS } from './past-decisions.ts';
import { PastPeriods } from './past-periods.ts';
import { contentOfPolicy, type PolicyRecord } from './policy.ts';
import { policyRecord } from './testing/policy-record.ts';

const START_MS = Date.UTC(2026, 3, 30, 12);
const POLICY = { kind: 'Policy', id: 'policy' };

function recordOf(content: object, version = 1): StoredRecord {
  return {
    owner: 'acme',
    kind: 'Policy',
    id: 'policy',
    version,
    body: JSON.stringify({ ...content, version }),
    state: 'Active',
    uniqueName: undefined,
    lookup: undefined,
    salt: new Uint8Array(16),
    mac: new Uint8Array(32),
  };
}

function policyOf(version: number, periods: readonly string[], more: Partial<PolicyRecord> = {}) {
  const rules = periods.map((retentionPeriod, i) => ({
    ruleId: `rule-${i}`,
    enabled: i < 2,
    conditions: {},
    effect: { retentionPeriod },
  }));
  const made = policyRecord({ policyType: 'Retention', version, rules: rules as unknown as Rule[], ...more });
  return recordOf(contentOfPolicy(made), version);
}

const named = (policyVersion: number) => ({ policyId: 'policy', policyVersion });
const at = (index: number, receivedAtMs = START_MS) => ({ index, receivedAtMs });

test('the shortest period of the enabled rules of that version counts, for entries behind its notice', () => {
  const past = new PastPeriods();
  past.changed(POLICY, policyOf(1, ['P2Y', 'P1Y', 'P1D']), at(5));
  assert.equal(past.earliestEnd(at(6), named(1)), expiryAfter(START_MS, 'P1Y'));
  assert.equal(past.earliestEnd(at(4), named(1)), Infinity, 'before it was made');
  assert.equal(past.earliestEnd(at(6), named(2)), Infinity, 'there is no such version');
  assert.equal(past.earliestEnd(at(6), { policyId: 'other', policyVersion: 1 }), Infinity);
});

test('what was replaced may have decided for a while longer, and what cannot decide never has', () => {
  const past = new PastPeriods();
  past.changed(POLICY, policyOf(1, ['P1D']), at(1));
  past.changed(POLICY, policyOf(2, ['P1D'], { status: 'Inactive' }), at(2));
  const late = START_MS + DECIDED_BEFORE_MS;
  assert.equal(past.earliestEnd(at(3, late), named(1)), expiryAfter(late, 'P1D'));
  assert.equal(past.earliestEnd(at(3, late + 1), named(1)), Infinity);
  assert.equal(past.earliestEnd(at(3), named(2)), Infinity);
});

test('without a policy the settings that were in force count, the usual ones at first', () => {
  const past = new PastPeriods();
  assert.equal(past.earliestEnd(at(0), undefined), expiryAfter(START_MS, 'P7Y'));
  const settings = { tier: 'Standard', defaultClassification: 'Internal', defaultRetention: 'P1Y' };
  past.changed({ kind: 'Tenant', id: '' }, recordOf({ ...settings, state: 'Active' }), at(7));
  assert.equal(
    past.earliestEnd(at(7), undefined),
    expiryAfter(START_MS, 'P7Y'),
    'its own notice is before it',
  );
  assert.equal(
    past.earliestEnd(at(8), undefined),
    expiryAfter(START_MS, 'P1Y'),
    'the shorter of two that may have',
  );
  past.changed({ kind: 'Tenant', id: '' }, undefined, at(9));
  assert.equal(past.earliestEnd(at(10, START_MS + DECIDED_BEFORE_MS + 1), undefined), undefined);
});
