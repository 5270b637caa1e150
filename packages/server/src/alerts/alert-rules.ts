// The rules of one version of an Alert policy, compiled: which of them an event matches, and what each raises.

import { type AlertThreshold, cutText, type PolicyViolation } from '@tallystick/contract';
import { canonicalJson } from '@tallystick/evidence';
import { hash } from 'node:crypto';
import type { PathStep } from '../query/field-path.ts';
import { detectedIn, valueAt } from '../policies/compile-condition.ts';
import { type Condition, conditionsOf } from '../policies/condition.ts';
import type { EventFacts } from '../policies/event-facts.ts';
import { groupPath } from '../policies/policy-faults.ts';
import type { PolicyRecord } from '../policies/policy.ts';
import { RuleSet } from '../policies/rule-set.ts';

/** Paths named in one violation. */
const FIELDS_MAX = 20;
const KEY_LENGTH = 32;

export interface AlertRule {
  readonly source: Pick<
    PolicyViolation,
    'policyId' | 'policyName' | 'policyVersion' | 'ruleId' | 'violationType' | 'severity'
  >;
  /** Undefined: each match is a violation. */
  readonly threshold: AlertThreshold | undefined;
  /** The same as long as the rule and its threshold are: a new version of its policy goes on counting. */
  readonly ruleKey: string;
  /** Where its detectors find something; undefined: it has none. */
  readonly fieldsIn: (facts: EventFacts) => readonly string[] | undefined;
  /** What its threshold counts the event under; undefined: it has no such value, and is not counted. */
  readonly groupOf: (facts: EventFacts) => AlertGroup | undefined;
}

export interface AlertGroup {
  readonly groupKey: string;
  /** Undefined: all are counted together. */
  readonly shown: string | undefined;
}

export class AlertRules {
  readonly #rules: readonly AlertRule[];
  readonly #set: RuleSet;

  constructor(policy: PolicyRecord) {
    const isInForce = policy.policyType === 'Alert' && policy.status === 'Active';
    const rules = isInForce ? policy.rules.filter(({ enabled }) => enabled) : [];
    const conditions = rules.map(conditionsOf);
    this.#rules = rules.map((rule, i) => compiled(policy, rule, conditions[i]!));
    this.#set = new RuleSet(conditions);
  }

  get isEmpty(): boolean {
    return this.#rules.length === 0;
  }

  matching(facts: EventFacts): AlertRule[] {
    return this.#set.matching(facts).map((number) => this.#rules[number]!);
  }
}

function compiled(
  policy: PolicyRecord,
  rule: PolicyRecord['rules'][number],
  conditions: readonly Condition[],
): AlertRule {
  const { policyId, name: policyName, version: policyVersion } = policy;
  const { ruleId, effect } = rule;
  const { violationType = 'PolicyBreach', severity = 'Medium', threshold } = effect;
  const detects = conditions.some(({ test }) => test.kind === 'Detects');
  return {
    source: { policyId, policyName, policyVersion, ruleId, violationType, severity },
    threshold,
    ruleKey: keyOf(
      canonicalJson({ policyId, ruleId, conditions: rule.conditions, threshold: threshold ?? null }),
    ),
    fieldsIn: (facts) => (detects ? detectedIn(conditions, facts, FIELDS_MAX) : undefined),
    groupOf: groupsBy(threshold?.groupBy),
  };
}

function groupsBy(groupBy: string | undefined): AlertRule['groupOf'] {
  if (groupBy === undefined) return () => ({ groupKey: '', shown: undefined });
  const path = groupPath(groupBy);
  if (typeof path === 'string') return () => undefined;
  return (facts) => {
    // `groupPath` has no `[*]`.
    const value = valueAt(facts, path as readonly PathStep[]);
    if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean')
      return undefined;
    // Values that differ count apart, even where they are shown alike.
    return { groupKey: keyOf(canonicalJson(value)), shown: cutText(String(value)) };
  };
}

function keyOf(text: string): string {
  return hash('sha256', text, 'hex').slice(0, KEY_LENGTH);
}
