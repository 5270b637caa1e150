// The entry: what a log keeps of an event for ever. 116 bytes, integers big-endian:
//
//   label(e)[16] ‖ u8 kind ‖ 0 0 0 ‖ u64 index ‖ u64 receivedAtMs ‖ eventId[16] ‖ previous[32] ‖ content[32]
//
// `previous` is the leaf hash of index - 1, so the hash chain is inside the leaf and cannot be checked beside
// it; at index 0 it is the genesis hash of the log's origin. leaf = SHA-256( 0x00 ‖ entry ), as in RFC 6962.

import { equalBytes, readU64, utf8, writeU64 } from '../bytes.ts';
import { EvidenceError } from '../errors.ts';
import { eventIdText, writeEventId } from './event-id.ts';
import { LABEL_ENTRY, LABEL_GENESIS } from './labels.ts';
import { sha256 } from '../hash/sha256.ts';

export const ENTRY_BYTES = 116;

/** Kinds 2 to 9 are notices: what the service records about its own acts. */
export const KINDS = {
  event: 1,
  redaction: 2,
  purge: 3,
  keyRotation: 4,
  legalHold: 5,
  policyChange: 6,
  newEpoch: 7,
  streamSeal: 8,
  administration: 9,
} as const;

export type Kind = (typeof KINDS)[keyof typeof KINDS];

export interface Entry {
  kind: Kind;
  index: number;
  receivedAtMs: number;
  eventId: string;
  previous: Uint8Array;
  content: Uint8Array;
}

/** The end of the year 9999: later instants have no text in the interface. */
export const RECEIVED_AT_MS_MAX = 253_402_300_799_999;

/** Where the parts of an entry stand in it. */
export const KIND_AT = 16;
const INDEX_AT = 20;
const RECEIVED_AT = 28;
export const EVENT_ID_AT = 36;
export const PREVIOUS_AT = 52;
export const CONTENT_AT = 84;

export function encodeEntry(entry: Entry): Uint8Array {
  const bytes = new Uint8Array(ENTRY_BYTES);
  writeEntry(entry, bytes, 0);
  return bytes;
}

/** The same into room that is there already: for whoever makes many. */
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

export function decodeEntry(bytes: Uint8Array): Entry {
  if (bytes.length !== ENTRY_BYTES) {
    throw new EvidenceError('MALFORMED', `entry is ${bytes.length} bytes; an entry has ${ENTRY_BYTES}`);
  }
  requireForm(bytes, 0);
  return {
    kind: bytes[KIND_AT] as Kind,
    index: readU64(bytes, INDEX_AT),
    receivedAtMs: readU64(bytes, RECEIVED_AT),
    eventId: eventIdText(bytes.subarray(EVENT_ID_AT, PREVIOUS_AT)),
    previous: bytes.slice(PREVIOUS_AT, CONTENT_AT),
    content: bytes.slice(CONTENT_AT, ENTRY_BYTES),
  };
}

function requireForm(bytes: Uint8Array, at: number): void {
  for (let i = 0; i < LABEL_ENTRY.length; i++) {
    if (bytes[at + i] !== LABEL_ENTRY[i]) {
      throw new EvidenceError('MALFORMED', 'entry does not begin with its label');
    }
  }
  const kind = bytes[at + KIND_AT]!;
  if (kind < KINDS.event || kind > KINDS.administration) {
    throw new EvidenceError('MALFORMED', `entry is of kind ${kind}; kinds are 1 to 9`);
  }
  if (bytes[at + KIND_AT + 1] !== 0 || bytes[at + KIND_AT + 2] !== 0 || bytes[at + KIND_AT + 3] !== 0) {
    throw new EvidenceError('MALFORMED', 'entry has reserved bytes that are not zero');
  }
  if (readU64(bytes, at + RECEIVED_AT) > RECEIVED_AT_MS_MAX) {
    throw new EvidenceError('MALFORMED', 'entry was received after the year 9999');
  }
}

/** What ties an entry to its place, read where it stands among other bytes: for whoever goes through many. */
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

/** Throws unless the units that were shown have led to the content inside the entry. */
export function requireContent({ index, content }: Entry, shown: Uint8Array): void {
  if (equalBytes(content, shown)) return;
  throw new EvidenceError('LEAF_MISMATCH', `what is shown of entry ${index} is not what was hashed`, {
    index,
  });
}

export function isNotice(kind: Kind): boolean {
  return kind !== KINDS.event;
}

/** What stands before the first entry of a log: ties the chain to the log's name. */
export function genesisHash(origin: string): Uint8Array {
  return sha256(LABEL_GENESIS, utf8(origin));
}

/** The same for a log that goes on after a restore: it names the text of the last checkpoint anchored before. */
export function epochGenesisHash(origin: string, checkpointText: string): Uint8Array {
  return sha256(LABEL_GENESIS, utf8(`${origin}\n${checkpointText}`));
}
