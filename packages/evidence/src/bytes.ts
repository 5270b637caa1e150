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

/** Whether a part of the bytes is the same as others. */
export function hasBytes(bytes: Uint8Array, from: number, to: number, others: Uint8Array): boolean {
  if (to - from !== others.length) return false;
  for (let i = 0; i < others.length; i++) if (bytes[from + i] !== others[i]) return false;
  return true;
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

const HEX_DIGITS = Uint8Array.from('0123456789abcdef', (digit) => digit.charCodeAt(0));
/** A function takes so many arguments everywhere. */
const HEX_BYTES_MAX = 4096;

export function toHex(bytes: Uint8Array): string {
  let text = '';
  for (let at = 0; at < bytes.length; at += HEX_BYTES_MAX)
    text += hexPiece(bytes.subarray(at, at + HEX_BYTES_MAX));
  return text;
}

/** At once: a text to which digits are added one by one takes three times as long. */
function hexPiece(bytes: Uint8Array): string {
  const codes: number[] = [];
  for (let i = 0; i < bytes.length; i++)
    codes.push(HEX_DIGITS[bytes[i]! >>> 4]!, HEX_DIGITS[bytes[i]! & 15]!);
  return String.fromCharCode(...codes);
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
/** What a character that is no digit stands for: negative however it is shifted, so that it shows in a word. */
const NOT_BASE64 = -1;
const BASE64_VALUES = new Int8Array(128).fill(NOT_BASE64);
for (let i = 0; i < 64; i++) BASE64_VALUES[BASE64_DIGITS.charCodeAt(i)] = i;
const PADDING = 0x3d;

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
  if (text.length % 4 !== 0) throw new EvidenceError('MALFORMED', 'base64 is not padded to a multiple of 4');
  const codes = Uint16Array.from({ length: text.length }, (_, i) => text.charCodeAt(i));
  const bytes = new Uint8Array(base64Length(text));
  decodeBase64(codes, 0, bytes);
  return bytes;
}

/** How many bytes a padded base64 text stands for; the text itself is not looked at. */
export function base64Length(text: string): number {
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
  return (text.length / 4) * 3 - padding;
}

/** Fills `bytes` from the base64 at `from`, given by its characters' codes; returns where that ends. */
export function decodeBase64(codes: ArrayLike<number>, from: number, bytes: Uint8Array): number {
  const whole = bytes.length - (bytes.length % 3);
  let at = from;
  for (let i = 0; i < whole; i += 3, at += 4) {
    const word =
      (digitAt(codes, at) << 18) |
      (digitAt(codes, at + 1) << 12) |
      (digitAt(codes, at + 2) << 6) |
      digitAt(codes, at + 3);
    if (word < 0) throw new EvidenceError('MALFORMED', 'not standard base64');
    bytes[i] = word >>> 16;
    bytes[i + 1] = word >>> 8;
    bytes[i + 2] = word;
  }
  return whole === bytes.length ? at : decodeLast(codes, at, bytes, whole);
}

/** One or two bytes, padding behind them. */
function decodeLast(codes: ArrayLike<number>, at: number, bytes: Uint8Array, whole: number): number {
  const two = bytes.length - whole === 2;
  const third = two ? digitAt(codes, at + 2) : codes[at + 2] === PADDING ? 0 : NOT_BASE64;
  const fourth = codes[at + 3] === PADDING ? 0 : NOT_BASE64;
  const word = (digitAt(codes, at) << 18) | (digitAt(codes, at + 1) << 12) | (third << 6) | fourth;
  if (word < 0) throw new EvidenceError('MALFORMED', 'not standard base64');
  if ((word & (two ? 0xff : 0xffff)) !== 0) {
    throw new EvidenceError('MALFORMED', 'base64 has bits that are not used');
  }
  bytes[whole] = word >>> 16;
  if (two) bytes[whole + 1] = word >>> 8;
  return at + 4;
}

function digitAt(codes: ArrayLike<number>, at: number): number {
  const code = codes[at]!;
  return code < 128 ? BASE64_VALUES[code]! : NOT_BASE64;
}
