// The order of keys in canonical bytes: which of two comes first, and how the members of an object that is written
// are put in order by moving their bytes. Keys are compared by the code units that they mean: as UTF-8, and an escape
// by what it stands for.

import { type CanonicalBuffers, depart } from './canonical-buffers.ts';
import { escapedUnit } from './canonical-escape.ts';
import { FIELDS, FROM, KEY, keyEnd, SIZE, TO } from './json-outline.ts';

const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const SMALL_U = 0x75;
/** From here on, the first byte of a character of UTF-8 says whether UTF-16 needs a surrogate pair for it. */
const LEAD_BEFORE_PAIRS = 0xee;
/** That of U+D7FF. */
const LEAD_BEFORE_SURROGATES = 0xed;
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
    if (i > 0 && text[a + i - 1] === BACKSLASH && isEscape(text, a, a + i - 1)) {
      return escapedUnit(text, a + i - 1) - escapedUnit(text, b + i - 1);
    }
    if (one === BACKSLASH || other === BACKSLASH) return unitOf(text, a + i) - unitOf(text, b + i);
    const isReversed =
      one >= LEAD_BEFORE_PAIRS &&
      other >= LEAD_BEFORE_PAIRS &&
      one >= LEAD_OF_PAIRS !== other >= LEAD_OF_PAIRS;
    return isReversed ? other - one : one - other;
  }
  return aEnd - a - (bEnd - b);
}

/** An escape that is no surrogate means less than any character that is not ASCII; one that is, more than U+D7FF. */
function unitOf(text: Uint8Array, at: number): number {
  const byte = text[at]!;
  if (byte !== BACKSLASH) return byte;
  const unit = escapedUnit(text, at);
  return unit < 0x80 ? unit : LEAD_BEFORE_SURROGATES + 0.5;
}

/** Whether the backslash there begins an escape: it does not where it is the second of two. */
function isEscape(text: Uint8Array, from: number, at: number): boolean {
  let before = at;
  while (before > from && text[before - 1] === BACKSLASH) before--;
  return (at - before) % 2 === 0;
}

/**
 * Puts the members of the innermost object in order; it is about to be closed. False to refuse a key that stands
 * twice; where it may, the last one of that key is left, as by JSON.parse. With `nodesMove`, its nodes are put in order
 * as well; without, they are about to be given up.
 */
export function orderMembers(buffers: CanonicalBuffers, nodesMove: boolean): boolean {
  const all = gather(buffers);
  if (all > INSERTION_SORT_MAX) sort(buffers, all);
  else sortByInsertion(buffers, all);
  const members = dropRepeated(buffers, all);
  if (members < all && !depart(buffers)) return false;
  const { nodes, out, end, order } = buffers;
  const start = nodes[buffers.first + KEY]! - 1;
  // In order behind the text, and back from there.
  let to = end;
  for (let i = 0; i < members; i++) {
    if (i > 0) out[to++] = COMMA;
    const from = nodes[order[i]! + KEY]! - 1;
    const length = nodes[order[i]! + TO]! - from;
    copyBehind(buffers, from, length, to);
    to += length;
  }
  out.copyWithin(start, end, to);
  buffers.end = start + to - end;
  return !nodesMove || moveNodes(buffers, members);
}

/** Leaves the last of the members with one key, and notes where the others but the first stand; returns how many are left. */
function dropRepeated(buffers: CanonicalBuffers, members: number): number {
  const { order, beginnings, sources, repeated } = buffers;
  let left = 0;
  for (let i = 0; i < members; i++) {
    const isLast =
      i + 1 === members ||
      beginnings[i] !== beginnings[i + 1] ||
      compareNodes(buffers, order[i]!, order[i + 1]!) !== 0;
    if (isLast) order[left++] = order[i]!;
    else repeated.push(sources[order[i + 1]!]!);
  }
  return left;
}

/** Lists the members and the beginnings of their keys; returns how many there are. */
function gather(buffers: CanonicalBuffers): number {
  const { nodes, first, top } = buffers;
  buffers.growOrder((top - first) / FIELDS);
  const { order, beginnings } = buffers;
  let members = 0;
  for (let node = first; node < top; node += nodes[node + SIZE]!) {
    order[members] = node;
    beginnings[members++] = beginning(buffers, nodes[node + KEY]!, keyEnd(nodes, node));
  }
  return members;
}

/**
 * The first four characters of a key as a number, whose order is never against that of the keys: a shorter key is filled
 * with zeros; and what is not ASCII, with all behind it, with the last of ASCII.
 */
function beginning(buffers: CanonicalBuffers, from: number, end: number): number {
  const word = buffers.outWords.getInt32(from, false);
  const word4 = hasBackslash(word)
    ? unescapedWord(buffers.out, from, end)
    : end - from >= 4
      ? word
      : end === from
        ? 0
        : word & (-1 << (8 * (4 - (end - from))));
  const notAscii = word4 & 0x80808080;
  return notAscii === 0 ? word4 : (word4 | (0x7fffffff >>> Math.clz32(notAscii))) & 0x7f7f7f7f;
}

/** Whether one of the four bytes may be a backslash. */
function hasBackslash(word: number): boolean {
  const other = word ^ 0x5c5c5c5c;
  return ((other - 0x01010101) & ~other & 0x80808080) !== 0;
}

function unescapedWord(out: Uint8Array, from: number, end: number): number {
  let word = 0;
  let at = from;
  for (let i = 0; i < 4; i++) {
    // Of the byte of a surrogate no more counts than that it is not ASCII.
    word = (word << 8) | (at < end ? Math.ceil(unitOf(out, at)) : 0);
    at += out[at] !== BACKSLASH ? 1 : out[at + 1] === SMALL_U ? 6 : 2;
  }
  return word;
}

/** Objects are small; for those, sorting by insertion beats the built-in. */
const INSERTION_SORT_MAX = 24;

function sortByInsertion(buffers: CanonicalBuffers, members: number): void {
  const { order, beginnings } = buffers;
  for (let i = 1; i < members; i++) {
    const node = order[i]!;
    const begins = beginnings[i]!;
    let place = i;
    for (; place > 0 && beginnings[place - 1]! >= begins; place--) {
      if (beginnings[place - 1] === begins && compareNodes(buffers, order[place - 1]!, node) <= 0) break;
      order[place] = order[place - 1]!;
      beginnings[place] = beginnings[place - 1]!;
    }
    order[place] = node;
    beginnings[place] = begins;
  }
}

function sort(buffers: CanonicalBuffers, members: number): void {
  const { nodes, order, beginnings } = buffers;
  order.subarray(0, members).sort((a, b) => compareNodes(buffers, a, b) || a - b);
  for (let i = 0; i < members; i++) {
    beginnings[i] = beginning(buffers, nodes[order[i]! + KEY]!, keyEnd(nodes, order[i]!));
  }
}

function compareNodes({ out, nodes }: CanonicalBuffers, a: number, b: number): number {
  return compareKeys(out, nodes[a + KEY]!, keyEnd(nodes, a), nodes[b + KEY]!, keyEnd(nodes, b));
}

/** In order behind the nodes, and back from there; all that stands inside a member moves as far as its bytes did. */
function moveNodes(buffers: CanonicalBuffers, members: number): boolean {
  const { first, top } = buffers;
  if (!buffers.growNodes(2 * top - first)) return false;
  const { nodes } = buffers;
  let place = nodes[first + KEY]!;
  let to = top;
  for (let i = 0; i < members; i++) {
    const member = buffers.order[i]!;
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
  buffers.top = first + to - top;
  return true;
}

/** Up to so many bytes, a loop is faster than to call the built-in. */
const LOOP_LENGTH_MAX = 32;

/** Copies to a place behind all that matters: four bytes at a time, the last ones perhaps too many. */
function copyBehind({ out, outWords }: CanonicalBuffers, from: number, length: number, to: number): void {
  if (length > LOOP_LENGTH_MAX) out.copyWithin(to, from, from + length);
  else for (let i = 0; i < length; i += 4) outWords.setInt32(to + i, outWords.getInt32(from + i, true), true);
}
