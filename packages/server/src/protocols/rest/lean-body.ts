// A body without values that nobody reads: members that the contract marks `x-kept-as-text` become their RFC 8785
// text, cut out of the canonical bytes of the body, and only the rest is parsed.

import { asJson, type JsonSchema, type Operation, type OperationName } from '@tallystick/contract';
import { type JsonOutline, parseJson } from '@tallystick/evidence';
import { JsonText } from '../../call.ts';

/** Which members are kept as text, and where the objects stand that have them. */
export interface TextMembers {
  /** Undefined: the body is such an object; else the items of this member of the body are. */
  readonly listName: string | undefined;
  readonly names: readonly string[];
  /** How deep the outline of the body must reach. */
  readonly levels: number;
}

export function textMembersOf({ input, rest }: Operation<OperationName>): TextMembers | undefined {
  if (rest.body === undefined) return undefined;
  const body = asJson(input.properties[rest.body]!);
  const own = namesIn(body);
  if (own.length > 0) return { listName: undefined, names: own, levels: 1 };
  for (const [listName, { items }] of Object.entries(body.properties ?? {})) {
    const names = items === undefined ? [] : namesIn(items);
    if (names.length > 0) return { listName, names, levels: 3 };
  }
  return undefined;
}

function namesIn({ properties = {} }: JsonSchema): string[] {
  return Object.entries(properties).flatMap(([name, member]) => (member['x-kept-as-text'] ? [name] : []));
}

const COMMA = 0x2c;
const BRACKET = 0x5b;
const BRACE = 0x7b;
/** Between the beginning of a key and the quote before it. */
const QUOTE_LENGTH = 1;

interface Found {
  /** Which of the objects it is in. */
  readonly object: number;
  readonly name: string;
  readonly node: number;
}

export function leanValue(outline: JsonOutline, { listName, names }: TextMembers): unknown {
  const objects = listName === undefined ? [outline.root] : itemsOf(outline, listName);
  const keys = names.map((name) => Buffer.from(name));
  const found: Found[] = [];
  for (const [object, parent] of objects.entries()) {
    if (outline.bytes[outline.from(parent)] !== BRACE) continue;
    for (let node = outline.first(parent); node < outline.end(parent); node = outline.next(node)) {
      if (outline.bytes[outline.from(node)] !== BRACE) continue;
      const which = keys.findIndex((key) => outline.hasKey(node, key));
      if (which !== -1) found.push({ object, name: names[which]!, node });
    }
  }
  const value = parseJson(withoutMembers(outline, found));
  for (const { object, name, node } of found) {
    const parent = listName === undefined ? value : (value as Record<string, unknown[]>)[listName]![object];
    (parent as Record<string, unknown>)[name] = new JsonText(outline.value(node));
  }
  return value;
}

function itemsOf(outline: JsonOutline, listName: string): number[] {
  if (outline.bytes[outline.from(outline.root)] !== BRACE) return [];
  const list = outline.member(outline.root, Buffer.from(listName));
  if (list === undefined || outline.bytes[outline.from(list)] !== BRACKET) return [];
  const items: number[] = [];
  for (let node = outline.first(list); node < outline.end(list); node = outline.next(node)) items.push(node);
  return items;
}

let scratch = Buffer.alloc(64 * 1024);
/** A rare large body must not keep its memory for ever. */
const SCRATCH_BYTES_MAX = 1024 * 1024;

/** The text of the body without the members, each cut out with one comma. */
function withoutMembers(outline: JsonOutline, found: readonly Found[]): string {
  const { bytes } = outline;
  const { length } = bytes;
  const into = length <= scratch.length ? scratch : Buffer.alloc(length);
  if (length <= SCRATCH_BYTES_MAX) scratch = into;
  let at = 0;
  let from = 0;
  for (const { node } of found) {
    const to = outline.keyFrom(node) - QUOTE_LENGTH;
    into.set(bytes.subarray(from, to), at);
    at += to - from;
    from = outline.to(node);
    if (bytes[from] === COMMA) from += 1;
    else if (into[at - 1] === COMMA) at -= 1;
  }
  into.set(bytes.subarray(from), at);
  return into.toString('utf8', 0, at + length - from);
}
