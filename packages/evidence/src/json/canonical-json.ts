// Canonical JSON: the one text of a value, by RFC 8785. Keys in the order of their UTF-16 code units,
// numbers as ECMAScript prints them, only the escapes that must be, no white space. What has no such text,
// or could mean two things, is refused; docs/formats/canonical-json.md states the format in full.

import { EvidenceError } from '../errors.ts';
import { parseJson } from './parse-json.ts';

/** How many containers may stand inside one another, the outermost included. */
export const CANONICAL_DEPTH_MAX = 64;

/** Throws MALFORMED, and nothing else, for a value that has no canonical text. */
export function canonicalJson(value: unknown): string {
  try {
    return textOf(value, 1);
  } catch (cause) {
    if (cause instanceof EvidenceError) throw cause;
    // Only an accessor or a proxy that is no JSON data in the first place gets here, or a text over V8's limit.
    throw new EvidenceError('MALFORMED', 'value cannot be read', { cause });
  }
}

/** Whether the text is the canonical text of a value. Never throws; what is nested too deep is not canonical. */
export function isCanonicalJson(text: string): boolean {
  if (PLAIN_STRING.test(text)) return true;
  try {
    return canonicalJson(parseJson(text)) === text;
  } catch {
    return false;
  }
}

/** What most values are: a string in which every character stands for itself. */
const PLAIN_STRING = /^"[ !#-[\]-\ud7ff\ue000-\uffff]*"$/;
const NOT_PLAIN = /[^ !#-[\]-\ud7ff\ue000-\uffff]/;

function textOf(value: unknown, level: number): string {
  if (typeof value === 'string' && !NOT_PLAIN.test(value)) return `"${value}"`;
  if (typeof value === 'string' && value.isWellFormed()) return JSON.stringify(value);
  if (typeof value === 'number' && Number.isFinite(value)) return String(value);
  if (typeof value === 'boolean' || value === null) return String(value);
  if (typeof value === 'string') throw refused('a string with a lone surrogate');
  if (typeof value === 'number') throw refused(String(value));
  if (typeof value !== 'object') throw refused(typeof value);
  if (level > CANONICAL_DEPTH_MAX) throw refused(`what is nested deeper than ${CANONICAL_DEPTH_MAX} levels`);
  if (Array.isArray(value)) return arrayText(value, level);
  if (isPlainObject(value)) return objectText(value, level);
  throw refused('an instance of a class');
}

/** Not by map(), which passes over holes. */
function arrayText(elements: readonly unknown[], level: number): string {
  let text = '';
  for (let i = 0; i < elements.length; i++) text += (i === 0 ? '' : ',') + textOf(elements[i], level + 1);
  return `[${text}]`;
}

function objectText(object: Record<string, unknown>, level: number): string {
  const keys = Object.keys(object);
  if (!areInOrder(keys)) keys.sort();
  let text = '';
  for (const key of keys)
    text += `${text === '' ? '' : ','}${textOf(key, level)}:${textOf(object[key], level + 1)}`;
  return `{${text}}`;
}

/** Most keys are, and to see that takes less time than to sort. */
function areInOrder(keys: readonly string[]): boolean {
  for (let i = 1; i < keys.length; i++) if (keys[i]! < keys[i - 1]!) return false;
  return true;
}

function isPlainObject(value: object): value is Record<string, unknown> {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function refused(what: string): EvidenceError {
  return new EvidenceError('MALFORMED', `${what} has no canonical JSON`);
}
