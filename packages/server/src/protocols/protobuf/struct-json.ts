// `google.protobuf.Struct`, `Value` and `ListValue` as JSON text. Their numbers are doubles, written as RFC 8785 writes them;
// NaN and the infinities have no JSON and are refused.

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

function field(number: number, wire: number): number {
  return (number << 3) | wire;
}

export class StructReader {
  readonly #wire: WireReader;
  readonly #count: (length: number) => void;

  constructor(wire: WireReader, count: (length: number) => void) {
    this.#wire = wire;
    this.#count = count;
  }

  struct(bounds: readonly number[], depth: number): string {
    const wire = this.#wire;
    const entries = new Map<string, string>();
    this.#each(bounds, depth, (tag, end) => {
      if (tag !== FIELDS) return false;
      const inside = wire.span();
      wire.end = inside;
      let key = '';
      const value: number[] = [];
      while (wire.pos < inside) {
        const inner = wire.tag();
        if (inner === KEY) key = this.#wire.nextText();
        else if (inner === VALUE) value.push(...this.#bounds());
        else wire.pass(inner);
      }
      entries.set(key, value.length === 0 ? 'null' : this.value(value, depth + 1));
      this.#count(key.length + 4);
      [wire.pos, wire.end] = [inside, end];
      return true;
    });
    const keys = [...entries.keys()];
    if (keys.length > 1) keys.sort();
    return `{${keys.map((key) => `${JSON.stringify(key)}:${entries.get(key)!}`).join(',')}}`;
  }

  value(bounds: readonly number[], depth: number): string {
    const wire = this.#wire;
    let text: string | undefined;
    /** A struct or a list that comes in pieces is put together. */
    let parts: { readonly tag: number; readonly bounds: number[] } | undefined;
    this.#each(bounds, depth, (tag) => {
      if (tag === STRUCT || tag === LIST) {
        if (parts?.tag !== tag) parts = { tag, bounds: [] };
        parts.bounds.push(...this.#bounds());
        text = undefined;
        return true;
      }
      const simple = this.#simple(tag);
      if (simple === undefined) return false;
      [text, parts] = [simple, undefined];
      return true;
    });
    if (parts !== undefined) {
      const { tag, bounds: inside } = parts;
      return tag === STRUCT ? this.struct(inside, depth + 1) : this.#list(inside, depth + 1);
    }
    if (text === undefined) throw malformed('a value of a Struct is of no kind');
    this.#count(text.length);
    wire.pos = bounds.at(-1)!;
    return text;
  }

  #list(bounds: readonly number[], depth: number): string {
    const wire = this.#wire;
    const items: string[] = [];
    this.#each(bounds, depth, (tag, end) => {
      if (tag !== ITEMS) return false;
      const inside = this.#bounds();
      items.push(this.value(inside, depth + 1));
      this.#count(1);
      [wire.pos, wire.end] = [inside[1], end];
      return true;
    });
    return `[${items.join(',')}]`;
  }

  #each(bounds: readonly number[], depth: number, take: (tag: number, end: number) => boolean): void {
    if (depth > DEPTH_MAX) throw malformed(`values are nested over ${DEPTH_MAX} deep`);
    const wire = this.#wire;
    for (let i = 0; i < bounds.length; i += 2) {
      const end = bounds[i + 1]!;
      [wire.pos, wire.end] = [bounds[i]!, end];
      while (wire.pos < end) {
        const tag = wire.tag();
        if (!take(tag, end)) wire.pass(tag);
      }
    }
  }

  #simple(tag: number): string | undefined {
    const wire = this.#wire;
    switch (tag) {
      case NULL:
        wire.varint();
        return 'null';
      case NUMBER: {
        const number = wire.double();
        if (!Number.isFinite(number)) throw malformed('a number is not finite');
        return JSON.stringify(number);
      }
      case TEXT:
        return JSON.stringify(this.#wire.nextText());
      case BOOL:
        wire.varint();
        return wire.low === 0 && wire.high === 0 ? 'false' : 'true';
      default:
        return undefined;
    }
  }

  #bounds(): [start: number, end: number] {
    const wire = this.#wire;
    const end = wire.span();
    const start = wire.pos;
    wire.pos = end;
    return [start, end];
  }
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
