import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EVENT_OUTCOMES } from '@tallystick/contract';
import * as fc from 'fast-check';
import { parseConditions } from './condition.ts';
import { RuleSet } from './rule-set.ts';
import { anyAskedEvent, anyConditions, type AskedEvent, factsOf } from './testing/any-condition.ts';
import { plainlyHold } from './testing/plain-condition.ts';

type Sent = Readonly<Record<string, unknown>>;

/** As many as are kept of either of two paths. */
const VALUES_KEPT = 8192;
/** As many lists as are kept, and some more. */
const OVERFULL = 4096 + 500;

function ruleSetOf(rules: readonly Sent[]): RuleSet {
  return new RuleSet(
    rules.map((sent) => {
      const { conditions, faults } = parseConditions(sent, 'conditions');
      assert.ok(conditions, JSON.stringify(faults));
      return conditions;
    }),
  );
}

function plainlyMatching(rules: readonly Sent[], event: AskedEvent): number[] {
  return [...rules.keys()].filter((number) => plainlyHold(rules[number], event));
}

const EVENT: AskedEvent = {
  action: 'Read.User',
  classification: undefined,
  outcome: 'Success',
  correlationId: undefined,
  actor: { actorType: 'System' },
  resource: { resourceType: 'User', resourceId: '1' },
};

test('matches what each rule by itself does, however many there are', () => {
  // Up to three words of bits, and often a full one.
  const rules = fc.oneof(
    fc.array(anyConditions, { maxLength: 5 }),
    fc.array(anyConditions, { minLength: 31, maxLength: 33, size: 'max' }),
    fc.array(anyConditions, { minLength: 60, maxLength: 70, size: 'max' }),
  );
  const events = fc.array(anyAskedEvent, { minLength: 1, maxLength: 12 });
  fc.assert(
    fc.property(rules, events, (all, asked) => {
      const set = ruleSetOf(all);
      // Twice: the second time it is known what a value satisfies.
      for (const event of [...asked, ...asked])
        assert.deepEqual(set.matching(factsOf(event)), plainlyMatching(all, event));
    }),
    { seed: 20260101, numRuns: 300 },
  );
});

test('no rules match nothing, and a rule without conditions matches all', () => {
  assert.deepEqual(ruleSetOf([]).matching(factsOf(EVENT)), []);
  assert.deepEqual(ruleSetOf([{}, { outcome: 'Failure' }, {}]).matching(factsOf(EVENT)), [0, 2]);
});

test('a fact with more values than are kept is judged as before', () => {
  const set = ruleSetOf([
    { 'resource.resourceId': { startsWith: '1' } },
    { 'resource.resourceId': { startsWith: '12' } },
    { 'resource.resourceId': { contains: '7' } },
    { 'resource.resourceId': { exists: true }, outcome: { ne: 'Denied' } },
  ]);
  // Some come again and again, and all that are kept are forgotten once.
  for (let i = 0; i < 20 * VALUES_KEPT; i++) {
    const outcome = EVENT_OUTCOMES[i % EVENT_OUTCOMES.length]!;
    const resourceId = String(i % 5 === 0 ? i % 1000 : i);
    const holds = [resourceId[0] === '1', resourceId.startsWith('12'), resourceId.includes('7')];
    const expected = [...holds, outcome !== 'Denied'].flatMap((each, rule) => (each ? [rule] : []));
    const facts = factsOf({ ...EVENT, outcome, resource: { resourceType: 'User', resourceId } });
    assert.deepEqual(set.matching(facts), expected, resourceId);
  }
});

test('more combinations of rules than are kept are told apart as before', () => {
  // Each rule asks for one bit of a number: every number is another combination.
  const bits = Array.from({ length: 34 }, (_, i) => ({ [`payload.b${i}`]: true }));
  const rules: Sent[] = [...bits, {}];
  const set = ruleSetOf(rules);
  const seen = new Set<readonly number[]>();
  for (const number of Array.from({ length: OVERFULL }, (_, i) => i * 40_503)) {
    const payload = Object.fromEntries(bits.map((_, i) => [`b${i}`, Math.floor(number / 2 ** i) % 2 === 1]));
    const matched = set.matching(factsOf({ ...EVENT, payload }));
    assert.deepEqual(matched, plainlyMatching(rules, { ...EVENT, payload }));
    seen.add(matched);
  }
  assert.equal(seen.size, OVERFULL);
});

test('the same rules are the same list, so that what is decided by it can be kept', () => {
  const set = ruleSetOf([{ action: 'Read.*' }, { 'payload.a': 1 }]);
  const first = set.matching(factsOf(EVENT));
  assert.equal(set.matching(factsOf({ ...EVENT, outcome: 'Failure', payload: { a: 2 } })), first);
  assert.notEqual(set.matching(factsOf({ ...EVENT, payload: { a: 1 } })), first);
});

test('content is read only for a rule about it that the facts let match', () => {
  const unread = { ...factsOf(EVENT), content: () => assert.fail('content was read') };
  const facts = ruleSetOf([{ action: 'Read.*', actor: { exists: true } }]);
  assert.deepEqual(facts.matching(unread), [0]);
  const content = ruleSetOf([{ action: 'Read.*' }, { action: 'Delete.*', 'payload.a': 1 }]);
  assert.deepEqual(content.matching(unread), [0]);
});
