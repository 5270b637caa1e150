// The limits that the policies of one tenant have together. Every event is judged by all active ones, in the process that serves
// every tenant: without a limit, one tenant's rules would make the others wait.

import { type ErrorDetail, LIMITS, type Rule, type RuleConfiguration } from '@tallystick/contract';
import { conditionsOf } from './condition.ts';
import type { PolicyRecord } from './policy.ts';

type Counted = Pick<PolicyRecord, 'policyId' | 'status' | 'rules'>;

/** The limits that `policy` would exceed, new or in place of its older version. `all` are those of the tenant, deleted ones too. */
export function budgetFaults(policy: Counted, all: readonly Counted[]): ErrorDetail[] {
  const others = all.filter(({ policyId }) => policyId !== policy.policyId);
  const there = [...others.filter(({ status }) => status !== 'Deleted'), policy];
  const sums: Record<Sum, number> = {
    length: 0,
    rules: 0,
    conditions: 0,
    detectors: 0,
    searches: 0,
    fields: 0,
  };
  for (const each of there) {
    const size = sizeOf(each.rules);
    sums.length += size.length;
    if (each.status !== 'Active') continue;
    sums.rules += size.rules;
    sums.conditions += size.conditions;
    sums.detectors += size.detectors;
    sums.searches += size.searches;
    sums.fields += size.fields;
  }
  return [
    ...above('', there.length, LIMITS.policiesMax, 'policies of a tenant'),
    ...above(
      '',
      others.length + 1,
      LIMITS.policyRecordsMax,
      'policies of a tenant, with those that are deleted',
    ),
    ...above(
      'rules',
      sums.length,
      LIMITS.policiesLengthMax,
      'characters of JSON in all policies of a tenant',
    ),
    ...above('rules', sums.rules, LIMITS.activeRulesMax, 'rules in the active policies of a tenant'),
    ...above(
      'rules',
      sums.conditions,
      LIMITS.activeConditionsMax,
      'conditions in the active policies of a tenant',
    ),
    ...above(
      'rules',
      sums.detectors,
      LIMITS.activeDetectorsMax,
      'conditions with detects in the active policies of a tenant',
    ),
    ...above(
      'rules',
      sums.searches,
      LIMITS.activeSearchesMax,
      'conditions with contains or [*] in the active policies of a tenant',
    ),
    ...above(
      'rules',
      sums.fields,
      LIMITS.activeRedactFieldsMax,
      'fields to redact in the active policies of a tenant',
    ),
  ];
}

/** What judging an event by these takes. */
export function sumsOf(rules: readonly Pick<RuleConfiguration, 'ruleId' | 'conditions'>[]) {
  const conditions = rules.flatMap(conditionsOf);
  return {
    conditions: conditions.length,
    detectors: conditions.filter(({ test }) => test.kind === 'Detects').length,
    searches: conditions.filter(({ test, path }) => test.kind === 'Contains' || path.includes(null)).length,
  };
}

type Sum = 'length' | 'rules' | 'conditions' | 'detectors' | 'searches' | 'fields';

export function above(field: string, count: number, max: number, of: string): ErrorDetail[] {
  return count <= max ? [] : [{ field, issue: `must leave at most ${max} ${of}; there would be ${count}` }];
}

/** Rules that are kept do not change: each list is measured once. */
const sizes = new WeakMap<readonly Rule[], Record<Sum, number>>();

function sizeOf(rules: readonly Rule[]): Record<Sum, number> {
  let size = sizes.get(rules);
  if (size === undefined) {
    size = {
      length: JSON.stringify(rules).length,
      rules: rules.length,
      ...sumsOf(rules),
      fields: rules.reduce((sum, { effect }) => sum + (effect.redactFields?.length ?? 0), 0),
    };
    sizes.set(rules, size);
  }
  return size;
}
