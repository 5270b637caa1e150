// The rows of `streams` against the seal notices of the log: one row for the first stream and one behind each notice,
// with the ids, places and times that the notices say, and no other. Rows are read as the notices come.

import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { KINDS, NoticePayload } from '@tallystick/evidence';
import { fault } from './store-fault.ts';
import { FIRST_INTEGER, integerIn, textIn } from './rows.ts';

interface StreamRow {
  readonly firstIndex: number;
  readonly streamId: string;
  readonly createdAtMs: number;
}

/** All indexes here are those of the tenant's sequence, but for those inside a notice. */
export class StreamRows {
  readonly #next: StatementSync;
  readonly #tenant: number;
  #current: StreamRow | undefined;
  #count = 0;

  constructor(db: DatabaseSync, tenant: number) {
    this.#tenant = tenant;
    this.#next = db.prepare(
      `SELECT first_index, stream_id, created_at_ms FROM streams
       WHERE tenant = ? AND first_index > ? ORDER BY first_index LIMIT 1`,
    );
  }

  get count(): number {
    return this.#count;
  }

  /** The first entry of a log: a stream begins with it, unless the seal before has made one that is still empty. */
  begin(logBegin: number, receivedAtMs: number): void {
    if (this.#current?.firstIndex === logBegin) return;
    const row = this.#advance();
    if (row?.firstIndex !== logBegin) throw fault('INDEX_MISMATCH', 'no stream begins with the log', 0);
    this.#requireTime(row, receivedAtMs, 0);
  }

  sealed(
    payload: NoticePayload<typeof KINDS.streamSeal>,
    { index, logBegin, receivedAtMs }: { index: number; logBegin: number; receivedAtMs: number },
  ): void {
    const { streamId, nextStreamId, firstIndex } = payload;
    const current = this.#current;
    if (current?.streamId !== streamId || current.firstIndex - logBegin !== firstIndex)
      throw other(index, `stream ${streamId} from entry ${firstIndex} on, of which there is no row`);
    const next = this.#advance();
    const follows = index + 1;
    if (next?.firstIndex !== follows || next.streamId !== nextStreamId)
      throw other(index, `that stream ${nextStreamId} follows, and there is no such row at ${follows}`);
    this.#requireTime(next, receivedAtMs, index);
  }

  /** The log has ended. */
  end(entries: number): void {
    const row = this.#advance();
    if (row === undefined) return;
    const index = Math.min(row.firstIndex, Math.max(entries - 1, 0));
    throw fault(
      'LEAF_MISMATCH',
      `no notice says that stream ${row.streamId} begins at ${row.firstIndex}`,
      index,
    );
  }

  #advance(): StreamRow | undefined {
    const row = this.#next.get(this.#tenant, this.#current?.firstIndex ?? FIRST_INTEGER);
    if (row === undefined) return undefined;
    this.#count++;
    this.#current = {
      firstIndex: integerIn(row['first_index']),
      streamId: textIn(row['stream_id']),
      createdAtMs: integerIn(row['created_at_ms']),
    };
    return this.#current;
  }

  #requireTime({ streamId, createdAtMs }: StreamRow, receivedAtMs: number, index: number): void {
    if (createdAtMs === receivedAtMs) return;
    throw fault('LEAF_MISMATCH', `stream ${streamId} was not made when its row says`, index);
  }
}

function other(index: number, says: string): Error {
  return fault('LEAF_MISMATCH', `the seal notice at index ${index} says ${says}`, index);
}
