// The statements about dead letters. A tenant may have millions, and few of the ones that are asked for: each of these statements
// finds its rows by one or two looks at an index that has them in order, and reads no more rows than its limit.

import { RECORDS_COUNTED_MAX } from '../rows/record-row.ts';
import type { ShownDialect } from './job-statements.ts';

/** Each in the words of its index, with the parameter that asks for it: every job that is `Dead` is a letter. */
const WAITING = "state = 'Dead' AND $4 = 1";
const RETRIED = "is_letter = 1 AND state <> 'Dead' AND $5 = 1";

export function letterStatements<S>(dialect: ShownDialect<S>) {
  const { again, idIn, isKept, prepare } = dialect;
  const ofAllLanes = lettersOf(dialect, 'CAST($3 AS text) IS NULL');
  // The second condition is that of the index jobs_of_lane.
  const ofLane = lettersOf(dialect, "lane = $3 AND lane <> ''");
  const allLetters = `SELECT count(*) AS count FROM jobs WHERE is_letter = 1 AND ${isKept}`;
  return {
    lettersBefore: ofAllLanes.before,
    lettersAfter: ofAllLanes.after,
    letterCount: ofAllLanes.count,
    retryAll: ofAllLanes.retry,
    lettersOfLaneBefore: ofLane.before,
    lettersOfLaneAfter: ofLane.after,
    letterCountOfLane: ofLane.count,
    retryAllOfLane: ofLane.retry,
    letterCountOfTenant: prepare(`${allLetters} AND tenant_id = $1`),
    letterCountOfAll: prepare(allLetters),
    removeLetters: prepare(
      `DELETE FROM jobs WHERE tenant_id = $1 AND ${idIn(`SELECT job_id FROM jobs WHERE tenant_id = $1 AND kind = $2 AND state = 'Dead' AND last_failed_ms < $3 LIMIT $4`)}`,
    ),
    retry: prepare(
      `UPDATE jobs SET ${again} WHERE tenant_id = $1 AND job_id = $2 AND state = 'Dead' AND ${isKept}`,
    ),
  };
}

/** $1: tenant, $2: kind, $3: lane, $4 and $5: whether those that wait, or are retried, are asked for. */
function lettersOf<S>({ job, idIn, isKept, again, prepare }: ShownDialect<S>, whichLane: string) {
  const letters = (columns: string, state: string) =>
    `SELECT ${columns} FROM jobs WHERE tenant_id = $1 AND kind = $2 AND ${whichLane} AND ${state} AND ${isKept}`;
  const counted = (state: string) =>
    `(SELECT count(*) FROM (${letters('1 AS one', state)} LIMIT ${RECORDS_COUNTED_MAX}) AS counted)`;
  const listed = (beyond: string, order: string) => {
    const ids = (state: string) =>
      `SELECT job_id FROM (${letters('job_id', state)} AND ${beyond} ORDER BY ${order} LIMIT $7) AS listed`;
    return `SELECT ${job} FROM jobs WHERE tenant_id = $1 AND ${idIn(`${ids(WAITING)} UNION ALL ${ids(RETRIED)}`)}
      ORDER BY ${order} LIMIT $7`;
  };
  return {
    before: prepare(listed('job_id < $6', 'job_id DESC')),
    after: prepare(listed('job_id > $6', 'job_id')),
    count: prepare(`SELECT ${counted(WAITING)} + ${counted(RETRIED)} AS count`),
    retry: prepare(
      `UPDATE jobs SET ${again} WHERE tenant_id = $1 AND state = 'Dead' AND ${idIn(`${letters('job_id', "state = 'Dead'")} LIMIT $4`)}`,
    ),
  };
}
