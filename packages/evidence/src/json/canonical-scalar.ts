// Scalars on their way into canonical bytes. Most are canonical as they stand and are copied; numbers in another
// spelling are written anew. The source ends with a zero byte, which no scalar has in it and every loop here stops
// at. What is no JSON throws NotJson, or is refused where that is all the same to the caller.

import { type CanonicalBuffers, depart } from './canonical-buffers.ts';
import { convertEscape } from './canonical-escape.ts';
import { afterNumber, literalOf } from './json-number.ts';
import { QUOTE } from './json-string.ts';

/** In place of an index: not canonical, or not to be had from here. */
const REFUSED = -1;

const MINUS = 0x2d;
const POINT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const BACKSLASH = 0x5c;
const SMALL_E = 0x65;
const SMALL_U = 0x75;

/** Writes the scalar at hand; false to refuse it. */
export function copyScalar(buffers: CanonicalBuffers): boolean {
  const { source, out, at: from } = buffers;
  const byte = source[from]!;
  if (byte === QUOTE) return copyString(buffers);
  const at = byte > NINE ? afterWord(source, from) : afterPlainNumber(source, from);
  if (at === REFUSED) return convertNumber(buffers);
  let { end } = buffers;
  for (let i = from; i < at; i++) out[end++] = source[i]!;
  buffers.at = at;
  buffers.end = end;
  return true;
}

/** 1 for what may follow a backslash in a canonical text; for a slash and for most \u there is a shorter spelling. */
const KEPT_ESCAPE = new Uint8Array(256);
for (const letter of '"\\bfnrt') KEPT_ESCAPE[letter.charCodeAt(0)] = 1;

/**
 * Writes the string whose opening quote is at hand; false to refuse it. Copies four bytes at a time, which is twice
 * as fast: what it copies too far is overwritten by what comes next.
 */
export function copyString(buffers: CanonicalBuffers): boolean {
  const { sourceWords, outWords } = buffers;
  let by = buffers.end - buffers.at;
  outWords.setInt8(buffers.end, QUOTE);
  for (let from = buffers.at + 1; ; from += 4) {
    const word = sourceWords.getInt32(from, true);
    outWords.setInt32(from + by, word, true);
    const marks = notPlain(word);
    if (marks === 0) continue;
    const plain = (31 - Math.clz32(marks & -marks)) >> 3;
    const odd = from + plain;
    if (((word >>> (8 * plain)) & 0xff) === QUOTE) {
      buffers.at = odd + 1;
      buffers.end = buffers.at + by;
      return true;
    }
    const copied = copyOdd(buffers, odd, odd + by);
    if (copied === 0) return false;
    from = odd + copied - 4;
    by = buffers.end - odd - copied;
  }
}

/** Writes an escape or a character that is not ASCII; returns how many bytes it had, or 0 to refuse it. */
function copyOdd(buffers: CanonicalBuffers, from: number, into: number): number {
  const { source, sourceWords, outWords } = buffers;
  const isEscape = source[from] === BACKSLASH;
  if (isEscape && KEPT_ESCAPE[source[from + 1]!] === 0) return convertEscape(buffers, from, into);
  outWords.setInt32(into, sourceWords.getInt32(from, true), true);
  const length = isEscape ? 2 : sequenceLength(source, from);
  buffers.end = into + length;
  return length;
}

/**
 * Marks with its highest bit each of the four bytes that does not stand for itself: quote, backslash, what is below
 * 0x20 or above 0x7f. A borrow may mark a byte behind such a one as well, so only the lowest mark counts.
 */
function notPlain(word: number): number {
  const isQuote = (word ^ 0x22222222) - 0x01010101;
  const isBackslash = (word ^ 0x5c5c5c5c) - 0x01010101;
  return (word | (word - 0x20202020) | isQuote | isBackslash) & 0x80808080;
}

/** Of the character at `at`, which is not ASCII; 0 for what is not UTF-8. See the Unicode Standard, table 3-7. */
function sequenceLength(source: Uint8Array, at: number): number {
  const lead = source[at]!;
  const second = source[at + 1]!;
  if (lead < 0xc2 || lead > 0xf4 || !isContinuation(second)) return 0;
  if (lead < 0xe0) return 2;
  if (!isContinuation(source[at + 2]!)) return 0;
  if (lead < 0xf0) return (lead === 0xe0 && second < 0xa0) || (lead === 0xed && second > 0x9f) ? 0 : 3;
  if ((lead === 0xf0 && second < 0x90) || (lead === 0xf4 && second > 0x8f)) return 0;
  return isContinuation(source[at + 3]!) ? 4 : 0;
}

function isContinuation(byte: number): boolean {
  return (byte & 0xc0) === 0x80;
}

/** Decimals of so many characters and without exponent never share a double, so each is its shortest form. */
const EXACT_LENGTH_MAX = 15;
/** Zero, point and six digits: what is smaller is written with an exponent. */
const SMALL_LENGTH_MAX = 8;

/** Where the number at `from` ends if it is canonical as it stands; REFUSED leaves open what it is. */
function afterPlainNumber(source: Uint8Array, from: number): number {
  const first = source[from] === MINUS ? from + 1 : from;
  const startsWithZero = source[first] === ZERO;
  let at = startsWithZero ? first + 1 : afterDigits(source, first);
  if (at === first) return REFUSED;
  if (source[at] === POINT) {
    at = afterDigits(source, at + 1);
    const last = source[at - 1];
    if (last === ZERO || last === POINT || (startsWithZero && at - first > SMALL_LENGTH_MAX)) return REFUSED;
  } else if (startsWithZero && first > from) {
    return REFUSED;
  }
  return at - first > EXACT_LENGTH_MAX || (source[at]! | 0x20) === SMALL_E ? REFUSED : at;
}

function afterDigits(source: Uint8Array, from: number): number {
  let at = from;
  while (source[at]! >= ZERO && source[at]! <= NINE) at++;
  return at;
}

/** Writes a number of another spelling; false to refuse what is no number, or not exact. That would be left as it is. */
function convertNumber(buffers: CanonicalBuffers): boolean {
  const { source, at, end } = buffers;
  if (source[at] !== MINUS && afterDigits(source, at) === at) return false;
  buffers.notes = 0;
  const after = afterNumber(buffers, source, at);
  buffers.at = after;
  if (buffers.notes !== 0) {
    buffers.out.set(source.subarray(at, after), end);
    buffers.end = end + after - at;
    return depart(buffers);
  }
  const text = String(Number(literalOf(source, at, after)));
  buffers.growOut(end + text.length + buffers.length - after);
  for (let i = 0; i < text.length; i++) buffers.out[end + i] = text.charCodeAt(i);
  buffers.end = end + text.length;
  return true;
}

const SMALL_A = 0x61;
const SMALL_F = 0x66;
const SMALL_L = 0x6c;
const SMALL_N = 0x6e;
const SMALL_R = 0x72;
const SMALL_S = 0x73;
const SMALL_T = 0x74;

/** Where `true`, `false` or `null` ends. */
function afterWord(source: Uint8Array, at: number): number {
  const [first, second, third, fourth] = [source[at], source[at + 1], source[at + 2], source[at + 3]];
  if (first === SMALL_T && second === SMALL_R && third === SMALL_U && fourth === SMALL_E) return at + 4;
  if (first === SMALL_N && second === SMALL_U && third === SMALL_L && fourth === SMALL_L) return at + 4;
  if (first === SMALL_F && second === SMALL_A && third === SMALL_L && fourth === SMALL_S) {
    return source[at + 4] === SMALL_E ? at + 5 : REFUSED;
  }
  return REFUSED;
}
