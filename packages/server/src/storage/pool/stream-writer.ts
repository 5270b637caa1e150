// Puts drafts into streams. A stream that has reached its age is sealed before the next draft is written, one that has
// reached its size right after the last: the seal notice becomes its last entry, and the next stream opens behind it.
// All of it belongs to the transaction that the drafts are written in, so a boundary is there with them or not at all.
// A log after a restore begins a stream of its own; the one before it ends unsealed, as its log does.

import { ok as assert } from 'node:assert/strict';
import type { StreamId } from '@tallystick/contract';
import { KINDS, type NoticePayload } from '@tallystick/evidence';
import type { Placed, StreamLimits } from '../../streams/log.ts';
import type { PooledDraft } from './append-message.ts';
import { EntryWriter } from './entry-writer.ts';
import type { Head, OpenStream } from './head.ts';
import { makeNotice, type OwnNotice, type OwnNoticesOptions } from './own-notices.ts';
import type { PoolCommitments } from './pool-commitments.ts';
import type { PoolTables } from './pool-tables.ts';

export interface StreamWriterOptions extends OwnNoticesOptions {
  readonly streams: StreamLimits;
}

type SealPayload = NoticePayload<typeof KINDS.streamSeal>;

export class StreamWriter<H extends Head> {
  readonly #options: StreamWriterOptions;
  readonly #tables: PoolTables<H>;
  readonly #entryWriter: EntryWriter<H>;

  constructor(tables: PoolTables<H>, options: StreamWriterOptions) {
    this.#options = options;
    this.#tables = tables;
    this.#entryWriter = new EntryWriter(tables);
  }

  /** `row` is that of the draft in the commitments. */
  append(draft: PooledDraft, commitments: PoolCommitments, row: number, head: H, nowMs: number): Placed {
    if (head.stream === undefined) this.#open(head, this.#options.nextId(), nowMs);
    else if (this.isAged(head, nowMs)) this.seal(head, 'Age', nowMs);
    return this.#put(draft, commitments, row, head, nowMs);
  }

  /** The first entry of a log after a restore, to which the head points already. */
  begin({ draft, commitments }: OwnNotice, head: H, nowMs: number): Placed {
    // A seal may have been the last entry before: then an empty stream is there, and is the one.
    if (head.stream?.firstIndex !== head.nextIndex)
      this.#open(head, this.#options.nextId(), Math.max(nowMs, head.receivedAtMs));
    return this.#put(draft, commitments, 0, head, nowMs);
  }

  #put(draft: PooledDraft, commitments: PoolCommitments, row: number, head: H, nowMs: number): Placed {
    const stream = openStreamOf(head);
    const placed = this.#entryWriter.append(draft, commitments, row, head, nowMs);
    stream.firstReceivedAtMs ??= placed.receivedAtMs;
    if (head.nextIndex - stream.firstIndex >= this.#options.streams.sealAfterEvents) {
      this.seal(head, 'Size', nowMs);
    }
    return placed;
  }

  /** Whether an entry that is received now belongs into another stream than the first one of the open stream does. */
  isAged({ stream, receivedAtMs }: Head, nowMs: number): boolean {
    if (stream?.firstReceivedAtMs === undefined) return false;
    const { ms } = this.#options.streams.sealAfter;
    return Math.floor(Math.max(nowMs, receivedAtMs) / ms) !== Math.floor(stream.firstReceivedAtMs / ms);
  }

  /** The last cut before now: a stream whose first entry was received before it has reached its age. */
  lastCutMs(nowMs: number): number {
    const { ms } = this.#options.streams.sealAfter;
    return Math.floor(nowMs / ms) * ms;
  }

  /** Seals the open stream, which must hold something; gives the place of the notice. */
  seal(head: H, cause: SealPayload['cause'], nowMs: number): Placed {
    const { streamId, firstIndex, firstReceivedAtMs } = openStreamOf(head);
    assert(firstReceivedAtMs !== undefined, 'an empty stream is never sealed');
    const nextStreamId = this.#options.nextId();
    const { logFirstIndex, nextIndex } = head;
    const payload = {
      streamId,
      nextStreamId,
      firstIndex: firstIndex - logFirstIndex,
      lastIndex: nextIndex - logFirstIndex,
      cause,
    };
    const facts = {
      kind: KINDS.streamSeal,
      action: 'Seal.EventStream',
      resource: { resourceType: 'EventStream', resourceId: streamId },
      payload,
    };
    const { draft, commitments } = makeNotice(facts, Math.max(nowMs, head.receivedAtMs), this.#options);
    const placed = this.#entryWriter.append(draft, commitments, 0, head, nowMs);
    this.#open(head, nextStreamId, placed.receivedAtMs);
    return placed;
  }

  #open(head: H, streamId: StreamId, createdAtMs: number): void {
    const firstIndex = head.nextIndex;
    this.#tables.putStream(head, { streamId, firstIndex, createdAtMs });
    head.stream = { streamId, firstIndex, firstReceivedAtMs: undefined };
  }
}

function openStreamOf({ stream }: Head): OpenStream {
  assert(stream !== undefined, 'a log with entries has an open stream');
  return stream;
}
