// Policies: what the tenant rules about classification, retention, access and alerts. A policy is a list of rules;
// a rule is conditions with an effect, and which members an effect has depends on the type of its policy.

import { Type } from 'typebox';
import type { Static } from 'typebox';
import { LIMITS } from '../limits.ts';
import { arrayOf, byDefault, choice, doc, object, optional, readOnly, strictObject } from '../schema.ts';
import { Conditions } from './condition.ts';
import { ErrorDetail } from './error.ts';
import {
  CallerName,
  Classification,
  Count,
  description,
  Duration,
  EventId,
  Instant,
  name,
  PolicyId,
  RoleName,
  RuleId,
  TenantId,
  text,
  ViolationId,
} from './primitives.ts';

export const PolicyType = choice('PolicyType', 'What a policy rules about.', [
  'Classification',
  'Retention',
  'Access',
  'Alert',
]);
export type PolicyType = Static<typeof PolicyType>;

export const PolicyStatus = choice('PolicyStatus', 'Only `Active` policies take effect.', [
  'Draft',
  'Active',
  'Inactive',
  'Deleted',
]);

export const SettablePolicyStatus = choice('SettablePolicyStatus', 'The statuses a caller may set.', [
  'Draft',
  'Active',
  'Inactive',
]);

export const Severity = choice('Severity', 'How bad it is.', ['Low', 'Medium', 'High', 'Critical']);

export const ViolationType = Type.String({
  pattern: `^[A-Za-z]{1,${LIMITS.violationTypeLengthMax}}$`,
  description: '`UnauthorizedAccess`, `SensitiveData`, `PolicyBreach`, `Anomaly`, or a word of your own.',
});

export type AlertThreshold = Static<typeof AlertThreshold>;
export const AlertThreshold = strictObject(
  'AlertThreshold',
  'Raise the alert when so many match within a time.',
  {
    count: Type.Integer({ minimum: 1 }),
    window: Duration,
    groupBy: optional(
      text(LIMITS.identityLengthMax, 'Count separately for each value at this path: `actor.userId`.'),
    ),
  },
);

const redactFields = doc(
  arrayOf(text(LIMITS.identityLengthMax), { maxItems: LIMITS.redactFieldsMax }),
  'Paths to redact, such as `payload.iban`.',
);

export type RuleEffect = Static<typeof RuleEffect>;
export const RuleEffect = strictObject(
  'RuleEffect',
  "What a matching rule does; the policy's type decides which.",
  {
    classification: optional(doc(Classification, 'Classification: the highest match wins.')),
    redactFields: optional(redactFields),
    retentionPeriod: optional(doc(Duration, 'Retention: how long content is kept; the longest wins.')),
    legalHold: optional(doc(Type.Boolean(), 'Retention: nothing that matches expires.')),
    access: optional(
      doc(choice('AccessDecision', 'May it be read.', ['Allow', 'Deny']), 'Access: deny wins.'),
    ),
    roles: optional(doc(arrayOf(RoleName), 'Access: whom the rule is about; everyone, when absent.')),
    maxClassification: optional(doc(Classification, 'Access: the highest classification shown unredacted.')),
    violationType: optional(byDefault(ViolationType, 'PolicyBreach')),
    severity: optional(byDefault(Severity, 'Medium')),
    threshold: optional(AlertThreshold),
  },
);

interface EffectMembers {
  /** At least one of these must be there. */
  readonly needs: readonly (keyof RuleEffect)[];
  readonly allows: readonly (keyof RuleEffect)[];
}

/** Which members an effect has, by the type of its policy. */
export const EFFECT_MEMBERS: Readonly<Record<PolicyType, EffectMembers>> = {
  Classification: { needs: ['classification'], allows: ['redactFields'] },
  Retention: { needs: ['retentionPeriod', 'legalHold'], allows: [] },
  Access: { needs: ['access'], allows: ['roles', 'maxClassification', 'redactFields'] },
  Alert: { needs: ['violationType', 'severity', 'threshold'], allows: [] },
};

const policyName = doc(name, 'Unique among the policies of the tenant.');
const enabled = optional(byDefault(Type.Boolean(), true));

export type RuleConfiguration = Static<typeof RuleConfiguration>;
export const RuleConfiguration = strictObject('RuleConfiguration', 'A rule as it is sent.', {
  ruleId: optional(
    Type.String({
      maxLength: LIMITS.ruleIdLengthMax,
      description: 'Keeps a known rule when a policy is replaced; else the service makes one.',
    }),
  ),
  name: optional(name),
  enabled,
  conditions: optional(doc(Conditions, 'Which events it is about; all, when absent.')),
  effect: RuleEffect,
});

export type Rule = Static<typeof Rule>;
export const Rule = object('Rule', 'Conditions with an effect.', {
  ruleId: RuleId,
  name: optional(name),
  enabled: Type.Boolean(),
  conditions: Conditions,
  effect: RuleEffect,
});

const priority = Type.Integer({
  minimum: 0,
  maximum: LIMITS.priorityMax,
  description: 'Orders policies for people and breaks ties; higher first.',
});

export type PolicyConfiguration = Static<typeof PolicyConfiguration>;
export const PolicyConfiguration = strictObject('PolicyConfiguration', 'A policy as it is sent.', {
  name: policyName,
  description: optional(description),
  policyType: PolicyType,
  status: optional(byDefault(SettablePolicyStatus, 'Active')),
  active: optional(doc(Type.Boolean(), 'Moves between `Active` and `Inactive`.')),
  priority: optional(byDefault(priority, LIMITS.priorityDefault)),
  rules: optional(byDefault(arrayOf(RuleConfiguration, { maxItems: LIMITS.rulesMax }), [])),
  ...readOnly('policyId', 'tenantId', 'version', 'createdAt', 'createdBy', 'updatedAt', 'updatedBy'),
});

export type Policy = Static<typeof Policy>;
export const Policy = object('Policy', 'A policy of the tenant.', {
  policyId: PolicyId,
  tenantId: TenantId,
  name: policyName,
  description: optional(description),
  policyType: PolicyType,
  status: PolicyStatus,
  active: doc(Type.Boolean(), 'True exactly when the status is `Active`.'),
  version: doc(Type.Integer({ minimum: 1 }), 'Rises with every change; the ETag is this number in quotes.'),
  priority,
  rules: arrayOf(Rule),
  createdAt: Instant,
  createdBy: CallerName,
  updatedAt: Instant,
  updatedBy: CallerName,
});

export type PolicyTemplate = Static<typeof PolicyTemplate>;
export const PolicyTemplate = object(
  'PolicyTemplate',
  'A policy to begin with; `policy` can be created as it is.',
  {
    templateId: Type.String(),
    name: Type.String(),
    framework: Type.String({ description: 'The standard it serves: `SOC 2`, `HIPAA`, …' }),
    description: optional(Type.String()),
    policy: PolicyConfiguration,
  },
);

export type PolicyImpact = Static<typeof PolicyImpact>;
export const PolicyImpact = object(
  'PolicyImpact',
  "What the policy would have done to the tenant's newest events.",
  {
    sampledEvents: Count,
    matchedEvents: Count,
  },
);

export type PolicyValidation = Static<typeof PolicyValidation>;
export const PolicyValidation = object(
  'PolicyValidation',
  'Whether a policy would be accepted, and what it would do.',
  {
    valid: Type.Boolean(),
    errors: arrayOf(ErrorDetail),
    warnings: arrayOf(ErrorDetail),
    impact: PolicyImpact,
  },
);

export type PolicyViolation = Static<typeof PolicyViolation>;
export const PolicyViolation = object('PolicyViolation', 'An event that broke a rule of an Alert policy.', {
  violationId: ViolationId,
  eventId: EventId,
  policyId: PolicyId,
  policyName: Type.String(),
  ruleId: optional(RuleId),
  violationType: ViolationType,
  severity: Severity,
  detectedAt: Instant,
});
