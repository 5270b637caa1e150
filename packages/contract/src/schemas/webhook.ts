// Webhook subscriptions and the deliveries that they are owed.

import type { Static } from 'typebox';
import { LIMITS } from '../limits.ts';
import {
  arrayOf,
  byDefault,
  choice,
  doc,
  guarded,
  mapOf,
  object,
  optional,
  orNull,
  readOnly,
  refusedAs,
  strictObject,
} from '../schema.ts';
import { Type } from '../type.ts';
import { keysOf } from '../typed-object.ts';
import { Conditions } from './condition.ts';
import {
  CallerName,
  Classification,
  Count,
  Duration,
  Instant,
  Milliseconds,
  name,
  OperationId,
  PositiveDuration,
  secret,
  SubscriptionId,
  TenantId,
  text,
  VISIBLE_ASCII_PATTERN,
  WebhookId,
} from './primitives.ts';

/** What may be subscribed to, and the type of the notification that it sends. */
export const WEBHOOK_TYPE_OF_EVENT_TYPE = {
  AuditEventReceived: 'event.notification',
  ExportCompleted: 'export.completed',
  ExportFailed: 'export.failed',
  PolicyViolated: 'policy.violated',
  ThresholdExceeded: 'threshold.exceeded',
  EventStreamSealed: 'system.event',
  SystemStatusChanged: 'system.event',
} as const;

export type SubscribedEventType = keyof typeof WEBHOOK_TYPE_OF_EVENT_TYPE;
export type WebhookType = (typeof WEBHOOK_TYPE_OF_EVENT_TYPE)[SubscribedEventType];

const EVENT_TYPES = keysOf(WEBHOOK_TYPE_OF_EVENT_TYPE);
const WEBHOOK_TYPES = [...new Set(Object.values(WEBHOOK_TYPE_OF_EVENT_TYPE))];

export const WebhookType = choice('WebhookType', 'The type of a notification.', WEBHOOK_TYPES);

export const EventTypeName = choice(
  'EventTypeName',
  'What to be told about; both spellings work, `*` is everything.',
  [...EVENT_TYPES, ...WEBHOOK_TYPES, '*'],
);

export const RetryStrategy = choice(
  'RetryStrategy',
  'Schedule: 30 s, 5 min, 15 min, then hourly. Exponential: before attempt n, min(`initialDelay` × 2^(n−2), `maxDelay`).',
  ['Schedule', 'Exponential'],
);

export type RetryRule = Static<typeof RetryRule>;
export const RetryRule = strictObject(
  'RetryRule',
  'When failed attempts are repeated; each delay varies by a fifth.',
  {
    strategy: RetryStrategy,
    initialDelay: optional(doc(PositiveDuration, 'Exponential: `PT30S`, when absent; `PT1S` to `P1D`.')),
    maxDelay: optional(doc(PositiveDuration, 'Exponential: `PT1H`, when absent; `PT1S` to `P1D`.')),
  },
);

/** Often a credential, so no error repeats it. */
const headerValue = Type.String({ maxLength: LIMITS.customHeaderLengthMax, format: 'password' });
const headersAre = {
  description:
    'Added to every delivery. The values of those that hold a credential, such as `Authorization`, are answered as `[REDACTED]`, which keeps the value when it is sent back with a URL of the same origin.',
  maxProperties: LIMITS.customHeadersMax,
};

const pem = (description: string) => text(LIMITS.pemLengthMax, description);
const certificates = {
  ca: optional(pem('PEM: the authorities that verify the consumer; by default those of the system.')),
  certificate: optional(
    pem('PEM: the certificate that the service presents to the consumer, with its chain.'),
  ),
};
const clientKey = secret(
  LIMITS.pemLengthMax,
  'PEM: the private key of the certificate. Kept when it is absent and the certificate is the same as before.',
);

export type SubscriptionTls = Static<typeof SubscriptionTls>;
export const SubscriptionTls = strictObject('SubscriptionTls', 'Certificates for one consumer.', {
  ...certificates,
  key: optional(clientKey),
});

export const ShownSubscriptionTls = object(
  'ShownSubscriptionTls',
  'Certificates for one consumer; the private key is not shown.',
  certificates,
);

const tls = doc(SubscriptionTls, 'Own authorities, and a certificate of the client with its key.');

const members = {
  name,
  url: refusedAs(
    'INVALID_WEBHOOK_URL',
    Type.String({
      format: 'uri',
      maxLength: LIMITS.urlLengthMax,
      description: 'https, at a public address.',
    }),
  ),
  eventTypes: arrayOf(EventTypeName, {
    minItems: 1,
    maxItems: EVENT_TYPES.length + WEBHOOK_TYPES.length + 1,
  }),
  filters: doc(
    Conditions,
    'Which events; applies to `event.notification` and to the event behind `policy.violated`.',
  ),
  headers: mapOf(headerValue, headersAre),
  active: Type.Boolean({ description: 'False pauses the subscription.' }),
  timeoutSeconds: Type.Integer({ minimum: 1, maximum: LIMITS.deliveryTimeoutSecondsMax }),
  retry: RetryRule,
  retryClientErrors: Type.Boolean({
    description: 'False: an answer of 4xx goes to the dead letters at once.',
  }),
  clearance: doc(Classification, "The highest classification sent unredacted; at most the creator's own."),
  ordered: Type.Boolean({ description: "True: one delivery at a time, in the order of the tenant's log." }),
};

const ofService = readOnly(
  'subscriptionId',
  'tenantId',
  'status',
  'circuit',
  'createdAt',
  'createdBy',
  'updatedAt',
);

const writtenSecret = secret(
  LIMITS.secretLengthMax,
  'Signs the deliveries. Made by the service when absent; kept when absent in a replacement.',
  {
    pattern: VISIBLE_ASCII_PATTERN,
    'x-expected': `1 to ${LIMITS.secretLengthMax} visible ASCII characters, without blanks`,
  },
);

export type SubscriptionConfiguration = Static<typeof SubscriptionConfiguration>;
export const SubscriptionConfiguration = strictObject(
  'SubscriptionConfiguration',
  'A subscription as it is sent.',
  {
    name: members.name,
    url: members.url,
    eventTypes: members.eventTypes,
    secret: optional(writtenSecret),
    filters: optional(byDefault(members.filters, {})),
    headers: optional(byDefault(members.headers, {})),
    active: optional(byDefault(members.active, true)),
    timeoutSeconds: optional(byDefault(members.timeoutSeconds, LIMITS.deliveryTimeoutSecondsDefault)),
    retry: optional(byDefault(members.retry, { strategy: 'Schedule' })),
    retryClientErrors: optional(byDefault(members.retryClientErrors, true)),
    ordered: optional(byDefault(members.ordered, false)),
    tls: optional(tls),
    clearance: optional(
      doc(
        members.clearance,
        "The highest classification sent unredacted; at most the creator's own, which it is when absent.",
      ),
    ),
    ...ofService,
  },
);

export const RetryPatch = strictObject('RetryPatch', 'A JSON merge patch of the rule of retries.', {
  strategy: optional(orNull(RetryStrategy)),
  initialDelay: optional(orNull(PositiveDuration)),
  maxDelay: optional(orNull(PositiveDuration)),
});

export const TlsPatch = strictObject('TlsPatch', 'A JSON merge patch of the certificates.', {
  ca: optional(orNull(certificates.ca)),
  certificate: optional(orNull(certificates.certificate)),
  key: optional(orNull(clientKey)),
});

export type SubscriptionPatch = Static<typeof SubscriptionPatch>;
export const SubscriptionPatch = strictObject(
  'SubscriptionPatch',
  'A JSON merge patch: absent members stay, null restores the default. The result must be a valid subscription.',
  {
    name: optional(orNull(members.name)),
    url: optional(orNull(members.url)),
    eventTypes: optional(orNull(members.eventTypes)),
    secret: optional(writtenSecret),
    filters: optional(orNull(members.filters)),
    headers: optional(orNull(mapOf(orNull(headerValue), headersAre))),
    active: optional(orNull(members.active)),
    timeoutSeconds: optional(orNull(members.timeoutSeconds)),
    retry: optional(orNull(RetryPatch)),
    retryClientErrors: optional(orNull(members.retryClientErrors)),
    ordered: optional(orNull(members.ordered)),
    tls: optional(orNull(TlsPatch)),
    clearance: optional(orNull(members.clearance)),
    ...ofService,
  },
);

export const SubscriptionStatus = choice('SubscriptionStatus', 'Only resuming ends `Failed`.', [
  'Active',
  'Paused',
  'Failed',
]);

export type Circuit = Static<typeof Circuit>;
export const Circuit = object('Circuit', 'The circuit breaker of a subscription.', {
  state: choice('CircuitState', 'Open: resting after failures. HalfOpen: one test delivery is out.', [
    'Closed',
    'Open',
    'HalfOpen',
  ]),
  consecutiveFailures: Count,
  openedAt: optional(Instant),
  nextAttemptAt: optional(Instant),
});

const shown = {
  subscriptionId: SubscriptionId,
  tenantId: TenantId,
  ...members,
  tls: optional(ShownSubscriptionTls),
  status: SubscriptionStatus,
  circuit: Circuit,
  createdAt: Instant,
  createdBy: CallerName,
  updatedAt: Instant,
};

export type Subscription = Static<typeof Subscription>;
export const Subscription = object(
  'Subscription',
  'A standing wish to be notified. Its secret is not shown.',
  shown,
);

const shownSecret = optional(
  guarded(
    Type.String({ format: 'password', description: 'Shown here and never again; absent in a repeat.' }),
  ),
);

export type NewSubscription = Static<typeof NewSubscription>;
export const NewSubscription = object('NewSubscription', 'A subscription with its secret.', {
  ...shown,
  secret: shownSecret,
});

export const SECRET_GRACE_DEFAULT = 'P1D';

export type SecretRotation = Static<typeof SecretRotation>;
export const SecretRotation = strictObject('SecretRotation', 'How the old secret ends.', {
  gracePeriod: optional(
    byDefault(doc(Duration, 'How long the old secret signs, too: `PT0S` to `P7D`.'), SECRET_GRACE_DEFAULT),
  ),
});

export type RotatedSecret = Static<typeof RotatedSecret>;
export const RotatedSecret = object('RotatedSecret', 'The new secret.', {
  subscriptionId: SubscriptionId,
  secret: shownSecret,
  previousSecretExpiresAt: Instant,
});

export const AttemptTimings = object(
  'AttemptTimings',
  'Milliseconds of each phase. Phases that were not needed, as on a connection that was kept open, are absent.',
  {
    dnsMs: optional(Milliseconds),
    connectMs: optional(Milliseconds),
    tlsMs: optional(Milliseconds),
    firstByteMs: optional(Milliseconds),
  },
);

export type DeliveryAttempt = Static<typeof DeliveryAttempt>;
export const DeliveryAttempt = object('DeliveryAttempt', 'One try.', {
  attemptNumber: Type.Integer({ minimum: 1, maximum: LIMITS.deliveryAttemptsMax }),
  at: Instant,
  responseStatus: optional(Type.Integer()),
  latencyMs: Milliseconds,
  error: optional(Type.String()),
  fault: optional(
    Type.String({ description: 'What failed: `Status`, `Dns`, `Connect`, `Tls`, `Timeout` and the like.' }),
  ),
  responseBody: optional(
    Type.String({
      maxLength: LIMITS.deliveryAnswerLengthMax,
      description:
        'How the answer begins, as one line of text with secrets masked. In a history only where what was delivered is `Internal` at most, and only for readers who see all of that.',
    }),
  ),
  requestHeaders: optional(
    mapOf(Type.String(), {
      description:
        'As they were sent, with credentials as `[REDACTED]`, and in a history signatures, too. Kept for the newest attempt only.',
    }),
  ),
  timings: optional(AttemptTimings),
});

export const DeliveryStatus = choice('DeliveryStatus', 'Where a delivery stands.', [
  'Queued',
  'RetryScheduled',
  'Acknowledged',
  'DeadLettered',
]);

export type Delivery = Static<typeof Delivery>;
export const Delivery = object('Delivery', 'One notification to one subscription, with its history.', {
  webhookId: WebhookId,
  subscriptionId: SubscriptionId,
  webhookType: WebhookType,
  status: DeliveryStatus,
  attemptNumber: doc(Count, 'Attempts made.'),
  nextAttemptAt: optional(Instant),
  attempts: arrayOf(DeliveryAttempt),
});

export type TestDelivery = Static<typeof TestDelivery>;
export const TestDelivery = object('TestDelivery', 'How the consumer answered one test notification.', {
  webhookId: WebhookId,
  delivered: Type.Boolean(),
  attempt: DeliveryAttempt,
});

export type RecoveryRequest = Static<typeof RecoveryRequest>;
export const RecoveryRequest = strictObject('RecoveryRequest', 'Send again what was not acknowledged.', {
  since: doc(Instant, 'For events received since then, inclusive.'),
});

export type Recovery = Static<typeof Recovery>;
export const Recovery = object('Recovery', 'A recovery under way; the operation shows its progress.', {
  operationId: OperationId,
  subscriptionId: SubscriptionId,
  since: Instant,
  queuedDeliveries: optional(Count),
});
