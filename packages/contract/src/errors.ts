// The one catalogue of errors: every code that the service may answer, in any protocol, with what it means for
// the caller, who must act, and whether the same request can succeed later. How a protocol shows a code is that
// protocol's table (REST: rest-status.ts). An error outside the catalogue is ours and is shown as INTERNAL_ERROR.

import { LIMITS } from './limits.ts';
import type { ErrorDetail } from './schemas/error.ts';
import { keysOf } from './typed-object.ts';

/** Caller: change the request. Operator: the operator of the service or the administrator of the tenant. Nobody: it passes. */
export type MustAct = 'Caller' | 'Operator' | 'Nobody';

export interface ErrorFacts {
  readonly meaning: string;
  readonly mustAct: MustAct;
  /** Whether the very same request may succeed when it is sent again. */
  readonly repeatHelps: boolean;
  /** The request could not be understood. */
  readonly isUnread?: true;
}

const caller = (meaning: string): ErrorFacts => ({ meaning, mustAct: 'Caller', repeatHelps: false });
const unread = (meaning: string): ErrorFacts => ({ ...caller(meaning), isUnread: true });
const operator = (meaning: string): ErrorFacts => ({ meaning, mustAct: 'Operator', repeatHelps: false });
const passing = (meaning: string): ErrorFacts => ({ meaning, mustAct: 'Nobody', repeatHelps: true });

export const ERRORS = {
  // The request could not be understood.
  MALFORMED_JSON: unread(
    'The body is missing, late, broken off or badly compressed, or it is not JSON in UTF-8; the message says which, and where.',
  ),
  MALFORMED_XML: unread(
    'The message is missing, late, broken off or badly compressed, or it is no sound envelope of SOAP in UTF-8; the message says which, and where.',
  ),
  MISSING_TENANT: unread('No tenant is named: send `X-Tenant-Id`, or a token that carries one.'),
  INVALID_HEADER: unread('A request header is malformed, too long or sent twice.'),
  INVALID_PARAMETER: unread('A query parameter is unknown, malformed or out of range.'),
  INVALID_SORT: unread('The sort order names a field that this list cannot be sorted by.'),
  CURSOR_INVALID: unread('The cursor was not issued by this service, or it was altered.'),
  CURSOR_EXPIRED: unread('The cursor has outlived its time; begin again at the first page.'),
  CURSOR_MISMATCH: unread('The cursor was issued for another tenant, filter or sort order.'),
  BATCH_SIZE_INVALID: unread(`A batch holds ${LIMITS.batchEventsMin} to ${LIMITS.batchEventsMax} events.`),
  REQUEST_TOO_LARGE: unread('The body, once decoded, is over the limit of this operation.'),
  UNSUPPORTED_MEDIA_TYPE: unread(
    'The body must be JSON, and over SOAP `text/xml` or `application/soap+xml`, plain or compressed with gzip or br.',
  ),
  UNSUPPORTED_API_VERSION: unread(
    'The version asked for does not exist, or two places in the request disagree.',
  ),

  // The caller is not known.
  UNAUTHENTICATED: caller('There is no valid credential, or two that do not agree.'),
  TOKEN_EXPIRED: caller('The bearer token is past its expiry; get a new one.'),
  API_KEY_REVOKED: operator('The API key was revoked, or its expiry has passed.'),

  // The caller is known and may not.
  FORBIDDEN: operator("The caller's roles do not allow this operation."),
  INSUFFICIENT_SCOPE: operator("The credential lacks the operation's scope or permission."),
  TENANT_MISMATCH: caller('The tenant named here is not the tenant of the credential or of the request.'),
  TENANT_SUSPENDED: operator('The tenant is suspended or closed.'),
  RESIDENCY_VIOLATION: operator(
    'The tenant may not live in this region, or may not send data to that place.',
  ),
  API_VERSION_SUNSET: caller('This version only reads now; write through a newer one.'),
  SIGNED_URL_EXPIRED: caller('The download link is past its expiry; get the export again for a fresh one.'),
  SIGNED_URL_INVALID: caller('The download link was altered.'),

  // The thing named is not there, or not for this caller.
  ROUTE_NOT_FOUND: caller('There is no such path, or not with this method.'),
  EVENT_NOT_FOUND: caller('No such event is visible to the caller.'),
  STREAM_NOT_FOUND: caller('The tenant has no such stream.'),
  POLICY_NOT_FOUND: caller('The tenant has no such policy, or it is deleted.'),
  RULE_NOT_FOUND: caller('The policy has no such rule.'),
  EXPORT_NOT_FOUND: caller('The tenant has no such export, or it was cancelled or deleted.'),
  SCHEDULE_NOT_FOUND: caller('The tenant has no such schedule of exports, or it was deleted.'),
  SUBSCRIPTION_NOT_FOUND: caller('The tenant has no such subscription.'),
  DELIVERY_NOT_FOUND: caller('The subscription has no such delivery.'),
  MESSAGE_NOT_FOUND: caller('There is no such dead letter, it was reprocessed, or its time is over.'),
  OPERATION_NOT_FOUND: caller('There is no such background operation.'),
  KEY_NOT_FOUND: caller('The tenant has no such API key.'),
  TENANT_NOT_FOUND: caller('There is no such tenant.'),
  HOLD_NOT_FOUND: caller('The tenant has no such legal hold.'),
  VIOLATION_NOT_FOUND: caller('The tenant has no such violation.'),
  TILE_NOT_FOUND: caller('The log has no such tile, or not yet at that width.'),
  API_VERSION_RETIRED: caller('This version has been removed; use a newer one.'),

  // The request is sound but does not fit the present state.
  IDEMPOTENCY_KEY_REUSED: caller(
    `This Idempotency-Key was used in the last ${LIMITS.idempotencyWindowMs / 3_600_000} hours for a request with another body or path, or by another caller for something that you may not read; send this one with a new key.`,
  ),
  EVENT_ID_CONFLICT: caller(
    'This id belongs to an event with other content, with content that is expired, or with content that another caller sent and you may not read.',
  ),
  VERSION_CONFLICT: caller('`If-Match` is stale: read the record again and repeat the change on it.'),
  POLICY_IN_USE: caller(
    'An active policy that decided about stored events, or holds them, cannot be deleted; deactivate it first.',
  ),
  DUPLICATE_NAME: caller('The name is taken by another one of its kind.'),
  EXPORT_NOT_READY: {
    meaning:
      'There is no file: the export is still running, has failed, or its file is expired, or was removed since it may hold what was redacted or erased.',
    mustAct: 'Caller',
    repeatHelps: true,
  },
  EXPORT_NOT_RETRIABLE: caller('Only a failed export that is marked retriable can be retried.'),
  REBUILD_IN_PROGRESS: passing('A rebuild is already running; one runs at a time.'),
  STREAM_SEALED: caller('The stream is already sealed.'),
  LEGAL_HOLD_ACTIVE: operator(
    'A legal hold covers the event, or may do so by content that the caller does not see: nothing of it may be redacted or erased.',
  ),

  // The request was understood and breaks a rule.
  VALIDATION_FAILED: caller('One or more fields break a rule; `details` lists every one of them.'),
  PAYLOAD_TOO_LARGE: caller(
    `\`payload\` or \`context\` is over ${LIMITS.payloadBytesMax} bytes of compact JSON.`,
  ),
  BATCH_REJECTED: caller('No event of the batch was stored; `results` says why, event by event.'),
  INVALID_WEBHOOK_URL: caller('The URL must be https and lead to a public address.'),
  INVALID_DESTINATION: caller('The destination is malformed or not allowed.'),

  // Too much, or out of order.
  RATE_LIMITED: passing('Too many requests; `Retry-After` says when there is room again.'),
  EXPORT_QUEUE_FULL: passing('The tenant has as many exports waiting as it may have.'),
  INTERNAL_ERROR: {
    meaning: 'The service failed unexpectedly; report the `traceId`.',
    mustAct: 'Operator',
    repeatHelps: true,
  },
  SERVICE_UNAVAILABLE: {
    meaning:
      'The service cannot do this now. The request may have been stored or not: repeat it with the same key or ids, after `Retry-After`.',
    mustAct: 'Operator',
    repeatHelps: true,
  },
  BATCH_TIMEOUT: passing('The batch took too long; it is safe to send again with the same key or event ids.'),
  SEARCH_TIMEOUT: {
    meaning: 'The search took too long and was stopped; narrow it.',
    mustAct: 'Caller',
    repeatHelps: false,
  },
  UPSTREAM_TIMEOUT: passing('Something the service depends on did not answer in time.'),
} as const satisfies Record<string, ErrorFacts>;

export type ErrorCode = keyof typeof ERRORS;

export const ERROR_CODES = keysOf(ERRORS);

export function isUnderstood(code: ErrorCode): boolean {
  const facts: ErrorFacts = ERRORS[code];
  return facts.isUnread !== true;
}

/** The one error that operations throw. The message is for the caller: it names thing, value and limit. */
export class AuditError extends Error {
  override readonly name = 'AuditError';
  readonly code: ErrorCode;
  readonly details: readonly ErrorDetail[];
  /** When it is worth asking again, where that is known; whole seconds from 1. */
  readonly retryAfterSeconds: number | undefined;

  constructor(
    code: ErrorCode,
    message: string,
    facts: { details?: readonly ErrorDetail[]; cause?: unknown; retryAfterSeconds?: number } = {},
  ) {
    super(message, facts.cause === undefined ? undefined : { cause: facts.cause });
    const { retryAfterSeconds } = facts;
    if (retryAfterSeconds !== undefined && !(Number.isInteger(retryAfterSeconds) && retryAfterSeconds >= 1))
      throw new RangeError(`retryAfterSeconds is ${retryAfterSeconds}; it is a whole number from 1`);
    this.code = code;
    this.details = facts.details ?? [];
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** A text of the caller's as an error shows it to them: cut where it is long, never in the middle of a character. */
export function cutText(text: string): string {
  const end = LIMITS.errorValueLengthMax;
  if (text.length <= end) return text;
  // Half of a surrogate pair is no character.
  return text.slice(0, /[\ud800-\udbff]/.test(text[end - 1]!) ? end - 1 : end);
}

/** Errors of one protocol alone; no operation names them. */
export const PROTOCOL_ERRORS = ['MALFORMED_XML'] as const satisfies readonly ErrorCode[];

/** Errors before an operation is found. */
export const ROUTING_ERRORS = [
  'ROUTE_NOT_FOUND',
  'UNSUPPORTED_API_VERSION',
  'API_VERSION_RETIRED',
] as const satisfies readonly ErrorCode[];

/** Errors that every operation may answer. `errorsOf` adds those that follow from its form. */
export const COMMON_ERRORS = [
  'INVALID_HEADER',
  'INVALID_PARAMETER',
  'INTERNAL_ERROR',
  'SERVICE_UNAVAILABLE',
] as const satisfies readonly ErrorCode[];

/** Further errors of operations that need a credential; probes need none and are not limited. */
export const CREDENTIAL_ERRORS = [
  'UNAUTHENTICATED',
  'TOKEN_EXPIRED',
  'API_KEY_REVOKED',
  'FORBIDDEN',
  'INSUFFICIENT_SCOPE',
  'RATE_LIMITED',
  'UPSTREAM_TIMEOUT',
] as const satisfies readonly ErrorCode[];

/** Further errors of operations that need a tenant. */
export const TENANT_ERRORS = [
  'MISSING_TENANT',
  'TENANT_MISMATCH',
  'TENANT_SUSPENDED',
  'RESIDENCY_VIOLATION',
] as const satisfies readonly ErrorCode[];

/** Further errors of operations with a body. */
export const BODY_ERRORS = [
  'MALFORMED_JSON',
  'REQUEST_TOO_LARGE',
  'UNSUPPORTED_MEDIA_TYPE',
  'VALIDATION_FAILED',
] as const satisfies readonly ErrorCode[];

/** Further errors of operations with a cursor. */
export const CURSOR_ERRORS = [
  'CURSOR_INVALID',
  'CURSOR_EXPIRED',
  'CURSOR_MISMATCH',
] as const satisfies readonly ErrorCode[];
