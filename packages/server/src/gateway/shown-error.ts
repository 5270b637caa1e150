// An error as its caller may see it, in any protocol (spec 7.1), and the rule that what is not in the catalogue is ours:
// it is written to the diagnostics with its stack and shown as INTERNAL_ERROR, without a word about the cause.

import { AuditError, cutText, type ErrorBody, type ErrorDetail, LIMITS } from '@tallystick/contract';
import type { Correlation } from '../call.ts';
import { instant } from '../runtime/clock.ts';
import type { Telemetry } from '../telemetry.ts';

export interface ErrorPlace {
  readonly correlation: Correlation;
  /** The address of the request, as its protocol has it; in REST without the query string. */
  readonly path: string;
}

/** No route is as long; a longer path would only be echoed to its sender. */
const PATH_LENGTH_MAX = 2000;

export function shownError(error: AuditError, place: ErrorPlace, nowMs: number): ErrorBody['error'] {
  return {
    code: error.code,
    message: error.message,
    details: error.details.slice(0, LIMITS.errorDetailsMax).map(detail),
    traceId: place.correlation.traceId,
    timestamp: instant(nowMs),
    path: cutPath(place.path),
    requestId: place.correlation.requestId,
  };
}

/** The error as the caller may see it. */
export function asAuditError(error: unknown, place: ErrorPlace, telemetry: Telemetry): AuditError {
  if (error instanceof AuditError && error.code !== 'INTERNAL_ERROR') return error;
  const { path, correlation } = place;
  const { traceId, requestId, correlationId } = correlation;
  telemetry.error('a request failed unexpectedly', error, { path, traceId, requestId, correlationId });
  return new AuditError('INTERNAL_ERROR', 'The service failed unexpectedly; report the traceId.');
}

function cutPath(path: string): string {
  return path.length <= PATH_LENGTH_MAX ? path : `${path.slice(0, PATH_LENGTH_MAX - 1)}…`;
}

function detail({ field, issue, value }: ErrorDetail): ErrorDetail {
  return value === undefined
    ? { field: cutText(field), issue }
    : { field: cutText(field), issue, value: cutValue(value) };
}

/** Long values are cut; a value that is not text is cut as its JSON text. */
export function cutValue(value: unknown): unknown {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? String(value));
  return text.length <= LIMITS.errorValueLengthMax ? value : cutText(text);
}
