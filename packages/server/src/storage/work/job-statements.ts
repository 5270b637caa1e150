// The statements about work: jobs, positions and violations, in SQL that both backends support. `now` is the backend's clock in milliseconds, so that
// leases do not depend on the clocks of nodes. Statements that change several rows run in the order of their keys, so
// that nodes do not deadlock.

import { laneStatements } from './lane-statements.ts';
import { letterStatements } from './letter-statements.ts';
import { violationStatements } from './violation-statements.ts';

/** The differences between backends. */
export interface Dialect<S> {
  /** An expression. */
  readonly now: string;
  /** An expression: the value of a column that holds an earlier moment, or now where it is NULL. */
  readonly orNow: (column: string) => string;
  /** Appended to a SELECT: locks its rows until the end of the transaction. */
  readonly lock: string;
  /** Appended to a SELECT: skips rows that another transaction has locked. */
  readonly skipLocked: string;
  /**
   * Which of the lanes of a kind and a tenant, in a JSON list of objects, this transaction has alone until its end, without waiting
   * for any; undefined: there is one writer.
   */
  readonly lockLanes: string | undefined;
  /** An expression: whether a column has one of the texts in a JSON list. */
  readonly among: (column: string, list: string) => string;
  /** The same, but true where the list is NULL. */
  readonly oneOf: (column: string, list: string) => string;
  /** The rows `given` of a JSON list of objects, in its order: these columns, of these types. */
  readonly rowsOf: (list: string, columns: Readonly<Record<string, 'text' | 'number'>>) => string;
  /** The rows `found` of a SELECT that is carried out for each row of such a list, and gets its columns as expressions. */
  readonly ofEach: (
    list: string,
    columns: Readonly<Record<string, 'text' | 'number'>>,
    select: (of: (column: string) => string) => string,
  ) => string;
  /** An expression: whether the id of a job is among those that a SELECT gives, which is carried out once. */
  readonly idIn: (ids: string) => string;
  readonly prepare: (text: string) => S;
}

/** What the statements about lanes and letters are made of, too. */
export interface ShownDialect<S> extends Dialect<S> {
  /** The columns of a job. */
  readonly job: string;
  /** An expression: whether a job is not over. */
  readonly isKept: string;
  /** What is set in a job that begins again. */
  readonly again: string;
  readonly onlyIf: (condition: string, value: string) => string;
}

const JOB = `tenant_id, job_id, kind, lane, body, state, attempts, progress, heard, result, reason, created_ms, started_ms,
  first_failed_ms, last_failed_ms, ended_ms, wake_ms, is_letter, expires_ms, token`;
const KEY = 'operation, key, fingerprint, classification, key_expires_ms, answer';

/** Tenants or lanes with waiting jobs, in order after a given one: one index lookup each. */
function inTurn(column: string, of: string, from: number): string {
  const next = (behind: string) =>
    `(SELECT min(jobs.${column}) FROM jobs WHERE state = 'Waiting' AND ${of} AND jobs.${column} > ${behind})`;
  return `WITH RECURSIVE turn (name, place) AS (
      SELECT ${next(`$${from}`)}, 1
      UNION ALL SELECT ${next('turn.name')}, place + 1 FROM turn WHERE name IS NOT NULL AND place < $${from + 1}
    ) SELECT name FROM turn WHERE name IS NOT NULL`;
}

export function jobStatements<S>(dialect: Dialect<S>) {
  const { now } = dialect;
  const again = `state = 'Waiting', attempts = 0, is_retry = 0, result = NULL, ended_ms = NULL, expires_ms = NULL, wake_ms = ${now}`;
  // One that is over is not shown, also before it is swept.
  const shown = {
    ...dialect,
    job: JOB,
    isKept: `(expires_ms IS NULL OR expires_ms > ${now})`,
    again,
    onlyIf,
  };
  return {
    ...enqueueing(dialect),
    ...reading(shown),
    ...claiming(dialect),
    ...ending(dialect),
    ...forgetting(dialect),
    ...laneStatements(shown),
    ...letterStatements(shown),
    ...violationStatements(dialect),
  };
}

export type JobStatements<S> = ReturnType<typeof jobStatements<S>>;

/** The condition of the index jobs_unique. */
const KEEPS_KEY = "unique_key IS NOT NULL AND (state <> 'Done' OR keeps_key = 1)";
const OF_ONE = 'tenant_id = $1 AND job_id = $2';
/**
 * A value of a job that is found by its id. PostgreSQL plans by how many jobs were in a state when it last counted, and would otherwise
 * look for the one job by reading the whole index of a state that was rare then. Citus takes no moment inside of it.
 */
const onlyIf = (condition: string, value: string) => `CASE WHEN ${condition} THEN ${value} END`;
const HELD_TOKEN = onlyIf("state = 'Held'", 'token');

const ADDED = {
  tenant_id: 'text',
  job_id: 'text',
  kind: 'text',
  lane: 'text',
  unique_key: 'text',
  keeps_key: 'number',
  place: 'number',
  body: 'text',
  state: 'text',
  due_in_ms: 'number',
} as const;
const COMPLETED = {
  tenant_id: 'text',
  job_id: 'text',
  token: 'number',
  result: 'text',
  keep_ms: 'number',
  progress: 'text',
  heard: 'text',
} as const;

const TAKEN = { lane: 'text', most: 'number' } as const;

/** What is set at the end of a job that has heard something, or NULL; not if something was removed meanwhile that it may repeat. */
function heardAnew(heard: string): string {
  const isKept = `jobs.hears <> 2 AND coalesce(${heard}, jobs.heard) IS NOT NULL`;
  return `heard = CASE WHEN ${isKept} THEN coalesce(${heard}, jobs.heard) END, hears = CASE WHEN ${isKept} THEN 1 ELSE 0 END`;
}

/** Of one tenant. The rows name it, too: so a planner, which cannot know how many there are, expects few. */
const GIVEN = 'given.tenant_id = $1';

function enqueueing<S>({ now, rowsOf, idIn, prepare }: Dialect<S>) {
  return {
    // Those that are not returned have something in their way.
    addMany: prepare(
      `INSERT INTO jobs (tenant_id, job_id, kind, lane, unique_key, keeps_key, place, body, state, attempts, is_letter, created_ms,
         wake_ms)
       SELECT given.tenant_id, job_id, kind, lane, unique_key, keeps_key, place, body, state, 0, 0, ${now}, ${now} + due_in_ms
       FROM ${rowsOf('$2', ADDED)} WHERE ${GIVEN} ON CONFLICT DO NOTHING RETURNING job_id`,
    ),
    add: prepare(
      `INSERT INTO jobs (tenant_id, job_id, kind, lane, unique_key, keeps_key, place, body, ${KEY}, state, attempts, reason,
         is_letter, created_ms, wake_ms, first_failed_ms, last_failed_ms, expires_ms)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18,
         ${now}, ${now} + $19, ${now} + $20, ${now} + $20, ${now} + $21)
       ON CONFLICT DO NOTHING RETURNING ${JOB}`,
    ),
    inTheWay: prepare(
      // Each part names the tenant, since SQLite takes an index for each part only then, and else reads all jobs of the tenant.
      `SELECT ${JOB}, ${KEY} FROM jobs WHERE (tenant_id = $1 AND job_id = $2)
         OR (tenant_id = $1 AND operation = $3 AND key = $4)
         OR (tenant_id = $1 AND kind = $5 AND unique_key = $6 AND ${KEEPS_KEY})`,
    ),
    failAgain: prepare(
      `UPDATE jobs SET state = 'Dead', is_letter = 1, reason = $4, attempts = attempts + $5,
         last_failed_ms = ${now}, expires_ms = ${now} + $6
       WHERE tenant_id = $1 AND kind = $2 AND unique_key = $3 AND ${KEEPS_KEY} RETURNING ${JOB}`,
    ),
    forgetKey: prepare(
      `UPDATE jobs SET operation = NULL, key = NULL WHERE tenant_id = $1 AND operation = $2 AND key = $3
         AND key_expires_ms <= $4`,
    ),
    endKeyWindows: prepare(
      `UPDATE jobs SET operation = NULL, key = NULL, fingerprint = NULL, answer = NULL
       WHERE tenant_id = $1 AND ${idIn('SELECT job_id FROM jobs WHERE tenant_id = $1 AND key IS NOT NULL AND key_expires_ms < $2 LIMIT $3')}`,
    ),
    // Not beyond $3.
    waitingCount: prepare(
      `SELECT ${['Later', 'Waiting']
        .map(
          (state) =>
            `(SELECT count(*) FROM (SELECT 1 AS one FROM jobs WHERE kind = $2 AND tenant_id = $1 AND state = '${state}' LIMIT $3) AS counted)`,
        )
        .join(' + ')} AS count`,
    ),
    trimDone: prepare(
      // A key answers for as long as it lasts, however many jobs came after it.
      `DELETE FROM jobs WHERE tenant_id = $1 AND ${idIn(
        `SELECT job_id FROM jobs WHERE tenant_id = $1 AND kind = $2 AND state = 'Done'
         ORDER BY job_id DESC LIMIT $4 OFFSET $3`,
      )} AND state = 'Done' AND (key_expires_ms IS NULL OR key_expires_ms <= ${now})`,
    ),
  };
}

function reading<S>({ again, prepare }: ShownDialect<S>) {
  return {
    find: prepare(`SELECT ${JOB} FROM jobs WHERE ${OF_ONE}`),
    usedKey: prepare(
      `SELECT ${JOB}, ${KEY} FROM jobs WHERE tenant_id = $1 AND operation = $2 AND key = $3 AND key_expires_ms > $4`,
    ),
    revive: prepare(
      `UPDATE jobs SET ${again} WHERE tenant_id = $1 AND kind = $2 AND unique_key = $3 AND ${KEEPS_KEY} AND state = 'Dead'`,
    ),
    // The current holder loses it: the token changes.
    doAgain: prepare(`UPDATE jobs SET ${again}, token = token + 1 WHERE ${OF_ONE}`),
    findUnique: prepare(
      `SELECT ${JOB} FROM jobs WHERE tenant_id = $1 AND kind = $2 AND unique_key = $3 AND ${KEEPS_KEY}`,
    ),
    keyOfJob: prepare(`SELECT ${KEY} FROM jobs WHERE ${OF_ONE} AND key IS NOT NULL`),
    setKey: prepare(
      `UPDATE jobs SET operation = $3, key = $4, fingerprint = $5, classification = $6, key_expires_ms = $7, answer = $8
       WHERE ${OF_ONE}`,
    ),
  };
}

function claiming<S>(dialect: Dialect<S>) {
  const { now, orNow, skipLocked, lockLanes, ofEach, idIn, prepare } = dialect;
  const asleep = "state IN ('Later', 'Held')";
  const next = (isRetry: number, lane: string, most: string) => `SELECT * FROM (
    SELECT job_id, place, wake_ms, is_retry FROM jobs
    WHERE kind = $1 AND tenant_id = $2 AND lane = ${lane} AND is_retry = ${isRetry} AND state = 'Waiting'
    ORDER BY place, wake_ms, job_id LIMIT ${most}${skipLocked}) AS next${isRetry}`;
  // Half of them are jobs that have failed before, if there are so many: none of the two kinds waits for the other.
  const nextOf = (lane: string, most: string) => `SELECT job_id FROM (
      SELECT job_id, place, wake_ms, row_number() OVER (PARTITION BY is_retry ORDER BY place, wake_ms, job_id) AS turn
      FROM (${next(1, lane, most)} UNION ALL ${next(0, lane, most)}) AS next
    ) AS turns ORDER BY turn, place, wake_ms, job_id LIMIT ${most}`;
  return {
    due: prepare(
      `SELECT tenant_id, job_id FROM jobs WHERE ${asleep} AND wake_ms <= ${now} ORDER BY wake_ms LIMIT $1`,
    ),
    wake: prepare(
      `UPDATE jobs SET state = 'Waiting' WHERE ${OF_ONE} AND ${onlyIf(asleep, 'wake_ms')} <= ${now}`,
    ),
    tenantsInTurn: prepare(inTurn('tenant_id', 'kind = $1', 2)),
    allTenants: prepare(
      "SELECT DISTINCT tenant_id AS name FROM jobs WHERE state = 'Waiting' AND kind = $1 ORDER BY tenant_id",
    ),
    lanesInTurn: prepare(inTurn('lane', 'kind = $1 AND tenant_id = $2', 3)),
    lockLanes: lockLanes === undefined ? undefined : prepare(lockLanes),
    // Of lanes, each with the number that is taken of it.
    take: prepare(
      // Materialized: a plan that repeats this for every row would skip the rows that it has locked itself.
      `WITH first AS MATERIALIZED (SELECT job_id FROM ${ofEach('$3', TAKEN, (of) => nextOf(of('lane'), of('most')))})
       UPDATE jobs SET state = 'Held', wake_ms = ${now} + $4, token = token + 1, attempts = attempts + 1,
         started_ms = ${orNow('started_ms')}, hears = CASE WHEN hears = 2 THEN 0 ELSE hears END
       WHERE tenant_id = $2 AND ${idIn('SELECT job_id FROM first')}
       RETURNING ${JOB}`,
    ),
  };
}

/** Statements for jobs whose lease ends, and for jobs that are no longer needed. */
function ending<S>({ now, orNow, lock, rowsOf, prepare }: Dialect<S>) {
  const held = `${OF_ONE} AND ${HELD_TOKEN} = $3`;
  return {
    renew: prepare(`UPDATE jobs SET wake_ms = ${now} + $4, progress = coalesce($5, progress) WHERE ${held}`),
    // They are locked one by one in the order in which they are given, whatever plan is made for the rest: `renew` locks them in the same order.
    complete: prepare(
      `WITH own AS MATERIALIZED (SELECT * FROM ${rowsOf('$2', COMPLETED)} WHERE ${GIVEN} AND EXISTS (
         SELECT 1 FROM jobs WHERE tenant_id = $1 AND job_id = given.job_id AND ${HELD_TOKEN} = given.token${lock}))
       UPDATE jobs SET state = 'Done', result = own.result, is_letter = 0, ended_ms = ${now}, expires_ms = ${now} + own.keep_ms,
         progress = coalesce(own.progress, jobs.progress), ${heardAnew('own.heard')}
       FROM own WHERE jobs.tenant_id = $1 AND jobs.tenant_id = own.tenant_id AND jobs.job_id = own.job_id RETURNING jobs.job_id`,
    ),
    remove: prepare(`DELETE FROM jobs WHERE ${held} AND key IS NULL`),
    // Kept as long as its key counts.
    removeLater: prepare(
      `UPDATE jobs SET state = 'Done', is_letter = 0, ended_ms = ${now}, expires_ms = key_expires_ms WHERE ${held}`,
    ),
    putOff: prepare(
      `UPDATE jobs SET state = 'Later', wake_ms = ${now} + $4, attempts = attempts - 1 WHERE ${held}`,
    ),
    fail: prepare(
      `UPDATE jobs SET state = 'Later', is_retry = 1, wake_ms = ${now} + $4, reason = $5, progress = coalesce($6, progress),
         ${heardAnew('$7')},
         first_failed_ms = ${orNow('first_failed_ms')}, last_failed_ms = ${now} WHERE ${held}`,
    ),
    bury: prepare(
      `UPDATE jobs SET state = 'Dead', is_letter = 1, reason = $4, expires_ms = ${now} + $5, progress = coalesce($6, progress),
         ${heardAnew('$7')},
         first_failed_ms = ${orNow('first_failed_ms')}, last_failed_ms = ${now} WHERE ${held}`,
    ),
    over: prepare(
      `SELECT tenant_id, job_id FROM jobs WHERE expires_ms <= ${now} ORDER BY expires_ms LIMIT $1`,
    ),
    sweep: prepare(
      `DELETE FROM jobs WHERE ${OF_ONE} AND ${onlyIf('expires_ms IS NOT NULL', 'expires_ms')} <= ${now}`,
    ),
    move: prepare(
      'UPDATE positions SET next_index = $4 WHERE tenant_id = $1 AND name = $2 AND next_index = $3',
    ),
    place: prepare(
      'INSERT INTO positions (tenant_id, name, next_index) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING',
    ),
  };
}

/** In one transaction, in this order: what a job has heard that ends in between is found by the second one. */
function forgetting<S>({ lock, idIn, prepare }: Dialect<S>) {
  const ofKind = 'tenant_id = $1 AND kind = $2';
  const ids = (which: string, limit = '') =>
    idIn(`SELECT job_id FROM jobs WHERE ${ofKind} AND ${which}${lock && ' ORDER BY job_id'}${limit}${lock}`);
  return {
    hearNothing: prepare(
      `UPDATE jobs SET heard = NULL, hears = 2 WHERE tenant_id = $1 AND state = 'Held' AND ${ids("state = 'Held'")}`,
    ),
    forgetHeard: prepare(
      `UPDATE jobs SET heard = NULL, hears = 0 WHERE tenant_id = $1 AND ${ids('hears = 1', ' LIMIT $3')}`,
    ),
  };
}
