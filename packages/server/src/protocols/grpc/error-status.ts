// How a code of the catalogue is said over gRPC, and over Connect, which has the same codes as words and as HTTP statuses.

import type { ErrorCode } from '@tallystick/contract';

export interface GrpcStatus {
  readonly number: number;
  readonly word: string;
  readonly httpStatus: number;
}

const STATUSES = {
  InvalidArgument: { number: 3, word: 'invalid_argument', httpStatus: 400 },
  DeadlineExceeded: { number: 4, word: 'deadline_exceeded', httpStatus: 504 },
  NotFound: { number: 5, word: 'not_found', httpStatus: 404 },
  AlreadyExists: { number: 6, word: 'already_exists', httpStatus: 409 },
  PermissionDenied: { number: 7, word: 'permission_denied', httpStatus: 403 },
  ResourceExhausted: { number: 8, word: 'resource_exhausted', httpStatus: 429 },
  FailedPrecondition: { number: 9, word: 'failed_precondition', httpStatus: 400 },
  Aborted: { number: 10, word: 'aborted', httpStatus: 409 },
  Unimplemented: { number: 12, word: 'unimplemented', httpStatus: 501 },
  Internal: { number: 13, word: 'internal', httpStatus: 500 },
  Unavailable: { number: 14, word: 'unavailable', httpStatus: 503 },
  Unauthenticated: { number: 16, word: 'unauthenticated', httpStatus: 401 },
} as const satisfies Record<string, GrpcStatus>;

/** Of what has no code in the catalogue. */
export const NOT_FOUND: GrpcStatus = STATUSES.NotFound;

export type GrpcStatusName = keyof typeof STATUSES;

export const GRPC_STATUS_OF_ERROR = {
  MALFORMED_JSON: 'InvalidArgument',
  MALFORMED_XML: 'InvalidArgument',
  MISSING_TENANT: 'InvalidArgument',
  INVALID_HEADER: 'InvalidArgument',
  INVALID_PARAMETER: 'InvalidArgument',
  INVALID_SORT: 'InvalidArgument',
  CURSOR_INVALID: 'InvalidArgument',
  CURSOR_EXPIRED: 'InvalidArgument',
  CURSOR_MISMATCH: 'InvalidArgument',
  BATCH_SIZE_INVALID: 'InvalidArgument',
  REQUEST_TOO_LARGE: 'ResourceExhausted',
  UNSUPPORTED_MEDIA_TYPE: 'Unimplemented',
  UNSUPPORTED_API_VERSION: 'Unimplemented',
  UNAUTHENTICATED: 'Unauthenticated',
  TOKEN_EXPIRED: 'Unauthenticated',
  API_KEY_REVOKED: 'Unauthenticated',
  FORBIDDEN: 'PermissionDenied',
  INSUFFICIENT_SCOPE: 'PermissionDenied',
  TENANT_MISMATCH: 'PermissionDenied',
  TENANT_SUSPENDED: 'PermissionDenied',
  RESIDENCY_VIOLATION: 'PermissionDenied',
  API_VERSION_SUNSET: 'FailedPrecondition',
  SIGNED_URL_EXPIRED: 'PermissionDenied',
  SIGNED_URL_INVALID: 'PermissionDenied',
  ROUTE_NOT_FOUND: 'Unimplemented',
  EVENT_NOT_FOUND: 'NotFound',
  STREAM_NOT_FOUND: 'NotFound',
  POLICY_NOT_FOUND: 'NotFound',
  RULE_NOT_FOUND: 'NotFound',
  EXPORT_NOT_FOUND: 'NotFound',
  SCHEDULE_NOT_FOUND: 'NotFound',
  SUBSCRIPTION_NOT_FOUND: 'NotFound',
  DELIVERY_NOT_FOUND: 'NotFound',
  MESSAGE_NOT_FOUND: 'NotFound',
  OPERATION_NOT_FOUND: 'NotFound',
  KEY_NOT_FOUND: 'NotFound',
  TENANT_NOT_FOUND: 'NotFound',
  HOLD_NOT_FOUND: 'NotFound',
  VIOLATION_NOT_FOUND: 'NotFound',
  TILE_NOT_FOUND: 'NotFound',
  API_VERSION_RETIRED: 'Unimplemented',
  IDEMPOTENCY_KEY_REUSED: 'AlreadyExists',
  EVENT_ID_CONFLICT: 'AlreadyExists',
  VERSION_CONFLICT: 'Aborted',
  POLICY_IN_USE: 'FailedPrecondition',
  DUPLICATE_NAME: 'AlreadyExists',
  EXPORT_NOT_READY: 'FailedPrecondition',
  EXPORT_NOT_RETRIABLE: 'FailedPrecondition',
  REBUILD_IN_PROGRESS: 'FailedPrecondition',
  STREAM_SEALED: 'FailedPrecondition',
  LEGAL_HOLD_ACTIVE: 'FailedPrecondition',
  VALIDATION_FAILED: 'InvalidArgument',
  PAYLOAD_TOO_LARGE: 'InvalidArgument',
  BATCH_REJECTED: 'FailedPrecondition',
  INVALID_WEBHOOK_URL: 'InvalidArgument',
  INVALID_DESTINATION: 'InvalidArgument',
  RATE_LIMITED: 'ResourceExhausted',
  EXPORT_QUEUE_FULL: 'ResourceExhausted',
  INTERNAL_ERROR: 'Internal',
  SERVICE_UNAVAILABLE: 'Unavailable',
  BATCH_TIMEOUT: 'DeadlineExceeded',
  SEARCH_TIMEOUT: 'DeadlineExceeded',
  UPSTREAM_TIMEOUT: 'DeadlineExceeded',
} as const satisfies Partial<Record<ErrorCode, GrpcStatusName>>;

const byCode: Readonly<Partial<Record<ErrorCode, GrpcStatusName>>> = GRPC_STATUS_OF_ERROR;

/** `isLate`: the sender's own time was over first. */
export function grpcStatusOf(code: ErrorCode, isLate = false): GrpcStatus {
  return STATUSES[isLate ? 'DeadlineExceeded' : (byCode[code] ?? 'InvalidArgument')];
}
