// Compares the rows of `streams` with the seal notices of the log: one row for the first stream and one after each
// notice, with the ids, indexes and times of the notices, and no other. One that is marked as purged is sealed, and no event in it
// has content. Rows are read as the notices come.

import type { KINDS, NoticePayload } from '@tallystick/evidence';
import type { Awaitable, Resumable } from '../resumable.ts';
import { ReadAhead } from './read-ahead.ts';
import { noneBegins, noNoticeOf, notPurged, otherSeal, requireTime, type StreamRow } from './stream-row.ts';

/** All indexes are those of the tenant's sequence, except inside a notice. */
export class StreamRows {
  readonly #rows: ReadAhead<StreamRow>;
  #current: StreamRow | undefined;
  #count = 0;

  /** `read` returns at most `limit` rows of the tenant that begin after an index, in order. */
  constructor(read: (after: number | undefined, limit: number) => Awaitable<readonly StreamRow[]>) {
    this.#rows = new ReadAhead((after, limit) => read(after?.firstIndex, limit));
  }

  /** Makes this number of rows available. */
  have(count: number): Resumable<void> {
    return this.#rows.have(count);
  }

  get count(): number {
    return this.#count;
  }

  /** Handles the first entry of a log: a stream begins with it, unless the previous seal opened one that is still empty. */
  begin(logBegin: number, receivedAtMs: number): void {
    if (this.#current?.firstIndex === logBegin) return;
    const row = this.#advance();
    if (row?.firstIndex !== logBegin) throw noneBegins(0);
    requireTime(row, receivedAtMs, 0);
  }

  /** Handles an event that has content; `index` is that in its log. */
  content(index: number): void {
    const current = this.#current;
    if (current?.purgedAtMs === undefined) return;
    throw notPurged(current, `the event at index ${index} has its content`, index);
  }

  sealed(
    payload: NoticePayload<typeof KINDS.streamSeal>,
    { index, logBegin, receivedAtMs }: { index: number; logBegin: number; receivedAtMs: number },
  ): void {
    const { streamId, nextStreamId, firstIndex } = payload;
    const current = this.#current;
    if (current?.streamId !== streamId || current.firstIndex - logBegin !== firstIndex)
      throw otherSeal(index, `stream ${streamId} from entry ${firstIndex} on, of which there is no row`);
    const next = this.#advance();
    const follows = index + 1;
    if (next?.firstIndex !== follows || next.streamId !== nextStreamId)
      throw otherSeal(index, `that stream ${nextStreamId} follows, and there is no such row at ${follows}`);
    requireTime(next, receivedAtMs, index);
  }

  /** Called at the end of the log. */
  *end(entries: number): Resumable<void> {
    yield* this.#rows.have(1);
    const last = this.#current;
    const row = this.#advance();
    if (row === undefined) {
      if (last?.purgedAtMs !== undefined) throw notPurged(last, 'is still open', Math.max(entries - 1, 0));
      return;
    }
    const index = Math.min(row.firstIndex, Math.max(entries - 1, 0));
    throw noNoticeOf(row, index);
  }

  #advance(): StreamRow | undefined {
    const row = this.#rows.take();
    if (row === undefined) return undefined;
    this.#count++;
    this.#current = row;
    return row;
  }
}
