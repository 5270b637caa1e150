// What is looked up for a pool, once its logs are locked, and where its rows go: each backend in its own way. All of it is
// one transaction, and what was put is seen by what is looked up after it.

import type { EventId, StreamId, TenantId } from '@tallystick/contract';
import type { AppendResult, DraftOutcome, Once } from '../../streams/log.ts';
import type { PooledDraft } from './append-message.ts';
import type { Head } from './head.ts';
import type { CommitmentRow } from './pool-commitments.ts';

export type KeyAnswer = Extract<AppendResult, { status: 'Repeated' | 'KeyReused' }>;

/** Where an event with some id is, and by what it is recognised; nothing, where that was removed. */
export interface StoredId {
  readonly index: number;
  readonly receivedAtMs: number;
  readonly fingerprint: Uint8Array | undefined;
}

/** An entry with its content. The bytes are used again for the next one: what is kept of them is copied. */
export interface NewEntry {
  readonly index: number;
  readonly receivedAtMs: number;
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
  /** What there is to say to a request whose key was used up before. */
  answer(head: H, once: Once | undefined, steadyNowMs: number): KeyAnswer | undefined;
  /** Asked only for ids that a client chose. */
  storedId(head: H, eventId: EventId): StoredId | undefined;
  putEntry(head: H, entry: NewEntry): void;
  putStream(head: H, stream: NewStream): void;
  /** Takes the place of a key that has expired. */
  putUsedKey(head: H, once: Once, outcomes: readonly DraftOutcome[]): void;
}
