// A quick yes for most RFC 8785 texts: looks at the bytes of an array or object once, without building what it means.
// Says no to everything that needs a closer look – escapes, characters of four bytes, much nesting – so a no decides
// nothing. Bytes, because a character of a string costs several times as much to look at.

const QUOTE = 0x22;
const COMMA = 0x2c;
const MINUS = 0x2d;
const POINT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const COLON = 0x3a;
const BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const BRACKET_END = 0x5d;
const BRACE = 0x7b;
const BRACE_END = 0x7d;
/** The first byte of a character that is two code units in UTF-16, where keys sort otherwise than by their bytes. */
const FOUR_BYTES = 0xf0;

/** By byte, whether it stands for itself in a string, or is a part of a character that does. */
const PLAIN = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte >= 0x20 && byte !== QUOTE && byte !== BACKSLASH && byte < FOUR_BYTES ? 1 : 0,
);

const TRUE = [0x74, 0x72, 0x75, 0x65];
const FALSE = [0x66, 0x61, 0x6c, 0x73, 0x65];
const NULL = [0x6e, 0x75, 0x6c, 0x6c];

/** Fewer than a canonical text may have, so that this never needs to count exactly. */
const DEPTH_MAX = 16;
/** No two numbers of so many digits are one and the same to the engine, so that it writes all of them as they are. */
const EXACT_DIGITS_MAX = 15;
/** From 0.000001 on a number is written without an exponent. */
const SMALL_DIGITS_MAX = 6;
/** The engine writes none that is longer. */
const NUMBER_LENGTH_MAX = 25;
const NO = -1;

/** True only for bytes of texts that are canonical. The caller knows that they are UTF-8. */
export function isPlainlyCanonical(bytes: Uint8Array): boolean {
  return endOfValue(bytes, 0, 0) === bytes.length;
}

/** Where the value at `at` ends, or NO. */
function endOfValue(bytes: Uint8Array, at: number, depth: number): number {
  const byte = bytes[at];
  if (byte === undefined) return NO;
  if (byte === QUOTE) return endOfString(bytes, at);
  if (byte === MINUS || (byte >= ZERO && byte <= NINE)) return endOfNumber(bytes, at);
  if (depth < DEPTH_MAX && byte === BRACE) return endOfObject(bytes, at, depth + 1);
  if (depth < DEPTH_MAX && byte === BRACKET) return endOfArray(bytes, at, depth + 1);
  if (byte === TRUE[0]) return endOfWord(bytes, at, TRUE);
  return endOfWord(bytes, at, byte === NULL[0] ? NULL : FALSE);
}

function endOfWord(bytes: Uint8Array, at: number, word: readonly number[]): number {
  for (let i = 0; i < word.length; i++) if (bytes[at + i] !== word[i]) return NO;
  return at + word.length;
}

function endOfString(bytes: Uint8Array, at: number): number {
  let i = at + 1;
  while (PLAIN[bytes[i]!] === 1) i++;
  return bytes[i] === QUOTE ? i + 1 : NO;
}

/** A number is canonical if the engine writes it the same way; most are too short to be written otherwise. */
function endOfNumber(bytes: Uint8Array, at: number): number {
  const start = bytes[at] === MINUS ? at + 1 : at;
  const point = endOfDigits(bytes, start);
  const isWhole = bytes[point] !== POINT;
  const digits = isWhole ? point : endOfDigits(bytes, point + 1);
  if (!isEndOfNumber(bytes[digits])) return endOfOtherNumber(bytes, at, digits);
  const isPlain = isWhole
    ? isPlainInteger(bytes, start, point, at)
    : isPlainFraction(bytes, start, point, digits);
  return isPlain ? digits : endOfOtherNumber(bytes, at, digits);
}

/** Minus zero is written as zero. */
function isPlainInteger(bytes: Uint8Array, start: number, end: number, at: number): boolean {
  if (bytes[start] === ZERO) return end - start === 1 && start === at;
  return end > start && end - start <= EXACT_DIGITS_MAX;
}

/** As for an integer; and what is small enough to have an exponent has more zeros behind its point. */
function isPlainFraction(bytes: Uint8Array, start: number, point: number, end: number): boolean {
  if (bytes[end - 1] === ZERO || end - point < 2 || end - start - 1 > EXACT_DIGITS_MAX) return false;
  if (bytes[start] === ZERO) return point - start === 1 && end - point - 1 <= SMALL_DIGITS_MAX;
  return point > start;
}

function endOfOtherNumber(bytes: Uint8Array, at: number, from: number): number {
  let end = from;
  while (!isEndOfNumber(bytes[end])) end++;
  if (end - at > NUMBER_LENGTH_MAX) return NO;
  const text = String.fromCharCode(...bytes.subarray(at, end));
  const value = Number(text);
  return Number.isFinite(value) && String(value) === text ? end : NO;
}

function endOfDigits(bytes: Uint8Array, at: number): number {
  let end = at;
  for (let byte = bytes[end]!; byte >= ZERO && byte <= NINE; byte = bytes[end]!) end++;
  return end;
}

function isEndOfNumber(byte: number | undefined): boolean {
  return byte === COMMA || byte === BRACKET_END || byte === BRACE_END || byte === undefined;
}

function endOfArray(bytes: Uint8Array, at: number, depth: number): number {
  if (bytes[at + 1] === BRACKET_END) return at + 2;
  let end = at;
  do {
    end = endOfValue(bytes, end + 1, depth);
    if (end === NO) return NO;
  } while (bytes[end] === COMMA);
  return bytes[end] === BRACKET_END ? end + 1 : NO;
}

/** Keys must ascend by their UTF-16 code units. */
function endOfObject(bytes: Uint8Array, at: number, depth: number): number {
  if (bytes[at + 1] === BRACE_END) return at + 2;
  let end = at;
  let before = NO;
  do {
    const start = end + 1;
    if (bytes[start] !== QUOTE) return NO;
    end = endOfString(bytes, start);
    if (end === NO || bytes[end] !== COLON) return NO;
    if (before !== NO && !isKeyBefore(bytes, before, start)) return NO;
    before = start;
    end = endOfValue(bytes, end + 1, depth);
    if (end === NO) return NO;
  } while (bytes[end] === COMMA);
  return bytes[end] === BRACE_END ? end + 1 : NO;
}

/** Whether the key at `first` comes before the one at `second`; both are between quotes, and have none inside. */
function isKeyBefore(bytes: Uint8Array, first: number, second: number): boolean {
  for (let i = 1; ; i++) {
    const one = bytes[first + i]!;
    const other = bytes[second + i]!;
    if (one !== other) return other !== QUOTE && (one === QUOTE || one < other);
    if (one === QUOTE) return false;
  }
}
