// From an answer or an error to a status, headers and bytes. The statuses come from the contract's two tables and
// from nowhere else.

import { STATUS_CODES, validateHeaderValue } from 'node:http';
import {
  type AuditError,
  type ErrorCode,
  type Operation,
  type OperationName,
  placeholders,
  REST_STATUS_OF_ANSWER,
  REST_STATUS_OF_ERROR,
  type Version,
} from '@tallystick/contract';
import { errorBody, type ErrorPlace } from '../../gateway/error-body.ts';
import type { AnyAnswer } from '../../operations.ts';

export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Undefined: no body. */
  readonly body: string | undefined;
}

const JSON_TYPE = 'application/json; charset=utf-8';

/** How long a caller should wait when we cannot say better. */
const RETRY_AFTER_SECONDS = '1';
const WORTH_RETRYING: readonly ErrorCode[] = ['SERVICE_UNAVAILABLE', 'RATE_LIMITED', 'EXPORT_QUEUE_FULL'];

export function replyTo(
  answer: AnyAnswer,
  operation: Operation<OperationName>,
  version: Version,
  input: object,
): Reply {
  const headers = answerHeaders(answer, operation, version, input);
  const status = REST_STATUS_OF_ANSWER[answer.kind];
  if (answer.body === undefined || status === 204 || status === 304)
    return { status, headers, body: undefined };
  return { status, headers: { ...headers, 'Content-Type': JSON_TYPE }, body: JSON.stringify(answer.body) };
}

export function replyToError(error: AuditError, place: ErrorPlace, nowMs: number): Reply {
  const status = REST_STATUS_OF_ERROR[error.code];
  return {
    status,
    headers: {
      'Content-Type': JSON_TYPE,
      ...(status === 401 ? { 'WWW-Authenticate': 'Bearer' } : {}),
      ...(WORTH_RETRYING.includes(error.code) ? { 'Retry-After': RETRY_AFTER_SECONDS } : {}),
    },
    body: JSON.stringify(errorBody(error, place, nowMs)),
  };
}

/** The binding's templates, filled from the body, the facts of the answer or the input; no value, no header. */
function answerHeaders(
  answer: AnyAnswer,
  { rest }: Operation<OperationName>,
  version: Version,
  input: object,
): Readonly<Record<string, string>> {
  if (rest.answerHeaders === undefined) return {};
  const known = { ...input, ...answer.facts, ...(typeof answer.body === 'object' ? answer.body : {}) };
  const values = new Map<string, unknown>(Object.entries(known));
  const headers: Record<string, string> = {};
  for (const [name, template] of Object.entries(rest.answerHeaders)) {
    if (placeholders(template).some((key) => values.get(key) === undefined)) continue;
    const value = template.replace(/\{(\w+)\}/g, (_, key: string) => String(values.get(key)));
    headers[name] = name === 'Location' && !rest.atRoot ? `/api/${version}${value}` : value;
    // A value that cannot be sent is our failure, to be answered as one, not the router's.
    validateHeaderValue(name, headers[name]);
  }
  return headers;
}

/** A whole answer as bytes on the wire, for a connection without a request to answer. It is the last one there. */
export function rawReply(reply: Reply, standing: Readonly<Record<string, string>>, nowMs: number): string {
  const headers = {
    ...standing,
    ...reply.headers,
    'Content-Length': String(Buffer.byteLength(reply.body ?? '')),
    Date: new Date(nowMs).toUTCString(),
    Connection: 'close',
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${reply.status} ${STATUS_CODES[reply.status]}\r\n${lines.join('')}\r\n${reply.body ?? ''}`;
}
