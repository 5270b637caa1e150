// Bytes and their texts. Decoders are strict: one byte string has one text, so that a hash over the text
// and a hash over the bytes can never tell two truths.

import { EvidenceError } from './errors.ts';

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

export function utf8(text: string): Uint8Array {
  return encoder.encode(text);
}

/** Refuses bytes that are not UTF-8 instead of putting replacement characters in their place. */
export function textOf(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes);
  } catch (cause) {
    throw new EvidenceError('MALFORMED', 'text is not valid UTF-8', { cause });
  }
}

export function concat(...parts: readonly Uint8Array[]): Uint8Array {
  let length = 0;
  for (const part of parts) length += part.length;
  const whole = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

export function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && compareBytes(a, b) === 0;
}

/** Negative, zero or positive: the order of unsigned bytes, a prefix before what it begins. */
export function compareBytes(a: Uint8Array, b: Uint8Array): number {
  const shared = Math.min(a.length, b.length);
  for (let i = 0; i < shared; i++) {
    const difference = a[i]! - b[i]!;
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

export function writeU16(into: Uint8Array, at: number, value: number): void {
  into[at] = value >>> 8;
  into[at + 1] = value;
}

export function writeU64(into: Uint8Array, at: number, value: number): void {
  const high = Math.floor(value / 0x1_0000_0000);
  for (let i = 0; i < 4; i++) {
    into[at + i] = high >>> (24 - 8 * i);
    into[at + 4 + i] = value >>> (24 - 8 * i);
  }
}

export function readU16(from: Uint8Array, at: number): number {
  return from[at]! * 0x100 + from[at + 1]!;
}

/** Sizes, indexes and times stay below 2^53; more is refused rather than rounded. */
export function readU64(from: Uint8Array, at: number): number {
  let value = 0;
  for (let i = 0; i < 8; i++) value = value * 0x100 + from[at + i]!;
  if (!Number.isSafeInteger(value)) throw new EvidenceError('MALFORMED', 'integer is over 2^53 - 1');
  return value;
}

const HEX_DIGITS = '0123456789abcdef';

export function toHex(bytes: Uint8Array): string {
  let text = '';
  for (const byte of bytes) text += HEX_DIGITS[byte >>> 4]! + HEX_DIGITS[byte & 15]!;
  return text;
}

/** Lowercase only. */
export function fromHex(text: string): Uint8Array {
  if (text.length % 2 !== 0 || !/^[0-9a-f]*$/.test(text)) {
    throw new EvidenceError('MALFORMED', 'not lowercase hexadecimal');
  }
  const bytes = new Uint8Array(text.length / 2);
  for (let i = 0; i < bytes.length; i++) bytes[i] = Number.parseInt(text.slice(2 * i, 2 * i + 2), 16);
  return bytes;
}

const BASE64_DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
const BASE64_CODES = Uint8Array.from(BASE64_DIGITS, (digit) => digit.charCodeAt(0));
const NOT_BASE64 = 0xff;
const BASE64_VALUES = new Uint8Array(128).fill(NOT_BASE64);
for (let i = 0; i < 64; i++) BASE64_VALUES[BASE64_CODES[i]!] = i;

/** RFC 4648 section 4, padded. */
export function toBase64(bytes: Uint8Array): string {
  let text = '';
  let i = 0;
  for (; i + 2 < bytes.length; i += 3) {
    const word = (bytes[i]! << 16) | (bytes[i + 1]! << 8) | bytes[i + 2]!;
    text += BASE64_DIGITS[word >>> 18]! + BASE64_DIGITS[(word >>> 12) & 63]!;
    text += BASE64_DIGITS[(word >>> 6) & 63]! + BASE64_DIGITS[word & 63]!;
  }
  const left = bytes.length - i;
  if (left === 0) return text;
  const word = (bytes[i]! << 16) | (left === 2 ? bytes[i + 1]! << 8 : 0);
  text += BASE64_DIGITS[word >>> 18]! + BASE64_DIGITS[(word >>> 12) & 63]!;
  return text + (left === 2 ? BASE64_DIGITS[(word >>> 6) & 63]! : '=') + '=';
}

/** Strict: padding must be there and unused bits zero, so that no two texts give the same bytes. */
export function fromBase64(text: string): Uint8Array {
  const bytes = new Uint8Array(base64Length(text));
  decodeBase64Into(text, bytes, 0);
  return bytes;
}

/** How many bytes a padded base64 text stands for; the text itself is not looked at. */
export function base64Length(text: string): number {
  if (text.length === 0) return 0;
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
  return (text.length / 4) * 3 - padding;
}

/** Decodes straight into place; returns where the decoded bytes end. */
export function decodeBase64Into(text: string, into: Uint8Array, at: number): number {
  if (text.length % 4 !== 0) throw new EvidenceError('MALFORMED', 'base64 is not padded to a multiple of 4');
  const end = at + base64Length(text);
  let out = at;
  for (let i = 0; i < text.length; i += 4) {
    const last = i + 4 === text.length;
    const a = base64Value(text.charCodeAt(i));
    const b = base64Value(text.charCodeAt(i + 1));
    const c = last && end - out < 2 ? 0 : base64Value(text.charCodeAt(i + 2));
    const d = last && end - out < 3 ? 0 : base64Value(text.charCodeAt(i + 3));
    const word = (a << 18) | (b << 12) | (c << 6) | d;
    if (out < end) into[out++] = word >>> 16;
    if (out < end) into[out++] = word >>> 8;
    else if ((word & 0xffff) !== 0) throw new EvidenceError('MALFORMED', 'base64 has bits that are not used');
    if (out < end) into[out++] = word;
    else if ((word & 0xff) !== 0) throw new EvidenceError('MALFORMED', 'base64 has bits that are not used');
  }
  return out;
}

function base64Value(code: number): number {
  const value = code < 128 ? BASE64_VALUES[code]! : NOT_BASE64;
  if (value === NOT_BASE64) throw new EvidenceError('MALFORMED', 'not standard base64');
  return value;
}
