// Whether an answer has the shape of a policy, a template or the result of a validation. Any server may be at the address.

import type { ErrorDetail, Policy, PolicyTemplate, PolicyValidation } from '@tallystick/contract';
import { areTexts, areTextsIfAny, isCount, membersOf } from '../members.ts';

export function isPolicy(value: unknown): value is Policy {
  const policy = membersOf(value);
  return (
    isConfiguration(policy) &&
    areTexts(policy, ['policyId', 'status', 'createdAt', 'createdBy', 'updatedAt', 'updatedBy']) &&
    isCount(policy['version']) &&
    isCount(policy['priority']) &&
    Array.isArray(policy['rules']) &&
    policy['rules'].every((rule) => areTexts(membersOf(rule), ['ruleId']))
  );
}

export function isTemplate(value: unknown): value is PolicyTemplate {
  const template = membersOf(value);
  return (
    areTexts(template, ['templateId', 'name', 'framework']) &&
    areTextsIfAny(template, ['description']) &&
    isConfiguration(membersOf(template['policy']))
  );
}

export function isVerdict(value: unknown): value is PolicyValidation {
  const { valid, errors, warnings, impact } = membersOf(value);
  const { sampledEvents, matchedEvents, sampleEventIds } = membersOf(impact);
  return (
    typeof valid === 'boolean' &&
    [errors, warnings].every((all) => Array.isArray(all) && all.every(isDetail)) &&
    isCount(sampledEvents) &&
    isCount(matchedEvents) &&
    Array.isArray(sampleEventIds) &&
    sampleEventIds.every((id) => typeof id === 'string')
  );
}

function isConfiguration(policy: Record<string, unknown>): boolean {
  const { rules = [] } = policy;
  return (
    areTexts(policy, ['name', 'policyType']) &&
    areTextsIfAny(policy, ['description', 'status']) &&
    Array.isArray(rules) &&
    rules.every(isRule)
  );
}

function isRule(value: unknown): boolean {
  const { name, conditions = {}, effect } = membersOf(value);
  return (name === undefined || typeof name === 'string') && isObject(conditions) && isObject(effect);
}

function isDetail(value: unknown): value is ErrorDetail {
  return areTexts(membersOf(value), ['field', 'issue']);
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
