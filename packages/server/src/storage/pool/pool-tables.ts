// The lookups of a pool whose logs are locked, and the writes of its rows; each backend implements them. They share one
// transaction, and lookups see earlier writes.

import type { EventId, StreamId, TenantId } from '@tallystick/contract';
import type { First } from '../../repeats.ts';
import type { StoredRecord } from '../../records/records.ts';
import type { CausedJob } from '../../work/jobs.ts';
import type { DraftOutcome, Once, UsedIdempotencyKey } from '../../streams/log.ts';
import type { Deletion, IndexSpan, RedactedEvent } from '../../streams/removal/removal.ts';
import type { PooledDraft } from './append-message.ts';
import type { Head } from './head.ts';
import type { MissingKey } from '../sealing/pool-sealer.ts';
import type { CommitmentRow } from './pool-commitments.ts';

/** The index of a stored event id, and its fingerprint. */
export interface StoredId extends First {
  readonly index: number;
  readonly receivedAtMs: number;
}

/** An entry with its content. The buffers are reused for the next one: copy what is kept. */
export interface NewEntry {
  readonly index: number;
  readonly receivedAtMs: number;
  /** When its content may be removed; undefined: never. */
  readonly expiresAtMs: number | undefined;
  readonly entry: Uint8Array;
  readonly leaf: Uint8Array;
  readonly draft: PooledDraft;
  readonly roots: Pick<CommitmentRow, 'root1' | 'root2'>;
  readonly content: NewContent;
}

/** As it is stored: whole, or as one box in the place of the first text (sealing/boxes.ts). */
export interface NewContent {
  readonly text1: Uint8Array;
  readonly text2: Uint8Array;
  readonly seeds: Uint8Array;
  readonly keyId: string | undefined;
  /** There is no key to seal it with: it is empty, and the pool must be rolled back. */
  readonly missing?: MissingKey;
}

export interface NewStream {
  readonly streamId: StreamId;
  readonly firstIndex: number;
  readonly createdAtMs: number;
}

/** Writes to a log may be refused with TenantFault. */
export interface PoolTables<H extends Head = Head> {
  /** Undefined for an unknown tenant. */
  head(tenant: TenantId): H | undefined;
  /** The request that the key was used up for, unless that has expired. */
  usedKey(head: H, once: Once, steadyNowMs: number): UsedIdempotencyKey | undefined;
  /** Called only for ids that a client chose. */
  storedId(head: H, eventId: EventId): StoredId | undefined;
  /** The stored version of the record, 0 if there is none. */
  recordVersion(head: H, record: StoredRecord): number;
  /** Whether another record of its kind has its unique name. */
  isNameTaken(head: H, record: StoredRecord): boolean;
  /** A text that is another one after every change of what holds events: see `AppendRequest`. */
  holdsAsOf(head: H): string;
  /** Whether a part of the span was removed under an earlier notice. Called only for requests with a purge notice. */
  isDeletedIn(head: H, span: IndexSpan): boolean;
  /** Remembers what it lacks a key for. */
  putEntry(head: H, entry: NewEntry): void;
  putStream(head: H, stream: NewStream): void;
  /** Replaces the previous version. */
  putRecord(head: H, record: StoredRecord): void;
  /** On its way to the store of jobs. */
  putJob(head: H, job: CausedJob): void;
  putDeletion(head: H, deletion: Deletion): void;
  putRedaction(head: H, redaction: RedactedEvent): void;
  /** Replaces a key that has expired. */
  putUsedKey(head: H, once: Once, outcomes: readonly DraftOutcome[]): void;
}
