// Bytes and their texts. Decoders are strict: one byte string has one text, so that a hash over the text
// and a hash over the bytes can never tell two truths.

import { malformed } from './errors.ts';

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
    throw malformed('text is not valid UTF-8', cause);
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

export function writeU64(into: Uint8Array, at: number, value: number): void {
  const high = Math.floor(value / 0x1_0000_0000);
  for (let i = 0; i < 4; i++) {
    into[at + i] = high >>> (24 - 8 * i);
    into[at + 4 + i] = value >>> (24 - 8 * i);
  }
}

/** Sizes, indexes and times stay below 2^53; more is refused rather than rounded. */
export function readU64(from: Uint8Array, at: number): number {
  let value = 0;
  for (let i = 0; i < 8; i++) value = value * 0x100 + from[at + i]!;
  if (!Number.isSafeInteger(value)) throw malformed('integer is over 2^53 - 1');
  return value;
}

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

export function toHex(bytes: Uint8Array): string {
  let text = '';
  for (let i = 0; i < bytes.length; i++) text += HEX[bytes[i]!]!;
  return text;
}

const NOT_BASE64 = 0xff;
const BASE64_VALUES = new Uint8Array(128).fill(NOT_BASE64);
for (const [value, digit] of [
  ...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/',
].entries())
  BASE64_VALUES[digit.charCodeAt(0)] = value;

/** RFC 4648 section 4, padded. */
export function toBase64(bytes: Uint8Array): string {
  let binary = '';
  for (let i = 0; i < bytes.length; i++) binary += String.fromCharCode(bytes[i]!);
  return btoa(binary);
}

/** Strict: padding must be there and unused bits zero, so that no two texts give the same bytes. */
export function fromBase64(text: string): Uint8Array {
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
  const digits = text.length - padding;
  const bytes = new Uint8Array(Math.floor((digits * 3) / 4));
  let bits = 0;
  // Has a bit over the six of a digit as soon as something is none.
  let seen = text.length % 4 === 0 ? 0 : NOT_BASE64;
  for (let i = 0, at = 0; i < digits; i++) {
    const code = text.charCodeAt(i);
    const value = code < 128 ? BASE64_VALUES[code]! : NOT_BASE64;
    seen |= value;
    bits = (bits << 6) | value;
    if ((i & 3) > 0) bytes[at++] = bits >>> (6 - 2 * (i & 3));
  }
  const unused = padding === 0 ? 0 : bits & (padding === 1 ? 0b11 : 0b1111);
  if (seen < 64 && unused === 0) return bytes;
  throw malformed('not standard base64, padded and without bits that are not used');
}

/** The bytes that a member of a JSON text stands for: base64 of so many. */
export function bytesFrom(value: unknown, length: number, what: string): Uint8Array {
  const bytes = typeof value === 'string' ? fromBase64(value) : undefined;
  if (bytes?.length === length) return bytes;
  throw malformed(`${what} is not ${length} bytes in base64`);
}
