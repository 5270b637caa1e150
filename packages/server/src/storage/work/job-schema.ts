// The tables of jobs, lanes and positions, of both backends.

interface ColumnTypes {
  readonly text: string;
  readonly number: string;
  readonly bytes: string;
  /** Behind the columns of a table. */
  readonly end: string;
}

/** As they were before there were lanes. */
export function jobTables(types: ColumnTypes): readonly string[] {
  const { text, number, bytes, end } = types;
  return [
    `CREATE TABLE jobs (
      tenant_id       ${text} NOT NULL,
      job_id          ${text} NOT NULL,
      kind            ${text} NOT NULL,
      lane            ${text} NOT NULL,
      unique_key      ${text},
      -- JSON: what the handler needs.
      body            ${text} NOT NULL,
      -- The idempotency key of the request that asked for it; null once it may be used again.
      operation       ${text},
      key             ${text},
      fingerprint     ${bytes},
      classification  ${text},
      key_expires_ms  ${number},
      -- The answer to that request.
      answer          ${text},
      -- 'Later' until wake_ms, 'Waiting', 'Held' until wake_ms, 'Done', 'Dead'.
      state           ${text} NOT NULL,
      -- Rises with every claim.
      token           ${number} NOT NULL DEFAULT 0,
      attempts        ${number} NOT NULL,
      progress        ${text},
      result          ${text},
      reason          ${text},
      -- 1: it is among the dead letters, also while it is tried again.
      is_letter       ${number} NOT NULL,
      created_ms      ${number} NOT NULL,
      wake_ms         ${number} NOT NULL,
      started_ms      ${number},
      first_failed_ms ${number},
      last_failed_ms  ${number},
      ended_ms        ${number},
      -- When it is removed.
      expires_ms      ${number},
      PRIMARY KEY (tenant_id, job_id)
    )${end}`,
    "CREATE UNIQUE INDEX jobs_unique ON jobs (tenant_id, kind, unique_key) WHERE unique_key IS NOT NULL AND state <> 'Done'",
    'CREATE UNIQUE INDEX jobs_by_key ON jobs (tenant_id, operation, key) WHERE key IS NOT NULL',
    "CREATE INDEX jobs_waiting ON jobs (kind, tenant_id, lane, wake_ms, job_id) WHERE state = 'Waiting'",
    "CREATE INDEX jobs_held ON jobs (kind, tenant_id, lane) WHERE state = 'Held'",
    "CREATE INDEX jobs_asleep ON jobs (wake_ms) WHERE state IN ('Later', 'Held')",
    "CREATE INDEX jobs_done ON jobs (tenant_id, kind, job_id) WHERE state = 'Done'",
    'CREATE INDEX jobs_letters ON jobs (tenant_id, job_id) WHERE is_letter = 1',
    'CREATE INDEX jobs_over ON jobs (expires_ms) WHERE expires_ms IS NOT NULL',
    `CREATE TABLE positions (
      tenant_id  ${text} NOT NULL,
      -- Of a follower.
      name       ${text} NOT NULL,
      -- The first index of the tenant's log that it has not taken.
      next_index ${number} NOT NULL,
      PRIMARY KEY (tenant_id, name)
    )${end}`,
  ];
}

/** To be added to those tables. */
export function laneTables({ text, number, end }: Omit<ColumnTypes, 'bytes'>): readonly string[] {
  return [
    // 1: its unique key is taken for as long as the job is kept.
    `ALTER TABLE jobs ADD COLUMN keeps_key ${number} NOT NULL DEFAULT 0`,
    // The lowest of a lane comes first.
    `ALTER TABLE jobs ADD COLUMN place ${number} NOT NULL DEFAULT 0`,
    // 1: it has failed before.
    `ALTER TABLE jobs ADD COLUMN is_retry ${number} NOT NULL DEFAULT 0`,
    'DROP INDEX jobs_unique',
    `CREATE UNIQUE INDEX jobs_unique ON jobs (tenant_id, kind, unique_key)
       WHERE unique_key IS NOT NULL AND (state <> 'Done' OR keeps_key = 1)`,
    'DROP INDEX jobs_waiting',
    "CREATE INDEX jobs_waiting ON jobs (kind, tenant_id, lane, is_retry, place, wake_ms, job_id) WHERE state = 'Waiting'",
    "CREATE INDEX jobs_parked ON jobs (tenant_id, kind, lane, place, job_id) WHERE state = 'Parked'",
    "CREATE INDEX jobs_parked_until ON jobs (kind, wake_ms) WHERE state = 'Parked'",
    "CREATE INDEX jobs_of_lane ON jobs (tenant_id, kind, lane, job_id) WHERE lane <> ''",
    `CREATE TABLE lanes (
      tenant_id      ${text} NOT NULL,
      kind           ${text} NOT NULL,
      lane           ${text} NOT NULL,
      is_open        ${number} NOT NULL DEFAULT 1,
      failures       ${number} NOT NULL DEFAULT 0,
      -- Why it is closed.
      note           ${text},
      -- Since when it is open or closed.
      since_ms       ${number} NOT NULL,
      rests_until_ms ${number} NOT NULL DEFAULT 0,
      -- 1: there may be jobs that were parked while it was closed.
      has_parked     ${number} NOT NULL DEFAULT 0,
      PRIMARY KEY (tenant_id, kind, lane)
    )${end}`,
    'CREATE INDEX lanes_to_refill ON lanes (kind, tenant_id, lane) WHERE is_open = 1 AND has_parked = 1',
  ];
}

/**
 * To be added to those. Statements find ids in them and read nothing else to do so: SQLite, which knows nothing of how many jobs a tenant
 * has, otherwise prefers to read all of them in the order of the primary key.
 */
export const JOB_INDEXES: readonly string[] = [
  'DROP INDEX jobs_of_lane',
  "CREATE INDEX jobs_of_lane ON jobs (tenant_id, kind, lane, state, job_id, expires_ms) WHERE lane <> ''",
  "CREATE INDEX jobs_later ON jobs (kind, tenant_id) WHERE state = 'Later'",
  'DROP INDEX jobs_letters',
  'CREATE INDEX jobs_letters ON jobs (tenant_id, expires_ms) WHERE is_letter = 1',
  "CREATE INDEX jobs_dead ON jobs (tenant_id, kind, job_id, expires_ms) WHERE state = 'Dead'",
  "CREATE INDEX jobs_dead_since ON jobs (tenant_id, kind, last_failed_ms) WHERE state = 'Dead'",
  "CREATE INDEX jobs_retried ON jobs (tenant_id, kind, job_id, state, expires_ms) WHERE is_letter = 1 AND state <> 'Dead'",
  "CREATE INDEX jobs_retried_of_lane ON jobs (tenant_id, kind, lane, job_id, state, expires_ms) WHERE is_letter = 1 AND state <> 'Dead'",
  'CREATE INDEX jobs_by_key_end ON jobs (tenant_id, key_expires_ms) WHERE key IS NOT NULL',
];

/** To be added to those. */
export function heardColumns({ text, number }: Pick<ColumnTypes, 'text' | 'number'>): readonly string[] {
  return [
    // What others have answered while it was done.
    `ALTER TABLE jobs ADD COLUMN heard ${text}`,
    // 1: it has heard something. 2, while it is held: what it hears is not kept.
    `ALTER TABLE jobs ADD COLUMN hears ${number} NOT NULL DEFAULT 0`,
    'CREATE INDEX jobs_heard ON jobs (tenant_id, kind, job_id) WHERE hears = 1',
  ];
}
