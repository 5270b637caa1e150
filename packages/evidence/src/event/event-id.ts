// An event's identifier is a ULID: 26 Crockford base 32 digits in the interface, 16 bytes in the entry.

import { EvidenceError } from '../errors.ts';

const DIGITS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const EVENT_ID = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/;

export function eventIdBytes(eventId: string): Uint8Array {
  if (!EVENT_ID.test(eventId)) {
    throw new EvidenceError('MALFORMED', `event id ${JSON.stringify(eventId.slice(0, 40))} is not a ULID`);
  }
  const bytes = new Uint8Array(16);
  // 26 digits are 130 bits; the two above 128 are zero because the first digit is at most 7.
  let bits = 0;
  let bitCount = -2;
  let at = 0;
  for (const digit of eventId) {
    bits = (bits << 5) | DIGITS.indexOf(digit);
    bitCount += 5;
    if (bitCount < 8) continue;
    bitCount -= 8;
    bytes[at++] = bits >>> bitCount;
    bits &= (1 << bitCount) - 1;
  }
  return bytes;
}

export function eventIdText(bytes: Uint8Array): string {
  let text = '';
  let bits = 0;
  let bitCount = 2;
  for (const byte of bytes.subarray(0, 16)) {
    bits = (bits << 8) | byte;
    bitCount += 8;
    while (bitCount >= 5) {
      bitCount -= 5;
      text += DIGITS[bits >>> bitCount]!;
      bits &= (1 << bitCount) - 1;
    }
  }
  return text;
}
