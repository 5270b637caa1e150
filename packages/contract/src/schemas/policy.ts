// Policies: what the tenant rules about classification, retention, access and alerts. A policy is a list of rules;
// a rule is conditions with an effect, and which members an effect has depends on the type of its policy.

import type { Static } from 'typebox';
import { LIMITS } from '../limits.ts';
import { ROLE_NAMES } from '../permissions.ts';
import {
  arrayOf,
  byDefault,
  choice,
  doc,
  guarded,
  object,
  optional,
  readOnly,
  strictObject,
} from '../schema.ts';
import { Type } from '../type.ts';
import { Conditions } from './condition.ts';
import { ErrorDetail } from './error.ts';
import {
  CallerName,
  Classification,
  Count,
  description,
  EventId,
  Instant,
  name,
  PolicyId,
  PositiveDuration,
  RoleName,
  RuleId,
  TenantId,
  text,
  ViolationId,
} from './primitives.ts';
import { TimeRange } from './search.ts';

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
  'x-expected': `1 to ${LIMITS.violationTypeLengthMax} letters (A to Z, a to z), like PolicyBreach`,
  description: '`UnauthorizedAccess`, `SensitiveData`, `PolicyBreach`, `Anomaly`, or a word of your own.',
});

export type AlertThreshold = Static<typeof AlertThreshold>;
export const AlertThreshold = strictObject(
  'AlertThreshold',
  'Raise the alert when so many match within a time.',
  {
    count: Type.Integer({ minimum: 1 }),
    window: PositiveDuration,
    groupBy: optional(
      text(LIMITS.identityLengthMax, 'Count separately for each value at this path: `actor.userId`.'),
    ),
  },
);

const redactFields = doc(
  arrayOf(text(LIMITS.identityLengthMax), { maxItems: LIMITS.redactFieldsMax }),
  'Paths to redact, such as `payload.iban`. Access: for these roles. Classification: for readers below the classification of the event; from them `context` and `payload` are withheld anyway, so this matters for names, such as `actor.userName`.',
);

export type RuleEffect = Static<typeof RuleEffect>;
export const RuleEffect = strictObject(
  'RuleEffect',
  "What a matching rule does; the policy's type decides which.",
  {
    classification: optional(doc(Classification, 'Classification: the highest match wins.')),
    redactFields: optional(redactFields),
    retentionPeriod: optional(
      doc(PositiveDuration, 'Retention: how long content is kept; the longest wins.'),
    ),
    legalHold: optional(doc(Type.Boolean(), 'Retention: nothing that matches expires.')),
    access: optional(
      doc(choice('AccessDecision', 'May it be read.', ['Allow', 'Deny']), 'Access: deny wins.'),
    ),
    roles: optional(
      doc(arrayOf(RoleName, { minItems: 1, maxItems: ROLE_NAMES.length }), 'Access: whom the rule is about.'),
    ),
    maxClassification: optional(doc(Classification, 'Access: the highest classification shown unredacted.')),
    // Their defaults are the operation's to fill in: a default here would stand in effects of every type.
    violationType: optional(
      doc(
        ViolationType,
        'Alert: `UnauthorizedAccess`, `SensitiveData`, `PolicyBreach` (when absent), `Anomaly`, or a word of your own.',
      ),
    ),
    severity: optional(doc(Severity, 'Alert: `Medium`, when absent.')),
    threshold: optional(
      doc(
        AlertThreshold,
        'Alert: raise `threshold.exceeded` when it is crossed, not `policy.violated` each time.',
      ),
    ),
  },
);

interface EffectMembers {
  readonly requires: readonly (keyof RuleEffect)[];
  readonly allows: readonly (keyof RuleEffect)[];
}

/** Which members an effect must and may have, by the type of its policy; it has no others. */
export const EFFECT_MEMBERS: Readonly<Record<PolicyType, EffectMembers>> = {
  Classification: { requires: ['classification'], allows: ['redactFields'] },
  Retention: { requires: ['retentionPeriod'], allows: ['legalHold'] },
  Access: { requires: ['access', 'roles'], allows: ['maxClassification', 'redactFields'] },
  Alert: { requires: [], allows: ['violationType', 'severity', 'threshold'] },
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
  // No default: it would hide whether a status was sent, and `active` alone must be able to decide.
  status: optional(doc(SettablePolicyStatus, '`Active`, when neither this nor `active` is sent.')),
  active: optional(
    doc(
      Type.Boolean(),
      'True is `Active`; false is `Inactive`, or `Draft` where the status says so. Wins where the two disagree.',
    ),
  ),
  priority: optional(byDefault(priority, LIMITS.priorityDefault)),
  rules: optional(byDefault(arrayOf(RuleConfiguration, { maxItems: LIMITS.rulesMax }), [])),
  ...readOnly('policyId', 'tenantId', 'version', 'createdAt', 'createdBy', 'updatedAt', 'updatedBy'),
});

export type PolicyTrial = Static<typeof PolicyTrial>;
export const PolicyTrial = strictObject(
  'PolicyTrial',
  'A policy to try, and the events to try it on: those of a time range, or the newest.',
  { ...PolicyConfiguration.properties, timeRange: optional(TimeRange) },
);

/** In a path. */
export const PolicyVersionText = Type.String({
  pattern: '^[1-9]\\d{0,14}$',
  'x-expected': 'a version: a whole number of 1 or more',
});

export const PolicyVersion = Type.Integer({
  minimum: 1,
  description: 'Rises with every change; the ETag is this number in quotes.',
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
  version: PolicyVersion,
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
  "What the policy would have done to the tenant's newest events, or to those of the time range.",
  {
    sampledEvents: doc(Count, 'How many events were looked at.'),
    matchedEvents: doc(Count, 'How many of them a rule of the policy matches.'),
    sampleEventIds: doc(arrayOf(EventId, { maxItems: 3 }), 'Of the newest that match.'),
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

export type PolicyPreview = Static<typeof PolicyPreview>;
export const PolicyPreview = object(
  'PolicyPreview',
  "How many events a policy has purged; without `policyId` and `policyName`, the tenant's default retention.",
  {
    policyId: optional(PolicyId),
    policyName: optional(Type.String()),
    events: Count,
  },
);

export type RetentionPreview = Static<typeof RetentionPreview>;
export const RetentionPreview = object(
  'RetentionPreview',
  'What is purged until an instant, of the stored events that the reader sees whole.',
  {
    until: Instant,
    byPolicy: doc(arrayOf(PolicyPreview), 'By the policy that has decided, the most events first.'),
    heldEvents: doc(Count, 'Events that would be purged, and that a legal hold keeps.'),
  },
);

export const ViolationKind = choice('ViolationKind', 'One event, or so many within a time.', [
  'Violation',
  'Threshold',
]);

export const ViolationStatus = choice('ViolationStatus', 'Whether somebody has taken note of it.', [
  'Open',
  'Acknowledged',
]);

export type PolicyViolation = Static<typeof PolicyViolation>;
export const PolicyViolation = object(
  'PolicyViolation',
  'An event that broke a rule of an Alert policy, or so many that they crossed its threshold.',
  {
    violationId: ViolationId,
    kind: ViolationKind,
    eventId: optional(doc(EventId, 'The event that matched; of a threshold, the one that crossed it.')),
    policyId: PolicyId,
    policyName: Type.String(),
    policyVersion: PolicyVersion,
    ruleId: RuleId,
    violationType: ViolationType,
    severity: Severity,
    detectedAt: Instant,
    fields: optional(
      doc(arrayOf(Type.String()), 'Paths at which a detector found something; never what it found.'),
    ),
    groupKey: optional(guarded(Type.String({ description: 'The value that the threshold counts by.' }))),
    observedValue: optional(doc(Count, 'How many had matched when the threshold was crossed.')),
    threshold: optional(AlertThreshold),
    status: ViolationStatus,
    acknowledgedBy: optional(CallerName),
    comment: optional(description),
  },
);

export type Acknowledgement = Static<typeof Acknowledgement>;
export const Acknowledgement = strictObject('Acknowledgement', 'Says that somebody has taken note.', {
  comment: optional(description),
});
