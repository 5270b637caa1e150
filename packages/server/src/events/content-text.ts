// The text of an event's second group: its context and its payload, as the bytes that are hashed, stored and shown.

import { canonicalJson } from '@tallystick/evidence';
import { JsonText } from '../call.ts';

const EMPTY = Buffer.from('{}');
const CONTEXT = Buffer.from('{"context":');
const PAYLOAD = Buffer.from('{"payload":');
const AND_PAYLOAD = Buffer.from(',"payload":');
const END = 0x7d;

/** The RFC 8785 text of a free object: as it arrived, or made now. */
export function textOf(value: object | undefined): Uint8Array | undefined {
  if (value === undefined) return undefined;
  return value instanceof JsonText ? value.bytes : Buffer.from(canonicalJson(value));
}

/** Keys in the order of RFC 8785. */
export function contentTextOf(context: Uint8Array | undefined, payload: Uint8Array | undefined): Uint8Array {
  if (context === undefined) return payload === undefined ? EMPTY : joined(PAYLOAD, payload);
  return payload === undefined ? joined(CONTEXT, context) : joined(CONTEXT, context, AND_PAYLOAD, payload);
}

/** The pieces one behind the other, and the end of the object. */
function joined(...pieces: readonly Uint8Array[]): Uint8Array {
  let length = 1;
  for (const piece of pieces) length += piece.length;
  const text = new Uint8Array(length);
  let at = 0;
  for (const piece of pieces) {
    text.set(piece, at);
    at += piece.length;
  }
  text[at] = END;
  return text;
}
