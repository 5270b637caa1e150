// Reads a text that has exactly one form, left to right: what must stand there is named, and anything else –
// another order, white space, a needless escape – is refused where it is met. So one pass both reads a line and
// checks that whoever wrote it had no choice.

import { decodeBase64, utf8 } from '../bytes.ts';
import { EvidenceError } from '../errors.ts';
import { PATH_LENGTH_MAX } from '../event/units.ts';
import { parseJsonToCompare } from '../json/parse-json.ts';

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const BRACKET = 0x5b;
const BRACKET_END = 0x5d;

/**
 * The paths of the lines before, by their place in the line. Lines of a log are much alike: to see that the same path
 * stands there again is faster than to make the same string again and to look it up.
 */
const pathsBefore: string[] = [];
const PATHS_BEFORE_MAX = 64;

export class LineReader {
  readonly #text: string;
  /** Its characters: much faster to look at one by one than the text itself. */
  readonly #codes: Uint8Array | Uint16Array;
  /** What the text is, for messages. */
  readonly #what: string;
  #at = 0;
  /** How many paths were read. */
  #paths = 0;

  /** `bytes` are the text in UTF-8. */
  constructor(what: string, text: string, bytes: Uint8Array = utf8(text)) {
    this.#what = what;
    this.#text = text;
    this.#codes = bytes.length === text.length ? bytes : codesOf(text);
  }

  /** Goes on behind `literal`, which must stand here. */
  expect(literal: string): void {
    if (!this.take(literal)) throw this.#fault();
  }

  /** Goes on behind `literal` if it stands here. */
  take(literal: string): boolean {
    const codes = this.#codes;
    for (let i = 0; i < literal.length; i++) {
      if (codes[this.#at + i] !== literal.charCodeAt(i)) return false;
    }
    this.#at += literal.length;
    return true;
  }

  /** Items between brackets, with commas between them. */
  list<Item>(readItem: () => Item): Item[] {
    this.#expectCode(BRACKET);
    const items: Item[] = [];
    if (this.#takeCode(BRACKET_END)) return items;
    do items.push(readItem());
    while (this.#takeCode(COMMA));
    this.#expectCode(BRACKET_END);
    return items;
  }

  /** A string, between its quotes, in the one form that JSON.stringify gives it. */
  string(): string {
    this.#expectCode(QUOTE);
    const start = this.#at;
    const end = this.#endOfPlain(start);
    if (this.#codes[end] !== QUOTE) return this.#escaped(start);
    this.#at = end + 1;
    return this.#text.slice(start, end);
  }

  /** A string that is likely to stand in many lines, and is kept: it does not hold on to the text it was read from. */
  path(): string {
    const place = this.#paths++;
    const before = pathsBefore[place];
    if (before !== undefined && this.#takeString(before)) return before;
    const start = this.#at;
    const text = this.string();
    if (text.length > PATH_LENGTH_MAX) return text;
    const path = String.fromCharCode(...codesOf(text));
    const isPlain = this.#at - start === path.length + 2;
    if (isPlain && place < PATHS_BEFORE_MAX) pathsBefore[place] = path;
    return path;
  }

  /**
   * What most values of events are: a string that holds a string as JSON, without escapes but for its quotes, as in
   * "\"Success\"". It is RFC 8785 text as it stands. Undefined, and nothing is read, where something else stands.
   */
  plainStringText(): string | undefined {
    const start = this.#at;
    const codes = this.#codes;
    if (codes[start] !== QUOTE || codes[start + 1] !== BACKSLASH || codes[start + 2] !== QUOTE)
      return undefined;
    const end = this.#endOfPlain(start + 3);
    if (codes[end] !== BACKSLASH || codes[end + 1] !== QUOTE || codes[end + 2] !== QUOTE) return undefined;
    this.#at = end + 3;
    return `"${this.#text.slice(start + 3, end)}"`;
  }

  /** So many bytes in base64, between quotes. */
  bytes(length: number): Uint8Array {
    this.#expectCode(QUOTE);
    const bytes = new Uint8Array(length);
    this.#at = decodeBase64(this.#codes, this.#at, bytes);
    this.#expectCode(QUOTE);
    return bytes;
  }

  /** Nothing may be left. */
  end(): void {
    if (this.#at !== this.#codes.length) throw this.#fault();
  }

  /** Goes on behind a plain string between quotes if it stands here. */
  #takeString(plain: string): boolean {
    const start = this.#at;
    const codes = this.#codes;
    if (codes[start] !== QUOTE || codes[start + plain.length + 1] !== QUOTE) return false;
    this.#at++;
    if (!this.take(plain)) {
      this.#at = start;
      return false;
    }
    this.#at++;
    return true;
  }

  #expectCode(code: number): void {
    if (!this.#takeCode(code)) throw this.#fault();
  }

  #takeCode(code: number): boolean {
    if (this.#codes[this.#at] !== code) return false;
    this.#at++;
    return true;
  }

  /** The first character from `start` on that does not stand for itself in a string. */
  #endOfPlain(start: number): number {
    const codes = this.#codes;
    let at = start;
    for (; at < codes.length; at++) {
      const code = codes[at]!;
      // A surrogate is left to the engine, which knows whether it has its other half.
      if (code < 0x20 || code === QUOTE || code === BACKSLASH || (code & 0xf800) === 0xd800) break;
    }
    return at;
  }

  /** A string with escapes. Those of quotes and backslashes have one form; all others are written again to compare. */
  #escaped(start: number): string {
    const codes = this.#codes;
    let hasOneForm = true;
    let end = this.#endOfPlain(start);
    for (; end < codes.length && codes[end] !== QUOTE; end = this.#endOfPlain(end)) {
      const isEscape = codes[end] === BACKSLASH;
      const escaped = codes[end + 1];
      if (!isEscape || (escaped !== QUOTE && escaped !== BACKSLASH)) hasOneForm = false;
      end += isEscape ? 2 : 1;
    }
    const quoted = this.#text.slice(start - 1, end + 1);
    const text = parseJsonToCompare(quoted);
    if (typeof text !== 'string' || !(hasOneForm || JSON.stringify(text) === quoted)) throw this.#fault();
    this.#at = end + 1;
    return text;
  }

  #fault(): EvidenceError {
    const where = `at character ${this.#at + 1}`;
    return new EvidenceError('MALFORMED', `${this.#what}: not in the one form that it has, ${where}`);
  }
}

function codesOf(text: string): Uint16Array {
  const codes = new Uint16Array(text.length);
  for (let i = 0; i < text.length; i++) codes[i] = text.charCodeAt(i);
  return codes;
}
