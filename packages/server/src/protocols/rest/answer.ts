// From an answer or an error to a status, headers and bytes. The statuses come from the contract's two tables and
// from nowhere else.

import { STATUS_CODES } from 'node:http';
import {
  type AuditError,
  type ErrorCode,
  REST_STATUS_OF_ANSWER,
  REST_STATUS_OF_ERROR,
  type Version,
} from '@tallystick/contract';
import { errorBody, type ErrorPlace } from '../../gateway/error-body.ts';
import type { AnyAnswer } from '../../operations.ts';
import { fillHeaders } from './answer-headers.ts';
import { type Coding, codingFor } from './coding.ts';
import { entityTagOf, namesTag } from './conditional.ts';
import type { Reading } from './input.ts';

export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Undefined: no body. */
  readonly body: string | undefined;
  /** How the body is to be compressed, which the headers say already. */
  readonly coding: Coding | undefined;
}

/** What a request says about the form of its answer. */
export interface Wishes {
  readonly ifNoneMatch: string | undefined;
  readonly acceptEncoding: string | undefined;
}

const JSON_TYPE = 'application/json; charset=utf-8';

/** How long a caller should wait when we cannot say better. */
const RETRY_AFTER_SECONDS = '1';
const WORTH_RETRYING: readonly ErrorCode[] = ['SERVICE_UNAVAILABLE', 'RATE_LIMITED', 'EXPORT_QUEUE_FULL'];

export function replyTo(
  answer: AnyAnswer,
  { operation, answerHeaders }: Reading,
  version: Version,
  input: object,
  { ifNoneMatch, acceptEncoding }: Wishes,
): Reply {
  const status = REST_STATUS_OF_ANSWER[answer.kind];
  const hasBody = answer.body !== undefined && status !== 204 && status !== 304;
  const body = hasBody ? JSON.stringify(answer.body) : undefined;
  const isTagged = operation.rest.answerHeaders?.ETag !== undefined;
  // A tag that the operation chose names a version, not bytes: it stays true only while these are sent as they are.
  const isOwnTag = answer.facts?.etag !== undefined;
  const coding = body === undefined || isOwnTag ? undefined : codingFor(acceptEncoding, body.length);
  const etag = answer.facts?.etag ?? (isTagged && body !== undefined ? entityTagOf(body, coding) : undefined);
  const facts = etag === undefined ? answer.facts : { ...answer.facts, etag };
  const headers = fillHeaders(answerHeaders, version, answer.body, facts, input);
  const isRead = operation.effect === 'Read' && answer.kind === 'Done';
  if (isRead && etag !== undefined && namesTag(ifNoneMatch, etag)) {
    return { status: REST_STATUS_OF_ANSWER.Unchanged, headers, body: undefined, coding: undefined };
  }
  if (hasBody) headers['Content-Type'] = JSON_TYPE;
  if (coding !== undefined) headers['Content-Encoding'] = coding;
  return { status, headers, body, coding };
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
    coding: undefined,
  };
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
