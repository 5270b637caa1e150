// The tables of the index of events: lists of segments, and their blocks. They replace one row for each event and each count.

import type { Divide } from './partitions.ts';

/** The first index: a row for each event and each count. */
export function viewTables(tenant: string, divided: Divide): string {
  return `
  -- What follows is the index of events. All of it follows from the log, and can be made again. A view is the index of one
  -- tenant's events, of one making; a tenant that is indexed anew has two for a while.
  CREATE TABLE views (
    ${tenant},
    -- How often the tenant has been indexed, this time included.
    generation integer NOT NULL,
    -- 'Building', 'Current', or 'Old' while it is being removed.
    state      text COLLATE "C" NOT NULL,
    -- The first index of the tenant's log that is not in it. Who moves it has locked this row.
    next_index bigint NOT NULL DEFAULT 0,
    -- How many of its docs have more terms than can be held: each of them is looked at itself.
    large_docs bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant_id, generation)
  ) WITH (fillfactor = 50);
  CREATE UNIQUE INDEX views_that_answer ON views (tenant_id) WHERE state = 'Current';
  CREATE UNIQUE INDEX views_in_the_making ON views (tenant_id) WHERE state = 'Building';
  CREATE INDEX views_that_go ON views (tenant_id) WHERE state = 'Old';

  CREATE TABLE docs (
    ${tenant},
    generation     integer NOT NULL,
    leaf_index     bigint NOT NULL,
    event_id       bytea NOT NULL,
    -- The timestamp: whole milliseconds since 1970, and nanoseconds beyond.
    at_ms          bigint NOT NULL,
    at_ns          integer NOT NULL,
    classification smallint NOT NULL,
    -- A place in KINDS of index-columns.ts.
    kind           smallint NOT NULL,
    outcome        smallint NOT NULL,
    actor_type     smallint NOT NULL,
    action         text COLLATE "C" NOT NULL,
    actor          text COLLATE "C" NOT NULL,
    resource_type  text COLLATE "C" NOT NULL,
    -- Terms are made by terms.ts: each has the number of the view in front, so that tenants share none.
    terms          tsvector NOT NULL,
    PRIMARY KEY (tenant_id, generation, leaf_index)
  )${divided('docs')}
  -- Beside the docs, so that these are few pages to go through, and as they are: to compress them takes longer than to index
  -- them, and saves a quarter.
  ALTER TABLE docs ALTER COLUMN terms SET STORAGE EXTERNAL;
  CREATE INDEX docs_by_time ON docs (tenant_id, generation, at_ms, at_ns, leaf_index);
  CREATE INDEX docs_by_event ON docs (tenant_id, generation, event_id);
  CREATE INDEX docs_by_action ON docs (tenant_id, generation, action, at_ms, at_ns, leaf_index);
  CREATE INDEX docs_by_terms ON docs USING gin (terms);
${countTables(tenant)}`;
}

function countTables(tenant: string): string {
  return `
  -- The texts by which events are counted: actions, actors, types of resources.
  CREATE TABLE view_keys (
    ${tenant},
    generation integer NOT NULL,
    -- A place in KEY_KINDS.
    kind       smallint NOT NULL,
    text       text COLLATE "C" NOT NULL,
    -- The newest name for people, where there is one; and the newest of events that everybody may know of.
    label      text,
    open_label text,
    PRIMARY KEY (tenant_id, generation, kind, text)
  );

  -- How many events of some span of time have a value. What span is a place in SPANS, what was counted one in COUNTED.
  CREATE TABLE view_counts (
    ${tenant},
    generation     integer NOT NULL,
    counted        smallint NOT NULL,
    span           smallint NOT NULL,
    -- Months since the year 0, days or hours since 1970; 0 for ever.
    time           integer NOT NULL,
    classification smallint NOT NULL,
    kind           smallint NOT NULL,
    value          text COLLATE "C" NOT NULL,
    count          bigint NOT NULL,
    PRIMARY KEY (tenant_id, generation, counted, span, time, classification, kind, value)
  ) WITH (fillfactor = 80);
`;
}

export function segmentTables(tenant: string): string[] {
  return [
    'DROP TABLE docs, view_keys, view_counts, views',
    `CREATE TABLE index_manifests (
      ${tenant},
      version     bigint NOT NULL,
      -- Of what is in segments.
      end_index   bigint NOT NULL,
      is_building boolean NOT NULL,
      body        text NOT NULL,
      PRIMARY KEY (tenant_id)
    ) WITH (fillfactor = 50)`,
    `CREATE TABLE index_blocks (
      ${tenant},
      segment bigint NOT NULL,
      block   integer NOT NULL,
      bytes   bytea NOT NULL,
      PRIMARY KEY (tenant_id, segment, block)
    )`,
    'ALTER TABLE index_blocks ALTER COLUMN bytes SET STORAGE EXTERNAL',
  ];
}

/** Made of the key of fingerprints, and does not lead back to it. What was sealed with that one goes. */
export const INDEX_KEY = [
  `ALTER TABLE tenants ADD COLUMN index_key bytea NOT NULL
   GENERATED ALWAYS AS (sha256('index of events '::bytea || fingerprint_key)) STORED`,
  'TRUNCATE index_manifests, index_blocks',
  // Segments are rewritten for what was removed since they were made.
  'CREATE INDEX deletions_by_notice ON deletions (tenant_id, notice_index)',
];

/** The same key as before, also where the key of fingerprints is replaced: who does so keeps what opens the index. */
export const KEPT_INDEX_KEY = [
  'ALTER TABLE tenants DROP COLUMN index_key',
  'ALTER TABLE tenants ADD COLUMN kept_index_key bytea',
  `ALTER TABLE tenants ADD COLUMN index_key bytea NOT NULL
   GENERATED ALWAYS AS (coalesce(kept_index_key, sha256('index of events '::bytea || fingerprint_key))) STORED`,
];
