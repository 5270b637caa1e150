// The entry: what a log keeps of an event for ever. 116 bytes, integers big-endian:
//
//   label(e)[16] ‖ u8 kind ‖ 0 0 0 ‖ u64 index ‖ u64 receivedAtMs ‖ eventId[16] ‖ previous[32] ‖ content[32]
//
// `previous` is the leaf hash of index - 1, so the hash chain is inside the leaf and cannot be checked beside
// it; at index 0 it is the genesis hash of the log's origin. leaf = SHA-256( 0x00 ‖ entry ), as in RFC 6962.

import { equalBytes, readU64, utf8 } from '../bytes.ts';
import { EvidenceError, malformed } from '../errors.ts';
import { eventIdText } from './event-id.ts';
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
export const INDEX_AT = 20;
export const RECEIVED_AT = 28;
export const EVENT_ID_AT = 36;
export const PREVIOUS_AT = 52;
export const CONTENT_AT = 84;

export function decodeEntry(bytes: Uint8Array): Entry {
  if (bytes.length !== ENTRY_BYTES)
    throw malformed(`entry is ${bytes.length} bytes; an entry has ${ENTRY_BYTES}`);
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

export function requireForm(bytes: Uint8Array, at: number): void {
  if (LABEL_ENTRY.some((byte, i) => bytes[at + i] !== byte))
    throw malformed('entry does not begin with its label');
  const kind = bytes[at + KIND_AT]!;
  if (kind < KINDS.event || kind > KINDS.administration)
    throw malformed(`entry is of kind ${kind}; kinds are 1 to 9`);
  for (let i = at + KIND_AT + 1; i < at + INDEX_AT; i++)
    if (bytes[i] !== 0) throw malformed('entry has reserved bytes that are not zero');
  if (readU64(bytes, at + RECEIVED_AT) > RECEIVED_AT_MS_MAX)
    throw malformed('entry was received after the year 9999');
}

/** Throws unless the units that were shown have led to the content inside the entry. */
export function requireContent({ index, content }: Entry, shown: Uint8Array): void {
  if (equalBytes(content, shown)) return;
  const message = `the shown content of entry ${index} does not match its hash`;
  throw new EvidenceError('LEAF_MISMATCH', message, { index });
}

export function isNotice(kind: Kind): boolean {
  return kind !== KINDS.event;
}

/** The link before the first entry of a log: it ties the chain to the log's name. */
export function genesisHash(origin: string): Uint8Array {
  return sha256(LABEL_GENESIS, utf8(origin));
}

/** The same for a log that goes on after a restore: it names the text of the last checkpoint anchored before. */
export function epochGenesisHash(origin: string, checkpointText: string): Uint8Array {
  return genesisHash(`${origin}\n${checkpointText}`);
}
