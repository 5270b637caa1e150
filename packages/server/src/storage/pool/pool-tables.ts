// What is looked up for a pool, once its logs are locked, and where its rows go: each backend in its own way. All of it is
// one transaction, and what was put is seen by what is looked up after it.

import type { EventId, StreamId, TenantId } from '@tallystick/contract';
import type { First } from '../../repeats.ts';
import type { StoredRecord } from '../../records/records.ts';
import type { CausedJob } from '../../work/jobs.ts';
import type { DraftOutcome, Once, UsedKey } from '../../streams/log.ts';
import type { Deletion, IndexSpan } from '../../streams/removal/removal.ts';
import type { PooledDraft } from './append-message.ts';
import type { Head } from './head.ts';
import type { CommitmentRow } from './pool-commitments.ts';

/** Where an event with some id is, and by what it is recognised. */
export interface StoredId extends First {
  readonly index: number;
  readonly receivedAtMs: number;
}

/** An entry with its content. The bytes are used again for the next one: what is kept of them is copied. */
export interface NewEntry {
  readonly index: number;
  readonly receivedAtMs: number;
  /** When its content may be removed; undefined: never. */
  readonly expiresAtMs: number | undefined;
  readonly entry: Uint8Array;
  readonly leaf: Uint8Array;
  readonly draft: PooledDraft;
  /** Roots and seeds. */
  readonly commitments: CommitmentRow;
}

export interface NewStream {
  readonly streamId: StreamId;
  readonly firstIndex: number;
  readonly createdAtMs: number;
}

/** What is put of a log may be refused: TenantFault. */
export interface PoolTables<H extends Head = Head> {
  /** Undefined for a tenant that is not there. */
  head(tenant: TenantId): H | undefined;
  /** What the key was used up for, unless that has expired. */
  usedKey(head: H, once: Once, steadyNowMs: number): UsedKey | undefined;
  /** Asked only for ids that a client chose. */
  storedId(head: H, eventId: EventId): StoredId | undefined;
  /** That of the record, 0 where there is none. */
  recordVersion(head: H, record: StoredRecord): number;
  /** Whether another record of its kind has its unique name. */
  isNameTaken(head: H, record: StoredRecord): boolean;
  /** Whether something of the span was removed under an earlier notice. Asked only of requests with a purge notice. */
  isDeletedIn(head: H, span: IndexSpan): boolean;
  putEntry(head: H, entry: NewEntry): void;
  putStream(head: H, stream: NewStream): void;
  /** In the place of the version before. */
  putRecord(head: H, record: StoredRecord): void;
  /** On its way to the store of jobs. */
  putJob(head: H, job: CausedJob): void;
  putDeletion(head: H, deletion: Deletion): void;
  /** Takes the place of a key that has expired. */
  putUsedKey(head: H, once: Once, outcomes: readonly DraftOutcome[]): void;
}
