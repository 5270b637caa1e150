// The rules of the contract for single values, asked of a value where it stands in canonical bytes. Each is sure of
// what it says yes to; what it says no to may still be right, in a spelling that is rare.

import { isDateTime, LIMITS } from '@tallystick/contract';
import type { JsonOutline } from '@tallystick/evidence';

const QUOTE = 0x22;
const MINUS = 0x2d;
const POINT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const CAPITAL_Z = 0x5a;

type Holds = (outline: JsonOutline, node: number) => boolean;

export interface Rule {
  readonly key: Uint8Array;
  readonly isRequired: boolean;
  readonly holds: Holds;
}

export const required = (name: string, holds: Holds): Rule => ({
  key: Buffer.from(name),
  isRequired: true,
  holds,
});
export const optional = (name: string, holds: Holds): Rule => ({
  key: Buffer.from(name),
  isRequired: false,
  holds,
});

/** A text up to so many characters: each has at least one byte, so that so many bytes are never too many. */
export const textUpTo =
  (lengthMax: number): Holds =>
  (outline, node) => {
    const length = stringBytes(outline, node);
    return length > 0 && length <= lengthMax;
  };
export const identity = textUpTo(LIMITS.identityLengthMax);

export const contentUpTo =
  (bytesMax: number): Holds =>
  (outline, node) =>
    outline.isObject(node) && outline.to(node) - outline.from(node) <= bytesMax;

/** Whether the value is an object of these members and no others; lists their places, 0 for what is absent. */
export function fits(
  outline: JsonOutline,
  parent: number,
  rules: readonly Rule[],
  places?: number[],
): boolean {
  if (!outline.isObject(parent)) return false;
  const end = outline.end(parent);
  let node = outline.first(parent);
  for (let i = 0; i < rules.length; i++) {
    const { key, isRequired, holds } = rules[i]!;
    if (node < end && outline.hasKey(node, key)) {
      if (!holds(outline, node)) return false;
      places?.push(node);
      node = outline.next(node);
    } else if (isRequired) return false;
    else places?.push(0);
  }
  return node === end;
}

/** How many bytes stand between the quotes; less than zero for what is no string. */
function stringBytes(outline: JsonOutline, node: number): number {
  const from = outline.from(node);
  return outline.bytes[from] === QUOTE ? outline.to(node) - from - 2 : -1;
}

export function oneOf(words: readonly string[]): Holds {
  const known = words.map((word) => Buffer.from(word));
  return (outline, node) => known.some((word) => saysWord(outline, node, word));
}

export function saysWord(outline: JsonOutline, node: number, word: Uint8Array): boolean {
  if (stringBytes(outline, node) !== word.length) return false;
  const from = outline.from(node) + 1;
  for (let i = 0; i < word.length; i++) if (outline.bytes[from + i] !== word[i]) return false;
  return true;
}

/** Letters, a dot, letters. */
export function isAction(outline: JsonOutline, node: number): boolean {
  const length = stringBytes(outline, node);
  if (length < LIMITS.actionLengthMin || length > LIMITS.actionLengthMax) return false;
  const from = outline.from(node) + 1;
  let pointAt = -1;
  for (let i = 0; i < length; i++) {
    const byte = outline.bytes[from + i]!;
    if (byte === POINT && pointAt === -1) pointAt = i;
    else if (!isLetter(byte)) return false;
  }
  return pointAt > 0 && pointAt < length - 1;
}

function isLetter(byte: number): boolean {
  const small = byte | 0x20;
  return small >= 0x61 && small <= 0x7a;
}

const UUID_LENGTH = 36;

export function isUuidText(outline: JsonOutline, node: number): boolean {
  if (stringBytes(outline, node) !== UUID_LENGTH) return false;
  const from = outline.from(node) + 1;
  for (let i = 0; i < UUID_LENGTH; i++) {
    const byte = outline.bytes[from + i]!;
    const isDash = i === 8 || i === 13 || i === 18 || i === 23;
    if (isDash ? byte !== MINUS : !isHexDigit(byte)) return false;
  }
  return true;
}

function isHexDigit(byte: number): boolean {
  const small = byte | 0x20;
  return (byte >= ZERO && byte <= NINE) || (small >= 0x61 && small <= 0x66);
}

/** `2026-01-02T03:04:05`; then a point and digits, or nothing, and `Z`. */
const SECONDS_LENGTH = 19;
const FRACTION_DIGITS_MAX = LIMITS.timestampFractionDigitsMax;
/** Every month has so many days. */
const COMMON_DAYS = 28;
const PATTERN = Buffer.from('dddd-dd-ddTdd:dd:dd');
const DIGIT = 'd'.charCodeAt(0);

/** A date-time in UTC, in the form that is kept: only the fraction may be absent. */
export function isUtcText(outline: JsonOutline, node: number): boolean {
  const { bytes } = outline;
  const length = stringBytes(outline, node);
  const from = outline.from(node) + 1;
  if (length <= SECONDS_LENGTH || bytes[from + length - 1] !== CAPITAL_Z) return false;
  for (let i = 0; i < SECONDS_LENGTH; i++) {
    const byte = bytes[from + i]!;
    if (PATTERN[i] === DIGIT ? !isDigit(byte) : byte !== PATTERN[i]) return false;
  }
  const isCommon =
    isWithin(twoDigits(bytes, from + 5), 1, 12) &&
    isWithin(twoDigits(bytes, from + 8), 1, COMMON_DAYS) &&
    twoDigits(bytes, from + 11) < 24 &&
    twoDigits(bytes, from + 14) < 60 &&
    twoDigits(bytes, from + 17) < 60 &&
    isFraction(bytes, from + SECONDS_LENGTH, from + length - 1);
  return isCommon || isDateTime(Buffer.from(outline.value(node)).toString('latin1', 1, length + 1));
}

/** A point and digits, or nothing. */
function isFraction(bytes: Uint8Array, from: number, to: number): boolean {
  if (from === to) return true;
  if (bytes[from] !== POINT || !isWithin(to - from - 1, 1, FRACTION_DIGITS_MAX)) return false;
  for (let i = from + 1; i < to; i++) if (!isDigit(bytes[i]!)) return false;
  return true;
}

function isDigit(byte: number): boolean {
  return byte >= ZERO && byte <= NINE;
}

function twoDigits(bytes: Uint8Array, at: number): number {
  return 10 * (bytes[at]! - ZERO) + bytes[at + 1]! - ZERO;
}

function isWithin(value: number, min: number, max: number): boolean {
  return value >= min && value <= max;
}

/** Whether a time is before the second of another; within that second it is undecided. */
export function isBefore(outline: JsonOutline, timestamp: number, latest: string): boolean {
  const from = outline.from(timestamp) + 1;
  for (let i = 0; i < SECONDS_LENGTH; i++) {
    const difference = outline.bytes[from + i]! - latest.charCodeAt(i);
    if (difference !== 0) return difference < 0;
  }
  return false;
}
