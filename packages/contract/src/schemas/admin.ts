// Running the service: background operations, dead letters, API keys, tenants, rate limits.

import type { Static } from 'typebox';
import { LIMITS } from '../limits.ts';
import { ROLE_NAMES, SCOPES } from '../permissions.ts';
import {
  arrayOf,
  byDefault,
  choice,
  doc,
  guarded,
  object,
  optional,
  orNull,
  readOnly,
  strictObject,
} from '../schema.ts';
import { Type } from '../type.ts';
import { JOB_MEMBERS, OperationStatus } from './job.ts';
import {
  CallerName,
  Classification,
  Count,
  Duration,
  ExportId,
  Instant,
  KeyId,
  MessageId,
  name,
  OwnTenantId,
  PositiveDuration,
  REGION_PATTERN,
  RoleName,
  SubscriptionId,
  TENANT_ID_EXPECTED,
  TENANT_ID_PATTERN,
  TenantId,
  text,
  WebhookId,
} from './primitives.ts';

export type RebuildRequest = Static<typeof RebuildRequest>;
export const RebuildRequest = strictObject('RebuildRequest', 'Which projections to rebuild from the log.', {
  projections: optional(
    doc(arrayOf(text(LIMITS.nameLengthMax), { maxItems: 100 }), 'All of them, when absent.'),
  ),
  tenantId: optional(OwnTenantId),
});

export type BackgroundOperation = Static<typeof BackgroundOperation>;
export const BackgroundOperation = object('BackgroundOperation', 'Work that goes on after the answer.', {
  kind: choice('BackgroundOperationKind', 'What is being done.', [
    'ProjectionRebuild',
    'Redaction',
    'Erasure',
    'Recovery',
  ]),
  ...JOB_MEMBERS,
  status: OperationStatus,
  queuedDeliveries: optional(doc(Count, 'Of a recovery: the deliveries that it has queued so far.')),
});

export const DeadLetterSource = choice('DeadLetterSource', 'What could not be done.', [
  'Webhook',
  'Projection',
  'Export',
]);
export const DeadLetterStatus = choice('DeadLetterStatus', 'Whether it rests.', ['Held', 'Reprocessing']);

export type DeadLetter = Static<typeof DeadLetter>;
export const DeadLetter = object('DeadLetter', 'A message that is out of attempts, held for review.', {
  messageId: MessageId,
  source: DeadLetterSource,
  tenantId: TenantId,
  subscriptionId: optional(SubscriptionId),
  webhookId: optional(WebhookId),
  exportId: optional(ExportId),
  reason: Type.String(),
  attempts: Count,
  firstFailedAt: Instant,
  lastFailedAt: Instant,
  expiresAt: Instant,
  status: DeadLetterStatus,
});

export type ReprocessRequest = Static<typeof ReprocessRequest>;
export const ReprocessRequest = strictObject('ReprocessRequest', 'Which dead letters; all, when empty.', {
  source: optional(DeadLetterSource),
  subscriptionId: optional(SubscriptionId),
  status: optional(doc(DeadLetterStatus, 'Those that are being tried again stay as they are.')),
});

export type Reprocessed = Static<typeof Reprocessed>;
export const Reprocessed = object('Reprocessed', 'What was queued again.', { count: Count });

export const ScopeName = choice('ScopeName', 'An OAuth scope.', SCOPES);

export const TenantOrAll = Type.String({
  pattern: `${TENANT_ID_PATTERN}|^\\*$`,
  'x-expected': `${TENANT_ID_EXPECTED}; or * for a platform key`,
  description: 'The tenant, or `*` for a platform key.',
});

const allowedNetworks = doc(
  arrayOf(Type.String({ format: 'network', maxLength: 50 }), {
    minItems: 1,
    maxItems: LIMITS.keyNetworksMax,
  }),
  'From where it may be used: addresses, and networks such as `10.0.0.0/8`. From anywhere, when absent.',
);

export type KeyRequest = Static<typeof KeyRequest>;
export const KeyRequest = strictObject(
  'KeyRequest',
  'An API key to make. Without roles and scopes it can do nothing.',
  {
    name,
    tenantId: optional(
      doc(TenantOrAll, 'The tenant of the request, when absent; others need a platform key.'),
    ),
    roles: optional(arrayOf(RoleName, { maxItems: ROLE_NAMES.length })),
    scopes: optional(arrayOf(ScopeName, { maxItems: SCOPES.length })),
    clearance: optional(
      doc(Classification, 'The highest classification seen unredacted; from the roles, when absent.'),
    ),
    expiresAt: optional(Instant),
    allowedNetworks: optional(allowedNetworks),
  },
);

const keyMembers = {
  keyId: KeyId,
  tenantId: TenantOrAll,
  name,
  roles: arrayOf(RoleName),
  scopes: arrayOf(ScopeName),
  clearance: optional(Classification),
  status: choice('KeyStatus', 'Whether it works.', ['Active', 'Expired', 'Revoked']),
  createdAt: Instant,
  createdBy: CallerName,
  expiresAt: optional(Instant),
  allowedNetworks: optional(allowedNetworks),
  rotatedFrom: optional(doc(KeyId, 'The key that it took the place of; absent if it replaced none.')),
  lastUsedAt: optional(
    doc(Instant, 'When it last authenticated a request, at most a minute behind; absent if it never has.'),
  ),
};

export type ApiKey = Static<typeof ApiKey>;
export const ApiKey = object('ApiKey', 'An API key, without its secret.', keyMembers);

export type IssuedKey = Static<typeof IssuedKey>;
export const IssuedKey = object(
  'IssuedKey',
  'An API key with its secret, which is shown here and never again.',
  {
    ...keyMembers,
    key: optional(
      guarded(
        Type.String({
          format: 'password',
          description: '`tsk_<keyId>_<secret>_<checksum>`; goes into `X-API-Key`. Absent in a repeat.',
        }),
      ),
    ),
  },
);

/** How long a rotated key works on, where nobody says. */
export const KEY_GRACE_DEFAULT = 'P1D';

export type KeyRotation = Static<typeof KeyRotation>;
export const KeyRotation = strictObject('KeyRotation', 'How the old key ends.', {
  gracePeriod: optional(
    byDefault(doc(Duration, 'So long the old key works beside the new one.'), KEY_GRACE_DEFAULT),
  ),
});

export const TenantTier = choice('TenantTier', 'Decides the request rate.', ['Standard', 'Premium']);
export const TenantStatus = choice('TenantStatus', 'Only an active tenant is served.', [
  'Active',
  'Suspended',
  'Closed',
]);

const region = Type.String({
  pattern: REGION_PATTERN,
  'x-expected': '1 to 64 letters, digits, `.`, `_` and `-`, a letter or digit first',
});
const defaultClassification = doc(Classification, 'When no policy decides.');
const defaultRetention = doc(PositiveDuration, 'When no policy decides; longer than zero.');
const fourEyes = doc(Type.Boolean(), 'Whether what removes content is confirmed by a second caller.');

export type TenantRequest = Static<typeof TenantRequest>;
export const TenantRequest = strictObject('TenantRequest', 'A tenant to make.', {
  tenantId: TenantId,
  tier: optional(byDefault(TenantTier, 'Standard')),
  region: optional(doc(region, 'The region it is pinned to; everywhere, when absent.')),
  status: optional(byDefault(TenantStatus, 'Active')),
  defaultClassification: optional(byDefault(defaultClassification, 'Internal')),
  defaultRetention: optional(byDefault(defaultRetention, 'P7Y')),
  fourEyes: optional(byDefault(fourEyes, false)),
});

export type TenantSettings = Static<typeof TenantSettings>;
export const TenantSettings = strictObject(
  'TenantSettings',
  'The settings of a tenant to change; what is absent stays as it is.',
  {
    tier: optional(TenantTier),
    region: optional(orNull(region, 'The region it is pinned to; null is everywhere.')),
    status: optional(TenantStatus),
    defaultClassification: optional(defaultClassification),
    defaultRetention: optional(defaultRetention),
    fourEyes: optional(fourEyes),
    ...readOnly('tenantId', 'version', 'createdAt', 'updatedAt'),
  },
);

export type Tenant = Static<typeof Tenant>;
export const Tenant = object('Tenant', 'The owner of a set of data.', {
  tenantId: TenantId,
  tier: TenantTier,
  region: optional(Type.String()),
  status: TenantStatus,
  defaultClassification: Classification,
  defaultRetention: Duration,
  fourEyes: Type.Boolean(),
  version: doc(
    Count,
    'Rises with every change, from 0 for the usual settings; the ETag is this number in quotes.',
  ),
  createdAt: Instant,
  updatedAt: Instant,
});

export type Replenishment = Static<typeof Replenishment>;
export const Replenishment = object('Replenishment', 'Permits were given back.', {
  replenishedAt: Instant,
  limiters: arrayOf(Type.String()),
});
