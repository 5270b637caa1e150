// Strings inside JSON, byte by byte: the escapes of RFC 8259 and strict UTF-8 (no overlong form, no encoded
// surrogate, nothing above U+10FFFF). What JSON allows and an event may not have is noted, not refused.

import { textOf } from '../bytes.ts';
import { byteAt, NotJson } from './json-fault.ts';

/** What the scan of a string or number finds besides its end, as bits. */
export interface Noted {
  notes: number;
}
export const ESCAPED = 1;
export const HAS_NUL = 2;
export const LONE_SURROGATE = 4;

export const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const LETTER_U = 0x75;

/** 1 for the bytes that stand for themselves: printable ASCII and DEL, without quote and backslash. */
const PLAIN = new Uint8Array(256).fill(1, 0x20, 0x80);
PLAIN[QUOTE] = 0;
PLAIN[BACKSLASH] = 0;

const SHORT_ESCAPE = new Uint8Array(256);
for (const letter of '"\\/bfnrt') SHORT_ESCAPE[letter.charCodeAt(0)] = 1;

/** `from` is inside a string; returns the index of the quote that closes it. */
export function closingQuote(noted: Noted, bytes: Uint8Array, from: number): number {
  const at = afterPlain(bytes, from);
  return byteAt(bytes, at) === QUOTE ? at : closingQuoteAfter(noted, bytes, at);
}

function afterPlain(bytes: Uint8Array, from: number): number {
  const { length } = bytes;
  let at = from;
  while (at < length && PLAIN[bytes[at]!] === 1) at++;
  return at;
}

/** Apart from closingQuote, so that V8 inlines that one where most strings need no more. */
function closingQuoteAfter(noted: Noted, bytes: Uint8Array, from: number): number {
  for (let at = from; ; at = afterPlain(bytes, at)) {
    const byte = byteAt(bytes, at);
    if (byte === QUOTE) return at;
    if (byte === BACKSLASH) at = afterEscape(noted, bytes, at);
    else if (byte >= 0x80) at = afterSequence(bytes, at);
    else throw new NotJson(bytes, at, byte < 0 ? 'a closing quote' : 'an escape for a control character');
  }
}

function afterEscape(noted: Noted, bytes: Uint8Array, at: number): number {
  noted.notes |= ESCAPED;
  const letter = byteAt(bytes, at + 1);
  if (letter !== LETTER_U) {
    if (letter < 0 || SHORT_ESCAPE[letter] === 0) throw new NotJson(bytes, at + 1, 'one of "\\/bfnrtu');
    return at + 2;
  }
  const unit = hexUnit(bytes, at + 2);
  if (unit === 0) noted.notes |= HAS_NUL;
  if (unit < 0xd800 || unit > 0xdfff) return at + 6;
  const isHigh = unit < 0xdc00;
  if (isHigh && byteAt(bytes, at + 6) === BACKSLASH && byteAt(bytes, at + 7) === LETTER_U) {
    const low = hexUnit(bytes, at + 8);
    if (low >= 0xdc00 && low <= 0xdfff) return at + 12;
  }
  noted.notes |= LONE_SURROGATE;
  return at + 6;
}

/** The four digits of an escape as a code unit. */
export function hexUnit(bytes: Uint8Array, at: number): number {
  let unit = 0;
  for (let i = at; i < at + 4; i++) {
    const byte = byteAt(bytes, i);
    const lower = byte | 0x20;
    if (byte >= 0x30 && byte <= 0x39) unit = unit * 16 + byte - 0x30;
    else if (lower >= 0x61 && lower <= 0x66) unit = unit * 16 + lower - 0x57;
    else throw new NotJson(bytes, i, 'a hexadecimal digit');
  }
  return unit;
}

/** `at` is a byte of 0x80 or more. Which second bytes may follow: the Unicode Standard, table 3-7. */
function afterSequence(bytes: Uint8Array, at: number): number {
  const lead = bytes[at]!;
  const second = byteAt(bytes, at + 1);
  if (lead < 0xe0) {
    if (lead >= 0xc2 && isContinuation(second)) return at + 2;
  } else if (lead < 0xf0) {
    const low = lead === 0xe0 ? 0xa0 : 0x80;
    const high = lead === 0xed ? 0x9f : 0xbf;
    if (second >= low && second <= high && isContinuation(byteAt(bytes, at + 2))) return at + 3;
  } else if (lead < 0xf5) {
    const low = lead === 0xf0 ? 0x90 : 0x80;
    const high = lead === 0xf4 ? 0x8f : 0xbf;
    const inRange = second >= low && second <= high;
    if (inRange && isContinuation(byteAt(bytes, at + 2)) && isContinuation(byteAt(bytes, at + 3)))
      return at + 4;
  }
  throw new NotJson(bytes, at, 'valid UTF-8');
}

function isContinuation(byte: number): boolean {
  return byte >= 0x80 && byte <= 0xbf;
}

/** The text between `start` and `end`, inside a string that was scanned and is known to be sound. */
export function decodeString(bytes: Uint8Array, start: number, end: number, isEscaped: boolean): string {
  const text = textOf(bytes.subarray(start, end));
  if (!isEscaped) return text;
  const decoded: string = JSON.parse(`"${text}"`);
  return decoded;
}

/** Where the first so many characters of a string that was scanned end; an escape counts as one. */
export function afterCharacters(bytes: Uint8Array, start: number, end: number, characters: number): number {
  let at = start;
  for (let seen = 0; at < end && seen < characters; seen++) {
    const byte = bytes[at]!;
    if (byte === BACKSLASH) at += bytes[at + 1] === LETTER_U ? 6 : 2;
    else at += byte < 0x80 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
  }
  return at;
}

/** Whether a part of the bytes is the same as others. */
export function hasBytes(bytes: Uint8Array, from: number, to: number, others: Uint8Array): boolean {
  if (to - from !== others.length) return false;
  for (let i = 0; i < others.length; i++) if (bytes[from + i] !== others[i]) return false;
  return true;
}
