// ULIDs: 26 characters of Crockford's base 32, ten for the milliseconds since 1970 (48 bits), sixteen random
// (80 bits), so that `^[0-7][0-9A-HJKMNP-TV-Z]{25}$` holds. One source promises that every id it gives is greater than
// the one before, even if the wall clock is set back: within a millisecond the random part counts up by one; while the
// clock is behind it grows by one and 40 random bits, because senders may choose ids, and a sender who could predict the
// next one would have the time to take it. When it overflows, the time part moves on by one millisecond.

import { ok as assert } from 'node:assert/strict';
import type { Clock } from './clock.ts';
import type { Random } from './random.ts';

/** The digits of Crockford's base 32. */
export const CROCKFORD = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const TIME_MS_MAX = 2 ** 48 - 1;
const LIMB = 2 ** 20;

/** Two characters for every ten bits. */
const PAIRS = Array.from({ length: 1024 }, (_, bits) => CROCKFORD[bits >>> 5]! + CROCKFORD[bits & 31]!);

export function createUlids(clock: Clock, random: Random): () => string {
  let timeMs = -1;
  // The random part as four limbs of 20 bits; the first three are kept encoded in `prefix`, behind the time.
  let [a, b, c, d] = [0, 0, 0, 0];
  let prefix = '';
  const encodePrefix = () => {
    prefix = encodeTime(timeMs) + encodeLimb(a) + encodeLimb(b) + encodeLimb(c);
  };

  const begin = (atMs: number) => {
    assert(atMs >= 0 && atMs <= TIME_MS_MAX, `a ULID holds 0 to ${TIME_MS_MAX} ms; the clock says ${atMs}`);
    timeMs = atMs;
    const r = random.bytes(10);
    [a, b] = twoLimbs(r, 0);
    [c, d] = twoLimbs(r, 5);
    encodePrefix();
  };

  /** Adds up to one limb to each of the two lowest ones. */
  const add = (high: number, low: number) => {
    c += high;
    d += low;
    if (d >= LIMB) {
      d -= LIMB;
      c++;
    }
    if (c >= LIMB) {
      c -= LIMB;
      b++;
    }
    if (b === LIMB) {
      b = 0;
      a++;
    }
    if (a === LIMB) begin(timeMs + 1);
    else encodePrefix();
  };

  return () => {
    const nowMs = clock.now();
    if (nowMs > timeMs) begin(nowMs);
    else if (nowMs < timeMs) {
      const [high, low] = twoLimbs(random.bytes(5), 0);
      add(high, low + 1);
    } else if (d + 1 < LIMB) d++;
    else add(0, 1);
    return prefix + encodeLimb(d);
  };
}

/** When a ULID was made, by the clock of who made it. */
export function ulidTimeMs(id: string): number {
  return Array.from(id.slice(0, 10)).reduce((ms, digit) => ms * 32 + CROCKFORD.indexOf(digit), 0);
}

/** None of that millisecond is greater. */
export function lastUlidOf(timeMs: number): string {
  return encodeTime(Math.min(Math.max(timeMs, 0), TIME_MS_MAX)) + 'Z'.repeat(16);
}

/** Five bytes as two numbers of 20 bits. */
function twoLimbs(bytes: Uint8Array, at: number): [high: number, low: number] {
  const middle = bytes[at + 2]!;
  return [
    (bytes[at]! << 12) | (bytes[at + 1]! << 4) | (middle >>> 4),
    ((middle & 15) << 16) | (bytes[at + 3]! << 8) | bytes[at + 4]!,
  ];
}

function encodeLimb(limb: number): string {
  return PAIRS[limb >>> 10]! + PAIRS[limb & 1023]!;
}

/** 48 bits as 50: the high 20, the next 20, the low 10. */
function encodeTime(timeMs: number): string {
  const high = Math.floor(timeMs / 2 ** 30);
  const low = timeMs % 2 ** 30;
  return encodeLimb(high) + encodeLimb(low >>> 10) + PAIRS[low & 1023]!;
}
