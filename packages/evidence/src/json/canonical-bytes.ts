// From the bytes of a JSON text to the bytes of its RFC 8785 text in one pass, without making the values. Either
// the result is, byte for byte, canonicalJson of what the text means, and scanJson finds nothing wrong with the text;
// or there is no result, which decides nothing: the text may be wrong, or only spelt in a way that is rare (escapes
// in keys, \u, \/). Not recursive; linear in time but for sorting keys; of the input nothing is kept.

import { CanonicalDesk, FRAME } from './canonical-desk.ts';
import { CANONICAL_DEPTH_MAX } from './canonical-json.ts';
import { compareKeys, orderMembers } from './canonical-order.ts';
import { copyScalar, copyString } from './canonical-scalar.ts';
import { NotJson } from './json-fault.ts';
import { FIELDS, FROM, JsonOutline, KEY, keyEnd, SIZE, TO } from './json-outline.ts';
import { QUOTE } from './json-string.ts';

export interface CanonicalLimits {
  /** How many containers may stand inside one another, the outermost included; never more than canonicalJson takes. */
  readonly depthMax: number;
  /** How many levels of members and items are outlined: 1 for those of the outermost container only. */
  readonly outlineLevels: number;
}

export interface CanonicalText {
  readonly bytes: Uint8Array;
  readonly outline: JsonOutline;
}

let desk = new CanonicalDesk();

export function canonicalBytes(bytes: Uint8Array, limits: CanonicalLimits): CanonicalText | undefined {
  const depthMax = Math.min(Math.trunc(limits.depthMax), CANONICAL_DEPTH_MAX);
  desk.take(bytes);
  try {
    if (!write(desk, depthMax, limits.outlineLevels)) return undefined;
    const text = desk.shelveText();
    return { bytes: text, outline: new JsonOutline(text, desk.shelveNodes()) };
  } catch (fault) {
    if (fault instanceof NotJson) return undefined;
    throw fault;
  } finally {
    if (desk.isLarge) desk = new CanonicalDesk();
  }
}

const COMMA = 0x2c;
const COLON = 0x3a;
const BRACKET = 0x5b;
const BRACE = 0x7b;
/** How far behind its opening character a closing one stands in ASCII. */
const TO_CLOSING = 2;
const BRACE_END = BRACE + TO_CLOSING;
const NONE = -1;

/** False to refuse the text. */
function write(desk: CanonicalDesk, depthMax: number, outlineLevels: number): boolean {
  const { source } = desk;
  desk.at = afterSpace(source, 0);
  for (;;) {
    const byte = source[desk.at]!;
    if (byte === BRACE || byte === BRACKET) {
      if (!(desk.level < depthMax)) return false;
      if (open(desk, byte)) {
        if (!begin(desk, NONE, outlineLevels)) return false;
        continue;
      }
    } else if (!copyScalar(desk)) {
      return false;
    }
    if (!finish(desk, outlineLevels)) return false;
    if (desk.level === 0) return desk.at === desk.length;
    if (!begin(desk, desk.node, outlineLevels)) return false;
  }
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
  frames[frame + 3] = desk.isOrdered ? 1 : 0;
  desk.closing = closing;
  desk.first = desk.top;
  desk.isOrdered = true;
  return true;
}

/** After a value: closes what closes here, up to the comma before the next value or the end of the text. */
function finish(desk: CanonicalDesk, outlineLevels: number): boolean {
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
    const isOutlined = desk.level <= outlineLevels;
    if (!desk.isOrdered && !orderMembers(desk, isOutlined)) return false;
    out[desk.end++] = byte;
    desk.at = at + 1;
    if (!isOutlined) desk.top = desk.first;
    const frame = FRAME * --desk.level;
    desk.closing = frames[frame]!;
    desk.first = frames[frame + 1]!;
    desk.node = frames[frame + 2]!;
    desk.isOrdered = frames[frame + 3] === 1;
  }
}

/** Begins a member, up to its value, or an item; `before` is the node of the one before it. False to refuse it. */
function begin(desk: CanonicalDesk, before: number, outlineLevels: number): boolean {
  const isItem = desk.closing !== BRACE_END;
  // Of items that are not outlined nothing is to be known, so that all of an array share a node.
  const node = isItem && desk.level > outlineLevels ? desk.first : desk.top;
  desk.node = node;
  desk.top = node + FIELDS;
  if (desk.top > desk.nodes.length && !desk.growNodes(desk.top)) return false;
  const { source, out, nodes } = desk;
  if (isItem) {
    nodes[node + KEY] = 0;
    nodes[node + FROM] = desk.end;
    return true;
  }
  if (source[desk.at] !== QUOTE) return false;
  const key = desk.end + 1;
  if (!copyString(desk, false)) return false;
  const keyTo = desk.end - 1;
  const at = afterSpace(source, desk.at);
  if (source[at] !== COLON) return false;
  out[desk.end++] = COLON;
  desk.at = afterSpace(source, at + 1);
  nodes[node + KEY] = key;
  nodes[node + FROM] = desk.end;
  if (before !== NONE && desk.isOrdered) {
    desk.isOrdered = compareKeys(out, nodes[before + KEY]!, keyEnd(nodes, before), key, keyTo) < 0;
  }
  return true;
}

function afterSpace(source: Uint8Array, at: number): number {
  while (source[at]! <= 0x20 && isSpace(source[at]!)) at++;
  return at;
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}
