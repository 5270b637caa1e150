// Escapes that RFC 8785 spells otherwise, on their way into canonical bytes: \/ and \u. A character that can stand for
// itself does; of the others each has one spelling. No escape gets longer by that.

import { type CanonicalBuffers, depart } from './canonical-buffers.ts';
import { hexUnit } from './json-string.ts';

const SLASH = 0x2f;
const ZERO = 0x30;
const BACKSLASH = 0x5c;
const SMALL_A = 0x61;
const SMALL_U = 0x75;

/** By code unit, the letter of its short escape; 0 for those without. */
const LETTER = new Uint8Array(0x80);
/** By that letter, the code unit. */
const UNIT = new Uint8Array(0x80);
for (const [letter, character] of ['""', '\\\\', 'b\b', 'f\f', 'n\n', 'r\r', 't\t'] as const) {
  LETTER[character!.charCodeAt(0)] = letter!.charCodeAt(0);
  UNIT[letter!.charCodeAt(0)] = character!.charCodeAt(0);
}

/** Writes what the escape at `from` means to `into`; returns how many bytes the escape has, or 0 to refuse it. */
export function convertEscape(buffers: CanonicalBuffers, from: number, into: number): number {
  const { source, out } = buffers;
  if (source[from + 1] === SLASH) {
    out[into] = SLASH;
    buffers.end = into + 1;
    return 2;
  }
  if (source[from + 1] !== SMALL_U) return 0;
  const unit = hexUnit(source, from + 2);
  if (unit >= 0xd800 && unit <= 0xdfff) return convertSurrogate(buffers, from, into, unit);
  if (unit === 0 && !depart(buffers)) return 0;
  buffers.end = writeUnit(out, into, unit);
  return 6;
}

function convertSurrogate(buffers: CanonicalBuffers, from: number, into: number, high: number): number {
  const { source, out } = buffers;
  const isPair = high < 0xdc00 && source[from + 6] === BACKSLASH && source[from + 7] === SMALL_U;
  const low = isPair ? hexUnit(source, from + 8) : 0;
  if (low < 0xdc00 || low > 0xdfff) {
    if (!depart(buffers)) return 0;
    buffers.end = writeLong(out, into, high);
    return 6;
  }
  const point = 0x10000 + ((high & 0x3ff) << 10) + (low & 0x3ff);
  out[into] = 0xf0 | (point >> 18);
  buffers.end = writeContinuations(out, into + 1, point, 3);
  return 12;
}

/** Returns the index after what it writes. */
function writeUnit(out: Uint8Array, into: number, unit: number): number {
  if (unit < 0x80) {
    const letter = LETTER[unit]!;
    if (letter === 0 && unit < 0x20) return writeLong(out, into, unit);
    if (letter !== 0) out[into++] = BACKSLASH;
    out[into] = letter === 0 ? unit : letter;
    return into + 1;
  }
  const continuations = unit < 0x800 ? 1 : 2;
  out[into] = continuations === 1 ? 0xc0 | (unit >> 6) : 0xe0 | (unit >> 12);
  return writeContinuations(out, into + 1, unit, continuations);
}

function writeContinuations(out: Uint8Array, into: number, point: number, count: number): number {
  let at = into;
  for (let left = count - 1; left >= 0; left--) out[at++] = 0x80 | ((point >> (6 * left)) & 0x3f);
  return at;
}

function writeLong(out: Uint8Array, into: number, unit: number): number {
  out[into] = BACKSLASH;
  out[into + 1] = SMALL_U;
  for (let i = 0; i < 4; i++) {
    const digit = (unit >> (12 - 4 * i)) & 0xf;
    out[into + 2 + i] = digit < 10 ? ZERO + digit : SMALL_A + digit - 10;
  }
  return into + 6;
}

/** The code unit that the canonical escape at `at` means; `at` is that of its backslash. */
export function escapedUnit(text: Uint8Array, at: number): number {
  const letter = text[at + 1]!;
  return letter === SMALL_U ? hexUnit(text, at + 2) : UNIT[letter]!;
}
