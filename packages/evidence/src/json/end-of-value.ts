// Where a value ends in JSON without white space: the grammar of RFC 8259 over bytes, without making the value. Not
// recursive; linear in time. Others judge whether the bytes are UTF-8 and whether the value is spelt canonically.

import { utf8 } from '../bytes.ts';

const SPACE = 0x20;
const QUOTE = 0x22;
const PLUS = 0x2b;
const COMMA = 0x2c;
const MINUS = 0x2d;
const POINT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const COLON = 0x3a;
const BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const LETTER_E = 0x65;
const LETTER_U = 0x75;
const BRACE = 0x7b;
/** How far behind its opening character a closing one stands in ASCII. */
const TO_CLOSING = 2;
const BRACE_END = BRACE + TO_CLOSING;

const DEPTH_MAX = 64;
/** There is no value, or it does not end. */
export const NO_END = -1;

const SHORT_ESCAPE = marked('"\\/bfnrt');
const HEX_DIGIT = marked('0123456789abcdefABCDEF');
const TRUE = utf8('true');
const FALSE = utf8('false');
const NULL = utf8('null');

/** What closes each container that is open, the outermost first. */
const closings = new Uint8Array(DEPTH_MAX);

/** The index behind the value that begins at `from`, or NO_END. A value that is nested over 64 deep has none. */
export function endOfValue(bytes: Uint8Array, from: number): number {
  let depth = 0;
  /** Of the innermost container. */
  let closing = 0;
  let at = from;
  while (at !== NO_END) {
    const byte = bytes[at]!;
    if (byte === BRACE || byte === BRACKET) {
      if (depth === DEPTH_MAX) return NO_END;
      if (bytes[at + 1] !== byte + TO_CLOSING) {
        closings[depth++] = closing = byte + TO_CLOSING;
        at = byte === BRACE ? endOfKey(bytes, at + 1) : at + 1;
        continue;
      }
      at += 2;
    } else {
      at = endOfScalar(bytes, at, byte);
    }
    while (depth > 0 && bytes[at] === closing) {
      closing = closings[--depth - 1]!;
      at += 1;
    }
    if (depth === 0) return at;
    if (bytes[at] !== COMMA) return NO_END;
    at = closing === BRACE_END ? endOfKey(bytes, at + 1) : at + 1;
  }
  return NO_END;
}

/** Where the value of the key begins. */
function endOfKey(bytes: Uint8Array, from: number): number {
  if (bytes[from] !== QUOTE) return NO_END;
  const end = endOfString(bytes, from);
  return end !== NO_END && bytes[end] === COLON ? end + 1 : NO_END;
}

function endOfScalar(bytes: Uint8Array, from: number, byte: number): number {
  if (byte === QUOTE) return endOfString(bytes, from);
  if (byte === MINUS || isDigit(byte)) return endOfNumber(bytes, from);
  if (byte === TRUE[0]) return endOfWord(bytes, from, TRUE);
  return endOfWord(bytes, from, byte === NULL[0] ? NULL : FALSE);
}

function endOfWord(bytes: Uint8Array, from: number, word: Uint8Array): number {
  for (let i = 0; i < word.length; i++) if (bytes[from + i] !== word[i]) return NO_END;
  return from + word.length;
}

function endOfString(bytes: Uint8Array, from: number): number {
  for (let at = from + 1; ; at++) {
    const byte = bytes[at];
    if (byte === QUOTE) return at + 1;
    if (byte === BACKSLASH) {
      at = lastOfEscape(bytes, at + 1);
      if (at === NO_END) return NO_END;
    } else if (byte === undefined || byte < SPACE) return NO_END;
  }
}

function lastOfEscape(bytes: Uint8Array, at: number): number {
  if (SHORT_ESCAPE[bytes[at]!] === 1) return at;
  return bytes[at] === LETTER_U && isHex(bytes, at + 1) ? at + 4 : NO_END;
}

function isHex(bytes: Uint8Array, from: number): boolean {
  for (let i = from; i < from + 4; i++) if (HEX_DIGIT[bytes[i]!] !== 1) return false;
  return true;
}

function endOfNumber(bytes: Uint8Array, from: number): number {
  const first = bytes[from] === MINUS ? from + 1 : from;
  let end = bytes[first] === ZERO ? first + 1 : endOfDigits(bytes, first);
  if (end !== NO_END && bytes[end] === POINT) end = endOfDigits(bytes, end + 1);
  if (end === NO_END || (bytes[end]! | 0x20) !== LETTER_E) return end;
  const sign = bytes[end + 1];
  return endOfDigits(bytes, sign === PLUS || sign === MINUS ? end + 2 : end + 1);
}

/** There must be one at least. */
function endOfDigits(bytes: Uint8Array, from: number): number {
  let end = from;
  while (isDigit(bytes[end]!)) end += 1;
  return end === from ? NO_END : end;
}

function isDigit(byte: number): boolean {
  return byte >= ZERO && byte <= NINE;
}

function marked(characters: string): Uint8Array {
  const marks = new Uint8Array(256);
  for (const byte of utf8(characters)) marks[byte] = 1;
  return marks;
}
