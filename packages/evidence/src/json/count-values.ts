// How many values a JSON text has, found in one pass over its bytes without making any: a container that is not empty
// has one value more than it has commas. Of a text that is not JSON it gives some number, and never throws.
// Names are compared as they are written: what is inside a member whose name is written with escapes is counted.

import { utf8 } from '../bytes.ts';
import { hasBytes } from './json-string.ts';

export interface UncountedMembers {
  /** What stands inside members of these names is not counted. */
  readonly names: readonly string[];
  /** Undefined: they are members of the outermost object; else of the objects in its list of this name. */
  readonly listName: string | undefined;
}

export interface JsonCount {
  readonly values: number;
  /** Of the list that was named. */
  readonly items: number;
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const BRACKET_END = 0x5d;
const BRACE = 0x7b;
const BRACE_END = 0x7d;
const SPACE = 0x20;

/** How many containers are open around the members: those of the outermost object, or of one in the list. */
const OUTERMOST = 1;
const IN_LIST = 2;
const IN_LISTED_OBJECT = 3;

export function countValues(bytes: Uint8Array, { names, listName }: UncountedMembers): JsonCount {
  const keys = names.map((name) => utf8(name));
  const listKey = listName === undefined ? undefined : utf8(listName);
  const memberDepth = listName === undefined ? OUTERMOST : IN_LISTED_OBJECT;
  let [values, items, depth] = [1, 0, 0];
  /** How many containers are open around the member that is not counted; 0 outside of one. */
  let uncounted = 0;
  let isListNext = false;
  let isInList = false;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]!;
    if (byte === QUOTE) {
      const end = closingQuote(bytes, at + 1);
      const isMember = uncounted === 0 && (depth === OUTERMOST || depth === memberDepth);
      if (isMember && bytes[afterSpace(bytes, end + 1)] === COLON) {
        const isHere = depth === memberDepth && (listKey === undefined || isInList);
        if (isHere && keys.some((key) => hasBytes(bytes, at + 1, end, key))) uncounted = depth;
        if (depth === OUTERMOST) isListNext = listKey !== undefined && hasBytes(bytes, at + 1, end, listKey);
      }
      at = end;
    } else if (byte === BRACE || byte === BRACKET) {
      if (++depth === IN_LIST) isInList = isListNext && byte === BRACKET;
      if (uncounted > 0 || isClosing(bytes[afterSpace(bytes, at + 1)])) continue;
      values++;
      if (isInList && depth === IN_LIST) items++;
    } else if (byte === BRACE_END || byte === BRACKET_END) {
      depth--;
      if (depth < uncounted) uncounted = 0;
    } else if (byte === COMMA) {
      if (depth === uncounted) uncounted = 0;
      if (uncounted > 0) continue;
      values++;
      if (isInList && depth === IN_LIST) items++;
    }
  }
  return { values, items };
}

function closingQuote(bytes: Uint8Array, from: number): number {
  let at = from;
  while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
  return at;
}

function afterSpace(bytes: Uint8Array, from: number): number {
  let at = from;
  while (at < bytes.length && bytes[at]! <= SPACE) at++;
  return at;
}

function isClosing(byte: number | undefined): boolean {
  return byte === BRACE_END || byte === BRACKET_END;
}
