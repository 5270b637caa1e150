// Applies a tenant's policies to an incoming event: its classification, its retention, and which rules have decided them. The
// highest classification of the rules that match wins, and the longest retention; where none matches, the tenant's settings
// decide. The hint of the sender can raise the classification and never lower it.

import { type Classification, CLASSIFICATIONS, type Duration } from '@tallystick/contract';
import { canonicalJson } from '@tallystick/evidence';
import { higher } from '../access/roles.ts';
import type { TenantRecord } from '../access/tenants.ts';
import { expiryAfter } from '../runtime/expiry.ts';
import { allOf, compileConditions, readTest } from './compile-condition.ts';
import { type Condition, conditionsOf } from './condition.ts';
import { type DecidedBy, decidingIn, type MatchedRule } from './decided-by.ts';
import type { EventFacts } from './event-facts.ts';
import { type EnabledRule, enabledRules } from './policy.ts';
import { RuleSet } from './rule-set.ts';

export interface Decision {
  readonly classification: Classification;
  /** From `receivedAt` on. */
  readonly retention: Duration;
  /** The RFC 8785 text of what has decided (decided-by.ts). Undefined: the settings of the tenant alone. */
  readonly decidedBy: string | undefined;
}

/** The classification among the facts is the hint. `nowMs` is when the event is accepted. */
export type Decider = (facts: EventFacts, nowMs: number) => Decision;

/** Of a tenant, what decides. */
export type DecidingSettings = Pick<TenantRecord, 'defaultClassification' | 'defaultRetention' | 'policies'>;

/** A record that was changed is another object. */
const deciders = new WeakMap<DecidingSettings, Decider>();

/** Compiled once for each record. */
export function deciderOf(tenant: DecidingSettings): Decider {
  let decider = deciders.get(tenant);
  if (decider === undefined) deciders.set(tenant, (decider = compile(tenant)));
  return decider;
}

function compile(tenant: DecidingSettings): Decider {
  // One that is no duration fails this request; in the writer it would fail the pool, with the requests of others.
  expiryAfter(0, tenant.defaultRetention);
  const isBySettings = !tenant.policies.some(
    ({ policyType }) => policyType === 'Classification' || policyType === 'Retention',
  );
  return isBySettings ? bySettings(tenant) : new PolicyDecider(tenant).decide;
}

function bySettings({ defaultClassification, defaultRetention: retention }: DecidingSettings): Decider {
  const byDefault = { classification: defaultClassification, retention, decidedBy: undefined };
  const byHint = new Map(
    CLASSIFICATIONS.map((hint): [Classification, Decision] => {
      const classification = higher(defaultClassification, hint);
      return [
        hint,
        { classification, retention, decidedBy: textOf({ classification: [], retention: [], hint }) },
      ];
    }),
  );
  return ({ classification: hint }) => (hint === undefined ? byDefault : byHint.get(hint)!);
}

class PolicyDecider {
  readonly #tenant: DecidingSettings;
  readonly #classifying: readonly EnabledRule[];
  readonly #retaining: readonly RetainingRule[];
  /** First the rules that classify, then those that retain. */
  readonly #set: RuleSet;
  /** By the rules that match and the hint: few differ. Weak, since the rule set forgets its lists when it has too many. */
  readonly #known = new WeakMap<readonly number[], Map<Classification | undefined, DecisionOfDay>>();

  constructor(tenant: DecidingSettings) {
    this.#tenant = tenant;
    this.#classifying = enabledRules(tenant.policies, 'Classification');
    this.#retaining = enabledRules(tenant.policies, 'Retention').map(retainingRule);
    this.#set = new RuleSet([
      ...this.#classifying.map(conditionsOf),
      ...this.#retaining.map(({ conditions }) => conditions),
    ]);
  }

  readonly decide: Decider = (facts, nowMs) => {
    const { classification: hint } = facts;
    const matching = this.#set.matching(facts);
    let byHint = this.#known.get(matching);
    if (byHint === undefined) this.#known.set(matching, (byHint = new Map()));
    // A month is longer than thirty days, or shorter: the day decides.
    const day = Math.floor(nowMs / DAY_MS);
    let known = byHint.get(hint);
    if (known === undefined || known.day !== day)
      byHint.set(hint, (known = { day, decision: this.#decisionBy(matching, hint, day * DAY_MS) }));
    return known.decision;
  };

  #decisionBy(matching: readonly number[], hint: Classification | undefined, fromMs: number): Decision {
    const count = this.#classifying.length;
    const classified = matching
      .filter((number) => number < count)
      .map((number) => this.#classifying[number]!);
    const highest = highestOf(classified);
    const decided = highest ?? this.#tenant.defaultClassification;
    const classification = hint === undefined ? decided : higher(decided, hint);
    const retained = matching
      .filter((number) => number >= count)
      .map((number) => this.#retaining[number - count]!)
      .filter(({ keeps }) => keeps(classification))
      .map(({ rule }) => rule);
    const endOf = (period: Duration) => expiryAfter(fromMs, period);
    const periods = retained.map(({ effect }) => effect.retentionPeriod!);
    const [retention = this.#tenant.defaultRetention] = periods.toSorted((a, b) => endOf(b) - endOf(a));
    const by: DecidedBy = {
      // One that the hint has raised was decided by no rule.
      classification: classified.map((rule) =>
        matched(rule, highest === classification && rule.effect.classification === highest),
      ),
      retention: retained.map((rule) =>
        matched(rule, endOf(rule.effect.retentionPeriod!) === endOf(retention)),
      ),
      ...(hint !== undefined && { hint }),
    };
    return { classification, retention, decidedBy: textOf(by) };
  }
}

/**
 * When the retention of an event that was received then ends at the latest, where only some of the conditions can be judged: a rule may
 * have matched unless one of those says no.
 */
export function latestEnd(
  { policies, defaultRetention }: DecidingSettings,
  facts: EventFacts,
  receivedAtMs: number,
  canJudge: (condition: Condition) => boolean,
): number {
  const ends: number[] = [];
  let isByDefault = true;
  for (const rule of enabledRules(policies, 'Retention')) {
    const all = conditionsOf(rule);
    const judged = all.filter(canJudge);
    if (!compileConditions(judged)(facts)) continue;
    ends.push(expiryAfter(receivedAtMs, rule.effect.retentionPeriod!));
    if (judged.length === all.length) isByDefault = false;
  }
  return Math.max(...ends, isByDefault ? expiryAfter(receivedAtMs, defaultRetention) : -Infinity);
}

interface DecisionOfDay {
  readonly day: number;
  readonly decision: Decision;
}

/**
 * What it asks of the classification is judged with the decision, once for each: so one set has all rules, and reads what
 * stands at a path once for those that classify and those that retain.
 */
interface RetainingRule {
  readonly rule: EnabledRule;
  /** All others. */
  readonly conditions: readonly Condition[];
  readonly keeps: (classification: Classification) => boolean;
}

function retainingRule(rule: EnabledRule): RetainingRule {
  const all = conditionsOf(rule);
  const isOfClassification = ({ path }: Condition) => path[0] === 'classification';
  return {
    rule,
    conditions: all.filter((condition) => !isOfClassification(condition)),
    keeps: allOf(all.filter(isOfClassification).map(readTest)),
  };
}

function highestOf(classified: readonly EnabledRule[]): Classification | undefined {
  const [first, ...others] = classified.map(({ effect }) => effect.classification!);
  return first === undefined ? undefined : others.reduce(higher, first);
}

const DAY_MS = 86_400_000;
/** Rules of one type that an event's explanation names; the text is stored, and goes with each event to be stored. */
const NAMED_MAX = 20;

/** Undefined where nothing but settings has decided. */
export function textOf({ classification, retention, hint }: DecidedBy): string | undefined {
  if (classification.length === 0 && retention.length === 0 && hint === undefined) return undefined;
  const shown = { classification: named(classification), retention: named(retention) };
  const among = new Set(decidingIn(shown));
  const also = decidingIn({ classification, retention }).filter((policyId) => !among.has(policyId));
  return canonicalJson({ ...shown, ...(hint !== undefined && { hint }), ...(also.length > 0 && { also }) });
}

function named(rules: readonly MatchedRule[]): readonly MatchedRule[] {
  if (rules.length <= NAMED_MAX) return rules;
  return rules.toSorted((a, b) => Number(b.decided) - Number(a.decided)).slice(0, NAMED_MAX);
}

function matched(rule: EnabledRule, decided: boolean): MatchedRule {
  const { policyId, version: policyVersion, name: policyName } = rule.policy;
  return { policyId, policyName, policyVersion, ruleId: rule.ruleId, decided };
}
