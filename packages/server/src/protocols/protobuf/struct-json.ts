// `google.protobuf.Struct`, `Value` and `ListValue` as JSON text. Their numbers are doubles, written as RFC 8785 writes them;
// NaN and the infinities have no JSON and are refused. Of a key that is there twice the last value counts.

import type { JsonBytes } from './json-bytes.ts';
import { DEPTH_MAX, malformed, WIRE, type WireReader } from './reader.ts';

const FIELDS = field(1, WIRE.Bytes);
const KEY = field(1, WIRE.Bytes);
const VALUE = field(2, WIRE.Bytes);
const ITEMS = field(1, WIRE.Bytes);
const NULL = field(1, WIRE.Varint);
const NUMBER = field(2, WIRE.Fixed64);
const TEXT = field(3, WIRE.Bytes);
const BOOL = field(4, WIRE.Varint);
const STRUCT = field(5, WIRE.Bytes);
const LIST = field(6, WIRE.Bytes);

const [COMMA, COLON] = [0x2c, 0x3a];
const [BRACKET, BRACKET_END, BRACE, BRACE_END] = [0x5b, 0x5d, 0x7b, 0x7d];

function field(number: number, wire: number): number {
  return (number << 3) | wire;
}

/** Where key and value stand in the message; a value that comes in pieces has several. */
interface Entry {
  keyFrom: number;
  keyTo: number;
  readonly value: number[];
}

export class StructReader {
  readonly #wire: WireReader;
  readonly #out: JsonBytes;

  constructor(wire: WireReader, out: JsonBytes) {
    this.#wire = wire;
    this.#out = out;
  }

  struct(bounds: readonly number[], depth: number): void {
    const out = this.#out;
    const entries = this.#entries(bounds, depth);
    out.open(BRACE);
    for (let i = 0; i < entries.length; i++) {
      const { keyFrom, keyTo, value } = entries[i]!;
      out.text(this.#wire, keyFrom, keyTo);
      out.byte(COLON);
      if (value.length === 0) out.ascii('null');
      else this.value(value, depth + 1);
      if (i + 1 < entries.length) out.byte(COMMA);
    }
    out.close(BRACE_END);
  }

  value(bounds: readonly number[], depth: number): void {
    checkDepth(depth);
    const wire = this.#wire;
    let kind: number | undefined;
    let inside: number[] = [];
    for (let i = 0; i < bounds.length; i += 2) {
      wire.pos = bounds[i]!;
      wire.end = bounds[i + 1]!;
      while (wire.pos < wire.end) {
        const tag = wire.tag();
        const from = wire.pos;
        if (tag === STRUCT || tag === LIST) {
          // One that comes in pieces is put together.
          if (kind !== tag) inside = [];
          this.#span(inside);
        } else {
          wire.pass(tag);
          if (tag !== NULL && tag !== NUMBER && tag !== TEXT && tag !== BOOL) continue;
          inside = [from, wire.pos];
        }
        kind = tag;
      }
    }
    if (kind === STRUCT) this.struct(inside, depth + 1);
    else if (kind === LIST) this.#list(inside, depth + 1);
    else this.#simple(kind, inside);
  }

  /** In the order of RFC 8785, the last of each key. */
  #entries(bounds: readonly number[], depth: number): Entry[] {
    checkDepth(depth);
    const wire = this.#wire;
    const { bytes } = wire;
    const entries: Entry[] = [];
    let isOrdered = true;
    let before: Entry | undefined;
    for (let i = 0; i < bounds.length; i += 2) {
      wire.pos = bounds[i]!;
      const end = bounds[i + 1]!;
      for (wire.end = end; wire.pos < end; wire.end = end) {
        const tag = wire.tag();
        if (tag !== FIELDS) {
          wire.pass(tag);
          continue;
        }
        const entry = this.#entry();
        entries.push(entry);
        isOrdered &&= before === undefined || compareKeys(bytes, before, entry) < 0;
        before = entry;
      }
    }
    if (isOrdered) return entries;
    const compare = (one: Entry, other: Entry) => compareKeys(bytes, one, other);
    entries.sort(compare);
    return entries.filter((each, i) => i + 1 === entries.length || compare(each, entries[i + 1]!) !== 0);
  }

  #entry(): Entry {
    const wire = this.#wire;
    wire.end = wire.span();
    const entry: Entry = { keyFrom: 0, keyTo: 0, value: [] };
    while (wire.pos < wire.end) {
      const tag = wire.tag();
      if (tag === KEY) {
        entry.keyTo = wire.span();
        entry.keyFrom = wire.pos;
        wire.pos = entry.keyTo;
      } else if (tag === VALUE) this.#span(entry.value);
      else wire.pass(tag);
    }
    return entry;
  }

  #list(bounds: readonly number[], depth: number): void {
    checkDepth(depth);
    const wire = this.#wire;
    const out = this.#out;
    out.open(BRACKET);
    let isFirst = true;
    for (let i = 0; i < bounds.length; i += 2) {
      wire.pos = bounds[i]!;
      const end = bounds[i + 1]!;
      for (wire.end = end; wire.pos < end; wire.end = end) {
        const tag = wire.tag();
        if (tag !== ITEMS) {
          wire.pass(tag);
          continue;
        }
        const item: number[] = [];
        this.#span(item);
        if (!isFirst) out.byte(COMMA);
        isFirst = false;
        this.value(item, depth + 1);
        wire.pos = item[1]!;
      }
    }
    out.close(BRACKET_END);
  }

  #simple(kind: number | undefined, [from = 0, to = 0]: readonly number[]): void {
    const wire = this.#wire;
    const out = this.#out;
    wire.pos = from;
    wire.end = to;
    switch (kind) {
      case NULL:
        return out.ascii('null');
      case NUMBER:
        return out.number(wire.double());
      case TEXT:
        wire.span();
        return out.text(wire, wire.pos, to);
      case BOOL:
        return out.ascii(wire.boolText());
      case undefined:
      default:
        throw malformed('a value of a Struct is of no kind');
    }
  }

  #span(bounds: number[]): void {
    const wire = this.#wire;
    const end = wire.span();
    bounds.push(wire.pos, end);
    wire.pos = end;
  }
}

function checkDepth(depth: number): void {
  if (depth > DEPTH_MAX) throw malformed(`values are nested over ${DEPTH_MAX} deep`);
}

function compareKeys(bytes: Uint8Array, one: Entry, other: Entry): number {
  const [from, otherFrom] = [one.keyFrom, other.keyFrom];
  const [length, otherLength] = [one.keyTo - from, other.keyTo - otherFrom];
  for (let i = 0; i < length && i < otherLength; i++) {
    const [byte, otherByte] = [bytes[from + i]!, bytes[otherFrom + i]!];
    if (byte !== otherByte) return unitOrder(byte) - unitOrder(otherByte);
  }
  return length - otherLength;
}

/** RFC 8785 compares units of UTF-16: what is over U+FFFF, four bytes long in UTF-8, comes before U+E000. */
function unitOrder(byte: number): number {
  return byte < 0xf0 ? byte : 0xed + (byte - 0xef) / 16;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/**
 * Whether the text is one object as far as its brackets go, so that it can stand in the place of a value: whatever else is
 * wrong inside is found when all of it is scanned.
 */
export function closesWhereItEnds(text: string): boolean {
  const trimmed = text.trim();
  if (!trimmed.startsWith('{')) return false;
  let depth = 0;
  let isInText = false;
  for (let i = 0; i < trimmed.length; i++) {
    const code = trimmed.charCodeAt(i);
    if (isInText) {
      if (code === BACKSLASH) i++;
      else if (code === QUOTE) isInText = false;
    } else if (code === QUOTE) isInText = true;
    else if (code === 0x7b || code === 0x5b) depth++;
    else if (code === 0x7d || code === 0x5d) {
      depth--;
      if (depth === 0) return i === trimmed.length - 1;
    }
  }
  return false;
}
