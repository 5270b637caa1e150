// Which holds cover an event: legal holds that are active, and rules of active Retention policies with `legalHold`. Compiled once for
// each version of a tenant's record. It judges events alone: notices are never removed, so nothing holds them.

import type { EventRedaction } from '@tallystick/contract';
import type { TenantRecord } from '../access/tenants.ts';
import type { Call } from '../call.ts';
import { type Condition, conditionsOf } from '../policies/condition.ts';
import type { EventFacts } from '../policies/event-facts.ts';
import { enabledRules, type PolicyRecord } from '../policies/policy.ts';
import { RuleSet } from '../policies/rule-set.ts';
import { areSeen } from '../policies/seen-conditions.ts';
import type { HoldRecord } from './hold.ts';

export interface HoldJudge {
  /** Where it is true no event is held, and facts need not be read. */
  readonly isEmpty: boolean;
  /** The ids of the holds that cover the event at this sequence, and of the policies whose rules do. */
  holding(sequence: number, facts: EventFacts): readonly string[];
  isHeld(sequence: number, facts: EventFacts): boolean;
  /**
   * As `holding`, for a reader from whom this is withheld: holds that are about anything of it are left out, whether they cover
   * the event or not. That they do would tell what is there.
   */
  holdingSeen(sequence: number, facts: EventFacts, redaction: EventRedaction | undefined): readonly string[];
  /**
   * As `isHeld`, for the request of a caller from whom this is withheld: of a hold that is about anything of it, the rest decides
   * alone. So nothing that is held is ever removed, and the answer tells nothing of what is withheld.
   */
  isHeldFor(sequence: number, facts: EventFacts, redaction: EventRedaction | undefined): boolean;
}

/** What may hold events: a hold, or a rule. */
export interface Keeper {
  readonly id: string;
  readonly range: HoldRecord['range'];
  readonly conditions: readonly Condition[];
}

/** A record that was changed is another object. */
const judges = new WeakMap<TenantRecord, HoldJudge>();

/** For a call that may come before its tenant. */
export function holdsSeenBy({ tenantRecord }: Pick<Call, 'tenantRecord'>): HoldJudge {
  return tenantRecord === undefined ? NOTHING : holdsOn(tenantRecord);
}

/** Of a tenant whose records somebody has altered nobody knows what is held: all of it is. */
export function holdsOn(tenant: TenantRecord): HoldJudge {
  let judge = judges.get(tenant);
  if (judge === undefined) judges.set(tenant, (judge = compile(tenant)));
  return judge;
}

function compile(tenant: TenantRecord): HoldJudge {
  return tenant.isAltered === true ? UNKNOWN : judgeOf(keepersOf(tenant.holds, tenant.policies));
}

/** All are active. */
export function keepersOf(
  holds: readonly HoldRecord[],
  policies: readonly PolicyRecord[],
): readonly Keeper[] {
  return [...holds.map(keeperOf), ...policyKeepers(policies)];
}

/** Of one hold, whatever its status. */
export function judgeOfHold(hold: HoldRecord): HoldJudge {
  return judgeOf([keeperOf(hold)]);
}

/** Of the rules of one policy, if it is active. */
export function judgeOfPolicy(policy: PolicyRecord): HoldJudge {
  return judgeOf(policy.status === 'Active' ? policyKeepers([policy]) : []);
}

/** Stands for whatever hold there may be. */
const ANY_HOLD = ['*'];

const UNKNOWN: HoldJudge = {
  isEmpty: false,
  holding: () => ANY_HOLD,
  isHeld: () => true,
  holdingSeen: () => ANY_HOLD,
  isHeldFor: () => true,
};

const NOTHING: HoldJudge = {
  isEmpty: true,
  holding: () => [],
  isHeld: () => false,
  holdingSeen: () => [],
  isHeldFor: () => false,
};

export function judgeOf(keepers: readonly Keeper[]): HoldJudge {
  if (keepers.length === 0) return NOTHING;
  const rules = new RuleSet(keepers.map(({ conditions }) => conditions));
  const covering = (sequence: number, facts: EventFacts) =>
    rules
      .matching(facts)
      .map((number) => keepers[number]!)
      .filter(({ range }) => isIn(range, sequence));
  const isHeld = (sequence: number, facts: EventFacts) => covering(sequence, facts).length > 0;
  return {
    isEmpty: false,
    holding: (sequence, facts) => idsOf(covering(sequence, facts)),
    isHeld,
    isHeldFor: (sequence, facts, redaction) =>
      redaction === undefined
        ? isHeld(sequence, facts)
        : judgeOf(keepers.map((keeper) => seenOf(keeper, redaction))).isHeld(sequence, facts),
    holdingSeen: (sequence, facts, redaction) =>
      idsOf(covering(sequence, facts).filter(({ conditions }) => areSeen(conditions, redaction))),
  };
}

/** Several rules of one policy count once. */
function idsOf(keepers: readonly Keeper[]): readonly string[] {
  return keepers.length < 2 ? keepers.map(({ id }) => id) : [...new Set(keepers.map(({ id }) => id))];
}

function keeperOf({ holdId: id, range, conditions = {} }: HoldRecord): Keeper {
  return { id, range, conditions: conditionsOf({ conditions, ruleId: id }) };
}

function policyKeepers(policies: readonly PolicyRecord[]): Keeper[] {
  return enabledRules(policies, 'Retention')
    .filter(({ effect }) => effect.legalHold === true)
    .map((rule) => ({ id: rule.policy.policyId, range: undefined, conditions: conditionsOf(rule) }));
}

/** It covers at least what it did. */
function seenOf({ conditions, ...keeper }: Keeper, redaction: EventRedaction): Keeper {
  return { ...keeper, conditions: conditions.filter((condition) => areSeen([condition], redaction)) };
}

function isIn(range: Keeper['range'], sequence: number): boolean {
  return range === undefined || (range.fromSequence <= sequence && sequence <= range.toSequence);
}
