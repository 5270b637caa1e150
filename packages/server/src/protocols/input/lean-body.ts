// The value of a parsed body, without values that nobody reads. An object that has members which are kept as text, be it
// the body or an item of a list in it, is not parsed at all until somebody asks for its value; and then those members are
// their RFC 8785 text, cut out of that of the body. Values that can only be refused are left out: those deeper than the
// operation looks, and unknown members beyond the number that an error lists. A body of nothing but new keys would
// otherwise take the engine too long to parse.

import { LIMITS } from '@tallystick/contract';
import { JsonOutline, parseJson } from '@tallystick/evidence';
import { JsonText, UnreadValue } from '../../call.ts';
import type { BodyRules, ParsedBody } from './parse-body.ts';
import type { KnownMembers, TextMembers } from './text-members.ts';

export function bodyValue(parsed: ParsedBody, { texts }: BodyRules): unknown {
  if ('value' in parsed) return parsed.value;
  // Only a body that has such members is outlined.
  return leanValue(new JsonOutline(parsed.text, parsed.nodes), texts!);
}

const NO_MEMBERS: KnownMembers = {};
const COMMA = 0x2c;
const COMMA_LENGTH = 1;
/** Between the beginning of a key and the quote before it. */
const QUOTE_LENGTH = 1;

export function leanValue(outline: JsonOutline, texts: TextMembers): unknown {
  const { list: member, names, keys, inBody, inObject } = texts;
  const read = (node: number, unknownMax: number) => {
    const kept: [name: string, text: JsonText][] = [];
    const isKept = (inside: number) => {
      const which = outline.isObject(inside) ? keys.findIndex((key) => outline.hasKey(inside, key)) : -1;
      if (which !== -1) kept.push([names[which]!, new JsonText(outline.value(inside))]);
      return which !== -1;
    };
    const value = new LeanReader(outline, unknownMax).read(node, inObject, isKept);
    // The value is an object where anything was cut out of it.
    for (const [name, text] of kept) (value as Record<string, unknown>)[name] = text;
    return value;
  };
  if (member === undefined) return new UnreadValue(outline, outline.root, read);
  const value = new LeanReader(outline, LIMITS.errorDetailsMax).read(outline.root, inBody);
  const list = listIn(outline, member.name);
  if (list === undefined) return value;
  const items: UnreadValue[] = [];
  for (let node = outline.first(list); node < outline.end(list); node = outline.next(node)) {
    items.push(new UnreadValue(outline, node, read));
  }
  // The list was found in it.
  (value as Record<string, unknown>)[member.name] = items;
  return value;
}

function listIn(outline: JsonOutline, listName: string): number | undefined {
  if (!outline.isObject(outline.root)) return undefined;
  const list = outline.member(outline.root, Buffer.from(listName));
  return list !== undefined && outline.isList(list) ? list : undefined;
}

interface KnownKey {
  readonly key: Uint8Array;
  readonly inside: KnownMembers;
}

/** The keys of members, by their length. */
const keysOfMembers = new WeakMap<KnownMembers, readonly (readonly KnownKey[])[]>();

function keysOf(members: KnownMembers): readonly (readonly KnownKey[])[] {
  const known = keysOfMembers.get(members);
  if (known !== undefined) return known;
  const keys: KnownKey[][] = [];
  for (const [name, inside] of Object.entries(members)) {
    const key = Buffer.from(name);
    (keys[key.length] ??= []).push({ key, inside });
  }
  keysOfMembers.set(members, keys);
  return keys;
}

/** Bytes to be left out. */
interface Cut {
  readonly from: number;
  to: number;
}

class LeanReader {
  readonly #outline: JsonOutline;
  /** How many more members are read that are not known. */
  #unknownLeft: number;
  readonly #cuts: Cut[] = [];

  constructor(outline: JsonOutline, unknownMax: number) {
    this.#outline = outline;
    this.#unknownLeft = unknownMax;
  }

  /** The value at a node that has these members, without those that are kept elsewhere. */
  read(node: number, members: KnownMembers, isKept: (node: number) => boolean = () => false): unknown {
    if (this.#isContainer(node)) this.#cutInside(node, members, isKept);
    const cuts = this.#cuts.sort((a, b) => a.from - b.from);
    return parseJson(textBetween(this.#outline, node, cuts));
  }

  #isContainer(node: number): boolean {
    return this.#outline.isObject(node) || this.#outline.isList(node);
  }

  /** Of a list nothing matters but that it is one: where one may stand, it is read otherwise. */
  #cutInside(parent: number, members: KnownMembers, isKept?: (node: number) => boolean): void {
    const outline = this.#outline;
    const keys = keysOf(members);
    if (keys.length === 0 || !outline.isObject(parent)) {
      this.#cuts.push({ from: outline.from(parent) + 1, to: outline.to(parent) - 1 });
      return;
    }
    // Unknown members of an object are listed before those inside its members, and so they are read.
    const inner: [node: number, members: KnownMembers][] = [];
    for (let node = outline.first(parent); node < outline.end(parent); node = outline.next(node)) {
      const ofLength = keys[outline.keyTo(node) - outline.keyFrom(node)];
      const known = ofLength?.find(({ key }) => outline.hasKey(node, key));
      if (isKept?.(node) === true || (known === undefined && --this.#unknownLeft < 0)) this.#cutMember(node);
      else if (this.#isContainer(node)) inner.push([node, known?.inside ?? NO_MEMBERS]);
    }
    for (const [node, inside] of inner) this.#cutInside(node, inside);
  }

  /** Members beside one another are one piece. */
  #cutMember(node: number): void {
    const from = this.#outline.keyFrom(node) - QUOTE_LENGTH;
    const to = this.#outline.to(node);
    const last = this.#cuts.at(-1);
    if (last !== undefined && last.to === from - COMMA_LENGTH) last.to = to;
    else this.#cuts.push({ from, to });
  }
}

let scratch = Buffer.alloc(64 * 1024);
/** A rare large body must not keep its memory for ever. */
const SCRATCH_BYTES_MAX = 1024 * 1024;

/** The text of a value without some of it, each piece cut out with one comma that stands beside it. */
function textBetween(outline: JsonOutline, node: number, cuts: readonly Cut[]): string {
  const { bytes } = outline;
  const end = outline.to(node);
  let from = outline.from(node);
  let room = end - from;
  for (const cut of cuts) room -= cut.to - cut.from;
  const into = room <= scratch.length ? scratch : Buffer.alloc(room);
  if (room <= SCRATCH_BYTES_MAX) scratch = into;
  let at = 0;
  for (const cut of cuts) {
    into.set(bytes.subarray(from, cut.from), at);
    at += cut.from - from;
    from = cut.to;
    if (bytes[from] === COMMA) from += 1;
    else if (into[at - 1] === COMMA) at -= 1;
  }
  into.set(bytes.subarray(from, end), at);
  return into.toString('utf8', 0, at + end - from);
}
