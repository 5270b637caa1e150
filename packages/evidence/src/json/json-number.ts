// Numbers inside JSON: the grammar of RFC 8259, and whether a literal means the same to every reader. It
// does iff its decimal value is that of ECMAScript's shortest form of the nearest double and, where it has
// neither fraction nor exponent, lies within ±(2^53 - 1). Zero is fine with either sign.

import { textOf } from '../bytes.ts';
import { byteAt, NotJson } from './json-fault.ts';
import type { Noted } from './json-string.ts';

/** A bit of Noted, beside those of json-string.ts. */
export const INEXACT = 8;

const PLUS = 0x2b;
const MINUS = 0x2d;
const POINT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const SMALL_E = 0x65;

/** Decimals of so many digits never share a double, so each has the value of its shortest form: with an exponent of */
const DIGITS_ALWAYS_EXACT = 15;
/** at most so many digits, which stays far from the ends of a double's range. */
const EXPONENT_DIGITS_ALWAYS_EXACT = 2;

/** `at` is a minus or a digit; returns the index after the number. */
export function afterNumber(noted: Noted, bytes: Uint8Array, at: number): number {
  const first = bytes[at] === MINUS ? at + 1 : at;
  let end = byteAt(bytes, first) === ZERO ? first + 1 : afterDigits(bytes, first);
  const hasFraction = byteAt(bytes, end) === POINT;
  if (hasFraction) end = afterDigits(bytes, end + 1);
  const hasExponent = (byteAt(bytes, end) | 0x20) === SMALL_E;
  if (hasExponent) {
    const isShort = end - first <= DIGITS_ALWAYS_EXACT;
    const sign = byteAt(bytes, end + 1);
    const digits = sign === PLUS || sign === MINUS ? end + 2 : end + 1;
    end = afterDigits(bytes, digits);
    if (isShort && end - digits <= EXPONENT_DIGITS_ALWAYS_EXACT) return end;
  } else if (end - first <= DIGITS_ALWAYS_EXACT) {
    return end;
  }
  const isExact =
    hasFraction || hasExponent ? isExactDecimal(literalOf(bytes, first, end)) : isSafe(bytes, first, end);
  if (!isExact) noted.notes |= INEXACT;
  return end;
}

/** What is wrong with a literal that was noted as inexact, in words that follow its path. */
export function inexactIssue(literal: string): string {
  if (!/[.eE]/.test(literal)) return 'is an integer outside ±(2^53 - 1)';
  const double = Number(literal);
  if (!Number.isFinite(double)) return 'is a number beyond the range of a double';
  return `is a number that is not exact as a double, which would make it ${double}`;
}

function afterDigits(bytes: Uint8Array, at: number): number {
  const { length } = bytes;
  let end = at;
  while (end < length && bytes[end]! >= ZERO && bytes[end]! <= NINE) end++;
  if (end === at) throw new NotJson(bytes, at, 'a digit');
  return end;
}

/** Up to so many digits, a loop is faster than to call the decoder. */
const SHORT_LITERAL_MAX = 12;

export function literalOf(bytes: Uint8Array, from: number, to: number): string {
  if (to - from > SHORT_LITERAL_MAX) return textOf(bytes.subarray(from, to));
  let literal = '';
  for (let i = from; i < to; i++) literal += String.fromCharCode(bytes[i]!);
  return literal;
}

/** For digits only. Up to 2^53 the sum is exact, and what is more stays more when it is rounded. */
function isSafe(bytes: Uint8Array, from: number, end: number): boolean {
  if (end - from > 16) return false;
  let value = 0;
  for (let i = from; i < end; i++) value = value * 10 + (bytes[i]! - ZERO);
  return value <= Number.MAX_SAFE_INTEGER;
}

/** For a literal without sign. Two that have the same digits but for zeros, and one double, have one value. */
function isExactDecimal(literal: string): boolean {
  const double = Number(literal);
  if (!Number.isFinite(double)) return false;
  const shortest = String(double);
  return shortest === literal || sameDigits(literal, shortest);
}

/** Compares the digits of two literals, without zeros at either end. */
function sameDigits(one: string, other: string): boolean {
  let i = afterZeros(one);
  let j = afterZeros(other);
  for (;;) {
    const digit = digitAt(one, i);
    if (digit !== digitAt(other, j)) return false;
    if (isOver(one, i) && isOver(other, j)) return true;
    i = nextDigit(one, i);
    j = nextDigit(other, j);
  }
}

/** At the first digit that is no zero, or where the digits are over. */
function afterZeros(literal: string): number {
  let at = 0;
  while (literal.charCodeAt(at) === ZERO || literal.charCodeAt(at) === POINT) at++;
  return at;
}

function nextDigit(literal: string, at: number): number {
  if (isOver(literal, at)) return at;
  return literal.charCodeAt(at + 1) === POINT ? at + 2 : at + 1;
}

/** Behind the last one come zeros. */
function digitAt(literal: string, at: number): number {
  return isOver(literal, at) ? ZERO : literal.charCodeAt(at);
}

function isOver(literal: string, at: number): boolean {
  return at >= literal.length || (literal.charCodeAt(at) | 0x20) === SMALL_E;
}
