// The value of a parsed body, without values that nobody reads. An object that has members which are kept as text, be it
// the body or an item of a list in it, is not parsed at all until somebody asks for its value, where the body is
// outlined; and then those members are their RFC 8785 text, cut out of the canonical bytes of the body.

import { JsonOutline, parseJson } from '@tallystick/evidence';
import { JsonText, UnreadValue } from '../../call.ts';
import type { ParsedBody, TakenApartBody } from './parse-body.ts';
import type { TextMembers } from './text-members.ts';

export function bodyValue(parsed: ParsedBody, texts: TextMembers | undefined): unknown {
  if ('value' in parsed) return putTogether(parsed, texts);
  return leanValue(new JsonOutline(parsed.canonical, parsed.nodes), texts!);
}

function putTogether({ value, kept }: TakenApartBody, texts: TextMembers | undefined): unknown {
  for (const { item, name, bytes } of kept) {
    // They were taken out of objects that stand there.
    const body = value as Record<string, unknown>;
    const items = texts?.list === undefined ? undefined : body[texts.list.name];
    const owner = item === undefined ? body : (items as Record<string, unknown>[])[item]!;
    owner[name] = new JsonText(bytes);
  }
  return value;
}

const COMMA = 0x2c;
const BRACKET = 0x5b;
/** Between the beginning of a key and the quote before it. */
const QUOTE_LENGTH = 1;

export function leanValue(outline: JsonOutline, { list: member, names }: TextMembers): unknown {
  const read = (node: number) => leanObject(outline, node, names);
  if (member === undefined) return new UnreadValue(outline, outline.root, read);
  const list = listIn(outline, member.name);
  if (list === undefined) return parseJson(textBetween(outline, outline.root, []));
  const items: UnreadValue[] = [];
  for (let node = outline.first(list); node < outline.end(list); node = outline.next(node)) {
    items.push(new UnreadValue(outline, node, read));
  }
  const inside = { from: outline.from(list) + 1, to: outline.to(list) - 1 };
  // The list was found in it.
  const value = parseJson(textBetween(outline, outline.root, [inside])) as Record<string, unknown>;
  value[member.name] = items;
  return value;
}

function listIn(outline: JsonOutline, listName: string): number | undefined {
  if (!outline.isObject(outline.root)) return undefined;
  const list = outline.member(outline.root, Buffer.from(listName));
  return list !== undefined && outline.bytes[outline.from(list)] === BRACKET ? list : undefined;
}

/**
 * The value at a node; where it is an object, its members of these names that are objects are left as text. Of one that
 * is a list nothing matters but that: it must be an object.
 */
function leanObject(outline: JsonOutline, parent: number, names: readonly string[]): unknown {
  const texts: [name: string, text: JsonText | []][] = [];
  const cuts: Cut[] = [];
  if (outline.isObject(parent)) {
    const keys = names.map((name) => Buffer.from(name));
    for (let node = outline.first(parent); node < outline.end(parent); node = outline.next(node)) {
      const isObject = outline.isObject(node);
      if (!isObject && outline.bytes[outline.from(node)] !== BRACKET) continue;
      const which = keys.findIndex((key) => outline.hasKey(node, key));
      if (which === -1) continue;
      texts.push([names[which]!, isObject ? new JsonText(outline.value(node)) : []]);
      cuts.push({ from: outline.keyFrom(node) - QUOTE_LENGTH, to: outline.to(node) });
    }
  }
  const value = parseJson(textBetween(outline, parent, cuts));
  // The value is an object where anything was cut out of it.
  for (const [name, text] of texts) (value as Record<string, unknown>)[name] = text;
  return value;
}

/** Bytes to be left out. */
interface Cut {
  readonly from: number;
  readonly to: number;
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
