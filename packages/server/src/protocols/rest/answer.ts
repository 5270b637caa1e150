// Turns an answer or an error into a status, headers and bytes. All statuses come from the contract's two tables.

import {
  type AuditError,
  REST_STATUS_OF_ANSWER,
  REST_STATUS_OF_ERROR,
  type Version,
} from '@tallystick/contract';
import { type ErrorPlace, shownError } from '../../gateway/shown-error.ts';
import type { AnyAnswer } from '../../operations.ts';
import { ByteStream } from '../http/byte-stream.ts';
import { type Coding, codingFor } from '../http/coding.ts';
import { entityTagOf, namesTag } from '../http/conditional.ts';
import { errorHeaders } from '../http/error-headers.ts';
import type { ErrorReply, Reply } from '../http/mount.ts';
import { fillHeaders } from './answer-headers.ts';
import type { InputBinding } from './input.ts';
import { type FormPreferences, JSON_TYPE, render } from './rendering.ts';

/** The preferences of a request for the form of its answer. */
export interface AnswerPreferences extends FormPreferences {
  readonly ifNoneMatch: string | undefined;
  readonly acceptEncoding: string | undefined;
}

export function replyTo(
  answer: AnyAnswer,
  { operation, answerHeaders, isGuarded }: InputBinding,
  version: Version,
  input: object,
  preferences: AnswerPreferences,
): Reply {
  const status = REST_STATUS_OF_ANSWER[answer.kind];
  const hasBody = answer.body !== undefined && status !== 204 && status !== 304;
  const form = hasBody ? render(answer, operation, preferences) : undefined;
  const body = form?.body;
  const template = operation.rest.answerHeaders?.ETag;
  const isTagged = template === '{etag}';
  // A tag that the operation chose names a version, not bytes: it stays true only while these are sent as they are.
  const isOwnTag = answer.facts?.etag !== undefined || (template !== undefined && !isTagged);
  // What is compressed tells by its length how much one part of it is like another: docs/decisions/0028.
  const isSentAsIs = isOwnTag || isGuarded || answer.isGuarded === true;
  const coding =
    typeof body !== 'string' || isSentAsIs ? undefined : codingFor(preferences.acceptEncoding, body.length);
  const etag = answer.facts?.etag ?? (isTagged ? tagOf(answer, body, coding) : undefined);
  const facts = etag === undefined ? answer.facts : { ...answer.facts, etag };
  const headers = fillHeaders(answerHeaders, version, answer.body, facts, input);
  if (form?.headers !== undefined) Object.assign(headers, form.headers);
  const isRead = operation.effect === 'Read' && answer.kind === 'Done';
  const sentTag = headers['ETag'];
  if (isRead && sentTag !== undefined && namesTag(preferences.ifNoneMatch, sentTag)) {
    return { status: REST_STATUS_OF_ANSWER.Unchanged, headers, body: undefined, coding: undefined };
  }
  if (form !== undefined) headers['Content-Type'] = form.contentType;
  if (coding !== undefined) headers['Content-Encoding'] = coding;
  return { status, headers, body, coding };
}

/** Undefined where the bytes are not all there to be hashed: then only the operation can know a tag. */
function tagOf(answer: AnyAnswer, body: Reply['body'], coding: Coding | undefined): string | undefined {
  if (body === undefined || body instanceof ByteStream || answer.kind === 'Part') return undefined;
  return entityTagOf(body, coding);
}

export function replyToError(error: AuditError, place: ErrorPlace, nowMs: number): ErrorReply {
  return {
    status: REST_STATUS_OF_ERROR[error.code],
    headers: { 'Content-Type': JSON_TYPE, ...errorHeaders(error) },
    body: JSON.stringify({ error: shownError(error, place, nowMs) }),
    coding: undefined,
  };
}
