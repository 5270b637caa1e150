// Canonical JSON: the one text of a value, by RFC 8785. Keys in the order of their UTF-16 code units,
// numbers as ECMAScript prints them, only the escapes that must be, no white space. What has no such text,
// or could mean two things, is refused; docs/formats/canonical-json.md states the format in full.

import { utf8 } from '../bytes.ts';
import { EvidenceError } from '../errors.ts';
import { parseJson } from './parse-json.ts';
import { isPlainlyCanonical } from './plain-scan.ts';

/** How many containers may stand inside one another, the outermost included. */
export const CANONICAL_DEPTH_MAX = 64;

/** Throws MALFORMED, and nothing else, for a value that has no canonical text. */
export function canonicalJson(value: unknown): string {
  try {
    return write('', value, 1);
  } catch (cause) {
    if (cause instanceof EvidenceError) throw cause;
    // Only an accessor or a proxy that is no JSON data in the first place gets here, or a text over V8's limit.
    throw new EvidenceError('MALFORMED', 'value cannot be read', { cause });
  }
}

/** Whether the text is the canonical text of a value. Never throws; what is nested too deep is not canonical. */
export function isCanonicalJson(text: string): boolean {
  const first = text.charCodeAt(0);
  if (first === QUOTE && text.length > 1 && text.endsWith('"') && isPlain(text.slice(1, -1))) return true;
  if (first === MINUS || (first >= ZERO && first <= NINE)) {
    const number = Number(text);
    return Number.isFinite(number) && String(number) === text;
  }
  if (text === 'true' || text === 'false' || text === 'null') return true;
  // What is not well-formed has no UTF-8, and would turn into something that has.
  if (text.isWellFormed() && isPlainlyCanonical(utf8(text))) return true;
  try {
    return canonicalJson(parseJson(text)) === text;
  } catch {
    return false;
  }
}

const QUOTE = 0x22;
const MINUS = 0x2d;
const ZERO = 0x30;
const NINE = 0x39;
const BACKSLASH = 0x5c;

/** Returns the text before with the value's after it: fewer strings are made than by joining parts. */
function write(before: string, value: unknown, level: number): string {
  if (typeof value === 'string') return isPlain(value) ? `${before}"${value}"` : before + escaped(value);
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw refused(String(value));
    return before + String(value);
  }
  if (typeof value === 'boolean') return before + (value ? 'true' : 'false');
  if (value === null) return `${before}null`;
  if (typeof value !== 'object') throw refused(typeof value);
  if (level > CANONICAL_DEPTH_MAX) throw refused(`what is nested deeper than ${CANONICAL_DEPTH_MAX} levels`);
  if (Array.isArray(value)) return writeArray(before, value, level);
  if (isPlainObject(value)) return writeObject(before, value, level);
  throw refused('an instance of a class');
}

function writeArray(before: string, elements: readonly unknown[], level: number): string {
  let text = `${before}[`;
  for (let i = 0; i < elements.length; i++) {
    text = write(i === 0 ? text : `${text},`, elements[i], level + 1);
  }
  return `${text}]`;
}

function writeObject(before: string, object: Record<string, unknown>, level: number): string {
  const keys = sortedKeys(object);
  let text = `${before}{`;
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i]!;
    if (isPlain(key)) text = `${text}${i === 0 ? '"' : ',"'}${key}":`;
    else text = `${text}${i === 0 ? '' : ','}${escaped(key)}:`;
    text = write(text, object[key], level + 1);
  }
  return `${text}}`;
}

function isPlainObject(value: object): value is Record<string, unknown> {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** Objects are small and often in order already; for those, sorting by insertion beats the built-in. */
const INSERTION_SORT_MAX = 24;

function sortedKeys(object: object): string[] {
  const keys = Object.keys(object);
  if (keys.length > INSERTION_SORT_MAX) return keys.sort();
  for (let i = 1; i < keys.length; i++) {
    const key = keys[i]!;
    let place = i;
    for (; place > 0 && keys[place - 1]! > key; place--) keys[place] = keys[place - 1]!;
    keys[place] = key;
  }
  return keys;
}

function escaped(text: string): string {
  if (!text.isWellFormed()) throw refused('a string with a lone surrogate');
  return JSON.stringify(text);
}

/** For strings up to here, a loop is faster than to start a regular expression. */
const LOOP_LENGTH_MAX = 24;
const NOT_PLAIN = /[^ !#-[\]-\ud7ff\ue000-\uffff]/;

/** Whether the text stands for itself between quotes. */
function isPlain(text: string): boolean {
  if (text.length > LOOP_LENGTH_MAX) return !NOT_PLAIN.test(text);
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 0x20 || unit === QUOTE || unit === BACKSLASH || (unit & 0xf800) === 0xd800) return false;
  }
  return true;
}

function refused(what: string): EvidenceError {
  return new EvidenceError('MALFORMED', `${what} has no canonical JSON`);
}
