// Streams and the log's own statements: checkpoints, the proof of one event, consistency, and a verdict on a run.

import type { Static } from 'typebox';
import { arrayOf, choice, doc, mapOf, object, optional, orNull, strictObject } from '../schema.ts';
import { Type } from '../type.ts';
import { JOB_MEMBERS } from './job.ts';
import { Base64, Count, EventId, Hash, Instant, Sequence, StreamId, TenantId } from './primitives.ts';

export const StreamStatus = choice('StreamStatus', 'Purged: the content of every event in it is expired.', [
  'Open',
  'Sealed',
  'Purged',
]);

const SignedNote = Type.String({ description: 'A checkpoint as a C2SP signed note.' });
const TreeSize = Type.Integer({ minimum: 0, description: 'Entries in the tree.' });

export type HashChain = Static<typeof HashChain>;
export const HashChain = object('HashChain', 'How the stream is tied into the log.', {
  algorithm: Type.Literal('SHA-256'),
  genesisHash: doc(Hash, 'What the first entry follows upon.'),
  headHash: doc(Hash, 'The leaf hash of the newest entry; `genesisHash` while there is none.'),
  treeSize: doc(
    TreeSize,
    'Entries of the log under `checkpoint`: of a sealed stream all up to its end, of the open one all that are signed. 0 while there is no such checkpoint.',
  ),
  rootHash: doc(Hash, 'The root of the tree of that size; that of the empty tree while it is 0.'),
  checkpoint: optional(doc(SignedNote, 'The signed note of that size and root; absent until it is made.')),
});

export type EventStream = Static<typeof EventStream>;
export const EventStream = object('EventStream', "A contiguous run of the tenant's log, sealed as one.", {
  streamId: StreamId,
  tenantId: TenantId,
  status: StreamStatus,
  metadata: doc(
    mapOf(Type.String()),
    '`region`: the one that the tenant is pinned to, else that of this instance; absent where there is none.',
  ),
  eventCount: Count,
  firstSequence: optional(Sequence),
  lastSequence: optional(Sequence),
  createdAt: Instant,
  sealedAt: optional(Instant),
  previousStreamId: optional(StreamId),
  hashChain: HashChain,
});

export type Checkpoint = Static<typeof Checkpoint>;
export const Checkpoint = object('Checkpoint', 'A signed statement of the size and the root of the log.', {
  origin: Type.String(),
  treeSize: TreeSize,
  rootHash: Hash,
  checkpoint: SignedNote,
  publishedAt: Instant,
  cosignatures: doc(Count, 'Witnesses that have signed it too.'),
});

export type ConsistencyProof = Static<typeof ConsistencyProof>;
export const ConsistencyProof = object(
  'ConsistencyProof',
  'That the log at one size is a prefix of it at another.',
  {
    from: TreeSize,
    to: TreeSize,
    fromRootHash: Hash,
    toRootHash: Hash,
    hashes: arrayOf(Base64),
    checkpoint: optional(SignedNote),
  },
);

/** A fixed number of texts. Its title names the message that protobuf, without lists of lists, needs here. */
const texts = <T extends readonly string[]>(title: string, description: string, length: T['length']) =>
  Type.Unsafe<T>({
    title,
    description,
    type: 'array',
    items: { type: 'string' },
    minItems: length,
    maxItems: length,
  });

export const OpenUnit = texts<[path: string, salt: string, value: string]>(
  'OpenUnit',
  'A field that is shown: its path (RFC 6901), its salt (base64) and its value (RFC 8785 text).',
  3,
);
export const ClosedUnit = texts<[tag: string, commitment: string]>(
  'ClosedUnit',
  'A field that is withheld: its tag and its commitment (base64).',
  2,
);

export type EventProof = Static<typeof EventProof>;
export const EventProof = object(
  'EventProof',
  'That one event is in the log; checked without trusting the service.',
  {
    eventId: EventId,
    leafIndex: Count,
    treeSize: TreeSize,
    entry: doc(Base64, 'The 116 bytes that were hashed.'),
    open: arrayOf(OpenUnit),
    closed: arrayOf(ClosedUnit),
    groups: doc(
      Type.Array(orNull(Base64), { minItems: 2, maxItems: 2 }),
      'The root of each group of fields that is shown as its root alone, else null.',
    ),
    hashes: doc(arrayOf(Base64), 'The inclusion proof, from the leaf up.'),
    checkpoint: SignedNote,
  },
);

export type VerifyRange = Static<typeof VerifyRange>;
export const VerifyRange = strictObject('VerifyRange', 'Which part of the stream; all of it when absent.', {
  fromSequence: optional(Sequence),
  toSequence: optional(Sequence),
});

export type VerificationFault = Static<typeof VerificationFault>;
export const VerificationFault = object('VerificationFault', 'The first thing that does not fit.', {
  sequence: optional(Sequence),
  reason: Type.String({
    description: 'From the closed list of the verifier: `LEAF_MISMATCH`, `CHAIN_BROKEN`, …',
  }),
  message: Type.String(),
});

export type StreamVerdict = Static<typeof StreamVerdict>;
export const StreamVerdict = object('StreamVerdict', 'What a recomputation of the stream found.', {
  verified: Type.Boolean(),
  firstSequence: optional(Sequence),
  lastSequence: optional(Sequence),
  checkedEvents: Count,
  expiredEvents: doc(Count, 'Content gone, under a notice in the log.'),
  redactedEvents: doc(Count, 'Some fields gone, under a notice in the log.'),
  treeSize: TreeSize,
  rootHash: Hash,
  fault: optional(VerificationFault),
  verifiedAt: Instant,
});

export type StreamVerification = Static<typeof StreamVerification>;
export const StreamVerification = object(
  'StreamVerification',
  'The verification of a stream, under way or done.',
  {
    streamId: StreamId,
    ...JOB_MEMBERS,
    verdict: optional(
      doc(StreamVerdict, 'Once completed; that the stream is broken is a verdict, not a failure.'),
    ),
  },
);
