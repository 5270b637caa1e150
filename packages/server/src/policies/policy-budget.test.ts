import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LIMITS, type Rule } from '@tallystick/contract';
import { budgetFaults } from './policy-budget.ts';
import type { PolicyStatus } from './policy.ts';

const rule = (conditions: Rule['conditions'] = {}): Rule => ({
  ruleId: '01KE0000000000000000000001',
  enabled: true,
  conditions,
  effect: { classification: 'Secret' },
});
const rules = (count: number, conditions?: Rule['conditions']) =>
  Array.from({ length: count }, () => rule(conditions));
const policy = (policyId: string, status: PolicyStatus, of: readonly Rule[] = []) => ({
  policyId,
  status,
  rules: of,
});
const many = (count: number, status: PolicyStatus) =>
  Array.from({ length: count }, (_, i) => policy(`${status} ${i}`, status));
const issues = (...[asked, all]: Parameters<typeof budgetFaults>) =>
  budgetFaults(asked, all).map(({ field, issue }) => `${field}: ${issue}`);
const conditions = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`payload.f${i}`, 1]));
const detecting: Rule['conditions'] = { payload: { detects: 'Iban' } };
const NEW = policy('new', 'Active');

test('as many policies as a tenant may have, and one more', () => {
  assert.deepEqual(issues(NEW, many(LIMITS.policiesMax - 1, 'Draft')), []);
  assert.deepEqual(issues(NEW, many(LIMITS.policiesMax, 'Inactive')), [
    ': must leave at most 1000 policies of a tenant; there would be 1001',
  ]);
});

test('deleted policies count as records alone', () => {
  const gone = many(LIMITS.policyRecordsMax - 1, 'Deleted');
  assert.deepEqual(issues(NEW, gone), []);
  const large = policy('large', 'Deleted', rules(LIMITS.activeRulesMax));
  assert.deepEqual(issues(policy('new', 'Active', rules(1)), [large]), []);
  assert.deepEqual(issues(NEW, [...gone, large]), [
    ': must leave at most 10000 policies of a tenant, with those that are deleted; there would be 10001',
  ]);
});

test('rules, conditions and detectors of active policies are counted together', () => {
  for (const [other, last, says] of [
    [rules(LIMITS.activeRulesMax - 1), rule(), '2000 rules in the active policies of a tenant'],
    [
      rules(LIMITS.activeConditionsMax / 50 - 1, conditions(50)),
      rule(conditions(50)),
      '10000 conditions in the active policies of a tenant',
    ],
    [
      rules(LIMITS.activeDetectorsMax - 1, detecting),
      rule(detecting),
      '20 conditions with detects in the active policies of a tenant',
    ],
  ] as const) {
    const all = [policy('other', 'Active', other)];
    assert.deepEqual(issues(policy('new', 'Active', [last]), all), [], says);
    const [issue, ...more] = issues(policy('new', 'Active', [last, last]), all);
    assert.deepEqual(more, []);
    assert.ok(issue!.startsWith(`rules: must leave at most ${says}; there would be `), issue);
    // What is not active judges no event.
    for (const status of ['Draft', 'Inactive'] as const) {
      assert.deepEqual(issues(policy('new', status, [last, last]), all), []);
      assert.deepEqual(issues(policy('new', 'Active', [last, last]), [policy('other', status, other)]), []);
    }
  }
});

test('the text of all policies is counted, of drafts too: it is read with each', () => {
  const long = rules(200, { 'payload.a': { in: Array.from({ length: 1000 }, () => 'abcdefg') } });
  const { length } = JSON.stringify(long);
  assert.ok(2 * length > LIMITS.policiesLengthMax && length <= LIMITS.policiesLengthMax);
  assert.deepEqual(issues(policy('new', 'Draft', long), []), []);
  assert.deepEqual(issues(policy('new', 'Draft', long), [policy('other', 'Inactive', [...long])]), [
    `rules: must leave at most 2097152 characters of JSON in all policies of a tenant; there would be ${2 * length}`,
  ]);
});

test('a policy is not counted beside the version that it replaces', () => {
  const full = policy('p', 'Active', rules(LIMITS.activeDetectorsMax, detecting));
  const others = many(LIMITS.policiesMax - 1, 'Active');
  assert.deepEqual(issues({ ...full, rules: [...full.rules] }, [full, ...others]), []);
  assert.deepEqual(issues({ ...full, policyId: 'another' }, [full]).length, 1);
});

test('a policy counts from when it is made active', () => {
  const draft = policy('p', 'Draft', rules(LIMITS.activeDetectorsMax, detecting));
  const other = policy('other', 'Active', rules(1, detecting));
  assert.deepEqual(issues(draft, [draft, other]), []);
  assert.equal(issues({ ...draft, status: 'Active' }, [draft, other]).length, 1);
});
