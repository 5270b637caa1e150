// What can be asked of Tallystick: operations, schemas, error codes, limits, permissions. No I/O.

export * from './answer.ts';
export * from './errors.ts';
export { EXAMPLES } from './examples.ts';
export * from './formats.ts';
export * from './headers.ts';
export * from './limits.ts';
export { pascalName, PROTOCOLS } from './operation.ts';
export type { Operation, Output, Protocol, RestBinding, TenantSource } from './operation.ts';
export * from './openapi.ts';
export * from './operations.ts';
export * from './permissions.ts';
export * from './rest-status.ts';
export * from './schema-walk.ts';
export { ANNOTATIONS, asJson, VERSIONS } from './schema.ts';
export type { Flavor, JsonSchema, Keyword, Version } from './schema.ts';
export * from './schemas/admin.ts';
export * from './schemas/batch.ts';
export * from './schemas/condition.ts';
export * from './schemas/error.ts';
export * from './schemas/event.ts';
export * from './schemas/export.ts';
export * from './schemas/export-schedule.ts';
export * from './schemas/health.ts';
export * from './schemas/hold.ts';
export * from './schemas/job.ts';
export * from './schemas/list.ts';
export * from './schemas/notification.ts';
export * from './schemas/policy.ts';
export {
  Base64,
  BatchId,
  CallerName,
  Classification,
  CLASSIFICATIONS,
  CorrelationId,
  Duration,
  ErasureId,
  EventId,
  ExportDeliveryId,
  ExportId,
  Hash,
  HoldId,
  Instant,
  KeyId,
  MessageId,
  OperationId,
  PolicyId,
  RoleName,
  RuleId,
  ScheduleId,
  Sequence,
  StreamId,
  SubscriptionId,
  TENANT_ID_EXPECTED,
  REGION_PATTERN,
  TENANT_ID_PATTERN,
  TenantId,
  ThresholdId,
  TimeSpan,
  ViolationId,
  WebhookId,
} from './schemas/primitives.ts';
export * from './schemas/search.ts';
export * from './schemas/stream.ts';
export * from './schemas/webhook.ts';
export { withoutIgnored } from './without-ignored.ts';
