// Assigns drafts to streams. A stream that has reached its age is sealed before the next draft, one that has reached
// its size right after the last: the seal notice becomes its last entry, and the next stream opens. All of this is in
// the transaction of the drafts, so a boundary is committed with them or not at all. A log after a restore begins its
// own stream; the previous one ends unsealed, like its log.

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
import type { PoolSealer } from '../sealing/pool-sealer.ts';

export interface StreamWriterOptions extends OwnNoticesOptions {
  readonly streams: StreamLimits;
  /** Undefined: all content is stored in the clear. */
  readonly sealer?: PoolSealer | undefined;
}

type SealPayload = NoticePayload<typeof KINDS.streamSeal>;

export class StreamWriter<H extends Head> {
  readonly #options: StreamWriterOptions;
  readonly #tables: PoolTables<H>;
  readonly #entryWriter: EntryWriter<H>;

  constructor(tables: PoolTables<H>, options: StreamWriterOptions) {
    this.#options = options;
    this.#tables = tables;
    this.#entryWriter = new EntryWriter(tables, options.sealer);
  }

  /** `row` is the draft's row in the commitments. */
  append(draft: PooledDraft, commitments: PoolCommitments, row: number, head: H, nowMs: number): Placed {
    if (head.stream === undefined) this.#open(head, this.#options.nextId(), nowMs);
    else if (this.isAged(head, nowMs)) this.seal(head, 'Age', nowMs);
    return this.#put(draft, commitments, row, head, nowMs);
  }

  /** The first entry of a log after a restore. The head already points to it. */
  begin({ draft, commitments }: OwnNotice, head: H, nowMs: number): Placed {
    // If a seal was the last entry, its empty stream exists already and is used.
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

  /** Whether an entry that is received now belongs to another period than the first entry of the open stream. */
  isAged({ stream, receivedAtMs }: Head, nowMs: number): boolean {
    if (stream?.firstReceivedAtMs === undefined) return false;
    const { ms } = this.#options.streams.sealAfter;
    return Math.floor(Math.max(nowMs, receivedAtMs) / ms) !== Math.floor(stream.firstReceivedAtMs / ms);
  }

  /** The last cut before now: a stream whose first entry is older has reached its age. */
  lastCutMs(nowMs: number): number {
    const { ms } = this.#options.streams.sealAfter;
    return Math.floor(nowMs / ms) * ms;
  }

  /** Seals the open stream, which must have entries; returns the notice. */
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
