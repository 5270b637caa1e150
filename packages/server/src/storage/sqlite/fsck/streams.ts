// The rows of `streams` against the seal notices of the log: one row for the first stream and one behind each notice,
// with the ids, places and times that the notices say, and no other. Rows are read as the notices come.

import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { KINDS, NoticePayload } from '@tallystick/evidence';
import { FIRST_INTEGER } from './rows.ts';
import {
  noneBegins,
  noNoticeOf,
  otherSeal,
  requireTime,
  type StreamRow,
  streamRowIn,
} from '../../fsck/stream-row.ts';

/** To be followed by more conditions. */
export const STREAMS_OF_TENANT = 'SELECT first_index, stream_id, created_at_ms FROM streams WHERE tenant = ?';

/** All indexes here are those of the tenant's sequence, but for those inside a notice. */
export class StreamRows {
  readonly #next: StatementSync;
  readonly #tenant: number;
  #current: StreamRow | undefined;
  #count = 0;

  constructor(db: DatabaseSync, tenant: number) {
    this.#tenant = tenant;
    this.#next = db.prepare(`${STREAMS_OF_TENANT} AND first_index > ? ORDER BY first_index LIMIT 1`);
  }

  get count(): number {
    return this.#count;
  }

  /** The first entry of a log: a stream begins with it, unless the seal before has made one that is still empty. */
  begin(logBegin: number, receivedAtMs: number): void {
    if (this.#current?.firstIndex === logBegin) return;
    const row = this.#advance();
    if (row?.firstIndex !== logBegin) throw noneBegins(0);
    requireTime(row, receivedAtMs, 0);
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

  /** The log has ended. */
  end(entries: number): void {
    const row = this.#advance();
    if (row === undefined) return;
    const index = Math.min(row.firstIndex, Math.max(entries - 1, 0));
    throw noNoticeOf(row, index);
  }

  #advance(): StreamRow | undefined {
    const row = this.#next.get(this.#tenant, this.#current?.firstIndex ?? FIRST_INTEGER);
    if (row === undefined) return undefined;
    this.#count++;
    this.#current = streamRowIn(row);
    return this.#current;
  }
}
