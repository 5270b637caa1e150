// ULIDs: 26 characters of Crockford's base 32, ten for the milliseconds since 1970 (48 bits), sixteen random
// (80 bits), so that `^[0-7][0-9A-HJKMNP-TV-Z]{25}$` holds. One source promises that every id it gives is
// greater than the one before, whatever the wall clock does: within a millisecond, or while the clock is
// behind, the random part counts up by one; when it overflows, the time part moves on by one millisecond.

import { ok as assert } from 'node:assert/strict';
import type { Clock } from './clock.ts';
import type { Random } from './random.ts';

const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const ULID = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/;
const TIME_MS_MAX = 2 ** 48 - 1;
const LIMB = 2 ** 20;

/** Two characters for every ten bits. */
const PAIRS = Array.from({ length: 1024 }, (_, bits) => ALPHABET[bits >>> 5]! + ALPHABET[bits & 31]!);

export function isUlid(text: string): boolean {
  return ULID.test(text);
}

export function createUlids(clock: Clock, random: Random): () => string {
  let timeMs = -1;
  // The random part as four limbs of 20 bits; the first three are kept encoded in `prefix`, behind the time.
  let [a, b, c, d] = [0, 0, 0, 0];
  let prefix = '';

  const begin = (atMs: number) => {
    assert(atMs >= 0 && atMs <= TIME_MS_MAX, `a ULID holds 0 to ${TIME_MS_MAX} ms; the clock says ${atMs}`);
    timeMs = atMs;
    const r = random.bytes(10);
    a = (r[0]! << 12) | (r[1]! << 4) | (r[2]! >>> 4);
    b = ((r[2]! & 15) << 16) | (r[3]! << 8) | r[4]!;
    c = (r[5]! << 12) | (r[6]! << 4) | (r[7]! >>> 4);
    d = ((r[7]! & 15) << 16) | (r[8]! << 8) | r[9]!;
    prefix = encodeTime(timeMs) + encodeLimb(a) + encodeLimb(b) + encodeLimb(c);
  };

  const carry = () => {
    d = 0;
    if (++c === LIMB) {
      c = 0;
      if (++b === LIMB) {
        b = 0;
        if (++a === LIMB) return begin(timeMs + 1);
      }
    }
    prefix = encodeTime(timeMs) + encodeLimb(a) + encodeLimb(b) + encodeLimb(c);
  };

  return () => {
    const nowMs = clock.now();
    if (nowMs > timeMs) begin(nowMs);
    else if (++d === LIMB) carry();
    return prefix + encodeLimb(d);
  };
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
