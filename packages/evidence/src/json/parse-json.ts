// JSON.parse, without a fault of the engines we run on: V8 (Node 24 and 26 among them) reads an escaped key as
// another one if an object of the same shape was parsed before (nodejs/node#63785), so that one text can change what
// the next one means. Texts without an escaped key are safe and go to JSON.parse; the others are read here, each
// string by itself. Accepts what JSON.parse accepts, to a depth of 256, and throws EvidenceError for all else.

import { EvidenceError } from '../errors.ts';

const DEPTH_MAX = 256;
const TOKEN = /[\t\n\r ]*(?:([[\]{},:])|("[^"\\]*(?:\\.[^"\\]*)*")|([^\t\n\r [\]{},:"]+))/suy;

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

class Reader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  read(): unknown {
    const value = this.#value(this.#token(), 0);
    if (/[^\t\n\r ]/.test(this.#text.slice(this.#at))) throw this.#fault();
    return value;
  }

  #value(token: string, depth: number): unknown {
    if (depth > DEPTH_MAX) throw new EvidenceError('MALFORMED', `the text is nested over ${DEPTH_MAX} deep`);
    if (token === '{') return this.#object(depth);
    if (token === '[') return this.#array(depth);
    return parseNatively(token);
  }

  #object(depth: number): Record<string, unknown> {
    const object: Record<string, unknown> = {};
    let token = this.#token();
    if (token === '}') return object;
    for (;;) {
      if (!token.startsWith('"')) throw this.#fault();
      const key = parseNatively(token) as string;
      if (this.#token() !== ':') throw this.#fault();
      const value = this.#value(this.#token(), depth + 1);
      // Assigned as JSON.parse does it: `__proto__` is a key like any other.
      Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
      token = this.#token();
      if (token === '}') return object;
      if (token !== ',') throw this.#fault();
      token = this.#token();
    }
  }

  #array(depth: number): unknown[] {
    const array: unknown[] = [];
    let token = this.#token();
    if (token === ']') return array;
    for (;;) {
      array.push(this.#value(token, depth + 1));
      token = this.#token();
      if (token === ']') return array;
      if (token !== ',') throw this.#fault();
      token = this.#token();
    }
  }

  #token(): string {
    TOKEN.lastIndex = this.#at;
    const match = TOKEN.exec(this.#text);
    if (match === null) throw this.#fault();
    this.#at = TOKEN.lastIndex;
    return match[1] ?? match[2] ?? match[3]!;
  }

  #fault(): EvidenceError {
    return new EvidenceError('MALFORMED', `the text is not JSON at character ${this.#at}`);
  }
}
