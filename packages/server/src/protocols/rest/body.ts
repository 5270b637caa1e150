// The body of a request: its media type, its bytes – decoded from gzip or br, counted as they are decoded, so that
// no bomb is ever unpacked – and its JSON, which is parsed off this thread where it is large. What could not be
// understood is refused (400): UNSUPPORTED_MEDIA_TYPE, REQUEST_TOO_LARGE, MALFORMED_JSON.

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip } from 'node:zlib';
import { AuditError, type ErrorDetail } from '@tallystick/contract';
import type { Clock } from '../../runtime/clock.ts';
import type { BodyBudget } from './body-budget.ts';
import { bodyValue } from './lean-body.ts';
import type { BodyMessage } from './body-thread.ts';
import { type BodyRules, malformed, parseBody, type ParsedBody } from './parse-body.ts';

/** Bodies that the connection has given up on, perhaps before anyone began to read them. */
const broken = new WeakMap<IncomingMessage, AuditError>();
const BROKEN = 'tallystick:broken';

/** Tells whoever reads this body, now or later, that the rest of it will not come. */
export function breakBody(request: IncomingMessage): void {
  broken.set(request, malformed('The body is not framed as HTTP asks.'));
  request.emit(BROKEN);
}

/** Answers on which their senders wait before they send a body. */
const expected = new WeakMap<IncomingMessage, ServerResponse>();

/** The sender of this body waits to be told that it will be read. */
export function expectContinue(request: IncomingMessage, response: ServerResponse): void {
  expected.set(request, response);
}

export interface BodyLimits extends BodyRules {
  readonly bytesMax: number;
  readonly timeoutMs: number;
}

/** What all bodies share. */
export interface BodyParts {
  readonly clock: Clock;
  readonly budget: BodyBudget;
  /** Parses a body in another thread; the bytes are handed over to it. */
  readonly parseElsewhere: (sender: string, message: BodyMessage) => Promise<ParsedBody>;
}

/** A body that is still to be read, and whose it is. */
export interface SentBody {
  readonly request: IncomingMessage;
  readonly sender: string;
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
  const read = (bytes: Uint8Array) => {
    if (bytes.length === 0) return undefined;
    if (bytes.length > LARGE_BYTES) return parseLarge({ bytes, sender, isKeyed }, limits, parts);
    return jsonBody(parseBody(bytes, limits, isKeyed), limits);
  };
  const bytes = readBytes(sent, limits, parts);
  return bytes instanceof Promise ? bytes.then(read) : read(bytes);
}

/** What is smaller is parsed sooner than another thread would begin with it, and nobody notices the wait. */
const LARGE_BYTES = 128 * 1024;

async function parseLarge(
  { bytes, sender, isKeyed }: { bytes: Uint8Array; sender: string; isKeyed: boolean },
  limits: BodyLimits,
  { budget, parseElsewhere }: BodyParts,
): Promise<JsonBody> {
  const held = bytes.length;
  const refusal = budget.take(sender, held);
  if (refusal !== undefined) throw refusal;
  try {
    const { depthMax, violationsMax, texts, schema } = limits;
    const rules = { depthMax, violationsMax, texts, schema };
    return jsonBody(await parseElsewhere(sender, { bytes, rules, isKeyed }), limits);
  } finally {
    budget.giveBack(sender, held);
  }
}

function jsonBody(parsed: ParsedBody, rules: BodyRules): JsonBody {
  const { digest, violations, unlisted } = parsed;
  const text = 'value' in parsed ? undefined : parsed.text;
  return { value: bodyValue(parsed, rules), text, digest, violations, unlisted };
}

function announcesBody({ headers }: IncomingMessage): boolean {
  const length = headers['content-length'];
  return headers['transfer-encoding'] !== undefined || (length !== undefined && Number(length) > 0);
}

const MEDIA_TYPE = /^application\/(?:json|[\w.!#$&^-]+\+json)\s*(?:;(.*))?$/i;
const CHARSET_UTF8 = /^\s*charset\s*=\s*"?utf-?8"?\s*$/i;

/** No media type is read as JSON. The charset, if named, must be UTF-8; other parameters mean nothing here. */
function checkMediaType(contentType: string | undefined): void {
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

interface Decoded extends Readable {
  /** Bytes that the decoder was given and has not read. */
  readonly writableLength?: number;
}

function decoded(request: IncomingMessage): Decoded {
  const coding = request.headers['content-encoding']?.trim().toLowerCase() ?? 'identity';
  if (coding === 'identity') return request;
  if (coding === 'gzip' || coding === 'x-gzip') return request.pipe(createGunzip());
  if (coding === 'br') return request.pipe(createBrotliDecompress());
  const issue = 'must be gzip or br, or absent';
  throw new AuditError('UNSUPPORTED_MEDIA_TYPE', `Content-Encoding ${issue}.`, {
    details: [{ field: 'Content-Encoding', issue, value: coding }],
  });
}

function readBytes(
  { request, sender }: SentBody,
  { bytesMax, timeoutMs }: BodyLimits,
  { budget, clock }: BodyParts,
): Uint8Array | Promise<Uint8Array> {
  const tooLarge = (bytes: number) =>
    new AuditError('REQUEST_TOO_LARGE', `The body is at least ${bytes} bytes; the limit is ${bytesMax}.`);
  const stream = decoded(request);
  const announced = stream === request ? Number(request.headers['content-length'] ?? 0) : 0;
  if (announced > bytesMax) throw tooLarge(announced);
  // Said even where the body has come unasked: without it Node would close the connection after the answer.
  if (request.headers.expect !== undefined) expected.get(request)?.writeContinue();
  // Nearly every body has come with its head, and waits for nobody and no timer.
  const whole: unknown = stream === request && request.complete ? request.read() : null;
  if (whole instanceof Uint8Array) {
    if (whole.length > bytesMax) throw tooLarge(whole.length);
    return whole;
  }

  return new Promise((resolve, reject) => {
    const chunks: Uint8Array[] = [];
    let bytes = 0;
    let held = 0;
    const finish = (settle: () => void) => {
      timer.cancel();
      budget.giveBack(sender, held);
      held = 0;
      stream.removeListener('data', take);
      if (stream !== request) {
        request.unpipe();
        stream.destroy();
      }
      // What is left of a refused body is let go by, so that the next request on the connection can be read.
      request.resume();
      settle();
    };
    const take = (chunk: Uint8Array) => {
      const refusal = budget.take(sender, chunk.length);
      if (refusal !== undefined) return finish(() => reject(refusal));
      chunks.push(chunk);
      bytes += chunk.length;
      held += chunk.length;
      if (bytes > bytesMax) finish(() => reject(tooLarge(bytes)));
    };
    const timer = clock.after(timeoutMs, () =>
      finish(() => reject(malformed(`The body did not arrive within ${timeoutMs / 1000} seconds.`))),
    );
    stream.on('data', take);
    stream.once('end', () => {
      // Brotli is over where it says so itself: what comes after that is no part of it.
      const unreadBytes = stream.writableLength ?? 0;
      if (unreadBytes > 0) return fail();
      return finish(() => resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, bytes)));
    });
    const fail = () =>
      finish(() => reject(broken.get(request) ?? malformed('The body is broken off or badly encoded.')));
    if (broken.has(request)) fail();
    request.once(BROKEN, fail);
    stream.on('error', fail);
    request.on('error', fail);
    request.once('close', () => {
      if (!request.complete) fail();
    });
  });
}
