// JSON that a request brings: its media type where it is a body of HTTP, and its text, which is parsed off this thread
// where it is large. What cannot be understood is refused (400): UNSUPPORTED_MEDIA_TYPE, REQUEST_TOO_LARGE, MALFORMED_JSON.

import { AuditError, type ErrorDetail } from '@tallystick/contract';
import {
  announcesBody,
  type BytesLimits,
  type BytesParts,
  readBytes,
  type SentBody,
} from '../http/body-bytes.ts';
import type { BodyMessage } from './body-thread.ts';
import type { MessageForm } from '../protobuf/message-form.ts';
import { bodyValue } from './lean-body.ts';
import { type BodyRules, parseBody, type ParsedBody } from './parse-body.ts';

export interface BodyLimits extends BodyRules, BytesLimits {}

/** What all bodies share. */
export interface BodyParts extends BytesParts {
  /** Parses a body in another thread; the bytes are handed over to it. */
  readonly parseElsewhere: (sender: string, message: BodyMessage) => Promise<ParsedBody>;
}

export interface JsonBody {
  readonly value: unknown;
  /** The bytes that its unread values stand in; undefined where it has none. */
  readonly text: Uint8Array | undefined;
  readonly digest: Uint8Array | undefined;
  readonly violations: readonly ErrorDetail[];
  /** How many more there are than are listed. */
  readonly unlisted: number;
}

/** Undefined when the request has no body. `isKeyed`: it has an idempotency key, so it must be known again. */
export function readJson(
  sent: SentBody,
  limits: BodyLimits,
  isKeyed: boolean,
  parts: BodyParts,
): JsonBody | undefined | Promise<JsonBody | undefined> {
  const { request, sender } = sent;
  if (!announcesBody(request)) return undefined;
  checkMediaType(request.headers['content-type']);
  const read = (bytes: Uint8Array) =>
    bytes.length === 0 ? undefined : readJsonText({ bytes, sender, isKeyed }, limits, parts);
  const bytes = readBytes(sent, limits, parts);
  return bytes instanceof Promise ? bytes.then(read) : read(bytes);
}

export interface JsonSource {
  /** Handed over to another thread where they are many. */
  readonly bytes: Uint8Array;
  readonly sender: string;
  readonly isKeyed: boolean;
  /** What the bytes are, where they are no JSON of the contract yet: the other thread makes them that, however few they are. */
  readonly form?: MessageForm | undefined;
}

/** The same of JSON text that did not come as a body of its own. */
export function readJsonText(
  source: JsonSource,
  limits: BodyLimits,
  parts: Pick<BodyParts, 'budget' | 'parseElsewhere'>,
): JsonBody | Promise<JsonBody> {
  const { bytes, isKeyed } = source;
  if (bytes.length > limits.bytesMax) {
    const message = `The input is ${bytes.length} bytes as JSON; the limit is ${limits.bytesMax}.`;
    throw new AuditError('REQUEST_TOO_LARGE', message);
  }
  if (source.form !== undefined || bytes.length > LARGE_BYTES) return parseLarge(source, limits, parts);
  return jsonBody(parseBody(bytes, limits, isKeyed), limits);
}

/** A smaller body is parsed before another thread would begin with it, and nobody notices the wait. */
export const LARGE_BYTES = 128 * 1024;

async function parseLarge(
  { bytes, sender, isKeyed, form }: JsonSource,
  limits: BodyLimits,
  { budget, parseElsewhere }: Pick<BodyParts, 'budget' | 'parseElsewhere'>,
): Promise<JsonBody> {
  const held = bytes.length;
  const refusal = budget.take(sender, held);
  if (refusal !== undefined) throw refusal;
  try {
    const { depthMax, violationsMax, texts, schema } = limits;
    const rules = { depthMax, violationsMax, texts, schema };
    return jsonBody(await parseElsewhere(sender, { bytes, rules, isKeyed, ...(form && { form }) }), limits);
  } finally {
    budget.giveBack(sender, held);
  }
}

function jsonBody(parsed: ParsedBody, rules: BodyRules): JsonBody {
  const { digest, violations, unlisted } = parsed;
  const text = 'value' in parsed ? undefined : parsed.text;
  return { value: bodyValue(parsed, rules), text, digest, violations, unlisted };
}

const MEDIA_TYPE = /^application\/(?:json|[\w.!#$&^-]+\+json)\s*(?:;(.*))?$/i;
const CHARSET_UTF8 = /^\s*charset\s*=\s*"?utf-?8"?\s*$/i;

/** No media type is read as JSON. The charset, if named, must be UTF-8; other parameters mean nothing here. */
export function checkMediaType(contentType: string | undefined): void {
  if (contentType === undefined || contentType === 'application/json') return;
  const match = MEDIA_TYPE.exec(contentType.trim());
  const parameters = match?.[1]?.split(';') ?? [];
  const charsets = parameters.filter((parameter) => /^\s*charset\s*=/i.test(parameter));
  if (match !== null && charsets.every((charset) => CHARSET_UTF8.test(charset))) return;
  const issue = 'must be application/json (UTF-8) or application/*+json';
  throw new AuditError('UNSUPPORTED_MEDIA_TYPE', `Content-Type ${issue}.`, {
    details: [{ field: 'Content-Type', issue, value: contentType }],
  });
}
