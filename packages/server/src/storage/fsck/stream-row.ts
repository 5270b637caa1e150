// A row of `streams` as the store verifier reads it, and the faults of rows that contradict the log.

import { numberOf, numberOrNone, textIn } from '../rows/columns.ts';
import { fault } from './store-fault.ts';

export interface StreamRow {
  /** In the tenant's sequence. */
  readonly firstIndex: number;
  readonly streamId: string;
  readonly createdAtMs: number;
  /** Undefined: it is not marked as purged. */
  readonly purgedAtMs: number | undefined;
}

export function streamRowIn(row: Readonly<Record<string, unknown>>): StreamRow {
  return {
    firstIndex: numberOf(row, 'first_index'),
    streamId: textIn(row, 'stream_id'),
    createdAtMs: numberOf(row, 'created_at_ms'),
    purgedAtMs: numberOrNone(row, 'purged_at_ms'),
  };
}

/** Throws EvidenceError unless the stream was created when its first entry was received. */
export function requireTime({ streamId, createdAtMs }: StreamRow, receivedAtMs: number, index: number): void {
  if (createdAtMs === receivedAtMs) return;
  throw fault('LEAF_MISMATCH', `stream ${streamId} was not made when its row says`, index);
}

/** `why` it cannot be purged, though its row says so. */
export function notPurged({ streamId }: StreamRow, why: string, index: number): Error {
  return fault('LEAF_MISMATCH', `stream ${streamId} is marked as purged, and ${why}`, index);
}

export function noneBegins(index: number): Error {
  return fault('INDEX_MISMATCH', 'no stream begins with the log', index);
}

export function noNoticeOf({ streamId, firstIndex }: StreamRow, index: number): Error {
  return fault('LEAF_MISMATCH', `no notice says that stream ${streamId} begins at ${firstIndex}`, index);
}

/** The rows contradict a seal notice. */
export function otherSeal(index: number, says: string): Error {
  return fault('LEAF_MISMATCH', `the seal notice at index ${index} says ${says}`, index);
}
