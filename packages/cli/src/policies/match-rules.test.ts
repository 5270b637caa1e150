import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Rule, RuleConfiguration } from '@tallystick/contract';
import { withRuleIds } from './match-rules.ts';

const rule = (action: string, name?: string): RuleConfiguration => ({
  ...(name !== undefined && { name }),
  conditions: { action },
  effect: {},
});
/** Each with an id that tells its place. */
const served = (...rules: RuleConfiguration[]): Rule[] =>
  rules.map((each, i) => ({ ...each, ruleId: `id-${i}`, enabled: true, conditions: each.conditions! }));
const ids = (filed: RuleConfiguration[], theirs: Rule[]) =>
  withRuleIds(filed, theirs).map(({ ruleId }) => ruleId);

test('a rule is the one of its name, wherever it stands and whatever it says now', () => {
  const theirs = served(rule('A.A', 'a'), rule('B.B', 'b'));
  assert.deepEqual(ids([rule('X.X', 'new'), rule('B.C', 'b'), rule('A.A', 'a')], theirs), [
    undefined,
    'id-1',
    'id-0',
  ]);
});

test('a rule without a name is the one that says the same, and else the one in its place', () => {
  const theirs = served(rule('A.A'), rule('B.B'), rule('C.C'));
  assert.deepEqual(ids([rule('C.C'), rule('B.B'), rule('A.A')], theirs), ['id-2', 'id-1', 'id-0']);
  assert.deepEqual(ids([rule('A.A'), rule('X.X'), rule('C.C')], theirs), ['id-0', 'id-1', 'id-2']);
  assert.deepEqual(ids([rule('B.B'), rule('C.C')], theirs), ['id-1', 'id-2']);
});

test('rules of equal names are told apart by what they say, then by their places', () => {
  const theirs = served(rule('A.A', 'same'), rule('B.B', 'same'), rule('B.B', 'same'));
  assert.deepEqual(ids([rule('B.B', 'same'), rule('A.A', 'same'), rule('X.X', 'same')], theirs), [
    'id-1',
    'id-0',
    'id-2',
  ]);
});

test('a rule that is only renamed stays the same; one of another name that says something else is new', () => {
  const theirs = served(rule('A.A', 'a'), rule('B.B', 'b'));
  assert.deepEqual(ids([rule('A.A', 'renamed'), rule('X.X', 'x')], theirs), ['id-0', undefined]);
  assert.deepEqual(ids([rule('A.A', 'a'), rule('B.B')], theirs), ['id-0', 'id-1']);
});

test('an id in a file counts where the service knows it, and goes nowhere else', () => {
  const theirs = served(rule('A.A', 'a'), rule('B.B', 'b'));
  const filed = [
    { ...rule('Z.Z', 'z'), ruleId: 'id-1' },
    { ...rule('A.A', 'a'), ruleId: 'of another tenant' },
  ];
  assert.deepEqual(ids(filed, theirs), ['id-1', 'id-0']);
});

test('no id is given twice, and what is sent is the rule of the file', () => {
  const theirs = served(rule('A.A'));
  assert.deepEqual(withRuleIds([rule('A.A'), rule('A.A')], theirs), [
    { ruleId: 'id-0', conditions: { action: 'A.A' }, effect: {} },
    { conditions: { action: 'A.A' }, effect: {} },
  ]);
});
