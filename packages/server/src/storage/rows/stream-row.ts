// Streams as they are read from the store. A stream ends where the next one begins, and never after the log. The rows
// alone are not trusted: an entry at a boundary must be of the right kind. Only a verification compares them with the
// contents of the notices.

import type { StoredStream, StreamState } from '../../streams/log.ts';
import type { WrittenLog } from '../pool/read-head.ts';
import { blobOrNone, numberOf, numberOrNone, textIn, textOrNone } from './columns.ts';

type Row = Readonly<Record<string, unknown>>;

/** `log` is the one that holds its first index. */
export function streamIn(row: Row, log: Pick<WrittenLog, 'firstIndex' | 'genesis'>): StoredStream {
  const firstIndex = numberOf(row, 'first_index');
  const fault = faultIn(row, firstIndex);
  // If there is no previous entry although no log begins here, the stream has a fault and no hash.
  const before = log.firstIndex === firstIndex ? undefined : blobOrNone(row, 'previous_leaf');
  const genesis = before ?? log.genesis;
  return {
    streamId: textIn(row, 'stream_id'),
    previousStreamId: textOrNone(row, 'previous_stream_id'),
    firstIndex,
    endIndex: numberOf(row, 'end_index'),
    createdAtMs: numberOf(row, 'created_at_ms'),
    sealedAtMs: numberOrNone(row, 'sealed_at_ms'),
    isPurged:
      numberOrNone(row, 'sealed_at_ms') !== undefined && numberOrNone(row, 'purged_at_ms') !== undefined,
    genesis,
    head: blobOrNone(row, 'last_leaf') ?? genesis,
    ...(fault === undefined ? {} : { fault }),
  };
}

/** For a condition on the state: whether open, sealed and purged streams are wanted. */
export function statesWanted(states: readonly StreamState[] | undefined): [number, number, number] {
  const isWanted = (state: StreamState) => (states === undefined || states.includes(state) ? 1 : 0);
  return [isWanted('Open'), isWanted('Sealed'), isWanted('Purged')];
}

function faultIn(row: Row, firstIndex: number): string | undefined {
  const has = (column: string) => row[column] === true || Number(row[column]) === 1;
  if (firstIndex === 0 && textOrNone(row, 'previous_stream_id') !== undefined)
    return 'it begins with the log, and another one before it';
  if (!has('begins_log') && !has('follows_seal'))
    return `it begins at index ${firstIndex}, and no seal notice stands before it`;
  if (numberOrNone(row, 'sealed_at_ms') === undefined)
    return has('ends_with_seal') ? 'it ends with a seal notice, and none follows' : undefined;
  return has('ends_with_seal') || has('ends_log')
    ? undefined
    : 'another one follows, and no seal notice stands between';
}
