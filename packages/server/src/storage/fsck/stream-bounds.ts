// Compares the bounds of one stream with the log: it begins with a log or after the seal notice that names it as the
// next one, and ends, if another follows, with the seal notice that names it, or with its log. The adjacent bounds of
// its neighbours are checked too, and the very first stream must begin with the first entry.

import type { KINDS, NoticePayload } from '@tallystick/evidence';
import type { Resumable } from '../resumable.ts';
import { fault } from './store-fault.ts';
import { noneBegins, noNoticeOf, otherSeal, requireTime, type StreamRow } from './stream-row.ts';

/** An entry of the tenant's sequence at which a stream may begin or end. */
export interface BoundaryEntry {
  /** The index of the first entry of its log in the tenant's sequence. */
  readonly logBegin: number;
  readonly receivedAtMs: number;
  /** Set if it is a seal notice. */
  readonly seal: NoticePayload<typeof KINDS.streamSeal> | undefined;
}

/** Reads of the log. All indexes are those of the tenant's sequence. */
export interface BoundaryLog {
  /** Undefined if there is none. Throws EvidenceError for an entry that differs from the signed one. */
  entryAt(index: number): Resumable<BoundaryEntry | undefined>;
  /** The index of the first entry of the log that holds an index. */
  logBeginOf(index: number): Resumable<number>;
}

/** The part of the stream that was walked through. */
export interface Walked {
  readonly endIndex: number;
  /** The index of its first seal notice. */
  readonly firstSealAt: number | undefined;
}

/** The row of a stream and its neighbours, as far as they exist. */
export interface StreamsAround {
  /** The tenant's very first stream. */
  readonly first: StreamRow | undefined;
  readonly before: StreamRow | undefined;
  readonly own: StreamRow | undefined;
  readonly next: StreamRow | undefined;
}

/** Throws EvidenceError if the stream is not where the log says. */
export function* requireBounds(
  streamId: string,
  { first, before, own, next }: StreamsAround,
  walked: Walked,
  log: BoundaryLog,
): Resumable<void> {
  if (first === undefined || own === undefined)
    throw fault('TRUNCATED', `there is no row of stream ${streamId}`);
  if (first.firstIndex !== 0) throw noneBegins(0);
  yield* requireBeginning(before, own, log);
  const { firstSealAt } = walked;
  if (firstSealAt !== undefined && firstSealAt + 1 !== next?.firstIndex) {
    const says = `that a stream follows, and there is no such row at ${firstSealAt + 1}`;
    throw otherSeal(firstSealAt, says);
  }
  if (next !== undefined) yield* requireBeginning(own, next, log);
  const endIndex = next?.firstIndex ?? walked.endIndex;
  const logBegin = yield* log.logBeginOf(Math.max(own.firstIndex, endIndex - 1));
  if (logBegin > own.firstIndex) throw noneBegins(logBegin);
}

/** Checks the beginning of a stream, which is also the end of the previous one. */
function* requireBeginning(before: StreamRow | undefined, row: StreamRow, log: BoundaryLog): Resumable<void> {
  const { firstIndex } = row;
  const entryBefore = firstIndex === 0 ? undefined : yield* log.entryAt(firstIndex - 1);
  if (entryBefore?.seal !== undefined) {
    requireSeal(entryBefore.seal, entryBefore, before, row);
    return;
  }
  if ((yield* log.logBeginOf(firstIndex)) !== firstIndex) throw noNoticeOf(row, firstIndex);
  const entry = yield* log.entryAt(firstIndex);
  if (entry !== undefined) requireTime(row, entry.receivedAtMs, firstIndex);
}

function requireSeal(
  seal: NonNullable<BoundaryEntry['seal']>,
  entry: BoundaryEntry,
  ended: StreamRow | undefined,
  follows: StreamRow,
): void {
  const index = follows.firstIndex - 1;
  const { streamId, firstIndex, nextStreamId } = seal;
  if (ended?.streamId !== streamId || ended.firstIndex - entry.logBegin !== firstIndex)
    throw otherSeal(index, `stream ${streamId} from entry ${firstIndex} on, of which there is no row`);
  if (follows.streamId !== nextStreamId)
    throw otherSeal(index, `that stream ${nextStreamId} follows, and there is no such row at ${index + 1}`);
  requireTime(follows, entry.receivedAtMs, index);
}
