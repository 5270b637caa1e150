// The tables of the PostgreSQL backend, as migrations: each is one step from the previous version, run once and never
// changed after a release. The evidence is the same as in the embedded store. Every table of a tenant, its unique keys
// and its indexes begin with the tenant's id, and no table refers to another, so that tables can be distributed by
// tenant. Rights are in rights.ts.

import { LIMITS } from '@tallystick/contract';
import { heardColumns, JOB_INDEXES, jobTables, laneTables } from '../../work/job-schema.ts';
import { violationTables } from '../../work/violation-statements.ts';
import { INDEX_KEY, KEPT_INDEX_KEY, segmentTables, viewTables } from './index-tables.ts';
import { keyTables } from './key-tables.ts';
import { redactions } from './redaction-tables.ts';
import { decisions, HOLD_NOTICES, pastRecords, VIOLATION_EVENTS } from './policy-tables.ts';
import type { Divide } from './partitions.ts';

/**
 * Columns without statistics: no query plan depends on them. They are most of the data, and during heavy appends the
 * database samples its tables again and again.
 */
const UNSAMPLED = {
  entries: ['entry', 'leaf', 'root1', 'root2'],
  contents: ['text1', 'text2', 'seeds', 'sent_fingerprint'],
} as const satisfies Readonly<Record<string, readonly string[]>>;

/** A partition that is created later does not inherit it. */
export function unsampled(table: keyof typeof UNSAMPLED, as: string = table): string {
  const columns = UNSAMPLED[table].map((column) => `ALTER COLUMN ${column} SET STATISTICS 0`);
  return `ALTER TABLE ${as} ${columns.join(', ')}`;
}

/**
 * Logs are divided among nodes by shares: at most this many nodes can have a part of the work. The number cannot change
 * later.
 */
export const SHARES = 64;

const TENANT = 'tenant_id text COLLATE "C" NOT NULL';

/**
 * Returns statements: one by one, since Citus sends each text as a whole to the other machines. `areDistributed` says
 * whether the tables are distributed already.
 */
export type Migration = (divided: Divide, areDistributed: boolean) => readonly string[];

export const MIGRATIONS: readonly Migration[] = [
  (divided) => [
    `
  CREATE TABLE meta (
    name  text COLLATE "C" PRIMARY KEY,
    value text NOT NULL
  );

  -- Processes that serve from this database, each under an id of its own.
  CREATE TABLE nodes (
    instance      text COLLATE "C" PRIMARY KEY,
    name          text NOT NULL,
    version       text NOT NULL,
    started_at_ms bigint NOT NULL,
    seen_at       timestamptz NOT NULL
  );

  -- Who looks after which share of the logs, and until when. A node that takes one over raises its token: work begun under an
  -- earlier one is not written any more.
  CREATE TABLE leases (
    share    smallint PRIMARY KEY,
    token    bigint NOT NULL DEFAULT 0,
    instance text COLLATE "C",
    until    timestamptz
  ) WITH (fillfactor = 50);
  INSERT INTO leases (share) SELECT generate_series(0, ${SHARES - 1});

  CREATE TABLE tenants (
    ${TENANT} PRIMARY KEY,
    tier                   text NOT NULL DEFAULT 'Standard',
    region                 text,
    status                 text NOT NULL DEFAULT 'Active',
    default_classification text NOT NULL DEFAULT 'Internal',
    default_retention      text NOT NULL DEFAULT 'P7Y',
    -- The key of the HMACs by which repeated requests are recognised.
    fingerprint_key        bytea NOT NULL,
    created_at_ms          bigint NOT NULL,
    updated_at_ms          bigint NOT NULL
  );

  CREATE TABLE api_keys (
    -- '*' for platform keys.
    ${TENANT},
    key_id        text COLLATE "C" NOT NULL,
    name          text NOT NULL,
    roles         text NOT NULL,
    scopes        text NOT NULL,
    clearance     text,
    -- SHA-256 of the whole key.
    hash          bytea NOT NULL,
    created_at_ms bigint NOT NULL,
    created_by    text NOT NULL,
    expires_at_ms bigint,
    revoked_at_ms bigint,
    replaces      text,
    PRIMARY KEY (tenant_id, key_id)
  );
  CREATE INDEX api_keys_by_hash ON api_keys (hash);
  CREATE INDEX api_keys_by_id ON api_keys (key_id);

  -- Where the log of a tenant ends, made with the tenant. Who appends locks it, and moves it only from where it was found:
  -- so any number of nodes write one log without a fork. It is no evidence: what is built on is the entry it points to.
  CREATE TABLE heads (
    ${TENANT} PRIMARY KEY,
    -- In the tenant's sequence.
    next_index bigint NOT NULL DEFAULT 0,
    -- The newest leaf; null before the first one.
    leaf       bytea,
    -- That of the logs which it belongs to: see leases.
    share      smallint NOT NULL GENERATED ALWAYS AS ((hashtext(tenant_id) & ${SHARES - 1})::smallint) STORED
  ) WITH (fillfactor = 50);

  CREATE TABLE streams (
    ${TENANT},
    first_index   bigint NOT NULL,
    stream_id     text COLLATE "C" NOT NULL,
    created_at_ms bigint NOT NULL,
    PRIMARY KEY (tenant_id, first_index),
    UNIQUE (tenant_id, stream_id)
  );

  CREATE TABLE entries (
    ${TENANT},
    leaf_index     bigint NOT NULL,
    classification smallint NOT NULL,
    -- Where the content is: see contents.
    content_month  integer NOT NULL,
    entry          bytea NOT NULL,
    -- A piece of the entry: it cannot differ from it. A column, since behind the security of rows nothing is looked up by
    -- what a function makes of one.
    event_id       bytea NOT NULL GENERATED ALWAYS AS (substring(entry from 37 for 16)) STORED,
    leaf           bytea NOT NULL,
    root1          bytea NOT NULL,
    root2          bytea NOT NULL,
    PRIMARY KEY (tenant_id, leaf_index)
  )${divided('entries')}
  CREATE UNIQUE INDEX entries_by_event ON entries (tenant_id, event_id);
  -- Of two entries that follow upon the same leaf, one is refused.
  CREATE UNIQUE INDEX entries_by_previous ON entries (tenant_id, substring(entry from 53 for 32));

  CREATE TABLE contents (
    ${TENANT},
    leaf_index       bigint NOT NULL,
    -- That in which it expires, counted from January 1970 as 1; 0 for what never does. It is said when the event is stored.
    content_month    integer NOT NULL,
    text1            bytea NOT NULL,
    text2            bytea NOT NULL,
    seeds            bytea NOT NULL,
    key_id           text,
    sent_fingerprint bytea,
    expires_at_ms    bigint,
    PRIMARY KEY (tenant_id, leaf_index, content_month)
  ) PARTITION BY RANGE (content_month);

  CREATE TABLE used_keys (
    ${TENANT},
    operation     text COLLATE "C" NOT NULL,
    key           text COLLATE "C" NOT NULL,
    fingerprint   bytea NOT NULL,
    expires_at_ms bigint NOT NULL,
    note          text NOT NULL,
    outcomes      bytea NOT NULL,
    PRIMARY KEY (tenant_id, operation, key)
  );
  CREATE INDEX used_keys_by_expiry ON used_keys (expires_at_ms);

  CREATE TABLE checkpoints (
    ${TENANT},
    epoch           integer NOT NULL,
    size            bigint NOT NULL,
    note            text NOT NULL,
    published_at_ms bigint NOT NULL,
    PRIMARY KEY (tenant_id, epoch, size)
  );

  CREATE TABLE tile_hashes (
    ${TENANT},
    epoch integer NOT NULL,
    level integer NOT NULL,
    place bigint NOT NULL,
    hash  bytea NOT NULL,
    PRIMARY KEY (tenant_id, epoch, level, place)
  );

  CREATE TABLE epochs (
    ${TENANT},
    epoch               integer NOT NULL,
    first_index         bigint NOT NULL,
    previous_checkpoint text NOT NULL,
    PRIMARY KEY (tenant_id, epoch)
  );

  -- Logs that a node has found to be other than what was signed or hashed: no node appends to them while that one is there.
  CREATE TABLE refused_logs (
    ${TENANT},
    instance text COLLATE "C" NOT NULL,
    why      text NOT NULL,
    PRIMARY KEY (tenant_id, instance)
  );

  ${viewTables(TENANT, divided)}
  -- Views that are made anew because somebody asked for it.
  CREATE TABLE rebuilds (
    ${TENANT},
    operation_id text COLLATE "C" NOT NULL,
    generation   integer NOT NULL,
    requested_ms bigint NOT NULL,
    requested_by text NOT NULL,
    -- Once something of it is done.
    started_ms   bigint,
    -- Both once the view answers.
    completed_ms bigint,
    events       bigint,
    PRIMARY KEY (tenant_id, operation_id),
    UNIQUE (tenant_id, generation)
  );

  -- Events that could not be indexed, and were passed over.
  CREATE TABLE dead_letters (
    ${TENANT},
    message_id      text COLLATE "C" NOT NULL,
    leaf_index      bigint NOT NULL,
    reason          text NOT NULL,
    attempts        integer NOT NULL,
    first_failed_ms bigint NOT NULL,
    last_failed_ms  bigint NOT NULL,
    PRIMARY KEY (tenant_id, message_id),
    UNIQUE (tenant_id, leaf_index)
  );
  CREATE INDEX dead_letters_by_time ON dead_letters (last_failed_ms);
  `,
  ],
  () => [
    // Whether it makes checkpoints; a node that does not leaves its logs to others.
    'ALTER TABLE nodes ADD COLUMN is_able boolean NOT NULL DEFAULT true',
    // The first docs have no counts. So all counts are dropped, and rebuilt from the log.
    'DROP INDEX docs_by_terms',
    'TRUNCATE docs, view_keys, view_counts, views, rebuilds, dead_letters',
    `CREATE INDEX docs_by_terms ON docs USING gin (terms) WHERE int8ge(leaf_index, 256)`,
  ],
  // Distributed tables do not allow it.
  (_, areDistributed) => (areDistributed ? [] : [unsampled('entries'), unsampled('contents')]),
  // The highest classification sent under the key, an index in a list as in entries; for older keys it is unknown, so
  // they get the highest.
  () => ['ALTER TABLE used_keys ADD COLUMN classification smallint NOT NULL DEFAULT 3'],
  // Separate from the keys: it grants nothing, and is written every minute, mostly without touching an index.
  () => [
    `CREATE TABLE api_key_uses (
      ${TENANT},
      key_id     text COLLATE "C" NOT NULL,
      used_at_ms bigint NOT NULL,
      PRIMARY KEY (tenant_id, key_id)
    ) WITH (fillfactor = 50)`,
  ],
  // Records: data that callers may change, each version in one commit with its notice. The former columns of tenants
  // were not changeable; they become a record.
  () => [
    `CREATE TABLE records (
      -- '*' for those of the installation.
      ${TENANT},
      kind        text COLLATE "C" NOT NULL,
      id          text COLLATE "C" NOT NULL,
      version     bigint NOT NULL,
      -- All of it; the three behind it are copies of members.
      body        text NOT NULL,
      state       text COLLATE "C" NOT NULL,
      unique_name text COLLATE "C",
      lookup      bytea,
      -- With it, the notice commits to the body.
      salt        bytea NOT NULL,
      -- Under a key that is not here.
      mac         bytea NOT NULL,
      PRIMARY KEY (tenant_id, kind, id)
    )`,
    'CREATE UNIQUE INDEX records_by_name ON records (tenant_id, kind, unique_name) WHERE unique_name IS NOT NULL',
    'CREATE INDEX records_by_lookup ON records (lookup) WHERE lookup IS NOT NULL',
    'CREATE INDEX records_by_id ON records (kind, id)',
    ...['tier', 'region', 'status', 'default_classification', 'default_retention', 'updated_at_ms'].map(
      (column) => `ALTER TABLE tenants DROP COLUMN ${column}`,
    ),
  ],
  // The removed spans with their notices, derived from purge notices in the commit of each. Spans do not overlap.
  () => [
    `CREATE TABLE deletions (
      ${TENANT},
      first_index  bigint NOT NULL,
      -- The first index behind it.
      end_index    bigint NOT NULL,
      notice_index bigint NOT NULL,
      PRIMARY KEY (tenant_id, first_index)
    )`,
  ],
  // Jobs: durable work, and the positions of followers. Events that could not be indexed are jobs from now on. An
  // unfinished view is dropped: its job requests it again.
  () => [
    ...jobTables({ text: 'text COLLATE "C"', number: 'bigint', bytes: 'bytea', end: '' }),
    `INSERT INTO jobs (tenant_id, job_id, kind, lane, unique_key, body, state, attempts, reason, is_letter, created_ms, wake_ms,
       first_failed_ms, last_failed_ms, expires_ms)
     SELECT tenant_id, message_id, 'IndexEvent', '', leaf_index::text, '{"index":' || leaf_index || '}', 'Dead', attempts,
       reason, 1, first_failed_ms, last_failed_ms, first_failed_ms, last_failed_ms, last_failed_ms + ${LIMITS.deadLetterLifetimeMs}
     FROM dead_letters`,
    "UPDATE views SET state = 'Old' WHERE state = 'Building'",
    'DROP TABLE dead_letters',
    'DROP TABLE rebuilds',
  ],
  // The index of events is made of segments from now on.
  () => segmentTables(TENANT),
  // Who verifies may open the index, but not tell fingerprints.
  () => INDEX_KEY,
  // Versions of records before the current one, each as it was.
  () => [pastRecords(TENANT)],
  // What has decided about events.
  () => decisions(TENANT),
  // What rules have found in events, and what they count.
  () => violationTables({ text: 'text COLLATE "C"', number: 'bigint', end: '' }),
  // Of which events single units were removed, and what these have left.
  () => redactions(TENANT),
  // When a sweep found that no event in it has content any more.
  () => ['ALTER TABLE streams ADD COLUMN purged_at_ms bigint'],
  // The keys of tenants, sealed: sealing/keyring.ts. What opens them is in no table.
  () => keyTables(TENANT),
  () => HOLD_NOTICES,
  () => VIOLATION_EVENTS,
  // The key of fingerprints can be replaced.
  () => KEPT_INDEX_KEY,
  // Lanes of jobs.
  () => laneTables({ text: 'text COLLATE "C"', number: 'bigint', end: '' }),
  () => JOB_INDEXES,
  // What others have answered to jobs.
  () => heardColumns({ text: 'text', number: 'bigint' }),
  // Some kinds of records stay for ever, and few of them are in the state that somebody asks for.
  () => ['CREATE INDEX records_by_state ON records (tenant_id, kind, state, id)'],
];
