// A policy as it is kept in a file: what its author decides, without what the service adds. Files are for people and for any
// tenant, so they contain no ids: the name identifies a policy. Members are in a fixed order and defaults are treated alike, so
// two policies that mean the same have the same form, and others can be compared line by line.

import type { Conditions, Policy, PolicyConfiguration, RuleEffect } from '@tallystick/contract';
import { LIMITS } from '@tallystick/contract';

export interface RuleForm {
  readonly name?: string;
  /** Absent where the rule is enabled. */
  readonly enabled?: false;
  /** Absent where the rule is about all events. */
  readonly conditions?: Conditions;
  readonly effect: RuleEffect;
}

export interface PolicyForm {
  readonly name: string;
  readonly description?: string;
  readonly policyType: Policy['policyType'];
  readonly status: Policy['status'];
  readonly priority: number;
  readonly rules: readonly RuleForm[];
}

type AnyPolicy = Policy | PolicyConfiguration;
type AnyRule = NonNullable<AnyPolicy['rules']>[number];

/** Of a policy that comes from the service, or that the service has found valid. */
export function policyForm(policy: AnyPolicy): PolicyForm {
  const { name, description, policyType, priority = LIMITS.priorityDefault, rules = [] } = policy;
  return {
    name,
    ...(description !== undefined && { description }),
    policyType,
    status: statusOf(policy),
    priority,
    rules: rules.map(ruleForm),
  };
}

export function ruleForm({ name, enabled = true, conditions = {}, effect }: AnyRule): RuleForm {
  return {
    ...(name !== undefined && { name }),
    ...(!enabled && { enabled }),
    ...(Object.keys(conditions).length > 0 && { conditions: inOrder(conditions) }),
    effect: inOrder(effect),
  };
}

export function isSameForm(one: PolicyForm | RuleForm, other: PolicyForm | RuleForm): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** A file whose `active` contradicts its status was refused when it was read. */
function statusOf({ status, active }: AnyPolicy): Policy['status'] {
  return status ?? (active === false ? 'Inactive' : 'Active');
}

/** The same value, with the members of all objects sorted by name. */
function inOrder<T>(value: T): T {
  return ordered(value) as T;
}

function ordered(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(ordered);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(members.map(([name, member]) => [name, ordered(member)]));
}
