// Strict JSON: one pass over the bytes of a request body, before JSON.parse, that finds everything which
// JSON.parse lets through and which would make a hash mean two things. Two kinds of fault:
//   syntax      the bytes are no JSON text (RFC 8259, strict UTF-8, no byte order mark): the first fault
//   violations  a JSON text that an event may not be: all of them, each with its path
// A body with neither has one meaning, and JSON.parse of it gives that. Never throws; linear in time.

import { textOf, utf8 } from '../bytes.ts';
import { addKey, aroundText, type Container, enterMember, openInside, pathInside } from './json-container.ts';
import { byteAt, type JsonSyntax, NotJson } from './json-fault.ts';
import { afterNumber, INEXACT, inexactIssue } from './json-number.ts';
import { closingQuote, ESCAPED, HAS_NUL, LONE_SURROGATE, QUOTE } from './json-string.ts';

export type { JsonSyntax } from './json-fault.ts';

export interface ScanLimits {
  /** How many containers may stand inside one another, the outermost included; 1 KB of memory each. */
  depthMax?: number;
  /** How many violations are listed, never less than one; the others are only counted. */
  violationsMax?: number;
  /** Where the keys stand that their object had before, behind their quotes, if that is known: they are not compared. */
  repeatedKeys?: Int32Array;
}

export interface JsonViolation {
  /** `events[2].payload.lines[0].sku`, `payload["unit price"]`; empty for the whole text. */
  path: string;
  /** Words that follow the path: `has U+0000 in it`. */
  issue: string;
  /** The literal as it was sent, cut at 200 characters; for numbers only. */
  value?: string;
}

export interface JsonScan {
  syntax?: JsonSyntax;
  /** In the order of the text; empty when there is a syntax fault. */
  violations: JsonViolation[];
  /** How many more violations there are than listed. */
  unlisted: number;
  /** How many containers stand inside one another, where that is more than allowed. */
  tooDeep?: number;
}

export const JSON_DEPTH_MAX = 32;
export const JSON_VIOLATIONS_MAX = 100;
const VALUE_CHARACTERS_MAX = 200;

interface Scan {
  readonly bytes: Uint8Array;
  readonly depthMax: number;
  readonly violationsMax: number;
  readonly repeatedKeys: Int32Array | undefined;
  /** How many of them have been passed. */
  passed: number;
  /** How many containers are open, and whether the innermost is an object. */
  depth: number;
  isObject: boolean;
  /** The innermost container; past depthMax, where nothing but syntax counts, the last one before. */
  container: Container;
  /** A byte for each container past depthMax: 1 for an object, 0 for an array. */
  tooDeep: Uint8Array;
  /** The greatest depth past depthMax. */
  deepest: number;
  /** About the string, key or number that was scanned last. */
  notes: number;
  readonly violations: JsonViolation[];
  unlisted: number;
}

export function scanJson(bytes: Uint8Array, limits: ScanLimits = {}): JsonScan {
  const scan: Scan = {
    bytes,
    depthMax: atLeast(0, limits.depthMax ?? JSON_DEPTH_MAX),
    violationsMax: atLeast(1, limits.violationsMax ?? JSON_VIOLATIONS_MAX),
    repeatedKeys: limits.repeatedKeys,
    passed: 0,
    depth: 0,
    isObject: false,
    container: aroundText(),
    tooDeep: NONE,
    deepest: 0,
    notes: 0,
    violations: [],
    unlisted: 0,
  };
  try {
    scanText(scan);
  } catch (fault) {
    if (!(fault instanceof NotJson)) throw fault;
    return { syntax: fault.syntax, violations: [], unlisted: 0 };
  }
  const { violations, unlisted, deepest } = scan;
  return deepest === 0 ? { violations, unlisted } : { violations, unlisted, tooDeep: deepest };
}

/** A limit that is no number at all becomes the least one: a mistake must not switch a rule off. */
function atLeast(least: number, limit: number): number {
  return Math.max(least, Math.trunc(limit) || 0);
}

const NONE = new Uint8Array(0);
const COMMA = 0x2c;
const MINUS = 0x2d;
const ZERO = 0x30;
const NINE = 0x39;
const COLON = 0x3a;
const BRACKET = 0x5b;
const BRACE = 0x7b;
/** How far behind its opening character a closing one stands in ASCII. */
const TO_CLOSING = 2;

/** Not recursive, so that no nesting can exhaust the stack. */
function scanText(scan: Scan): void {
  const { bytes } = scan;
  let at = afterSpace(bytes, 0);
  while (at >= 0) {
    const byte = byteAt(bytes, at);
    if (byte === BRACE || byte === BRACKET) {
      open(scan, byte === BRACE);
      at = afterSpace(bytes, at + 1);
      const isEmpty = byteAt(bytes, at) === byte + TO_CLOSING;
      if (!isEmpty) {
        if (byte === BRACE) at = scanKey(scan, at);
        continue;
      }
    } else {
      at = scanScalar(scan, at, byte);
    }
    at = scanToNextValue(scan, at);
  }
}

/** Closes what closes after a value; returns where the next value begins, or -1 when the text is over. */
function scanToNextValue(scan: Scan, from: number): number {
  const { bytes } = scan;
  for (let at = afterSpace(bytes, from); ; at = afterSpace(bytes, at + 1)) {
    const byte = byteAt(bytes, at);
    if (scan.depth === 0) {
      if (byte >= 0) throw new NotJson(bytes, at, 'the end');
      return -1;
    }
    if (byte === COMMA) {
      const next = afterSpace(bytes, at + 1);
      if (scan.isObject) return scanKey(scan, next);
      if (scan.depth <= scan.depthMax) scan.container.index++;
      return next;
    }
    const closing = (scan.isObject ? BRACE : BRACKET) + TO_CLOSING;
    if (byte !== closing) throw new NotJson(bytes, at, `',' or '${String.fromCharCode(closing)}'`);
    close(scan);
  }
}

function open(scan: Scan, isObject: boolean): void {
  if (scan.depth < scan.depthMax) scan.container = openInside(scan.container, isObject);
  else openTooDeep(scan, isObject);
  scan.depth++;
  scan.isObject = isObject;
}

function openTooDeep(scan: Scan, isObject: boolean): void {
  const place = scan.depth - scan.depthMax;
  if (place === 0) report(scan, `is nested deeper than ${scan.depthMax} levels`);
  if (place === scan.tooDeep.length) {
    const longer = new Uint8Array(2 * place + 64);
    longer.set(scan.tooDeep);
    scan.tooDeep = longer;
  }
  scan.tooDeep[place] = isObject ? 1 : 0;
  scan.deepest = Math.max(scan.deepest, scan.depth + 1);
}

function close(scan: Scan): void {
  scan.depth--;
  const place = scan.depth - scan.depthMax;
  if (place < 0) scan.container = scan.container.parent!;
  scan.isObject = place > 0 ? scan.tooDeep[place - 1] === 1 : scan.container.isObject;
}

/** Scans a key with its colon; returns where its value begins. */
function scanKey(scan: Scan, at: number): number {
  const { bytes } = scan;
  if (byteAt(bytes, at) !== QUOTE) throw new NotJson(bytes, at, 'a key in double quotes');
  scan.notes = 0;
  const end = closingQuote(scan, bytes, at + 1);
  if (scan.depth <= scan.depthMax) {
    if (!isNewKey(scan, at + 1, end))
      report(scan, 'is given more than once; an object may have each key once');
    if (scan.notes !== 0) reportNotes(scan, 'its key', at, end);
  }
  const colon = afterSpace(bytes, end + 1);
  if (byteAt(bytes, colon) !== COLON) throw new NotJson(bytes, colon, "':'");
  return afterSpace(bytes, colon + 1);
}

function isNewKey(scan: Scan, start: number, end: number): boolean {
  const { container, bytes, repeatedKeys } = scan;
  enterMember(container, start, end);
  if (repeatedKeys === undefined) return addKey(container, bytes, start, end, (scan.notes & ESCAPED) !== 0);
  while (repeatedKeys[scan.passed]! < start) scan.passed++;
  return repeatedKeys[scan.passed] !== start;
}

function scanScalar(scan: Scan, at: number, byte: number): number {
  const { bytes } = scan;
  scan.notes = 0;
  let end: number;
  if (byte === QUOTE) end = closingQuote(scan, bytes, at + 1) + 1;
  else if (byte === MINUS || (byte >= ZERO && byte <= NINE)) end = afterNumber(scan, bytes, at);
  else end = afterWord(bytes, at, byte);
  if (scan.notes !== 0 && scan.depth <= scan.depthMax) reportNotes(scan, 'it', at, end);
  return end;
}

const WORDS = new Map(['true', 'false', 'null'].map((word) => [word.charCodeAt(0), utf8(word)]));

function afterWord(bytes: Uint8Array, at: number, byte: number): number {
  const word = WORDS.get(byte);
  if (word === undefined) throw new NotJson(bytes, at, 'a value');
  for (let i = 1; i < word.length; i++) {
    if (byteAt(bytes, at + i) !== word[i]) throw new NotJson(bytes, at + i, `'${textOf(word)}'`);
  }
  return at + word.length;
}

function afterSpace(bytes: Uint8Array, at: number): number {
  const { length } = bytes;
  while (at < length && bytes[at]! <= 0x20 && isSpace(bytes[at]!)) at++;
  return at;
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

function reportNotes(scan: Scan, where: 'it' | 'its key', at: number, end: number): void {
  const { bytes, notes } = scan;
  if ((notes & HAS_NUL) !== 0) report(scan, `has U+0000 in ${where}`);
  if ((notes & LONE_SURROGATE) !== 0) report(scan, `has a lone surrogate in ${where}`);
  if ((notes & INEXACT) !== 0) {
    // A body may be nothing but such numbers, and to put each into words would take seconds.
    if (isFull(scan)) {
      scan.unlisted++;
      return;
    }
    const literal = textOf(bytes.subarray(at, end));
    report(scan, inexactIssue(literal), literal.slice(0, VALUE_CHARACTERS_MAX));
  }
}

function isFull({ violations, violationsMax }: Scan): boolean {
  return violations.length >= violationsMax;
}

function report(scan: Scan, issue: string, value?: string): void {
  if (isFull(scan)) {
    scan.unlisted++;
    return;
  }
  const path = pathInside(scan.container, scan.bytes);
  scan.violations.push(value === undefined ? { path, issue } : { path, issue, value });
}
