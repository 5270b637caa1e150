// What matches raise: exact windows, and the same alerts whatever portions the log is taken in.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type AlertThreshold, type Classification, CLASSIFICATIONS } from '@tallystick/contract';
import * as fc from 'fast-check';
import { runs } from '../../../evidence/src/testing/size.ts';
import type { AlertRule } from './alert-rules.ts';
import { type AlertMatch, raiseAlerts, windowKeysOf } from './raise-alerts.ts';
import type { NewViolation, ThresholdWindow } from './violations.ts';

const START_MS = Date.UTC(2026, 0, 31, 12);
const NOW_MS = START_MS + 86_400_000;

let ids = 0;
const parts = { nextId: () => `violation ${ids++}`, nowMs: NOW_MS };

function ruleOf(ruleKey: string, threshold?: AlertThreshold, policyVersion = 1): AlertRule {
  return {
    source: {
      policyId: 'policy',
      policyName: 'Watch',
      policyVersion,
      ruleId: ruleKey,
      violationType: 'Anomaly',
      severity: 'High',
    },
    threshold,
    ruleKey,
    fieldsIn: () => undefined,
    groupOf: () => undefined,
  };
}

/** A match so long after the start; without a group all are counted together. */
function matchOf(rule: AlertRule, afterMs: number, more: Partial<AlertMatch> = {}): AlertMatch {
  return {
    rule,
    eventId: `${rule.ruleKey} at ${afterMs}`,
    receivedAtMs: START_MS + afterMs,
    classification: 'Internal',
    fields: undefined,
    group: rule.threshold && { groupKey: '', shown: undefined },
    ...more,
  };
}

/** When the events were received that raise something, where each match is one of these times after the start. */
function raisedAt(rule: AlertRule, times: readonly number[]): number[] {
  const matches = times.map((afterMs) => matchOf(rule, afterMs));
  const { violations } = raiseAlerts(matches, [], matches.at(-1)!.receivedAtMs, parts);
  return violations.map(({ eventId }) => Number(eventId.split(' at ')[1]));
}

test('a match of a rule without a threshold is a violation, with all that is known of it', () => {
  const match = matchOf(ruleOf('plain'), 5, { classification: 'Secret', fields: ['payload.card'] });
  const changes = raiseAlerts([match], [], START_MS + 5, { nextId: () => 'one', nowMs: NOW_MS });
  assert.deepEqual(changes, {
    violations: [
      {
        ...match.rule.source,
        violationId: 'one',
        kind: 'Violation',
        eventId: match.eventId,
        classification: 'Secret',
        highest: 'Secret',
        fields: ['payload.card'],
        detectedAtMs: NOW_MS,
      },
    ],
    windows: [],
    nowMs: START_MS + 5,
  });
});

test('an event that is received exactly at the end of a window begins a new one', () => {
  const rule = ruleOf('pairs', { count: 2, window: 'PT1S' });
  assert.deepEqual(raisedAt(rule, [0, 999]), [999]);
  assert.deepEqual(raisedAt(rule, [0, 1000]), []);
  assert.deepEqual(raisedAt(rule, [0, 1000, 1999]), [1999]);
  assert.deepEqual(raisedAt(rule, [0, 1000, 2000]), []);
  // A window begins with a match, not where the one before it ends.
  assert.deepEqual(raisedAt(rule, [0, 1500, 2499]), [2499]);
});

test('an alert is raised once in a window, at the match that makes the count full', () => {
  const rule = ruleOf('threes', { count: 3, window: 'PT1S' });
  assert.deepEqual(raisedAt(rule, [0, 0, 0, 0, 0, 0, 0]), [0]);
  assert.deepEqual(raisedAt(rule, [0, 1, 2, 3, 4, 5, 1000, 1001, 1002]), [2, 1002]);
});

test('a count of one raises the first match of each window', () => {
  const rule = ruleOf('ones', { count: 1, window: 'PT1S' });
  assert.deepEqual(raisedAt(rule, [0, 1, 999, 1000, 1001, 2000]), [0, 1000, 2000]);
});

test('months are counted by the calendar', () => {
  const rule = ruleOf('monthly', { count: 2, window: 'P1M' });
  // From 31 January to 28 February.
  const monthMs = Date.UTC(2026, 1, 28, 12) - START_MS;
  assert.deepEqual(raisedAt(rule, [0, monthMs - 1]), [monthMs - 1]);
  assert.deepEqual(raisedAt(rule, [0, monthMs]), []);
});

test('what crosses a threshold tells the group, the count and the highest classification that was counted', () => {
  const threshold = { count: 2, window: 'PT1H', groupBy: 'actor.userId' };
  const group = { groupKey: 'hash of ana', shown: 'ana' };
  const rule = ruleOf('grouped', threshold, 2);
  const matches = [
    matchOf(ruleOf('grouped', threshold), 0, { group, classification: 'Secret' }),
    matchOf(rule, 1, { group, classification: 'Public' }),
    matchOf(rule, 2, { group: { groupKey: 'hash of ben', shown: 'ben' } }),
  ];
  assert.deepEqual(windowKeysOf([...matches, matchOf(ruleOf('plain'), 3)]), [
    { ruleKey: 'grouped', groupKey: 'hash of ana' },
    { ruleKey: 'grouped', groupKey: 'hash of ben' },
  ]);
  const { violations, windows } = raiseAlerts(matches, [], START_MS + 2, parts);
  assert.deepEqual(violations, [
    {
      ...rule.source,
      violationId: violations[0]!.violationId,
      detectedAtMs: NOW_MS,
      fields: undefined,
      kind: 'Threshold',
      eventId: matches[1]!.eventId,
      classification: 'Public',
      highest: 'Secret',
      groupKey: 'ana',
      observedValue: 2,
      threshold,
    },
  ]);
  const common = { ruleKey: 'grouped', endsAtMs: START_MS + 3_600_000 };
  assert.deepEqual(windows, [
    { ...common, groupKey: 'hash of ana', beginsAtMs: START_MS, count: 2, highest: 'Secret' },
    {
      ...common,
      groupKey: 'hash of ben',
      beginsAtMs: START_MS + 2,
      endsAtMs: START_MS + 3_600_002,
      count: 1,
      highest: 'Internal',
    },
  ]);
});

test('a window that has ended by the last entry is not kept', () => {
  const rule = ruleOf('short', { count: 9, window: 'PT1S' });
  const kept = (untilMs: number) => raiseAlerts([matchOf(rule, 0)], [], START_MS + untilMs, parts).windows;
  assert.deepEqual([kept(999).length, kept(1000).length], [1, 0]);
});

const RULES = [
  ruleOf('plain'),
  ruleOf('ones', { count: 1, window: 'PT0.007S' }),
  ruleOf('pairs', { count: 2, window: 'PT0.02S' }),
  // The next version of its policy, which leaves the rule as it was.
  ruleOf('pairs', { count: 2, window: 'PT0.02S' }, 2),
  ruleOf('fours', { count: 4, window: 'PT1S' }),
];
const WINDOW_MS: Readonly<Record<string, number>> = { ones: 7, pairs: 20, fours: 1000 };

/** An entry: how long after the one before it was received, and the rules that it matches. */
const entry = fc.record({
  laterMs: fc.oneof(fc.constant(0), fc.nat({ max: 12 }), fc.constantFrom(6, 7, 8, 19, 20, 21, 999, 1000)),
  rules: fc.uniqueArray(fc.nat({ max: RULES.length - 1 }), { maxLength: 3 }),
  group: fc.constantFrom('ana', 'ben'),
  classification: fc.constantFrom(...CLASSIFICATIONS),
  /** The portion ends behind it. */
  isLast: fc.boolean(),
});
type Entry = typeof entry extends fc.Arbitrary<infer T> ? T & { readonly afterMs: number } : never;

const entries: fc.Arbitrary<Entry[]> = fc.array(entry, { maxLength: 60 }).map((drawn) => {
  let afterMs = 0;
  return drawn.map((each) => ({ ...each, afterMs: (afterMs += each.laterMs) }));
});

function matchesOf({ afterMs, rules, group, classification }: Entry, number: number): AlertMatch[] {
  return rules.map((i) => {
    const rule = RULES[i]!;
    const counted = rule.threshold && { groupKey: group, shown: group };
    return matchOf(rule, afterMs, { eventId: `event ${number}`, classification, group: counted });
  });
}

/** As the follower does: each portion with the windows that the ones before it have left in the store. */
function raisedInPortions(all: readonly Entry[], isLast: (each: Entry) => boolean): NewViolation[] {
  const store = new Map<string, ThresholdWindow>();
  const nameOf = ({ ruleKey, groupKey }: { ruleKey: string; groupKey: string }) => `${ruleKey} ${groupKey}`;
  const raised: NewViolation[] = [];
  let matches: AlertMatch[] = [];
  for (const [number, each] of all.entries()) {
    matches.push(...matchesOf(each, number));
    if (!isLast(each) && number < all.length - 1) continue;
    const known = windowKeysOf(matches).flatMap((key) => store.get(nameOf(key)) ?? []);
    const changes = raiseAlerts(matches, known, START_MS + each.afterMs, parts);
    raised.push(...changes.violations);
    for (const window of changes.windows) store.set(nameOf(window), window);
    if (changes.windows.length > 0)
      for (const [name, { endsAtMs }] of store) if (endsAtMs <= changes.nowMs) store.delete(name);
    matches = [];
  }
  return raised;
}

interface Raised {
  readonly eventId: string;
  readonly ruleKey: string;
  readonly policyVersion: number;
  readonly highest: Classification;
}

/** What the contract says, over the whole log at once. */
function plainlyRaised(all: readonly Entry[]): Raised[] {
  const matches = all.flatMap(matchesOf);
  const raised: Raised[] = [];
  const raise = ({ eventId, rule }: AlertMatch, counted: readonly AlertMatch[]) => {
    const places = counted.map(({ classification }) => CLASSIFICATIONS.indexOf(classification));
    const highest = CLASSIFICATIONS[Math.max(...places)]!;
    raised.push({ eventId, ruleKey: rule.ruleKey, policyVersion: rule.source.policyVersion, highest });
  };
  for (const match of matches) if (match.rule.threshold === undefined) raise(match, [match]);
  const groups = Map.groupBy(
    matches.filter(({ rule }) => rule.threshold !== undefined),
    ({ rule, group }) => `${rule.ruleKey} ${group!.groupKey}`,
  );
  for (const ofGroup of groups.values()) {
    for (let left = ofGroup; left.length > 0; ) {
      const [{ rule, receivedAtMs }] = left as [AlertMatch];
      const endMs = receivedAtMs + WINDOW_MS[rule.ruleKey]!;
      const inside = left.filter((match) => match.receivedAtMs < endMs);
      const counted = inside.slice(0, rule.threshold!.count);
      if (counted.length === rule.threshold!.count) raise(counted.at(-1)!, counted);
      left = left.slice(inside.length);
    }
  }
  return raised;
}

const byEvent = (raised: readonly Raised[]) =>
  raised
    .map(
      ({ eventId, ruleKey, policyVersion, highest }) => `${eventId} ${ruleKey} ${policyVersion} ${highest}`,
    )
    .sort();

test('the alerts are those of the definition, whatever portions the log is taken in', () => {
  fc.assert(
    fc.property(entries, (all) => {
      const expected = byEvent(plainlyRaised(all));
      for (const isLast of [() => false, () => true, (each: Entry) => each.isLast]) {
        const raised = raisedInPortions(all, isLast).map(({ ruleId, ...others }) => ({
          ...others,
          ruleKey: ruleId,
        }));
        assert.deepEqual(byEvent(raised), expected);
      }
    }),
    { seed: 20260131, numRuns: runs(1000) },
  );
});
