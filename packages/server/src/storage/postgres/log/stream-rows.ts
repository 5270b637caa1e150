// Streams as PostgreSQL reads them, for rows/stream-row.ts.

import { KIND_AT, KINDS } from '@tallystick/evidence';
import { LOG_COLUMNS } from './log-row.ts';

const SIZE =
  'coalesce((SELECT max(leaf_index) + 1 FROM entries WHERE entries.tenant_id = this.tenant_id), 0)';
/** Decided by its kind alone; SQL counts bytes from 1. A missing row gives null. */
const isSealAt = (index: string) =>
  `(SELECT substring(entry from ${KIND_AT + 1} for 1) = '\\x${KINDS.streamSeal.toString(16).padStart(2, '0')}'::bytea
    FROM entries WHERE entries.tenant_id = this.tenant_id AND leaf_index = ${index})`;
const beginsLog = (index: string) =>
  `(${index} = 0 OR EXISTS (SELECT 1 FROM epochs WHERE epochs.tenant_id = this.tenant_id AND first_index = ${index}))`;

/** Whether open, sealed and purged ones are wanted: the parameters from $3 on. */
export const OF_STATES = `CASE WHEN next.first_index IS NULL THEN $3::integer
  WHEN this.purged_at_ms IS NULL THEN $4::integer ELSE $5::integer END = 1`;

/** One statement sees one state, also while events are appended. Joined with the log that holds the first index of each. */
export const STREAMS = `
  SELECT this.stream_id, this.first_index, this.created_at_ms, this.purged_at_ms, next.created_at_ms AS sealed_at_ms,
    before.stream_id AS previous_stream_id, ${LOG_COLUMNS},
    greatest(this.first_index, least(coalesce(next.first_index, ${SIZE}), ${SIZE})) AS end_index,
    (SELECT leaf FROM entries WHERE entries.tenant_id = this.tenant_id
       AND leaf_index = this.first_index - 1) AS previous_leaf,
    (SELECT leaf FROM entries WHERE entries.tenant_id = this.tenant_id
       AND leaf_index < coalesce(next.first_index, 9007199254740991) ORDER BY leaf_index DESC LIMIT 1) AS last_leaf,
    ${beginsLog('this.first_index')} AS begins_log,
    ${isSealAt('this.first_index - 1')} AS follows_seal,
    ${beginsLog('next.first_index')} AS ends_log,
    ${isSealAt(`coalesce(next.first_index, ${SIZE}) - 1 AND leaf_index >= this.first_index`)} AS ends_with_seal
  FROM streams AS this
  LEFT JOIN LATERAL (SELECT first_index, created_at_ms FROM streams WHERE streams.tenant_id = this.tenant_id
    AND streams.first_index > this.first_index ORDER BY streams.first_index LIMIT 1) AS next ON true
  LEFT JOIN LATERAL (SELECT stream_id FROM streams WHERE streams.tenant_id = this.tenant_id
    AND streams.first_index < this.first_index ORDER BY streams.first_index DESC LIMIT 1) AS before ON true
  LEFT JOIN LATERAL (SELECT epoch, first_index, previous_checkpoint FROM epochs WHERE epochs.tenant_id = this.tenant_id
    AND epochs.first_index <= this.first_index ORDER BY epoch DESC LIMIT 1) AS log ON true`;
