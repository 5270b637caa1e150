// Policies and their rules, the templates to begin with, and legal holds.

import { json, list, none, operation, REVALIDATED } from '../operation.ts';
import { arrayOf, leftToOperation, optional, refusedAs } from '../schema.ts';
import { HoldRelease, HoldRequest, HoldStatus, LegalHold } from '../schemas/hold.ts';
import { PAGING } from '../schemas/list.ts';
import {
  Policy,
  PolicyConfiguration,
  PolicyStatus,
  PolicyTemplate,
  PolicyType,
  PolicyValidation,
  Rule,
  RuleConfiguration,
} from '../schemas/policy.ts';
import { HoldId, PolicyId, RuleId } from '../schemas/primitives.ts';
import { Type } from '../type.ts';

const policyId = refusedAs('POLICY_NOT_FOUND', PolicyId);
const ruleId = refusedAs('RULE_NOT_FOUND', RuleId);
const holdId = refusedAs('HOLD_NOT_FOUND', HoldId);

// `*`, or entity tags separated by commas, with nothing between some of them (RFC 9110, 5.6.1, 8.8.3, 13.1.1).
const TAG = '(W/)?"[^"\\x00-\\x20\\x7F]*"';
const ifMatch = optional(
  Type.String({
    pattern: `^(\\*|[ \\t,]*${TAG}([ \\t]*,[ \\t,]*${TAG})*[ \\t,]*)$`,
    'x-expected': 'the ETag of an answer, quotes included, like "3", or several with commas between, or *',
    description: 'Go on only if the policy still has one of these ETags; `*` is any.',
  }),
);
const inIfMatch = { ifMatch: 'If-Match' };
const versionTag = { ETag: '"{version}"' };

export const POLICY_OPERATIONS = [
  operation({
    name: 'policies.create',
    planned: true,
    summary: 'Create a policy',
    effect: 'Write',
    permission: 'audit.policies.write',
    input: { policy: PolicyConfiguration },
    output: json(Policy),
    answers: { Created: 'The policy exists and, if active, holds.' },
    errors: ['DUPLICATE_NAME'],
    rest: {
      method: 'POST',
      path: '/policies',
      body: 'policy',
      answerHeaders: { Location: '/policies/{policyId}', ...versionTag },
    },
  }),
  operation({
    name: 'policies.list',
    planned: true,
    summary: 'List policies; deleted ones only when asked for',
    effect: 'Read',
    permission: 'audit.policies.read',
    input: {
      policyType: optional(arrayOf(PolicyType, { minItems: 1, maxItems: 4 })),
      status: optional(arrayOf(PolicyStatus, { minItems: 1, maxItems: 4 })),
      active: optional(Type.Boolean()),
      ...PAGING,
    },
    output: list(Policy),
    answers: { Done: 'A page of policies.' },
    rest: { method: 'GET', path: '/policies' },
  }),
  operation({
    name: 'policies.get',
    planned: true,
    summary: 'Get a policy with its rules',
    effect: 'Read',
    permission: 'audit.policies.read',
    input: { policyId },
    output: json(Policy),
    answers: { Done: 'The policy.' },
    rest: {
      method: 'GET',
      path: '/policies/{policyId}',
      answerHeaders: { ...REVALIDATED, ...versionTag },
    },
  }),
  operation({
    name: 'policies.replace',
    planned: true,
    summary: 'Replace a policy; rules with known ids are kept',
    effect: 'Write',
    permission: 'audit.policies.write',
    input: { policyId, ifMatch, policy: PolicyConfiguration },
    output: json(Policy),
    answers: { Done: 'The new version holds.' },
    errors: ['DUPLICATE_NAME'],
    rest: {
      method: 'PUT',
      path: '/policies/{policyId}',
      headers: inIfMatch,
      body: 'policy',
      answerHeaders: versionTag,
    },
  }),
  operation({
    name: 'policies.delete',
    planned: true,
    summary: 'Delete a policy that is not in use',
    effect: 'Write',
    permission: 'audit.policies.write',
    input: { policyId, ifMatch },
    output: none,
    answers: { Removed: 'It is deleted; the list still shows it by its status.' },
    errors: ['POLICY_IN_USE'],
    rest: { method: 'DELETE', path: '/policies/{policyId}', headers: inIfMatch },
  }),
  operation({
    name: 'policies.addRule',
    planned: true,
    summary: 'Add a rule to a policy',
    effect: 'Write',
    permission: 'audit.policies.write',
    input: { policyId, ifMatch, rule: RuleConfiguration },
    output: json(Rule),
    answers: { Created: 'The policy has the rule, in a new version.' },
    rest: {
      method: 'POST',
      path: '/policies/{policyId}/rules',
      headers: inIfMatch,
      body: 'rule',
      // A rule is read as a part of its policy; it has no path of its own to GET.
      answerHeaders: { Location: '/policies/{policyId}', ETag: '{etag}' },
    },
  }),
  operation({
    name: 'policies.removeRule',
    planned: true,
    summary: 'Remove a rule from a policy',
    effect: 'Write',
    permission: 'audit.policies.write',
    input: { policyId, ruleId, ifMatch },
    output: none,
    answers: { Removed: 'The policy is without the rule, in a new version.' },
    rest: {
      method: 'DELETE',
      path: '/policies/{policyId}/rules/{ruleId}',
      headers: inIfMatch,
      answerHeaders: { ETag: '{etag}' },
    },
  }),
  operation({
    name: 'policies.listTemplates',
    planned: true,
    summary: 'List policies to begin with, by framework',
    effect: 'Read',
    permission: 'audit.policies.read',
    input: PAGING,
    output: list(PolicyTemplate),
    answers: { Done: 'A page of templates.' },
    rest: { method: 'GET', path: '/policies/templates' },
  }),
  operation({
    name: 'policies.validate',
    planned: true,
    summary: 'Say whether a policy would be accepted and what it would do',
    effect: 'Read',
    permission: 'audit.policies.read',
    input: { policy: leftToOperation(PolicyConfiguration) },
    output: json(PolicyValidation),
    answers: { Done: 'The verdict; a bad policy is a verdict too.' },
    rest: { method: 'POST', path: '/policies/validate', body: 'policy' },
  }),
  operation({
    name: 'holds.create',
    planned: true,
    summary: 'Place a legal hold: nothing that matches expires or is redacted',
    effect: 'Write',
    permission: 'audit.holds.manage',
    input: { hold: HoldRequest },
    output: json(LegalHold),
    answers: { Created: 'The hold is active, for stored and future events.' },
    errors: ['DUPLICATE_NAME'],
    rest: {
      method: 'POST',
      path: '/legal-holds',
      body: 'hold',
      answerHeaders: { Location: '/legal-holds/{holdId}' },
    },
  }),
  operation({
    name: 'holds.list',
    planned: true,
    summary: 'List legal holds, newest first',
    effect: 'Read',
    permission: 'audit.holds.manage',
    input: { status: optional(arrayOf(HoldStatus, { minItems: 1, maxItems: 2 })), ...PAGING },
    output: list(LegalHold),
    answers: { Done: 'A page of holds.' },
    rest: { method: 'GET', path: '/legal-holds' },
  }),
  operation({
    name: 'holds.get',
    planned: true,
    summary: 'Get a legal hold',
    effect: 'Read',
    permission: 'audit.holds.manage',
    input: { holdId },
    output: json(LegalHold),
    answers: { Done: 'The hold.' },
    rest: { method: 'GET', path: '/legal-holds/{holdId}' },
  }),
  operation({
    name: 'holds.release',
    planned: true,
    summary: 'Release a legal hold; releasing it again changes nothing',
    effect: 'Write',
    permission: 'audit.holds.manage',
    input: { holdId, release: HoldRelease },
    output: json(LegalHold),
    answers: { Done: 'The hold is released.' },
    rest: { method: 'POST', path: '/legal-holds/{holdId}/release', body: 'release' },
  }),
] as const;
