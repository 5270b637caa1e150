// What is sent to subscribers. All types share one head and carry one object. Two signatures, both
// `sha256=<lowercase hex>` of HMAC-SHA256 under the subscription's secret: the header's is over the exact bytes
// sent; the body's own is over the RFC 8785 form of the body without `signature`. `timestamp` is that of the
// attempt, so all signatures are made anew for each one; `webhookId` stays.

import type { Static, TProperties } from 'typebox';
import { LIMITS } from '../limits.ts';
import { choice, doc, object, optional, variants } from '../schema.ts';
import { Type } from '../type.ts';
import { AuditEvent } from './event.ts';
import { ExportFailureReason, ExportFormat } from './export.ts';
import { PolicyViolation, Severity } from './policy.ts';
import {
  Count,
  Duration,
  ExportId,
  Instant,
  StreamId,
  SubscriptionId,
  ThresholdId,
  WebhookId,
} from './primitives.ts';
import type { WebhookType } from './webhook.ts';

const Signature = Type.String({ pattern: '^sha256=[0-9a-f]{64}$' });
const AttemptNumber = Type.Integer({ minimum: 1, maximum: LIMITS.deliveryAttemptsMax });

export const SubscriptionReference = object(
  'SubscriptionReference',
  'The subscription that asked for this.',
  {
    subscriptionId: SubscriptionId,
    subscriptionName: Type.String(),
  },
);

function notification<const T extends WebhookType, P extends TProperties>(
  title: string,
  webhookType: T,
  content: P,
) {
  return object(title, `The body of a delivery of type \`${webhookType}\`.`, {
    webhookId: WebhookId,
    webhookType: Type.Literal(webhookType),
    timestamp: doc(Instant, 'When this attempt was made.'),
    subscription: optional(SubscriptionReference),
    ...content,
    signature: Signature,
    attemptNumber: optional(AttemptNumber),
  });
}

const exportHead = { exportId: ExportId, requestedAt: Instant, completedAt: Instant };
const exportTail = { eventCount: optional(Count), fileSize: optional(Count), format: optional(ExportFormat) };

export type CompletedExport = Static<typeof CompletedExport>;
export const CompletedExport = object('CompletedExport', 'An export with its file.', {
  ...exportHead,
  status: Type.Literal('Completed'),
  ...exportTail,
  downloadUrl: optional(Type.String({ format: 'uri', description: 'Signed link.' })),
  expiresAt: optional(doc(Instant, 'When the link stops working.')),
});

export type FailedExport = Static<typeof FailedExport>;
export const FailedExport = object('FailedExport', 'An export that failed.', {
  ...exportHead,
  status: Type.Literal('Failed'),
  ...exportTail,
  failureReason: optional(ExportFailureReason),
  errorDetails: optional(Type.String()),
  retriable: optional(Type.Boolean()),
});

/** How an export has ended. */
export type ExportOutcome = CompletedExport | FailedExport;

export type ThresholdCrossing = Static<typeof ThresholdCrossing>;
export const ThresholdCrossing = object(
  'ThresholdCrossing',
  'A rule counted more events than it allows, or the service misses one of its levels for the tenant.',
  {
    thresholdId: ThresholdId,
    name: Type.String({ description: 'Of the policy, or of the service level.' }),
    observedValue: Type.Number(),
    threshold: Type.Number(),
    window: Duration,
    groupKey: Type.String({ description: 'The value that was counted; empty where the rule has no groups.' }),
    severity: Severity,
    detectedAt: Instant,
  },
);

export type SystemChange = Static<typeof SystemChange>;
export const SystemChange = object('SystemChange', 'The service, or a part of it, changed its state.', {
  kind: choice('SystemChangeKind', 'What happened.', ['EventStreamSealed', 'SystemStatusChanged', 'Test']),
  component: Type.String(),
  previousStatus: Type.String(),
  status: Type.String(),
  streamId: optional(StreamId),
  occurredAt: Instant,
});

export const EventNotification = notification('EventNotification', 'event.notification', {
  event: AuditEvent,
});
export const ExportCompletedNotification = notification('ExportCompletedNotification', 'export.completed', {
  export: CompletedExport,
});
export const ExportFailedNotification = notification('ExportFailedNotification', 'export.failed', {
  export: FailedExport,
});
export const PolicyViolatedNotification = notification('PolicyViolatedNotification', 'policy.violated', {
  violation: PolicyViolation,
});
export const ThresholdExceededNotification = notification(
  'ThresholdExceededNotification',
  'threshold.exceeded',
  {
    threshold: ThresholdCrossing,
  },
);
export const SystemNotification = notification('SystemNotification', 'system.event', {
  system: SystemChange,
});

export type Notification = Static<typeof Notification>;
export const Notification = variants('Notification', 'The body of a delivery.', 'webhookType', [
  EventNotification,
  ExportCompletedNotification,
  ExportFailedNotification,
  PolicyViolatedNotification,
  ThresholdExceededNotification,
  SystemNotification,
]);

export type NotificationHeaders = Static<typeof NotificationHeaders>;
export const NotificationHeaders = object(
  'NotificationHeaders',
  'The headers of a delivery, custom ones aside.',
  {
    'X-Audit-Webhook-Id': WebhookId,
    'X-Audit-Webhook-Type': Type.String({ description: 'The type, as in the body.' }),
    'X-Audit-Signature': doc(Signature, 'Over the exact bytes of the body.'),
    'X-Audit-Signature-Previous': optional(doc(Signature, 'Under the older secret, while it still counts.')),
    'X-Audit-Timestamp': doc(Instant, 'As in the body.'),
    'X-Audit-Attempt': Type.String({ pattern: '^([1-9]|10)$' }),
    'Content-Type': Type.Literal('application/json'),
    'User-Agent': Type.Literal('Tallystick-Webhooks/1'),
    'webhook-id': doc(WebhookId, 'Standard Webhooks.'),
    'webhook-timestamp': Type.String({ pattern: '^\\d+$', description: 'Standard Webhooks: Unix seconds.' }),
    'webhook-signature': Type.String({
      description: 'Standard Webhooks: `v1,<base64>`, one per valid secret.',
    }),
  },
);
