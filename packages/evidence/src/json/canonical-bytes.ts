// From the bytes of a JSON text to the bytes of its RFC 8785 text in one pass, without making the values. Either
// the result is, byte for byte, canonicalJson of what the text means, and scanJson finds nothing wrong with the text;
// or there is no result: the text is wrong, or an object in it is too large. Where the caller is lenient, there is a
// result for any JSON text that is not nested too deep: JSON.parse makes the same of both.
// Not recursive; linear in time but for sorting keys; of the input nothing is kept.

import { hasBytes, QUOTE } from './json-string.ts';
import { CanonicalDesk, DEPTH_MAX, depart, FRAME, MEMBERS_LENGTH_MAX } from './canonical-desk.ts';
import { CANONICAL_DEPTH_MAX } from './canonical-json.ts';
import { compareKeys, orderMembers } from './canonical-order.ts';
import { copyScalar, copyString } from './canonical-scalar.ts';
import { NotJson } from './json-fault.ts';
import { FIELDS, FROM, JsonOutline, KEY, keyEnd, SIZE, TO } from './json-outline.ts';

export interface CanonicalLimits {
  /** How many containers may stand inside one another, the outermost included; never more than canonicalJson takes. */
  readonly depthMax: number;
  /** How many levels of members and items are outlined: 1 for those of the outermost container only. */
  readonly outlineLevels: number;
  /** Members of the last level but one that have these keys, given in UTF-8: what stands inside is not outlined. */
  readonly closedKeys?: readonly Uint8Array[];
  /** Whether a text is written that breaks a rule which scanJson lists, or has an object with too many members to sort. */
  readonly isLenient?: boolean;
}

export interface CanonicalText {
  readonly bytes: Uint8Array;
  readonly outline: JsonOutline;
  /** False only where the caller is lenient. */
  readonly isCanonical: boolean;
  /** For scanJson: where keys begin that their object had before, but for objects with too many members. */
  readonly repeatedKeys: Int32Array;
}

let desk = new CanonicalDesk();

export function canonicalBytes(bytes: Uint8Array, limits: CanonicalLimits): CanonicalText | undefined {
  desk.take(bytes);
  desk.isLenient = limits.isLenient === true;
  desk.closedKeys = limits.closedKeys ?? NONE_CLOSED;
  try {
    if (!write(desk, limits)) return undefined;
    const text = desk.shelveText();
    const outline = new JsonOutline(text, desk.shelveNodes());
    const { isCanonical, repeated } = desk;
    const repeatedKeys = repeated.length === 0 ? NO_KEYS : Int32Array.from(repeated).sort();
    return { bytes: text, outline, isCanonical, repeatedKeys };
  } catch (fault) {
    if (fault instanceof NotJson) return undefined;
    throw fault;
  } finally {
    if (desk.isLarge) desk = new CanonicalDesk();
  }
}

const NO_KEYS = new Int32Array(0);
const NONE_CLOSED: readonly Uint8Array[] = [];
const COMMA = 0x2c;
const COLON = 0x3a;
const BRACKET = 0x5b;
const BRACE = 0x7b;
/** How far behind its opening character a closing one stands in ASCII. */
const TO_CLOSING = 2;
const BRACE_END = BRACE + TO_CLOSING;
const NONE = -1;
// Bits of a frame.
const ORDERED = 1;
const CROWDED = 2;

/** False to refuse the text. */
function write(desk: CanonicalDesk, { depthMax: wanted, outlineLevels }: CanonicalLimits): boolean {
  const { source } = desk;
  const depthMax = Math.min(Math.trunc(wanted), CANONICAL_DEPTH_MAX);
  desk.outlined = outlineLevels;
  desk.at = afterSpace(source, 0);
  for (;;) {
    const byte = source[desk.at]!;
    if (byte === BRACE || byte === BRACKET) {
      if (!(desk.level < depthMax) && !mayNest(desk)) return false;
      if (open(desk, byte)) {
        if (!begin(desk, NONE, outlineLevels)) return false;
        continue;
      }
    } else if (!copyScalar(desk)) {
      return false;
    }
    if (!finish(desk)) return false;
    if (desk.level === 0) return desk.at === desk.length;
    if (!begin(desk, desk.node, outlineLevels)) return false;
  }
}

function mayNest(desk: CanonicalDesk): boolean {
  return depart(desk) && desk.level < DEPTH_MAX;
}

/** Opens a container; false when it is empty and closed again. */
function open(desk: CanonicalDesk, byte: number): boolean {
  const { source, out, frames } = desk;
  out[desk.end++] = byte;
  desk.at = afterSpace(source, desk.at + 1);
  const closing = byte + TO_CLOSING;
  if (source[desk.at] === closing) {
    out[desk.end++] = closing;
    desk.at++;
    return false;
  }
  const frame = FRAME * desk.level++;
  frames[frame] = desk.closing;
  frames[frame + 1] = desk.first;
  frames[frame + 2] = desk.node;
  frames[frame + 3] = (desk.isOrdered ? ORDERED : 0) | (desk.isCrowded ? CROWDED : 0);
  desk.closing = closing;
  desk.first = desk.top;
  desk.isOrdered = true;
  desk.isCrowded = false;
  return true;
}

/** After a value: closes what closes here, up to the comma before the next value or the end of the text. */
function finish(desk: CanonicalDesk): boolean {
  const { source, out, frames } = desk;
  for (;;) {
    const at = (desk.at = afterSpace(source, desk.at));
    const { node, nodes, top } = desk;
    nodes[node + TO] = desk.end;
    nodes[node + SIZE] = top - node;
    if (desk.level === 0) return true;
    const byte = source[at];
    if (byte === COMMA) {
      out[desk.end++] = COMMA;
      desk.at = afterSpace(source, at + 1);
      return true;
    }
    if (byte !== desk.closing) return false;
    const isOutlined = desk.level <= desk.outlined;
    if (!desk.isOrdered && !desk.isCrowded && !orderMembers(desk, isOutlined)) return false;
    out[desk.end++] = byte;
    desk.at = at + 1;
    if (!isOutlined) desk.top = desk.first;
    const frame = FRAME * --desk.level;
    desk.closing = frames[frame]!;
    desk.first = frames[frame + 1]!;
    desk.node = frames[frame + 2]!;
    desk.isOrdered = (frames[frame + 3]! & ORDERED) !== 0;
    desk.isCrowded = (frames[frame + 3]! & CROWDED) !== 0;
  }
}

/** Begins a member, up to its value, or an item; `before` is the node of the one before it. False to refuse it. */
function begin(desk: CanonicalDesk, before: number, outlineLevels: number): boolean {
  const isItem = desk.closing !== BRACE_END;
  const isOutlined = desk.level <= desk.outlined;
  if (desk.top >= MEMBERS_LENGTH_MAX && !isOutlined && !isItem && isFull(desk) && !crowd(desk)) return false;
  // Of items that are not outlined nothing is to be known, so that all of an array share a node.
  const node = !isOutlined && (isItem || desk.isCrowded) ? desk.first : desk.top;
  desk.node = node;
  desk.top = node + FIELDS;
  if (desk.top > desk.nodes.length && !desk.growNodes(desk.top)) return false;
  const { source, out, nodes } = desk;
  const mayClose = desk.level === outlineLevels - 1;
  if (isItem) {
    nodes[node + KEY] = 0;
    nodes[node + FROM] = desk.end;
    if (mayClose) desk.outlined = outlineLevels;
    return true;
  }
  if (source[desk.at] !== QUOTE) return false;
  const key = desk.end + 1;
  desk.sources[node] = desk.at + 1;
  if (!copyString(desk)) return false;
  const keyTo = desk.end - 1;
  const at = afterSpace(source, desk.at);
  if (source[at] !== COLON) return false;
  out[desk.end++] = COLON;
  desk.at = afterSpace(source, at + 1);
  nodes[node + KEY] = key;
  nodes[node + FROM] = desk.end;
  if (before !== NONE && desk.isOrdered && !desk.isCrowded) {
    desk.isOrdered = compareKeys(out, nodes[before + KEY]!, keyEnd(nodes, before), key, keyTo) < 0;
  }
  if (mayClose) desk.outlined = isClosed(desk, key, keyTo) ? desk.level : outlineLevels;
  return true;
}

/** Whether the members of open objects take all their places. Counted from the outlined value that they stand in. */
function isFull({ frames, first, level, outlined, top }: CanonicalDesk): boolean {
  const isOutermost = level === outlined + 1;
  return top - (isOutermost ? first : frames[FRAME * (outlined + 1) + 1]!) >= MEMBERS_LENGTH_MAX;
}

/** The members of the innermost object share a node from here on, and stay in their order. */
function crowd(desk: CanonicalDesk): boolean {
  desk.isCrowded = true;
  return depart(desk);
}

function isClosed({ out, closedKeys }: CanonicalDesk, from: number, to: number): boolean {
  for (let i = 0; i < closedKeys.length; i++) if (hasBytes(out, from, to, closedKeys[i]!)) return true;
  return false;
}

function afterSpace(source: Uint8Array, at: number): number {
  while (source[at]! <= 0x20 && isSpace(source[at]!)) at++;
  return at;
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}
