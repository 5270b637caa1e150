// The way back from a group's text, as encodeEvent writes it and a store keeps it, to its units: where the value of
// each one stands, by ascending tag. The division is that of units.ts, so that both ways always agree.
//
// A text of another form is refused: anything but one object without white space, keys that repeat or are out of
// RFC 8785 order, a path that the group does not have. Values are JSON; isCanonicalJson() tells whether they are
// spelt canonically, for callers that did not write them.

import { textOf } from '../bytes.ts';
import { EvidenceError } from '../errors.ts';
import { endOfValue, NO_END } from '../json/end-of-value.ts';
import { parseJson } from '../json/parse-json.ts';
import type { EncodedGroup, EncodedUnit } from './encode-event.ts';
import { KeyCache, type KnownKey, NO_KEY } from './key-cache.ts';
import { byTag, compareTags } from './shown-event.ts';
import { type Group, OPENED_KEYS_MAX } from './units.ts';

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const BRACE = 0x7b;
const BRACE_END = 0x7d;

const INSERTION_SORT_MAX = 32;
const SHAPE_KEYS_MAX = 64;
const SHAPE_KEY_BYTES_MAX = 256;

let shared: GroupSplitter | undefined;

/** The units of a group's text. Throws EvidenceError for what is no such text. */
export function splitGroup(bytes: Uint8Array, group: Group): EncodedGroup {
  shared ??= new GroupSplitter();
  return shared.split(bytes, group);
}

class GroupSplitter {
  readonly #keys = new KeyCache();
  #bytes: Uint8Array = new Uint8Array(0);
  #units: EncodedUnit[] = [];
  /** The key that was read last. */
  #key: KnownKey = NO_KEY;
  /** By group, the keys of the text before, in order: most texts have the same ones again. */
  readonly #shapes: Record<Group, KnownKey[]> = { 1: [], 2: [] };
  #shape: KnownKey[] = [];
  /** How many keys of this text were read. */
  #keyCount = 0;

  split(bytes: Uint8Array, group: Group): EncodedGroup {
    this.#bytes = bytes;
    this.#units = [];
    this.#shape = this.#shapes[group];
    this.#keyCount = 0;
    const end = this.#fields(group);
    if (end !== bytes.length) throw malformed('ends before its bytes do');
    const units = this.#units;
    return { bytes, units: units.length > INSERTION_SORT_MAX ? byTag(units) : insertByTag(units) };
  }

  /** The object that the whole text is; returns where it ends. */
  #fields(group: Group): number {
    const bytes = this.#bytes;
    if (bytes[0] !== BRACE) throw malformed('is no object');
    if (bytes[1] === BRACE_END) return 2;
    let before = NO_KEY;
    let at = 1;
    for (;;) {
      at = this.#readKey(NO_KEY, before, at);
      const field = this.#key;
      before = field;
      at = bytes[at] === BRACE ? this.#object(field, group, at) : this.#unit(field, group, at);
      if (bytes[at] === BRACE_END) return at + 1;
      if (bytes[at] !== COMMA) throw malformed('has something between its fields');
      at += 1;
    }
  }

  /** An object under a field: a unit for each key, or one unit for all of it when it is not opened. */
  #object(field: KnownKey, group: Group, start: number): number {
    const bytes = this.#bytes;
    if (bytes[start + 1] === BRACE_END) return this.#unit(field, group, start);
    const firstUnit = this.#units.length;
    let before = NO_KEY;
    let count = 0;
    let at = start + 1;
    for (;;) {
      at = this.#readKey(field, before, at);
      const key = this.#key;
      before = key;
      count += 1;
      if (key.isTooLong || count > OPENED_KEYS_MAX) {
        this.#units.length = firstUnit;
        return this.#unit(field, group, start);
      }
      at = this.#unit(key, group, at);
      if (bytes[at] === BRACE_END) return at + 1;
      if (bytes[at] !== COMMA) throw malformed('has something between its keys');
      at += 1;
    }
  }

  #unit(key: KnownKey, group: Group, from: number): number {
    if (key.group !== group) {
      throw new EvidenceError('PATH_UNKNOWN', `group ${group} has no unit at ${JSON.stringify(key.path)}`);
    }
    const to = endOfValue(this.#bytes, from);
    if (to === NO_END) throw malformed(`has no value at byte ${from}, or one that is nested too deep`);
    this.#units.push({ tag: key.tag, path: key.path, from, to });
    return to;
  }

  /** Reads the key at `at` into #key and returns where its value begins. */
  #readKey(parent: KnownKey, before: KnownKey, at: number): number {
    const bytes = this.#bytes;
    if (bytes[at] !== QUOTE) throw malformed('has no key where one must be');
    const from = at + 1;
    const place = this.#keyCount++;
    const expected = this.#shape[place];
    if (expected !== undefined && expected.parent === parent && standsAt(expected.raw, bytes, from)) {
      this.#key = expected;
      this.#requireOrder(before, expected);
      return from + expected.raw.length + 2;
    }
    return this.#readOtherKey(parent, before, from, place);
  }

  #readOtherKey(parent: KnownKey, before: KnownKey, from: number, place: number): number {
    const bytes = this.#bytes;
    let hash = parent.hash;
    let isEscaped = false;
    let to = from;
    for (; ; to++) {
      const byte = bytes[to];
      if (byte === QUOTE) break;
      if (byte === undefined || byte < 0x20) throw malformed('has a string that does not end');
      if (byte === BACKSLASH) {
        isEscaped = true;
        hash = (Math.imul(hash, 31) + byte) | 0;
        to += 1;
      }
      hash = (Math.imul(hash, 31) + bytes[to]!) | 0;
    }
    if (bytes[to + 1] !== COLON) throw malformed('has a key without a value');
    const key =
      this.#keys.find(parent, hash, bytes, from, to) ?? this.#learn(parent, hash, isEscaped, from, to);
    this.#requireOrder(before, key);
    this.#key = key;
    if (place < SHAPE_KEYS_MAX && key.raw.length <= SHAPE_KEY_BYTES_MAX) this.#shape[place] = key;
    return to + 2;
  }

  /** Which key comes before which seldom changes, so what was seen to be in order is not compared again. */
  #requireOrder(before: KnownKey, key: KnownKey): void {
    if (before === NO_KEY || key.after === before.text) return;
    if (!(before.text < key.text)) throw malformed('has keys out of order');
    key.after = before.text;
  }

  #learn(parent: KnownKey, hash: number, isEscaped: boolean, from: number, to: number): KnownKey {
    const raw = this.#bytes.subarray(from, to);
    return this.#keys.learn(parent, hash, raw, isEscaped ? unescaped(raw) : textOf(raw));
  }
}

/** Whether a key that was read before stands here again, with the quote and the colon behind it. */
function standsAt(raw: Uint8Array, bytes: Uint8Array, from: number): boolean {
  const { length } = raw;
  if (bytes[from + length] !== QUOTE || bytes[from + length + 1] !== COLON) return false;
  for (let i = 0; i < length; i++) if (raw[i] !== bytes[from + i]) return false;
  return true;
}

function unescaped(raw: Uint8Array): string {
  const text = parseJson(`"${textOf(raw)}"`);
  if (typeof text !== 'string') throw malformed('has a key that is no string');
  return text;
}

/** The order of byTag for the few units that most groups have, where inserting is several times faster. */
function insertByTag(units: EncodedUnit[]): EncodedUnit[] {
  for (let i = 1; i < units.length; i++) {
    const unit = units[i]!;
    const { order } = unit.tag;
    let place = i;
    for (; place > 0; place--) {
      const other = units[place - 1]!;
      if (other.tag.order < order) break;
      if (other.tag.order === order && compareTags(other.tag, unit.tag) < 0) break;
      units[place] = other;
    }
    units[place] = unit;
  }
  return units;
}

function malformed(fault: string): EvidenceError {
  return new EvidenceError('MALFORMED', `the text of a group ${fault}`);
}
