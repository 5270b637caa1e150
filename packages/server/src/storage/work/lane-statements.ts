// The statements about lanes (work/lanes.ts). A lane of which nothing was ever said has no row, and is open.

import type { Dialect } from './job-statements.ts';

/** The first in the words of the index jobs_asleep, which SQLite takes only so. */
const OPEN_STATES = [
  "state IN ('Later', 'Held') AND state = 'Later' AND wake_ms >= 0",
  "state = 'Waiting'",
  "state = 'Parked'",
  "state = 'Held'",
];
const OF_LANE = 'tenant_id = $1 AND kind = $2 AND lane = $3';

export interface LaneDialect<S> extends Dialect<S> {
  /** The columns of a job. */
  readonly job: string;
  /** An expression: whether a job is not over. */
  readonly isKept: string;
}

export function laneStatements<S>(dialect: LaneDialect<S>) {
  return { ...doing(dialect), ...showing(dialect) };
}

function doing<S>({ now, lock, among, prepare }: LaneDialect<S>) {
  return {
    /** What a claim must know of a lane. */
    laneToClaim: prepare(
      `SELECT (SELECT count(*) FROM jobs WHERE ${OF_LANE} AND state = 'Held') AS count,
         coalesce((SELECT CASE WHEN is_open = 0 THEN 'Closed' WHEN rests_until_ms > ${now} THEN 'Resting' ELSE 'Open' END
           FROM lanes WHERE ${OF_LANE}), 'Open') AS state,
         (SELECT count(*) FROM (SELECT 1 FROM jobs WHERE ${OF_LANE} AND state = 'Waiting' AND is_retry IN (0, 1)
           AND place > 0 LIMIT 1) AS placed) AS placed`,
    ),
    heldOfTenant: prepare(
      `SELECT count(*) AS count FROM jobs WHERE kind = $1 AND tenant_id = $2 AND state = 'Held'`,
    ),
    park: prepare(
      `UPDATE jobs SET state = 'Parked', wake_ms = ${now} + $5 WHERE tenant_id = $1 AND job_id IN (
         SELECT job_id FROM jobs WHERE ${OF_LANE} AND state = 'Waiting' LIMIT $4)`,
    ),
    hasParked: prepare(`UPDATE lanes SET has_parked = 1 WHERE ${OF_LANE} AND has_parked = 0`),
    lanesToRefill: prepare(
      'SELECT tenant_id, lane FROM lanes WHERE kind = $1 AND is_open = 1 AND has_parked = 1 LIMIT $2',
    ),
    unpark: prepare(
      `UPDATE jobs SET state = 'Waiting' WHERE tenant_id = $1 AND job_id IN (
         SELECT job_id FROM jobs WHERE ${OF_LANE} AND state = 'Parked' ORDER BY place, job_id LIMIT $4)`,
    ),
    hasNoneParked: prepare(`UPDATE lanes SET has_parked = 0 WHERE ${OF_LANE}`),
    overParked: prepare(
      `SELECT tenant_id, job_id FROM jobs WHERE kind = $1 AND state = 'Parked' AND wake_ms <= ${now} ORDER BY wake_ms LIMIT $2`,
    ),
    buryParked: prepare(
      `UPDATE jobs SET state = 'Dead', is_letter = 1, reason = $3, expires_ms = ${now} + $4, last_failed_ms = ${now}
       WHERE tenant_id = $1 AND job_id = $2 AND state = 'Parked'`,
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
    // $5: while it is open; $6: while it is closed with this note.
    closes: prepare(
      `INSERT INTO lanes (tenant_id, kind, lane, is_open, note, since_ms) VALUES ($1, $2, $3, 0, $4, ${now})
       ON CONFLICT (tenant_id, kind, lane) DO UPDATE SET is_open = 0, note = excluded.note, since_ms = excluded.since_ms
       WHERE ($5 = 0 OR lanes.is_open = 1) AND (CAST($6 AS text) IS NULL OR (lanes.is_open = 0 AND lanes.note = $6))`,
    ),
  };
}

function showing<S>({ now, oneOf, job, isKept, prepare }: LaneDialect<S>) {
  const ofTenant = '(CAST($2 AS text) IS NULL OR tenant_id = $2)';
  const ofKind = `FROM jobs WHERE kind = $1 AND ${ofTenant}`;
  // The second condition is that of the index jobs_of_lane.
  const jobsOf = `FROM jobs WHERE ${OF_LANE} AND lane <> '' AND ${oneOf('state', '$4')} AND ${isKept}`;
  return {
    // $2: NULL, of all tenants. One count for each state, since each has an index of its own; what is done may be very much.
    backlog: prepare(
      `SELECT ${OPEN_STATES.map((state) => `(SELECT count(*) ${ofKind} AND ${state})`).join(' + ')} AS open_count,
         (SELECT min(wake_ms) ${ofKind} AND state = 'Waiting') AS waiting_since_ms, ${now} AS now_ms`,
    ),
    closedLanes: prepare(
      `SELECT note, count(*) AS count FROM lanes WHERE kind = $1 AND ${ofTenant} AND is_open = 0 GROUP BY note ORDER BY note`,
    ),
    lanes: prepare(
      `SELECT lane, is_open, failures, since_ms, note FROM lanes
       WHERE tenant_id = $1 AND kind = $2 AND ${oneOf('lane', '$3')}`,
    ),
    jobsOfLaneBefore: prepare(`SELECT ${job} ${jobsOf} AND job_id < $5 ORDER BY job_id DESC LIMIT $6`),
    jobsOfLaneAfter: prepare(`SELECT ${job} ${jobsOf} AND job_id > $5 ORDER BY job_id LIMIT $6`),
    jobCountOfLane: prepare(`SELECT count(*) AS count ${jobsOf}`),
    removeJobsOfLane: prepare(
      `DELETE FROM jobs WHERE tenant_id = $1 AND job_id IN (
         SELECT job_id FROM jobs WHERE ${OF_LANE} AND lane <> '' AND state <> 'Held' LIMIT $4)`,
    ),
    removeLane: prepare(`DELETE FROM lanes WHERE ${OF_LANE}`),
  };
}
