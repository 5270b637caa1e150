// Streams as they are read from the store. A stream ends where the next one begins, and never beyond the log. The rows
// alone are not believed: an entry that stands at a boundary must be of the kind that makes one. What the notices say is
// looked at by whoever verifies.

import { KIND_AT, KINDS } from '@tallystick/evidence';
import type { StoredStream } from '../../streams/log.ts';
import { blobOrNone, numberOf, numberOrNone, textIn, textOrNone } from '../rows/columns.ts';
import type { LogPlace } from './tree-tables.ts';

type Row = Readonly<Record<string, unknown>>;

const SIZE = 'coalesce((SELECT max(leaf_index) + 1 FROM entries WHERE tenant = this.tenant), 0)';
/** By its kind alone; SQL counts bytes from 1. No row, no value. */
const isSealAt = (index: string) =>
  `(SELECT hex(substr(entry, ${KIND_AT + 1}, 1)) = '${KINDS.streamSeal.toString(16).padStart(2, '0')}' FROM entries
    WHERE tenant = this.tenant AND leaf_index = ${index})`;
const beginsLog = (index: string) =>
  `(${index} = 0 OR EXISTS (SELECT 1 FROM epochs WHERE tenant = this.tenant AND first_index = ${index}))`;

/** One statement sees one state, also while events are appended. */
export const STREAMS = `
  SELECT this.stream_id, this.first_index, this.created_at_ms, next.created_at_ms AS sealed_at_ms,
    before.stream_id AS previous_stream_id,
    max(this.first_index, min(coalesce(next.first_index, ${SIZE}), ${SIZE})) AS end_index,
    (SELECT leaf FROM entries WHERE tenant = this.tenant AND leaf_index = this.first_index - 1) AS previous_leaf,
    (SELECT leaf FROM entries WHERE tenant = this.tenant
       AND leaf_index < coalesce(next.first_index, 9007199254740991) ORDER BY leaf_index DESC LIMIT 1) AS last_leaf,
    ${beginsLog('this.first_index')} AS begins_log,
    ${isSealAt('this.first_index - 1')} AS follows_seal,
    ${beginsLog('next.first_index')} AS ends_log,
    ${isSealAt(`coalesce(next.first_index, ${SIZE}) - 1 AND leaf_index >= this.first_index`)} AS ends_with_seal
  FROM streams AS this
  LEFT JOIN streams AS next ON next.tenant = this.tenant AND next.first_index =
    (SELECT min(first_index) FROM streams WHERE tenant = this.tenant AND first_index > this.first_index)
  LEFT JOIN streams AS before ON before.tenant = this.tenant AND before.first_index =
    (SELECT max(first_index) FROM streams WHERE tenant = this.tenant AND first_index < this.first_index)`;

/** `log` is the one that holds its first index. */
export function streamIn(row: Row, log: LogPlace): StoredStream {
  const firstIndex = numberOf(row, 'first_index');
  const fault = faultIn(row, firstIndex);
  // Where nothing stands before it although it begins no log there is a fault to tell, and no hash.
  const before = log.firstIndex === firstIndex ? undefined : blobOrNone(row, 'previous_leaf');
  const genesis = before ?? log.genesis;
  return {
    streamId: textIn(row, 'stream_id'),
    previousStreamId: textOrNone(row, 'previous_stream_id'),
    firstIndex,
    endIndex: numberOf(row, 'end_index'),
    createdAtMs: numberOf(row, 'created_at_ms'),
    sealedAtMs: numberOrNone(row, 'sealed_at_ms'),
    genesis,
    head: blobOrNone(row, 'last_leaf') ?? genesis,
    ...(fault === undefined ? {} : { fault }),
  };
}

function faultIn(row: Row, firstIndex: number): string | undefined {
  const has = (column: string) => numberOrNone(row, column) === 1;
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
