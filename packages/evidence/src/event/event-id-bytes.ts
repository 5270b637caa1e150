// The way back from an event's identifier to its 16 bytes: for stores, which keep and find it so.

import { malformed } from '../errors.ts';
import { EVENT_ID_DIGITS } from './event-id.ts';

const NO_DIGIT = 0xff;
const VALUES = new Uint8Array(128).fill(NO_DIGIT);
for (let i = 0; i < EVENT_ID_DIGITS.length; i++) VALUES[EVENT_ID_DIGITS.charCodeAt(i)] = i;

export const EVENT_ID_LENGTH = 26;

export function eventIdBytes(eventId: string): Uint8Array {
  const bytes = new Uint8Array(16);
  writeEventId(eventId, bytes, 0);
  return bytes;
}

export function writeEventId(eventId: string, into: Uint8Array, at: number): void {
  // 26 digits are 130 bits; the two above 128 are zero because the first digit is at most 7.
  let bits = 0;
  let bitCount = -2;
  let next = at;
  let isUlid = eventId.length === EVENT_ID_LENGTH && eventId.charCodeAt(0) <= 0x37;
  for (let i = 0; isUlid && i < EVENT_ID_LENGTH; i++) {
    const code = eventId.charCodeAt(i);
    const value = code < 128 ? VALUES[code]! : NO_DIGIT;
    isUlid = value !== NO_DIGIT;
    bits = (bits << 5) | value;
    bitCount += 5;
    if (bitCount < 8) continue;
    bitCount -= 8;
    // The bits above these eight are written already, and a byte does not keep them.
    into[next++] = bits >>> bitCount;
  }
  if (isUlid) return;
  throw malformed(`event id ${JSON.stringify(eventId.slice(0, 40))} is not a ULID`);
}
