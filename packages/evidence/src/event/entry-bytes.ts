// Entries as the service makes and reads many of them: into bytes, and in place among other bytes. entry.ts has the format.

import { readU64, writeU64 } from '../bytes.ts';
import {
  CONTENT_AT,
  type Entry,
  ENTRY_BYTES,
  EVENT_ID_AT,
  INDEX_AT,
  type Kind,
  KIND_AT,
  PREVIOUS_AT,
  RECEIVED_AT,
  requireForm,
} from './entry.ts';
import { writeEventId } from './event-id-bytes.ts';
import { LABEL_ENTRY } from './labels.ts';

export function encodeEntry(entry: Entry): Uint8Array {
  const bytes = new Uint8Array(ENTRY_BYTES);
  writeEntry(entry, bytes, 0);
  return bytes;
}

/** The same into an existing buffer, for callers that make many. */
export function writeEntry(entry: Entry, into: Uint8Array, at: number): void {
  into.set(LABEL_ENTRY, at);
  into[at + KIND_AT] = entry.kind;
  for (let i = at + KIND_AT + 1; i < at + INDEX_AT; i++) into[i] = 0;
  writeU64(into, at + INDEX_AT, entry.index);
  writeU64(into, at + RECEIVED_AT, entry.receivedAtMs);
  writeEventId(entry.eventId, into, at + EVENT_ID_AT);
  into.set(entry.previous, at + PREVIOUS_AT);
  into.set(entry.content, at + CONTENT_AT);
}

/** The fields that tie an entry to its place, read in place among other bytes, for callers that scan many. */
export interface EntryLink {
  readonly kind: Kind;
  readonly index: number;
  readonly receivedAtMs: number;
  /** Where in the entry the 32 bytes of `previous` begin, and those of `content`. */
  readonly previousAt: number;
  readonly contentAt: number;
}

/** Refuses what `decodeEntry` refuses. */
export function readLink(bytes: Uint8Array, at: number): EntryLink {
  requireForm(bytes, at);
  return {
    kind: bytes[at + KIND_AT] as Kind,
    index: readU64(bytes, at + INDEX_AT),
    receivedAtMs: readU64(bytes, at + RECEIVED_AT),
    previousAt: PREVIOUS_AT,
    contentAt: CONTENT_AT,
  };
}
