// The compiled rules of an Alert policy: which are asked, what they count by, and how long they go on counting.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AlertThreshold, AuditEvent, Rule } from '@tallystick/contract';
import type { EventFacts } from '../policies/event-facts.ts';
import type { PolicyRecord } from '../policies/policy.ts';
import { eventFacts, policyRecord } from '../policies/testing/policy-record.ts';
import { AlertRules } from './alert-rules.ts';

const MATCH_ALL = {};

function ruleOf(more: Partial<Rule> = {}): Rule {
  return { ruleId: 'rule', enabled: true, conditions: MATCH_ALL, effect: {}, ...more };
}

const policyOf = (rules: readonly Rule[], more: Partial<PolicyRecord> = {}) =>
  policyRecord({ rules, ...more });

const factsOf = (payload: Record<string, unknown> = {}, more: Partial<EventFacts> = {}) =>
  eventFacts({ content: () => ({ payload, context: {} }), ...more });

function onlyRule(rule: Partial<Rule>, more: Partial<PolicyRecord> = {}) {
  const [first, ...others] = new AlertRules(policyOf([ruleOf(rule)], more)).matching(factsOf());
  assert.deepEqual(others, []);
  return first!;
}

const counting = (threshold: Partial<AlertThreshold>) => ({
  effect: { threshold: { count: 2, window: 'PT1H', ...threshold } },
});

const groupIn = (groupBy: string, facts: EventFacts) => onlyRule(counting({ groupBy })).groupOf(facts);

test('a rule tells what it raises, with the defaults where it says nothing', () => {
  const version = { version: 3, name: 'Third' };
  assert.deepEqual(onlyRule({}, version).source, {
    policyId: 'policy',
    policyName: 'Third',
    policyVersion: 3,
    ruleId: 'rule',
    violationType: 'PolicyBreach',
    severity: 'Medium',
  });
  const { source } = onlyRule({ effect: { violationType: 'Anomaly', severity: 'Low' } });
  assert.deepEqual([source.violationType, source.severity], ['Anomaly', 'Low']);
});

test('only enabled rules of an active Alert policy are asked, each about its own conditions', () => {
  const rules = [
    ruleOf({ ruleId: 'reads', conditions: { action: 'Read.*' } }),
    ruleOf({ ruleId: 'off', enabled: false }),
    ruleOf({ ruleId: 'deletes', conditions: { action: 'Delete.*' } }),
    ruleOf({ ruleId: 'large', conditions: { 'payload.amount': { gt: 5 } } }),
  ];
  const matched = new AlertRules(policyOf(rules)).matching(factsOf({ amount: 6 }));
  assert.deepEqual(
    matched.map(({ source }) => source.ruleId),
    ['reads', 'large'],
  );
  const without: Partial<PolicyRecord>[] = [
    { status: 'Inactive' },
    { status: 'Draft' },
    { status: 'Deleted' },
    { policyType: 'Access' },
    { rules: [] },
    { rules: [rules[1]!] },
  ];
  for (const more of without) {
    const none = new AlertRules(policyOf(rules, more));
    assert.deepEqual([none.isEmpty, none.matching(factsOf({ amount: 6 }))], [true, []], JSON.stringify(more));
  }
});

test('a rule that is not sound is never taken for one that matches', () => {
  const rules = [ruleOf({ ruleId: 'broken', conditions: { nowhere: 1 } })];
  assert.throws(() => new AlertRules(policyOf(rules)), /the rule broken are not sound/);
});

test('values of each type are groups of their own, and what is no single value is not counted', () => {
  const values = ['', '1', 'true', 'null', 1, 1.5, -1, 0, true, false];
  const groups = values.map((v) => groupIn('payload.v', factsOf({ v }))!);
  assert.equal(new Set(groups.map(({ groupKey }) => groupKey)).size, values.length);
  assert.deepEqual(
    groups.map(({ shown }) => shown),
    values.map(String),
  );
  // JSON has one zero.
  assert.equal(groupIn('payload.v', factsOf({ v: -0 }))?.groupKey, groups[7]!.groupKey);
  for (const v of [null, undefined, {}, [], ['x'], { v: 'x' }])
    assert.equal(groupIn('payload.v', factsOf({ v })), undefined, JSON.stringify(v));
});

test('a group is found at any path that leads to one value', () => {
  const content: Pick<AuditEvent, 'context' | 'payload'> = {
    context: { 'a.b': 'c', ip: '10.0.0.1' },
    payload: { lines: [{ sku: 'first' }, { sku: 'second' }] },
  };
  const facts = factsOf({}, { content: () => content });
  const found: [groupBy: string, shown: string | undefined][] = [
    ['actor.userId', 'ana'],
    ['action', 'Read.Invoice'],
    ['classification', 'Internal'],
    ['$.resource.resourceId', 'INV-1'],
    ['context."a.b"', 'c'],
    ['payload.lines[1].sku', 'second'],
    ['payload.lines[2].sku', undefined],
    ['payload.lines.sku', undefined],
    ['payload.constructor', undefined],
    ['payload.lines.length', undefined],
    ['actor.serviceId', undefined],
    ['correlationId', undefined],
    ['content', undefined],
    ['actor', undefined],
    // Refused when a policy is sent; one that is stored counts nothing.
    ['payload.lines[*].sku', undefined],
    ['payload..x', undefined],
  ];
  for (const [groupBy, shown] of found) assert.equal(groupIn(groupBy, facts)?.shown, shown, groupBy);
});

test('without a path all are counted together', () => {
  const { groupOf } = onlyRule(counting({}));
  assert.deepEqual(
    [groupOf(factsOf()), groupOf(factsOf({ v: 1 }))],
    [
      { groupKey: '', shown: undefined },
      { groupKey: '', shown: undefined },
    ],
  );
});

test('a long value is shown in part, never in half a character, and all of it decides', () => {
  const long = 'x'.repeat(200);
  const [one, other] = ['1', '2'].map((end) => groupIn('payload.v', factsOf({ v: long + end }))!);
  assert.deepEqual([one!.shown, other!.shown], [long, long]);
  assert.notEqual(one!.groupKey, other!.groupKey);
  assert.equal(one!.groupKey.length, 32);
  const torn = groupIn('payload.v', factsOf({ v: `${'x'.repeat(199)}\u{1f600}` }))!;
  assert.ok(torn.shown!.isWellFormed());
});

test('a rule goes on counting in every version that leaves what it counts unchanged', () => {
  const conditions = { action: 'Read.*', 'actor.userId': { in: ['ana', 'ben'] } };
  const effect = { ...counting({ groupBy: 'actor.userId' }).effect, severity: 'Low' as const };
  const rule = { conditions, effect };
  const { ruleKey } = onlyRule(rule);
  const same: [Partial<Rule>, Partial<PolicyRecord>?][] = [
    [rule, { version: 2, name: 'Renamed', priority: 1 }],
    [{ ...rule, name: 'named' }],
    [{ ...rule, effect: { ...effect, severity: 'Critical', violationType: 'Anomaly' } }],
    [{ ...rule, conditions: { 'actor.userId': { in: ['ana', 'ben'] }, action: 'Read.*' } }],
  ];
  for (const [each, more] of same) assert.equal(onlyRule(each, more).ruleKey, ruleKey, JSON.stringify(each));
  const { threshold } = effect;
  const others: [Partial<Rule>, Partial<PolicyRecord>?][] = [
    [rule, { policyId: 'second' }],
    [{ ...rule, ruleId: 'second' }],
    [{ ...rule, conditions: { action: 'Read.*' } }],
    [{ ...rule, effect: { ...effect, threshold: { ...threshold, count: 3 } } }],
    [{ ...rule, effect: { ...effect, threshold: { ...threshold, window: 'PT2H' } } }],
    [{ ...rule, effect: { ...effect, threshold: { count: 2, window: 'PT1H' } } }],
    [{ ...rule, effect: {} }],
  ];
  const keys = others.map(([each, more]) => onlyRule(each, more).ruleKey);
  assert.equal(new Set([ruleKey, ...keys]).size, keys.length + 1);
});

test('a violation names the paths that a detector found, at most twenty', () => {
  const card = '4111 1111 1111 1111';
  const { fieldsIn } = new AlertRules(
    policyOf([ruleOf({ conditions: { payload: { detects: 'CardNumber' } } })]),
  ).matching(factsOf({ card }))[0]!;
  assert.deepEqual(fieldsIn(factsOf({ note: 'none', card, lines: [{ card }] })), [
    'payload.card',
    'payload.lines[0].card',
  ]);
  assert.equal(fieldsIn(factsOf({ cards: Array.from({ length: 30 }, () => card) }))?.length, 20);
  assert.equal(onlyRule({}).fieldsIn(factsOf({ card })), undefined);
});
