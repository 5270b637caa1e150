// The rules for policies that no schema states: which effects each type of policy has, and what conditions and fields may be.
// A policy may be any JSON value here: the schema reports what is none at all.

import { EFFECT_MEMBERS, type ErrorDetail, LIMITS, type PolicyType } from '@tallystick/contract';
import { receivedMember } from '../call.ts';
import { parseConditions } from './condition.ts';
import { CONDITION_ROOTS, isConditionRoot, isTextRoot, readSteps } from './condition-path.ts';
import { withholdablePath } from './withheld-fields.ts';

export function policyFaults(policy: unknown): ErrorDetail[] {
  const type = policyTypeIn(policy);
  const rules = receivedMember(policy, 'rules');
  if (!Array.isArray(rules) || rules.length > LIMITS.rulesMax) return [];
  const faults: ErrorDetail[] = [];
  const seen = new Set<unknown>();
  for (const [i, rule] of rules.entries()) {
    if (faults.length >= LIMITS.errorDetailsMax) break;
    faults.push(...ruleFaults(rule, type, `rules[${i}].`));
    const ruleId = receivedMember(rule, 'ruleId');
    if (typeof ruleId === 'string' && seen.has(ruleId))
      faults.push({ field: `rules[${i}].ruleId`, issue: 'must differ from those before it', value: ruleId });
    seen.add(ruleId);
  }
  return faults;
}

/** `type` is that of its policy; undefined where it is not known. `at` stands before the names of its members. */
export function ruleFaults(rule: unknown, type: PolicyType | undefined, at: string): ErrorDetail[] {
  const conditions = receivedMember(rule, 'conditions');
  const effect = receivedMember(rule, 'effect');
  return [
    ...(conditions === undefined ? [] : (parseConditions(conditions, `${at}conditions`).faults ?? [])),
    ...(type === undefined ? [] : effectFaults(effect, type, `${at}effect`)),
    ...fieldFaults(receivedMember(effect, 'redactFields'), `${at}effect.redactFields`),
    ...groupFaults(receivedMember(receivedMember(effect, 'threshold'), 'groupBy'), `${at}effect.threshold`),
  ];
}

function policyTypeIn(policy: unknown): PolicyType | undefined {
  const type = receivedMember(policy, 'policyType');
  return typeof type === 'string' && Object.hasOwn(EFFECT_MEMBERS, type) ? (type as PolicyType) : undefined;
}

function effectFaults(effect: unknown, type: PolicyType, at: string): ErrorDetail[] {
  if (typeof effect !== 'object' || effect === null || Array.isArray(effect)) return [];
  const { requires, allows } = EFFECT_MEMBERS[type];
  const members: readonly string[] = [...requires, ...allows];
  const has = (name: string) => (receivedMember(effect, name) ?? null) !== null;
  const issue = `belongs in no effect of a policy of the type ${type}, which has ${members.join(', ')}`;
  return [
    ...requires
      .filter((name) => !has(name))
      .map((name) => ({ field: `${at}.${name}`, issue: `must be given in a policy of the type ${type}` })),
    ...Object.keys(effect)
      .filter((name) => has(name) && isEffectMember(name) && !members.includes(name))
      .map((name) => ({ field: `${at}.${name}`, issue })),
  ];
}

/** Of any type: the schema reports the others. */
function isEffectMember(name: string): boolean {
  return Object.values(EFFECT_MEMBERS).some(({ requires, allows }) =>
    [...requires, ...allows].some((each) => each === name),
  );
}

function fieldFaults(fields: unknown, at: string): ErrorDetail[] {
  if (!Array.isArray(fields) || fields.length > LIMITS.redactFieldsMax) return [];
  return fields.flatMap((field, i) => {
    const read = typeof field === 'string' ? withholdablePath(field) : [];
    return typeof read === 'string' ? [{ field: `${at}[${i}]`, issue: read, value: field }] : [];
  });
}

function groupFaults(groupBy: unknown, at: string): ErrorDetail[] {
  if (typeof groupBy !== 'string') return [];
  const read = groupPath(groupBy);
  return typeof read === 'string' ? [{ field: `${at}.groupBy`, issue: read, value: groupBy }] : [];
}

/** The steps of the path that a threshold counts by, or why it is none. */
export function groupPath(groupBy: string) {
  const steps = readSteps(groupBy, true);
  if (typeof steps === 'string') return `is no path: ${steps}`;
  if (steps.includes(null)) return 'must lead to one value, so [*] cannot stand in it';
  const [root] = steps;
  if (!isConditionRoot(root)) return `must begin with one of ${CONDITION_ROOTS.join(', ')}`;
  if (!isTextRoot(root) && steps.length === 1) return `must lead to one value; ${root} has many`;
  return steps;
}
