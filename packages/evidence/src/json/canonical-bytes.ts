// From the bytes of a JSON text to the bytes of its RFC 8785 text in one pass, without making the values. Either
// the result is, byte for byte, canonicalJson of what the text means, and scanJson finds nothing wrong with the text;
// or there is no result: the text is wrong, or an object in it is too large. Where the caller is lenient, there is a
// result for any JSON text that is not nested too deep: JSON.parse makes the same of both.
// Not recursive; linear in time but for sorting keys; of the input nothing is kept.

import { hasBytes, QUOTE } from './json-string.ts';
import { CanonicalBuffers, DEPTH_MAX, depart, FRAME, MEMBERS_LENGTH_MAX } from './canonical-buffers.ts';
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

let buffers = new CanonicalBuffers();

export function canonicalBytes(bytes: Uint8Array, limits: CanonicalLimits): CanonicalText | undefined {
  buffers.take(bytes);
  buffers.isLenient = limits.isLenient === true;
  buffers.closedKeys = limits.closedKeys ?? NONE_CLOSED;
  try {
    if (!write(buffers, limits)) return undefined;
    const text = buffers.shelveText();
    const outline = new JsonOutline(text, buffers.shelveNodes());
    const { isCanonical, repeated } = buffers;
    const repeatedKeys = repeated.length === 0 ? NO_KEYS : Int32Array.from(repeated).sort();
    return { bytes: text, outline, isCanonical, repeatedKeys };
  } catch (fault) {
    if (fault instanceof NotJson) return undefined;
    throw fault;
  } finally {
    if (buffers.isLarge) buffers = new CanonicalBuffers();
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
function write(buffers: CanonicalBuffers, { depthMax: wanted, outlineLevels }: CanonicalLimits): boolean {
  const { source } = buffers;
  const depthMax = Math.min(Math.trunc(wanted), CANONICAL_DEPTH_MAX);
  buffers.outlined = outlineLevels;
  buffers.at = afterSpace(source, 0);
  for (;;) {
    const byte = source[buffers.at]!;
    if (byte === BRACE || byte === BRACKET) {
      if (!(buffers.level < depthMax) && !mayNest(buffers)) return false;
      if (open(buffers, byte)) {
        if (!begin(buffers, NONE, outlineLevels)) return false;
        continue;
      }
    } else if (!copyScalar(buffers)) {
      return false;
    }
    if (!finish(buffers)) return false;
    if (buffers.level === 0) return buffers.at === buffers.length;
    if (!begin(buffers, buffers.node, outlineLevels)) return false;
  }
}

function mayNest(buffers: CanonicalBuffers): boolean {
  return depart(buffers) && buffers.level < DEPTH_MAX;
}

/** Opens a container; false when it is empty and closed again. */
function open(buffers: CanonicalBuffers, byte: number): boolean {
  const { source, out, frames } = buffers;
  out[buffers.end++] = byte;
  buffers.at = afterSpace(source, buffers.at + 1);
  const closing = byte + TO_CLOSING;
  if (source[buffers.at] === closing) {
    out[buffers.end++] = closing;
    buffers.at++;
    return false;
  }
  const frame = FRAME * buffers.level++;
  frames[frame] = buffers.closing;
  frames[frame + 1] = buffers.first;
  frames[frame + 2] = buffers.node;
  frames[frame + 3] = (buffers.isOrdered ? ORDERED : 0) | (buffers.isCrowded ? CROWDED : 0);
  buffers.closing = closing;
  buffers.first = buffers.top;
  buffers.isOrdered = true;
  buffers.isCrowded = false;
  return true;
}

/** After a value: closes what closes here, up to the comma before the next value or the end of the text. */
function finish(buffers: CanonicalBuffers): boolean {
  const { source, out, frames } = buffers;
  for (;;) {
    const at = (buffers.at = afterSpace(source, buffers.at));
    const { node, nodes, top } = buffers;
    nodes[node + TO] = buffers.end;
    nodes[node + SIZE] = top - node;
    if (buffers.level === 0) return true;
    const byte = source[at];
    if (byte === COMMA) {
      out[buffers.end++] = COMMA;
      buffers.at = afterSpace(source, at + 1);
      return true;
    }
    if (byte !== buffers.closing) return false;
    const isOutlined = buffers.level <= buffers.outlined;
    if (!buffers.isOrdered && !buffers.isCrowded && !orderMembers(buffers, isOutlined)) return false;
    out[buffers.end++] = byte;
    buffers.at = at + 1;
    if (!isOutlined) buffers.top = buffers.first;
    const frame = FRAME * --buffers.level;
    buffers.closing = frames[frame]!;
    buffers.first = frames[frame + 1]!;
    buffers.node = frames[frame + 2]!;
    buffers.isOrdered = (frames[frame + 3]! & ORDERED) !== 0;
    buffers.isCrowded = (frames[frame + 3]! & CROWDED) !== 0;
  }
}

/** Begins a member, up to its value, or an item; `before` is the node of the one before it. False to refuse it. */
function begin(buffers: CanonicalBuffers, before: number, outlineLevels: number): boolean {
  const isItem = buffers.closing !== BRACE_END;
  const isOutlined = buffers.level <= buffers.outlined;
  if (buffers.top >= MEMBERS_LENGTH_MAX && !isOutlined && !isItem && isFull(buffers) && !crowd(buffers))
    return false;
  // Of items that are not outlined nothing is to be known, so that all of an array share a node.
  const node = !isOutlined && (isItem || buffers.isCrowded) ? buffers.first : buffers.top;
  buffers.node = node;
  buffers.top = node + FIELDS;
  if (buffers.top > buffers.nodes.length && !buffers.growNodes(buffers.top)) return false;
  const { source, out, nodes } = buffers;
  const mayClose = buffers.level === outlineLevels - 1;
  if (isItem) {
    nodes[node + KEY] = 0;
    nodes[node + FROM] = buffers.end;
    if (mayClose) buffers.outlined = outlineLevels;
    return true;
  }
  if (source[buffers.at] !== QUOTE) return false;
  const key = buffers.end + 1;
  buffers.sources[node] = buffers.at + 1;
  if (!copyString(buffers)) return false;
  const keyTo = buffers.end - 1;
  const at = afterSpace(source, buffers.at);
  if (source[at] !== COLON) return false;
  out[buffers.end++] = COLON;
  buffers.at = afterSpace(source, at + 1);
  nodes[node + KEY] = key;
  nodes[node + FROM] = buffers.end;
  if (before !== NONE && buffers.isOrdered && !buffers.isCrowded) {
    buffers.isOrdered = compareKeys(out, nodes[before + KEY]!, keyEnd(nodes, before), key, keyTo) < 0;
  }
  if (mayClose) buffers.outlined = isClosed(buffers, key, keyTo) ? buffers.level : outlineLevels;
  return true;
}

/** Whether the members of open objects take all their places. Counted from the outlined value that they stand in. */
function isFull({ frames, first, level, outlined, top }: CanonicalBuffers): boolean {
  const isOutermost = level === outlined + 1;
  return top - (isOutermost ? first : frames[FRAME * (outlined + 1) + 1]!) >= MEMBERS_LENGTH_MAX;
}

/** The members of the innermost object share a node from here on, and stay in their order. */
function crowd(buffers: CanonicalBuffers): boolean {
  buffers.isCrowded = true;
  return depart(buffers);
}

function isClosed({ out, closedKeys }: CanonicalBuffers, from: number, to: number): boolean {
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
