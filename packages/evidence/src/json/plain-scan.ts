// A quick yes for most RFC 8785 texts: looks at an array or object once, without building what it means. Says no to
// everything that needs a closer look – escapes, surrogates, much nesting – so a no decides nothing.

const QUOTE = 0x22;
const COMMA = 0x2c;
const MINUS = 0x2d;
const ZERO = 0x30;
const NINE = 0x39;
const COLON = 0x3a;
const BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const BRACKET_END = 0x5d;
const BRACE = 0x7b;
const BRACE_END = 0x7d;

/** Fewer than a canonical text may have, so that this never needs to count exactly. */
const DEPTH_MAX = 16;
const NO = -1;

/** True only for texts that are canonical. */
export function isPlainlyCanonical(text: string): boolean {
  return endOfValue(text, 0, 0) === text.length;
}

/** Where the value at `at` ends, or NO. */
function endOfValue(text: string, at: number, depth: number): number {
  const code = text.charCodeAt(at);
  if (code === QUOTE) return endOfString(text, at);
  if (code === MINUS || (code >= ZERO && code <= NINE)) return endOfNumber(text, at);
  if (depth < DEPTH_MAX && code === BRACE) return endOfObject(text, at, depth + 1);
  if (depth < DEPTH_MAX && code === BRACKET) return endOfArray(text, at, depth + 1);
  for (const word of ['true', 'false', 'null']) if (text.startsWith(word, at)) return at + word.length;
  return NO;
}

function endOfString(text: string, at: number): number {
  for (let i = at + 1; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === QUOTE) return i + 1;
    if (code < 0x20 || code === BACKSLASH || (code & 0xf800) === 0xd800) return NO;
  }
  return NO;
}

/** A number is canonical if the engine writes it the same way. */
function endOfNumber(text: string, at: number): number {
  let end = at + 1;
  for (; end < text.length; end++) {
    const code = text.charCodeAt(end);
    if (code === COMMA || code === BRACKET_END || code === BRACE_END) break;
  }
  const number = text.slice(at, end);
  const value = Number(number);
  return Number.isFinite(value) && String(value) === number ? end : NO;
}

function endOfArray(text: string, at: number, depth: number): number {
  if (text.charCodeAt(at + 1) === BRACKET_END) return at + 2;
  let end = at;
  do {
    end = endOfValue(text, end + 1, depth);
    if (end === NO) return NO;
  } while (text.charCodeAt(end) === COMMA);
  return text.charCodeAt(end) === BRACKET_END ? end + 1 : NO;
}

/** Keys must ascend by their UTF-16 code units, which is how strings compare. */
function endOfObject(text: string, at: number, depth: number): number {
  if (text.charCodeAt(at + 1) === BRACE_END) return at + 2;
  let end = at;
  let before: string | undefined;
  do {
    const start = end + 1;
    if (text.charCodeAt(start) !== QUOTE) return NO;
    end = endOfString(text, start);
    if (end === NO || text.charCodeAt(end) !== COLON) return NO;
    const key = text.slice(start + 1, end - 1);
    if (before !== undefined && before >= key) return NO;
    before = key;
    end = endOfValue(text, end + 1, depth);
    if (end === NO) return NO;
  } while (text.charCodeAt(end) === COMMA);
  return text.charCodeAt(end) === BRACE_END ? end + 1 : NO;
}
