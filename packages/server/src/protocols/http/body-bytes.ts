// Reads the bytes of a body. They are decoded from gzip or br and counted as they are decoded, so that no bomb is ever
// unpacked, and all bodies together share one budget. Throws UNSUPPORTED_MEDIA_TYPE, REQUEST_TOO_LARGE, MALFORMED_JSON.

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip } from 'node:zlib';
import { AuditError } from '@tallystick/contract';
import type { Clock } from '../../runtime/clock.ts';
import type { BodyBudget } from './body-budget.ts';

/** Bodies that the connection has given up on, perhaps before anyone began to read them. */
const broken = new WeakMap<IncomingMessage, AuditError>();
const BROKEN = 'tallystick:broken';

/** Tells the reader of this body, now or later, that the rest of it will not come. */
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

/** A body that is still to be read, and whose it is. */
export interface SentBody {
  readonly request: IncomingMessage;
  readonly sender: string;
  /** Told how long its bytes took to come, where they were waited for. */
  readonly onSent?: (spanNs: number) => void;
}

export interface BytesLimits {
  readonly bytesMax: number;
  readonly timeoutMs: number;
}

/** Shared by the bodies of all mounts. */
export interface BytesParts {
  readonly clock: Clock;
  readonly budget: BodyBudget;
}

export function announcesBody({ headers }: IncomingMessage): boolean {
  const length = headers['content-length'];
  return headers['transfer-encoding'] !== undefined || (length !== undefined && Number(length) > 0);
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

/** At once, where all of it is there; empty where nothing was sent. */
export function readBytes(
  { request, sender, onSent }: SentBody,
  { bytesMax, timeoutMs }: BytesLimits,
  { budget, clock }: BytesParts,
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

  const beganNs = clock.monotonicNs();
  return new Promise((resolve, reject) => {
    const chunks: Uint8Array[] = [];
    let bytes = 0;
    let held = 0;
    const finish = (settle: () => void) => {
      timer.cancel();
      onSent?.(clock.monotonicNs() - beganNs);
      budget.giveBack(sender, held);
      held = 0;
      stream.removeListener('data', take);
      if (stream !== request) {
        request.unpipe();
        stream.destroy();
      }
      // Discard the rest of a refused body, so that the next request on the connection can be read.
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

function malformed(message: string): AuditError {
  return new AuditError('MALFORMED_JSON', message);
}
