// The statements about lanes (work/lanes.ts). A lane of which nothing was ever said has no row, and is open.

import type { JobState } from '../../work/jobs.ts';
import { RECORDS_COUNTED_MAX } from '../rows/record-row.ts';
import type { ShownDialect } from './job-statements.ts';

const OPEN_STATES: readonly JobState[] = ['Later', 'Waiting', 'Parked', 'Held'];
/** All there are, in the order in which these statements ask for them. */
export const LANE_STATES: readonly JobState[] = [...OPEN_STATES, 'Done', 'Dead'];
const OF_LANE = 'tenant_id = $1 AND kind = $2 AND lane = $3';

export function laneStatements<S>(dialect: ShownDialect<S>) {
  return { ...doing(dialect), ...counting(dialect), ...showing(dialect) };
}

function doing<S>({ now, lock, among, rowsOf, idIn, onlyIf, prepare }: ShownDialect<S>) {
  const firstOf = (isRetry: number) =>
    `SELECT min(wake_ms) FROM jobs WHERE ${OF_LANE} AND is_retry = ${isRetry} AND place = 0 AND state = 'Waiting'`;
  const ofGiven = 'tenant_id = $1 AND kind = $2 AND lane = given.lane';
  return {
    /** What a claim must know of lanes. It counts up to $4 jobs that wait. */
    lanesToClaim: prepare(
      `SELECT given.lane, (SELECT count(*) FROM jobs WHERE ${ofGiven} AND state = 'Held') AS held,
         (SELECT count(*) FROM (SELECT 1 FROM jobs WHERE ${ofGiven} AND state = 'Waiting' LIMIT $4) AS counted) AS waiting,
         coalesce((SELECT CASE WHEN is_open = 0 THEN 'Closed' WHEN rests_until_ms > ${now} THEN 'Resting' ELSE 'Open' END
           FROM lanes WHERE ${ofGiven}), 'Open') AS state,
         (SELECT count(*) FROM (SELECT 1 FROM jobs WHERE ${ofGiven} AND state = 'Waiting' AND is_retry IN (0, 1)
           AND place > 0 LIMIT 1) AS placed) AS placed
       FROM ${rowsOf('$3', { lane: 'text' })}`,
    ),
    heldOfTenant: prepare(
      `SELECT count(*) AS count FROM jobs WHERE kind = $1 AND tenant_id = $2 AND state = 'Held'`,
    ),
    park: prepare(
      `UPDATE jobs SET state = 'Parked', wake_ms = ${now} + $5 WHERE tenant_id = $1 AND ${idIn(`SELECT job_id FROM jobs WHERE ${OF_LANE} AND state = 'Waiting' LIMIT $4`)}`,
    ),
    hasParked: prepare(`UPDATE lanes SET has_parked = 1 WHERE ${OF_LANE} AND has_parked = 0`),
    lanesToRefill: prepare(
      'SELECT tenant_id, lane FROM lanes WHERE kind = $1 AND is_open = 1 AND has_parked = 1 LIMIT $2',
    ),
    // Before all that has come since, in the order of their ids: they are due since the lane is open.
    unpark: prepare(
      `UPDATE jobs SET state = 'Waiting', wake_ms = (SELECT min(since) FROM (
         SELECT since_ms AS since FROM lanes WHERE ${OF_LANE} UNION ALL ${firstOf(0)} UNION ALL ${firstOf(1)}) AS due)
       WHERE tenant_id = $1 AND ${idIn(`SELECT job_id FROM jobs WHERE ${OF_LANE} AND state = 'Parked' ORDER BY place, job_id LIMIT $4`)}`,
    ),
    hasNoneParked: prepare(`UPDATE lanes SET has_parked = 0 WHERE ${OF_LANE}`),
    overParked: prepare(
      `SELECT tenant_id, job_id FROM jobs WHERE kind = $1 AND state = 'Parked' AND wake_ms <= ${now} ORDER BY wake_ms LIMIT $2`,
    ),
    buryParked: prepare(
      `UPDATE jobs SET state = 'Dead', is_letter = 1, reason = $3, expires_ms = ${now} + $4, last_failed_ms = ${now}
       WHERE tenant_id = $1 AND job_id = $2 AND ${onlyIf("state = 'Parked'", '1')} = 1`,
    ),
    // Most often there are none. In the order of their names, as all who change lanes.
    works: prepare(
      `UPDATE lanes SET failures = 0 WHERE tenant_id = $1 AND kind = $2 AND lane IN (
         SELECT lane FROM lanes WHERE tenant_id = $1 AND kind = $2 AND ${among('lane', '$3')} AND is_open = 1 AND failures > 0
         ORDER BY lane${lock})`,
    ),
    fails: prepare(
      `INSERT INTO lanes (tenant_id, kind, lane, failures, since_ms) VALUES ($1, $2, $3, 1, ${now})
       ON CONFLICT (tenant_id, kind, lane) DO UPDATE SET failures = lanes.failures + 1 WHERE lanes.is_open = 1
       RETURNING failures`,
    ),
    rests: prepare(
      `INSERT INTO lanes (tenant_id, kind, lane, since_ms, rests_until_ms) VALUES ($1, $2, $3, ${now}, ${now} + $4)
       ON CONFLICT (tenant_id, kind, lane) DO UPDATE SET rests_until_ms = excluded.rests_until_ms`,
    ),
    opens: prepare(
      `UPDATE lanes SET is_open = 1, failures = 0, note = NULL, since_ms = ${now}, rests_until_ms = 0
       WHERE ${OF_LANE} AND is_open = 0 AND (CAST($4 AS text) IS NULL OR note = $4)`,
    ),
    // $5: while it is open.
    closes: prepare(
      `INSERT INTO lanes (tenant_id, kind, lane, is_open, note, since_ms) VALUES ($1, $2, $3, 0, $4, ${now})
       ON CONFLICT (tenant_id, kind, lane) DO UPDATE SET is_open = 0, note = excluded.note, since_ms = excluded.since_ms
       WHERE $5 = 0 OR lanes.is_open = 1`,
    ),
    closesAgain: prepare(
      `UPDATE lanes SET is_open = 0, note = $4, since_ms = ${now} WHERE ${OF_LANE} AND is_open = 0 AND note = $5`,
    ),
  };
}

/** One count for each state, since each has an index of its own; what is done may be very much. */
function counting<S>({ now, prepare }: ShownDialect<S>) {
  const backlog = (of: string) =>
    `SELECT ${OPEN_STATES.map((state) => `(SELECT count(*) FROM jobs WHERE ${of} AND state = '${state}')`).join(' + ')} AS open_count,
       (SELECT min(wake_ms) FROM jobs WHERE ${of} AND state = 'Waiting') AS waiting_since_ms, ${now} AS now_ms`;
  const closedLanes = (of: string) =>
    `SELECT note, count(*) AS count FROM lanes WHERE ${of} AND is_open = 0 GROUP BY note ORDER BY note`;
  const ofTenant = 'kind = $1 AND tenant_id = $2';
  return {
    backlog: prepare(backlog(ofTenant)),
    backlogOfAll: prepare(backlog('kind = $1')),
    // A portion of those that wait: if nobody does any, it does not matter which ones are looked at.
    firstWaiting: prepare(
      `SELECT tenant_id, lane, min(wake_ms) AS wake_ms FROM
         (SELECT tenant_id, lane, wake_ms FROM jobs WHERE kind = $1 AND state = 'Waiting' LIMIT $2) AS first
       GROUP BY tenant_id, lane HAVING min(wake_ms) < ${now} - $3`,
    ),
    someHeld: prepare(
      `SELECT count(*) AS count FROM
         (SELECT 1 FROM jobs WHERE kind = $1 AND state = 'Held' AND wake_ms > ${now} LIMIT 1) AS held`,
    ),
    quietLanes: prepare(
      `SELECT tenant_id, lane FROM lanes WHERE kind = $1 AND (is_open = 0 OR rests_until_ms > ${now})`,
    ),
    closedLanes: prepare(closedLanes(ofTenant)),
    closedLanesOfAll: prepare(closedLanes('kind = $1')),
  };
}

/**
 * A lane may have millions of jobs, and few in the states that are asked for: each state has its own look at the index jobs_of_lane.
 * From $4 on, whether a state is asked for: SQLite looks at such a condition once, and at a list again for every row.
 */
function showing<S>({ among, idIn, job, isKept, prepare }: ShownDialect<S>) {
  // The second condition is that of the index.
  const inEach = (columns: string) =>
    LANE_STATES.map(
      (state, i) =>
        `SELECT ${columns} FROM jobs WHERE ${OF_LANE} AND lane <> '' AND state = '${state}' AND $${i + 4} = 1 AND ${isKept}`,
    );
  const [beyond, limit] = [`$${LANE_STATES.length + 4}`, `$${LANE_STATES.length + 5}`];
  const listed = (sign: '<' | '>', order: string) => {
    const ids = inEach('job_id').map(
      (rows) =>
        `SELECT job_id FROM (${rows} AND job_id ${sign} ${beyond} ORDER BY ${order} LIMIT ${limit}) AS listed`,
    );
    return `SELECT ${job} FROM jobs WHERE tenant_id = $1 AND ${idIn(ids.join(' UNION ALL '))}
      ORDER BY ${order} LIMIT ${limit}`;
  };
  const counted = inEach('1 AS one').map(
    (rows) => `(SELECT count(*) FROM (${rows} LIMIT ${RECORDS_COUNTED_MAX}) AS counted)`,
  );
  return {
    lanes: prepare(
      `SELECT lane, is_open, failures, since_ms, note FROM lanes
       WHERE tenant_id = $1 AND kind = $2 AND ${among('lane', '$3')}`,
    ),
    jobsOfLaneBefore: prepare(listed('<', 'job_id DESC')),
    jobsOfLaneAfter: prepare(listed('>', 'job_id')),
    jobCountOfLane: prepare(`SELECT ${counted.join(' + ')} AS count`),
    removeJobsOfLane: prepare(
      `DELETE FROM jobs WHERE tenant_id = $1 AND ${idIn(`SELECT job_id FROM jobs WHERE ${OF_LANE} AND lane <> '' AND state <> 'Held' LIMIT $4`)}`,
    ),
    removeLane: prepare(`DELETE FROM lanes WHERE ${OF_LANE}`),
  };
}
