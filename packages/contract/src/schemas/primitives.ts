// The smallest shapes: identifiers, instants, durations, counts, and the words shared by several resources.
// Identifiers are flavored types: a plain string or number goes in freely, but an EventId is no StreamId.

import type { TUnsafe } from 'typebox';
import { ULID_PATTERN } from '../formats.ts';
import { LIMITS } from '../limits.ts';
import { ROLE_NAMES } from '../permissions.ts';
import { choice } from '../schema.ts';
import type { Flavor, JsonSchema } from '../schema.ts';
import { Type } from '../type.ts';

/** The name of a region, of a tenant and of an installation alike. */
export const REGION_PATTERN = '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$';
export const TENANT_ID_PATTERN = `^[A-Za-z0-9][A-Za-z0-9._-]{0,${LIMITS.tenantIdLengthMax - 1}}$`;
export const TENANT_ID_EXPECTED = `1 to ${LIMITS.tenantIdLengthMax} letters, digits, dots, underscores or hyphens, beginning with a letter or digit, like acme`;
export const VISIBLE_ASCII_PATTERN = '^[\\x21-\\x7E]+$';

function ulid<Name extends string>(name: Name): TUnsafe<Flavor<string, Name>> {
  const description = `${name.replace(/Id$/, '')} identifier (ULID).`;
  return Type.Unsafe<Flavor<string, Name>>({
    type: 'string',
    format: 'ulid',
    pattern: ULID_PATTERN,
    description,
  });
}

export const EventId = ulid('EventId');
export const BatchId = ulid('BatchId');
export const StreamId = ulid('StreamId');
export const PolicyId = ulid('PolicyId');
export const RuleId = ulid('RuleId');
export const ViolationId = ulid('ViolationId');
export const ThresholdId = ulid('ThresholdId');
export const HoldId = ulid('HoldId');
export const ErasureId = ulid('ErasureId');
export const ExportId = ulid('ExportId');
export const ExportDeliveryId = ulid('ExportDeliveryId');
export const ScheduleId = ulid('ScheduleId');
export const SubscriptionId = ulid('SubscriptionId');
export const MessageId = ulid('MessageId');
export const OperationId = ulid('OperationId');
export const KeyId = ulid('KeyId');

export type EventId = Flavor<string, 'EventId'>;
export type BatchId = Flavor<string, 'BatchId'>;
export type StreamId = Flavor<string, 'StreamId'>;
export type PolicyId = Flavor<string, 'PolicyId'>;
export type RuleId = Flavor<string, 'RuleId'>;
export type ViolationId = Flavor<string, 'ViolationId'>;
export type ThresholdId = Flavor<string, 'ThresholdId'>;
export type HoldId = Flavor<string, 'HoldId'>;
export type ErasureId = Flavor<string, 'ErasureId'>;
export type ExportId = Flavor<string, 'ExportId'>;
export type ExportDeliveryId = Flavor<string, 'ExportDeliveryId'>;
export type ScheduleId = Flavor<string, 'ScheduleId'>;
export type SubscriptionId = Flavor<string, 'SubscriptionId'>;
export type MessageId = Flavor<string, 'MessageId'>;
export type OperationId = Flavor<string, 'OperationId'>;
export type KeyId = Flavor<string, 'KeyId'>;

export type TenantId = Flavor<string, 'TenantId'>;
export const TenantId = Type.Unsafe<TenantId>({
  type: 'string',
  pattern: TENANT_ID_PATTERN,
  'x-expected': TENANT_ID_EXPECTED,
  description: 'The tenant.',
});

/**
 * A member that repeats the tenant of the call. Any text: another tenant is TENANT_MISMATCH, and only that, before
 * fields are validated.
 */
export const OwnTenantId = Type.Unsafe<TenantId>({
  type: 'string',
  description: 'Must be the tenant of the request.',
  'x-must-be-tenant': true,
} satisfies JsonSchema);

export type CorrelationId = Flavor<string, 'CorrelationId'>;
export const CorrelationId = Type.Unsafe<CorrelationId>({
  type: 'string',
  format: 'uuid',
  description: 'Ties events of one undertaking together (UUID).',
});

export type WebhookId = Flavor<string, 'WebhookId'>;
export const WebhookId = Type.Unsafe<WebhookId>({
  type: 'string',
  format: 'uuid',
  description: 'Identifies a delivery (UUID); the same over all its attempts.',
});

/** An instant in UTC, ISO 8601. */
export type Instant = Flavor<string, 'Instant'>;
export const Instant = Type.Unsafe<Instant>({ type: 'string', format: 'date-time' });

/** A length of time, ISO 8601: `P7Y`. */
export type Duration = Flavor<string, 'Duration'>;
export const Duration = Type.Unsafe<Duration>({ type: 'string', format: 'duration' });

/** A length of time that is not zero: some digit of it is not. */
export const PositiveDuration = Type.Unsafe<Duration>({
  type: 'string',
  format: 'duration',
  pattern: '[1-9]',
  'x-expected': 'an ISO 8601 duration longer than zero, like PT30S or P1D',
  description: 'Longer than zero.',
});

/** A length of time as health reports write it: `[d.]hh:mm:ss[.fffffff]`. */
export type TimeSpan = Flavor<string, 'TimeSpan'>;
export const TimeSpan = Type.Unsafe<TimeSpan>({
  type: 'string',
  pattern: '^(\\d+\\.)?([01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(\\.\\d{1,7})?$',
});

/** The place of an event in its tenant's log, from 1. */
export type Sequence = Flavor<number, 'Sequence'>;
export const Sequence = Type.Unsafe<Sequence>({ type: 'integer', minimum: 1 });

export const Count = Type.Integer({ minimum: 0 });
export const Milliseconds = Type.Number({ minimum: 0 });
export const Percent = Type.Number({ minimum: 0, maximum: 100 });

/** SHA-256, lowercase hex. */
export type Hash = Flavor<string, 'Hash'>;
export const Hash = Type.Unsafe<Hash>({ type: 'string', pattern: '^[0-9a-f]{64}$' });

/** Bytes in base64. */
export const Base64 = Type.String({ format: 'byte' });

/** From the lowest. */
export const CLASSIFICATIONS = ['Public', 'Internal', 'Confidential', 'Secret'] as const;
export type Classification = (typeof CLASSIFICATIONS)[number];
export const Classification = choice(
  'Classification',
  'How far an event may be seen, from the lowest.',
  CLASSIFICATIONS,
);

export const RoleName = choice('RoleName', 'A role of a caller.', ROLE_NAMES);

/** Text of 1 to so many characters. */
export const text = (lengthMax: number, description?: string) =>
  Type.String({ minLength: 1, maxLength: lengthMax, ...(description === undefined ? {} : { description }) });

export const name = Type.String({
  minLength: 1,
  maxLength: LIMITS.nameLengthMax,
  // Names are printed in tables and on terminals.
  pattern: '^[^\\x00-\\x1F\\x7F-\\x9F]*$',
  'x-expected': `text of 1 to ${LIMITS.nameLengthMax} characters, without control characters`,
  description: 'For people; without control characters.',
});
export const description = Type.String({ maxLength: LIMITS.descriptionLengthMax });
export const reason = text(LIMITS.descriptionLengthMax, 'Why; kept in the log.');

/** A text that is never shown again, neither in answers nor in error details. */
export const secret = (
  lengthMax: number,
  description: string,
  rules: { pattern?: string; 'x-expected'?: string } = {},
) =>
  Type.String({
    minLength: 1,
    maxLength: lengthMax,
    format: 'password',
    writeOnly: true,
    description,
    ...rules,
  });

/** Whom the service authenticated. */
export const CallerName = Type.String({
  description: '`key:<keyId>`, `token:<issuer>#<subject>`, or `system` for the service itself.',
});
