// The body of a request: its media type, its bytes – decoded from gzip or br, counted as they are decoded, so that
// no bomb is ever unpacked – and its JSON. Each has one way to be refused (400): UNSUPPORTED_MEDIA_TYPE,
// REQUEST_TOO_LARGE, MALFORMED_JSON. What is JSON but means two things is listed as violations (422).

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip } from 'node:zlib';
import { AuditError, cutText, type ErrorDetail, LIMITS } from '@tallystick/contract';
import { canonicalBytes, EvidenceError, type JsonViolation, parseJson, scanJson } from '@tallystick/evidence';
import { giveBack } from '../../runtime/give-back.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { BodyBudget } from './body-budget.ts';
import { leanValue, type TextMembers } from './lean-body.ts';

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

export interface BodyLimits {
  readonly bytesMax: number;
  readonly timeoutMs: number;
  readonly depthMax: number;
  /** How many broken rules of JSON are listed. */
  readonly violationsMax: number;
  /** Shared with all other bodies that are being read. */
  readonly budget: BodyBudget;
  /** Members whose text is enough; undefined where there are none. */
  readonly texts: TextMembers | undefined;
}

export interface JsonBody {
  readonly value: unknown;
  /** As they were sent; undefined where the RFC 8785 text says all. */
  readonly bytes: Uint8Array | undefined;
  /** Its RFC 8785 text, where that was made on the way. */
  readonly canonical: Uint8Array | undefined;
  readonly violations: readonly ErrorDetail[];
  /** How many more there are than are listed. */
  readonly unlisted: number;
}

/** Undefined when the request has no body. */
export function readJson(
  request: IncomingMessage,
  limits: BodyLimits,
  clock: Clock,
): JsonBody | undefined | Promise<JsonBody | undefined> {
  if (!announcesBody(request)) return undefined;
  checkMediaType(request.headers['content-type']);
  const read = (bytes: Uint8Array) => (bytes.length === 0 ? undefined : parse(bytes, limits));
  const bytes = readBytes(request, limits, clock);
  return bytes instanceof Promise ? bytes.then(read) : read(bytes);
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
  request: IncomingMessage,
  limits: BodyLimits,
  clock: Clock,
): Uint8Array | Promise<Uint8Array> {
  const { bytesMax, timeoutMs, budget } = limits;
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
      budget.giveBack(held);
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
      const refusal = budget.take(chunk.length);
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

const NONE: readonly ErrorDetail[] = [];

function parse(bytes: Uint8Array, limits: BodyLimits): JsonBody {
  return (limits.texts && readLean(bytes, limits, limits.texts)) ?? parseWhole(bytes, limits);
}

/** The quick way, for bodies with which nothing is wrong; undefined decides nothing. */
function readLean(bytes: Uint8Array, { depthMax }: BodyLimits, texts: TextMembers): JsonBody | undefined {
  const canonical = canonicalBytes(bytes, { depthMax, outlineLevels: texts.levels });
  if (canonical === undefined) return undefined;
  giveBack(bytes);
  const value = leanValue(canonical.outline, texts);
  return { value, bytes: undefined, canonical: canonical.bytes, violations: NONE, unlisted: 0 };
}

function parseWhole(bytes: Uint8Array, limits: BodyLimits): JsonBody {
  const { syntax, violations, unlisted, tooDeep = 0 } = scanJson(bytes, limits);
  if (syntax !== undefined) {
    throw malformed(`The body is not JSON: line ${syntax.line}, column ${syntax.column}: ${syntax.issue}.`);
  }
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
  if (violations.length === 0)
    return { value: parseJson(text), bytes, canonical: undefined, violations: NONE, unlisted };
  const details = violations.map(detailOf);
  // Parsing what can only be refused would keep everybody else waiting.
  if (tooDeep > PARSED_DEPTH_MAX) throw nestedTooDeep(details);
  return { value: valueOf(text, details), bytes, canonical: undefined, violations: details, unlisted };
}

/** Nothing is made of a body that is nested deeper. */
const PARSED_DEPTH_MAX = 200;

function nestedTooDeep(details: readonly ErrorDetail[]): AuditError {
  const message = `The body is nested deeper than ${LIMITS.nestingDepthMax} levels, too deep to be read.`;
  return new AuditError('VALIDATION_FAILED', message, { details });
}

/** JSON may be nested so deep that nothing can be made of it but the list of what is wrong. */
function valueOf(text: string, details: readonly ErrorDetail[]): unknown {
  try {
    return parseJson(text);
  } catch (cause) {
    if (!(cause instanceof EvidenceError)) throw cause;
    throw nestedTooDeep(details);
  }
}

function detailOf({ path, issue: found, value }: JsonViolation): ErrorDetail {
  // The scanner counts from the outermost level of the body, the rule from that of an event.
  const isNesting = found.startsWith('is nested deeper');
  const issue = isNesting ? `is nested deeper than ${LIMITS.nestingDepthMax} levels` : found;
  const field = cutText(path);
  return value === undefined ? { field, issue } : { field, issue, value };
}

function malformed(message: string): AuditError {
  return new AuditError('MALFORMED_JSON', message);
}
