// Stopping deletion, and deleting on purpose: legal holds, redaction at rest, erasure, and why an event is as it is.

import type { Static } from 'typebox';
import { LIMITS } from '../limits.ts';
import { arrayOf, choice, doc, either, object, optional, strictObject } from '../schema.ts';
import { Type } from '../type.ts';
import { Conditions } from './condition.ts';
import { EventRedaction, EventRetention } from './event.ts';
import { AwaitingConfirmation, OperationStatus } from './job.ts';
import {
  CallerName,
  Classification,
  CorrelationId,
  Count,
  ErasureId,
  EventId,
  HoldId,
  Instant,
  name,
  OwnTenantId,
  PolicyId,
  reason,
  RuleId,
  Sequence,
  TenantId,
  text,
} from './primitives.ts';

const paths = arrayOf(text(LIMITS.identityLengthMax), { minItems: 1, maxItems: LIMITS.redactFieldsMax });

/** A part of the log. */
export type HoldRange = Static<typeof HoldRange>;
export const HoldRange = strictObject('HoldRange', 'Events of the tenant by their place in the log.', {
  fromSequence: doc(Sequence, 'The first.'),
  toSequence: doc(Sequence, 'The last; it may lie ahead of the log.'),
});

export const HoldStatus = choice('HoldStatus', 'Only an active hold stops expiry and redaction.', [
  'Active',
  'Released',
]);

export type HoldRequest = Static<typeof HoldRequest>;
export const HoldRequest = strictObject('HoldRequest', 'A legal hold to place.', {
  name,
  reason,
  conditions: optional(doc(Conditions, 'Which events are held, present and future; all, when absent.')),
  range: optional(doc(HoldRange, 'Where they are in the log; anywhere, when absent. Both must hold.')),
});

export type LegalHold = Static<typeof LegalHold>;
export const LegalHold = object(
  'LegalHold',
  'While it is active, no event that matches expires or is redacted.',
  {
    holdId: HoldId,
    tenantId: TenantId,
    name,
    reason,
    conditions: optional(Conditions),
    range: optional(HoldRange),
    status: HoldStatus,
    heldEvents: optional(
      doc(Count, 'Events with content that match. Counted in the background, and absent until then.'),
    ),
    createdAt: Instant,
    createdBy: CallerName,
    releasedAt: optional(Instant),
    releasedBy: optional(CallerName),
    releaseReason: optional(Type.String()),
  },
);

export type HoldRelease = Static<typeof HoldRelease>;
export const HoldRelease = strictObject('HoldRelease', 'Why the hold ends.', { reason });

export type RedactionRequest = Static<typeof RedactionRequest>;
export const RedactionRequest = strictObject('RedactionRequest', 'Fields to remove for good.', {
  fields: doc(paths, 'Paths below `payload` and `context`, or of the actor: `payload.iban`.'),
  reason,
});

export type RedactionReceipt = Static<typeof RedactionReceipt>;
export const RedactionReceipt = object('RedactionReceipt', 'The values are gone; every proof still holds.', {
  eventId: EventId,
  fields: arrayOf(Type.String()),
  noticeId: doc(EventId, 'The notice in the log that accounts for it.'),
  redactedAt: Instant,
});

export type RedactionAnswer = Static<typeof RedactionAnswer>;
export const RedactionAnswer = either(
  'RedactionAnswer',
  'The receipt; or, where the tenant wants four eyes, the operation that another caller confirms.',
  [RedactionReceipt, AwaitingConfirmation],
);

export type ErasureSubject = Static<typeof ErasureSubject>;
export const ErasureSubject = strictObject('ErasureSubject', 'The person, by one or more of these.', {
  userId: optional(text(LIMITS.identityLengthMax, 'As actor.')),
  userName: optional(text(LIMITS.userNameLengthMax, 'As actor.')),
  resourceType: optional(text(LIMITS.identityLengthMax, 'As resource, together with `resourceId`.')),
  resourceId: optional(text(LIMITS.identityLengthMax, 'As resource.')),
});

export type ErasureRequest = Static<typeof ErasureRequest>;
export const ErasureRequest = strictObject(
  'ErasureRequest',
  'Erase what is stored about a person, or all content of the tenant: exactly one of `subject` and `tenantId`.',
  {
    subject: optional(ErasureSubject),
    tenantId: optional(
      doc(OwnTenantId, 'All content goes, and its keys. Must be the tenant of the request.'),
    ),
    fields: optional(
      doc(
        paths,
        'Only these paths; when absent, the actor’s identity, `context` and `payload`. Not with `tenantId`.',
      ),
    ),
    reason,
  },
);

export type Erasure = Static<typeof Erasure>;
export const Erasure = object('Erasure', 'An erasure, under way or done. It names no person.', {
  erasureId: ErasureId,
  status: OperationStatus,
  requestedAt: Instant,
  requestedBy: CallerName,
  completedAt: optional(Instant),
  matchedEvents: optional(
    doc(
      Count,
      'Events of the person, or of the tenant. Absent until they are counted, and for readers who do not see every event.',
    ),
  ),
  erasedEvents: optional(
    doc(
      Count,
      'Those whose fields, or whose content, are gone; 0 until they are counted. Absent for readers who do not see every event.',
    ),
  ),
  heldEvents: optional(
    doc(Count, 'Those that a legal hold keeps; they are erased when it ends. Absent as `matchedEvents` is.'),
  ),
  noticeId: optional(doc(EventId, 'The notice of the request. What is deleted has notices of its own.')),
  correlationId: optional(
    doc(
      CorrelationId,
      'What all notices of the erasure bear: that of the request, if it is a UUID and no other erasure has it.',
    ),
  ),
  failureReason: optional(Type.String()),
});

export type ErasureAnswer = Static<typeof ErasureAnswer>;
export const ErasureAnswer = either(
  'ErasureAnswer',
  'The erasure; or, where the tenant wants four eyes, the operation that another caller confirms.',
  [Erasure, AwaitingConfirmation],
);

export type Confirmation = Static<typeof Confirmation>;
export const Confirmation = either('Confirmation', 'What was confirmed, as it is now.', [
  RedactionReceipt,
  Erasure,
]);

export type MatchedValue = Static<typeof MatchedValue>;
export const MatchedValue = object('MatchedValue', 'What a condition of the rule found in the event.', {
  field: Type.String({ description: 'A path: `payload.amount`.' }),
  value: optional(
    Type.Unknown({
      description: 'As this reader sees it. Absent where there is none, and where a detector found it.',
    }),
  ),
});

export type RuleMatch = Static<typeof RuleMatch>;
export const RuleMatch = object('RuleMatch', 'A rule that applied.', {
  policyId: PolicyId,
  policyName: Type.String(),
  policyVersion: Type.Integer({ minimum: 1 }),
  ruleId: RuleId,
  decided: doc(Type.Boolean(), 'Whether this is the one that won.'),
  values: optional(doc(arrayOf(MatchedValue), 'Why it matches, in the order of its conditions.')),
});

export type EventExplanation = Static<typeof EventExplanation>;
export const EventExplanation = object(
  'EventExplanation',
  'Why the event is classified, kept and shown as it is.',
  {
    eventId: EventId,
    classification: object('ClassificationExplanation', 'Decided at acceptance.', {
      value: Classification,
      hint: optional(doc(Classification, 'What the producer asked for.')),
      rules: arrayOf(RuleMatch),
    }),
    retention: object('RetentionExplanation', 'Decided at acceptance; holds apply at once.', {
      value: optional(doc(EventRetention, 'Absent for a notice, which is kept.')),
      rules: arrayOf(RuleMatch),
      holdIds: doc(
        arrayOf(HoldId),
        'Legal holds that cover it, and policies with a rule that does (`legalHold`), now.',
      ),
    }),
    access: object('AccessExplanation', 'Decided for this reader, now.', {
      clearance: Classification,
      redaction: optional(EventRedaction),
      rules: arrayOf(RuleMatch),
    }),
  },
);
