// Streams as SQLite reads them, for rows/stream-row.ts.

import { KIND_AT, KINDS } from '@tallystick/evidence';

const SIZE = 'coalesce((SELECT max(leaf_index) + 1 FROM entries WHERE tenant = this.tenant), 0)';
/** Decided by its kind alone; SQL counts bytes from 1. A missing row gives null. */
const isSealAt = (index: string) =>
  `(SELECT hex(substr(entry, ${KIND_AT + 1}, 1)) = '${KINDS.streamSeal.toString(16).padStart(2, '0')}' FROM entries
    WHERE tenant = this.tenant AND leaf_index = ${index})`;
const beginsLog = (index: string) =>
  `(${index} = 0 OR EXISTS (SELECT 1 FROM epochs WHERE tenant = this.tenant AND first_index = ${index}))`;

/** Whether open, sealed and purged ones are wanted. */
export const OF_STATES =
  'CASE WHEN next.first_index IS NULL THEN ? WHEN this.purged_at_ms IS NULL THEN ? ELSE ? END = 1';

/** One statement sees one state, also while events are appended. */
export const STREAMS = `
  SELECT this.stream_id, this.first_index, this.created_at_ms, this.purged_at_ms, next.created_at_ms AS sealed_at_ms,
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
