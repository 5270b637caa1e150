// The text of an event's second group: its context and its payload, as the bytes that are hashed, stored and shown.

import type { AuditEvent } from '@tallystick/contract';
import { canonicalJson } from '@tallystick/evidence';
import { JsonText } from '../call.ts';
import { asWritten } from '../written-json.ts';

const EMPTY = Buffer.from('{}');
const CONTEXT = Buffer.from('{"context":');
const PAYLOAD = Buffer.from('{"payload":');
const AND_PAYLOAD = Buffer.from(',"payload":');
const CONTEXT_TEXT = CONTEXT.toString();
const PAYLOAD_TEXT = PAYLOAD.toString();
const AND_PAYLOAD_TEXT = AND_PAYLOAD.toString();
const QUOTE = 0x22;
const BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const BRACKET_END = 0x5d;
const BRACE = 0x7b;
const BRACE_END = 0x7d;

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

/**
 * The members of a stored text, each as its text. The store gives out only JSON without white space that has
 * these members alone; undefined where they are spelt otherwise than here.
 */
export function contentIn(text: string): Pick<AuditEvent, 'context' | 'payload'> | undefined {
  if (text === '{}') return {};
  if (text.startsWith(PAYLOAD_TEXT)) return { payload: asWritten(text.slice(PAYLOAD_TEXT.length, -1)) };
  if (!text.startsWith(CONTEXT_TEXT)) return undefined;
  const end = endOfObject(text, CONTEXT_TEXT.length);
  const context = asWritten(text.slice(CONTEXT_TEXT.length, end));
  if (end === text.length - 1) return { context };
  if (!text.startsWith(AND_PAYLOAD_TEXT, end)) return undefined;
  return { context, payload: asWritten(text.slice(end + AND_PAYLOAD_TEXT.length, -1)) };
}

/** The end of the text where no object ends. */
function endOfObject(text: string, from: number): number {
  let depth = 0;
  for (let at = from; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit === QUOTE) at = closingQuote(text, at + 1);
    else if (unit === BRACE || unit === BRACKET) depth += 1;
    else if (unit === BRACE_END || unit === BRACKET_END) {
      depth -= 1;
      if (depth <= 0) return at + 1;
    }
  }
  return text.length;
}

function closingQuote(text: string, from: number): number {
  let at = from;
  while (at < text.length && text.charCodeAt(at) !== QUOTE) at += text.charCodeAt(at) === BACKSLASH ? 2 : 1;
  return at;
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
  text[at] = BRACE_END;
  return text;
}
