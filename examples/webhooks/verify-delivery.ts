// Receives webhook deliveries: verifies each before it is parsed, and does its work once.

import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';

const AGE_SECONDS_MAX = 300;
const KEPT_MS = 24 * 3_600_000;

/** The id of a genuine delivery; throws otherwise. `body`: the bytes as they came. */
export function verifyDelivery(
  headers: Readonly<Record<string, string | string[] | undefined>>,
  body: Uint8Array,
  secret: string,
  nowMs = Date.now(),
): string {
  const { 'webhook-id': id, 'webhook-timestamp': seconds, 'webhook-signature': signatures } = headers;
  if (typeof id !== 'string' || typeof seconds !== 'string' || typeof signatures !== 'string')
    throw new Error('a header is missing');
  if (!/^\d{1,12}$/.test(seconds) || Math.abs(nowMs / 1000 - Number(seconds)) > AGE_SECONDS_MAX)
    throw new Error('it is too old, or a clock is wrong');
  const hmac = createHmac('sha256', keyOf(secret)).update(`${id}.${seconds}.`).update(body);
  const expected = Buffer.from(`v1,${hmac.digest('base64')}`);
  // While a secret is being changed there are two signatures.
  const isGenuine = signatures.split(' ').some((each) => {
    const given = Buffer.from(each);
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
  if (!isGenuine) throw new Error('the signature is not of this delivery and secret');
  return id;
}

/** What stands behind `whsec_` is base64; any other secret is the key as it is. */
function keyOf(secret: string): Buffer {
  const isBase64 = /^whsec_(?=.)([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(secret);
  return isBase64 ? Buffer.from(secret.slice('whsec_'.length), 'base64') : Buffer.from(secret);
}

/** The ids of a day. Where several processes receive, a table with a unique index takes its place. */
export class SeenDeliveries {
  readonly #atMs = new Map<string, number>();

  has(id: string): boolean {
    return this.#atMs.has(id);
  }

  /** Once its work is done, so that a crash before leaves it to the next attempt. */
  add(id: string, nowMs = Date.now()): void {
    // The oldest stays the first.
    this.#atMs.delete(id);
    this.#atMs.set(id, nowMs);
    for (const [old, atMs] of this.#atMs) {
      if (nowMs - atMs <= KEPT_MS) break;
      this.#atMs.delete(old);
    }
  }
}

/** For `createServer` of `node:http`. Anything but 200, 201, 202 and 204 asks for another attempt. */
export async function receive(
  request: IncomingMessage,
  response: ServerResponse,
  secret: string,
  seen: SeenDeliveries,
  work: (notification: unknown) => Promise<void>,
): Promise<void> {
  const body = Buffer.concat(await request.toArray());
  let id: string;
  try {
    id = verifyDelivery(request.headers, body, secret);
  } catch {
    response.writeHead(400).end();
    return;
  }
  try {
    if (!seen.has(id)) await work(JSON.parse(body.toString()));
    seen.add(id);
    response.writeHead(204).end();
  } catch {
    response.writeHead(500).end();
  }
}
