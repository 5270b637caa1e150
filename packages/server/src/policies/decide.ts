// Applies a tenant's policies to an incoming event: its classification, its retention, and which rules have decided them. The
// highest classification of the rules that match wins, and the longest retention; where none matches, the tenant's settings
// decide. The hint of the sender can raise the classification and never lower it.

import { type Classification, CLASSIFICATIONS, type Duration } from '@tallystick/contract';
import { canonicalJson } from '@tallystick/evidence';
import { higher } from '../access/roles.ts';
import type { TenantRecord } from '../access/tenants.ts';
import { expiryAfter } from '../runtime/expiry.ts';
import { conditionsOf } from './condition.ts';
import type { DecidedBy, MatchedRule } from './decided-by.ts';
import type { EventFacts } from './event-facts.ts';
import { type EnabledRule, enabledRules } from './policy.ts';
import { RuleSet } from './rule-set.ts';

export interface SentFacts extends EventFacts {
  /** The sender's hint: the lowest classification. */
  readonly hint: Classification | undefined;
}

export interface Decision {
  readonly classification: Classification;
  /** From `receivedAt` on. */
  readonly retention: Duration;
  /** The RFC 8785 text of what has decided (decided-by.ts). Undefined: the settings of the tenant alone. */
  readonly decidedBy: string | undefined;
}

/** `nowMs` is when it is accepted. */
export type Decider = (facts: SentFacts, nowMs: number) => Decision;

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
  return ({ hint }) => (hint === undefined ? byDefault : byHint.get(hint)!);
}

class PolicyDecider {
  readonly #tenant: DecidingSettings;
  readonly #classifying: readonly EnabledRule[];
  readonly #retaining: readonly EnabledRule[];
  readonly #classifyingSet: RuleSet;
  readonly #retainingSet: RuleSet;
  /** By the rules that match and the hint: few differ. Weak, since the rule sets forget theirs when they have too many. */
  readonly #known = new WeakMap<
    readonly number[],
    WeakMap<readonly number[], Map<Classification | undefined, DecisionOfDay>>
  >();

  constructor(tenant: DecidingSettings) {
    this.#tenant = tenant;
    this.#classifying = enabledRules(tenant.policies, 'Classification');
    this.#retaining = enabledRules(tenant.policies, 'Retention');
    this.#classifyingSet = ruleSetOf(this.#classifying);
    this.#retainingSet = ruleSetOf(this.#retaining);
  }

  readonly decide: Decider = (facts, nowMs) => {
    const { hint } = facts;
    const classified = this.#classifyingSet.matching(facts);
    const classification = this.#classificationBy(classified, hint);
    const retained = this.#retainingSet.matching(new ClassifiedFacts(facts, classification));
    const byHint = this.#decisionsBy(classified, retained);
    // A month is longer than thirty days, or shorter: the day decides.
    const day = Math.floor(nowMs / DAY_MS);
    let known = byHint.get(hint);
    if (known === undefined || known.day !== day) {
      const matched = { classified, retained, classification, hint };
      byHint.set(hint, (known = { day, decision: this.#decisionBy(matched, day * DAY_MS) }));
    }
    return known.decision;
  };

  #decisionsBy(classified: readonly number[], retained: readonly number[]) {
    let byRetained = this.#known.get(classified);
    if (byRetained === undefined) this.#known.set(classified, (byRetained = new WeakMap()));
    let byHint = byRetained.get(retained);
    if (byHint === undefined) byRetained.set(retained, (byHint = new Map()));
    return byHint;
  }

  #classificationBy(classified: readonly number[], hint: Classification | undefined): Classification {
    const decided = this.#highestOf(classified) ?? this.#tenant.defaultClassification;
    return hint === undefined ? decided : higher(decided, hint);
  }

  #highestOf(classified: readonly number[]): Classification | undefined {
    let highest: Classification | undefined;
    for (const number of classified) {
      const { classification } = this.#classifying[number]!.effect;
      highest = highest === undefined ? classification : higher(highest, classification!);
    }
    return highest;
  }

  #decisionBy({ classified, retained, classification, hint }: Matched, fromMs: number): Decision {
    const highest = this.#highestOf(classified);
    const periods = retained.map((number) => this.#retaining[number]!.effect.retentionPeriod!);
    const endOf = (period: Duration) => expiryAfter(fromMs, period);
    const [retention = this.#tenant.defaultRetention] = periods.toSorted((a, b) => endOf(b) - endOf(a));
    const by: DecidedBy = {
      // One that the hint has raised was decided by no rule.
      classification: classified.map((number) =>
        matched(
          this.#classifying[number]!,
          ({ effect }) => highest === classification && effect.classification === highest,
        ),
      ),
      retention: retained.map((number) =>
        matched(
          this.#retaining[number]!,
          ({ effect }) => endOf(effect.retentionPeriod!) === endOf(retention),
        ),
      ),
      ...(hint !== undefined && { hint }),
    };
    return { classification, retention, decidedBy: textOf(by) };
  }
}

interface DecisionOfDay {
  readonly day: number;
  readonly decision: Decision;
}

/** The numbers of the rules that match, and what they lead to. */
interface Matched {
  readonly classified: readonly number[];
  readonly retained: readonly number[];
  readonly classification: Classification;
  readonly hint: Classification | undefined;
}

const DAY_MS = 86_400_000;
/** Rules of one type that an event's explanation names; the text is stored, and goes with each event to be stored. */
const NAMED_MAX = 20;

/** Undefined where nothing but settings has decided. */
export function textOf({ classification, retention, hint }: DecidedBy): string | undefined {
  if (classification.length === 0 && retention.length === 0 && hint === undefined) return undefined;
  return canonicalJson({
    classification: named(classification),
    retention: named(retention),
    ...(hint !== undefined && { hint }),
  });
}

function named(rules: readonly MatchedRule[]): readonly MatchedRule[] {
  if (rules.length <= NAMED_MAX) return rules;
  return rules.toSorted((a, b) => Number(b.decided) - Number(a.decided)).slice(0, NAMED_MAX);
}

function ruleSetOf(rules: readonly EnabledRule[]): RuleSet {
  return new RuleSet(rules.map(conditionsOf));
}

function matched(rule: EnabledRule, isDeciding: (rule: EnabledRule) => boolean): MatchedRule {
  const { policyId, version: policyVersion, name: policyName } = rule.policy;
  return { policyId, policyName, policyVersion, ruleId: rule.ruleId, decided: isDeciding(rule) };
}

/** Retention is decided by what the event is classified as. */
class ClassifiedFacts implements EventFacts {
  readonly #sent: SentFacts;
  readonly classification: Classification;

  constructor(sent: SentFacts, classification: Classification) {
    this.#sent = sent;
    this.classification = classification;
  }

  get action() {
    return this.#sent.action;
  }

  get actor() {
    return this.#sent.actor;
  }

  get resource() {
    return this.#sent.resource;
  }

  get outcome() {
    return this.#sent.outcome;
  }

  get correlationId() {
    return this.#sent.correlationId;
  }

  content() {
    return this.#sent.content();
  }
}
