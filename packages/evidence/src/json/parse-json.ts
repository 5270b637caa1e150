// JSON.parse, without a fault of the engines we run on: V8 (Node 24 and 26 among them) reads an escaped key as
// another one if an object of the same shape was parsed before (nodejs/node#63785), so that one text can change what
// the next one means. Texts without an escaped key are safe and go to JSON.parse; the others are read here, each
// string by itself. Accepts what JSON.parse accepts, to a depth of 256, and throws EvidenceError for all else.

import { EvidenceError } from '../errors.ts';

const DEPTH_MAX = 256;

export function parseJson(text: string): unknown {
  if (hasEscapedKey(text)) return new Reader(text).read();
  return parseNatively(text);
}

/** For a caller that writes what it read anew and compares the texts: an escaped key cannot pass that. */
export function parseJsonToCompare(text: string): unknown {
  return parseNatively(text);
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;

/** A key is a string with a colon behind it. */
function hasEscapedKey(text: string): boolean {
  for (let at = text.indexOf('\\'); at !== -1; at = text.indexOf('\\', at)) {
    // To the end of the string that this backslash stands in.
    while (at < text.length && text.charCodeAt(at) !== QUOTE) at += text.charCodeAt(at) === BACKSLASH ? 2 : 1;
    at++;
    while (isSpace(text.charCodeAt(at))) at++;
    if (text.charCodeAt(at) === COLON) return true;
  }
  return false;
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}

function parseNatively(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    throw new EvidenceError('MALFORMED', 'the text is not JSON', { cause });
  }
}

const BRACE = 0x7b;
const BRACE_END = 0x7d;
const BRACKET = 0x5b;
const BRACKET_END = 0x5d;
const COMMA = 0x2c;

/** A number, `true`, `false` or `null`, or what is none of them: JSON.parse says. */
const SCALAR = /[^\t\n\r [\]{},:"]+/uy;

class Reader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  read(): unknown {
    const value = this.#value(0);
    if (!Number.isNaN(this.#next())) throw this.#fault();
    return value;
  }

  #value(depth: number): unknown {
    if (depth > DEPTH_MAX) throw new EvidenceError('MALFORMED', `the text is nested over ${DEPTH_MAX} deep`);
    const code = this.#next();
    if (code === BRACE) return this.#object(depth);
    if (code === BRACKET) return this.#array(depth);
    return code === QUOTE ? this.#string() : this.#scalar();
  }

  #object(depth: number): Record<string, unknown> {
    const object: Record<string, unknown> = {};
    this.#at++;
    if (this.#takes(BRACE_END)) return object;
    do {
      if (this.#next() !== QUOTE) throw this.#fault();
      const key = this.#string();
      if (!this.#takes(COLON)) throw this.#fault();
      const value = this.#value(depth + 1);
      // Assigned as JSON.parse does it: `__proto__` is a key like any other.
      Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
    } while (this.#takes(COMMA));
    if (!this.#takes(BRACE_END)) throw this.#fault();
    return object;
  }

  #array(depth: number): unknown[] {
    const array: unknown[] = [];
    this.#at++;
    if (this.#takes(BRACKET_END)) return array;
    do array.push(this.#value(depth + 1));
    while (this.#takes(COMMA));
    if (!this.#takes(BRACKET_END)) throw this.#fault();
    return array;
  }

  #string(): string {
    const from = this.#at;
    let at = from + 1;
    for (let code = this.#text.charCodeAt(at); code !== QUOTE; code = this.#text.charCodeAt(at)) {
      if (Number.isNaN(code)) throw this.#fault();
      at += code === BACKSLASH ? 2 : 1;
    }
    this.#at = at + 1;
    return parseNatively(this.#text.slice(from, this.#at)) as string;
  }

  #scalar(): unknown {
    SCALAR.lastIndex = this.#at;
    const [text] = SCALAR.exec(this.#text) ?? [];
    if (text === undefined) throw this.#fault();
    this.#at += text.length;
    return parseNatively(text);
  }

  /** The next character that is no space; NaN at the end. */
  #next(): number {
    while (isSpace(this.#text.charCodeAt(this.#at))) this.#at++;
    return this.#text.charCodeAt(this.#at);
  }

  #takes(code: number): boolean {
    if (this.#next() !== code) return false;
    this.#at++;
    return true;
  }

  #fault(): EvidenceError {
    return new EvidenceError('MALFORMED', `the text is not JSON at character ${this.#at}`);
  }
}
