// The order of keys in canonical bytes: which of two comes first, and how the members of an object that is written
// are put in order by moving their bytes. Keys are compared as UTF-8 without escapes.

import type { CanonicalDesk } from './canonical-desk.ts';
import { FIELDS, FROM, KEY, keyEnd, SIZE, TO } from './json-outline.ts';

const COMMA = 0x2c;
/** From here on, the first byte of a character of UTF-8 says whether UTF-16 needs a surrogate pair for it. */
const LEAD_BEFORE_PAIRS = 0xee;
const LEAD_OF_PAIRS = 0xf0;

/**
 * Negative, zero or positive: the order of the keys' UTF-16 code units. It is that of the UTF-8 bytes, but for
 * characters above U+FFFF: their surrogates come before U+E000.
 */
export function compareKeys(text: Uint8Array, a: number, aEnd: number, b: number, bEnd: number): number {
  const shared = Math.min(aEnd - a, bEnd - b);
  for (let i = 0; i < shared; i++) {
    const one = text[a + i]!;
    const other = text[b + i]!;
    if (one === other) continue;
    const isReversed =
      one >= LEAD_BEFORE_PAIRS &&
      other >= LEAD_BEFORE_PAIRS &&
      one >= LEAD_OF_PAIRS !== other >= LEAD_OF_PAIRS;
    return isReversed ? other - one : one - other;
  }
  return aEnd - a - (bEnd - b);
}

/**
 * Puts the members of the innermost object in order; it is about to be closed. False when a key stands twice. With
 * `nodesMove`, its nodes are put in order as well; without, they are about to be given up.
 */
export function orderMembers(desk: CanonicalDesk, nodesMove: boolean): boolean {
  const members = gather(desk);
  if (members > INSERTION_SORT_MAX) sort(desk, members);
  else sortByInsertion(desk, members);
  const { nodes, out, end, order, beginnings } = desk;
  for (let i = 1; i < members; i++) {
    if (beginnings[i - 1] === beginnings[i] && compareNodes(desk, order[i - 1]!, order[i]!) === 0)
      return false;
  }
  // In order behind the text, and back from there.
  let to = end;
  for (let i = 0; i < members; i++) {
    if (i > 0) out[to++] = COMMA;
    const from = nodes[order[i]! + KEY]! - 1;
    const length = nodes[order[i]! + TO]! - from;
    copyBehind(desk, from, length, to);
    to += length;
  }
  out.copyWithin(nodes[desk.first + KEY]! - 1, end, to);
  return !nodesMove || moveNodes(desk, members);
}

/** Lists the members and the beginnings of their keys; returns how many there are. */
function gather(desk: CanonicalDesk): number {
  const { nodes, first, top } = desk;
  desk.growOrder((top - first) / FIELDS);
  const { order, beginnings } = desk;
  let members = 0;
  for (let node = first; node < top; node += nodes[node + SIZE]!) {
    order[members] = node;
    beginnings[members++] = beginning(desk, nodes[node + KEY]!, keyEnd(nodes, node));
  }
  return members;
}

/**
 * The first four bytes of a key as a number, whose order is never against that of the keys: a shorter key is filled
 * with zeros, which no key has in it; and what is not ASCII, with all behind it, with the last of ASCII.
 */
function beginning(desk: CanonicalDesk, from: number, end: number): number {
  const word = desk.outWords.getInt32(from, false);
  const word4 = end - from >= 4 ? word : end === from ? 0 : word & (-1 << (8 * (4 - (end - from))));
  const notAscii = word4 & 0x80808080;
  return notAscii === 0 ? word4 : (word4 | (0x7fffffff >>> Math.clz32(notAscii))) & 0x7f7f7f7f;
}

/** Objects are small; for those, sorting by insertion beats the built-in. */
const INSERTION_SORT_MAX = 24;

function sortByInsertion(desk: CanonicalDesk, members: number): void {
  const { order, beginnings } = desk;
  for (let i = 1; i < members; i++) {
    const node = order[i]!;
    const begins = beginnings[i]!;
    let place = i;
    for (; place > 0 && beginnings[place - 1]! >= begins; place--) {
      if (beginnings[place - 1] === begins && compareNodes(desk, order[place - 1]!, node) <= 0) break;
      order[place] = order[place - 1]!;
      beginnings[place] = beginnings[place - 1]!;
    }
    order[place] = node;
    beginnings[place] = begins;
  }
}

function sort(desk: CanonicalDesk, members: number): void {
  const { nodes, order, beginnings } = desk;
  order.subarray(0, members).sort((a, b) => compareNodes(desk, a, b));
  for (let i = 0; i < members; i++) {
    beginnings[i] = beginning(desk, nodes[order[i]! + KEY]!, keyEnd(nodes, order[i]!));
  }
}

function compareNodes({ out, nodes }: CanonicalDesk, a: number, b: number): number {
  return compareKeys(out, nodes[a + KEY]!, keyEnd(nodes, a), nodes[b + KEY]!, keyEnd(nodes, b));
}

/** In order behind the nodes, and back from there; all that stands inside a member moves as far as its bytes did. */
function moveNodes(desk: CanonicalDesk, members: number): boolean {
  const { first, top } = desk;
  if (!desk.growNodes(2 * top - first)) return false;
  const { nodes } = desk;
  let place = nodes[first + KEY]!;
  let to = top;
  for (let i = 0; i < members; i++) {
    const member = desk.order[i]!;
    const by = place - nodes[member + KEY]!;
    const memberEnd = member + nodes[member + SIZE]!;
    for (let node = member; node < memberEnd; node += FIELDS) {
      nodes[to + KEY] = nodes[node + KEY] === 0 ? 0 : nodes[node + KEY]! + by;
      nodes[to + FROM] = nodes[node + FROM]! + by;
      nodes[to + TO] = nodes[node + TO]! + by;
      nodes[to + SIZE] = nodes[node + SIZE]!;
      to += FIELDS;
    }
    // Behind the value come a comma and a quote.
    place = nodes[member + TO]! + by + 2;
  }
  nodes.copyWithin(first, top, to);
  return true;
}

/** Up to so many bytes, a loop is faster than to call the built-in. */
const LOOP_LENGTH_MAX = 32;

/** Copies to a place behind all that matters: four bytes at a time, the last ones perhaps too many. */
function copyBehind({ out, outWords }: CanonicalDesk, from: number, length: number, to: number): void {
  if (length > LOOP_LENGTH_MAX) out.copyWithin(to, from, from + length);
  else for (let i = 0; i < length; i += 4) outWords.setInt32(to + i, outWords.getInt32(from + i, true), true);
}
