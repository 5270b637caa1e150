// The tables of journal.db, as migrations: each is one step from the previous version, run once and never changed after
// a release. `entries` and everything that is unique stay forever; `contents` can be removed row by row without
// affecting a proof. A tenant is a small number here, so that it costs a byte and not its name.
//
// Evidence: entries, contents, streams, checkpoints, tile_hashes, epochs. Not evidence, and reported as such by the
// store verifier: meta, tenants, api_key_uses, used_keys, and api_keys, which older versions used before there were
// records. Records are compared with their notices.

export const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE meta (
    name  TEXT PRIMARY KEY,
    value ANY NOT NULL
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE tenants (
    tenant                 INTEGER PRIMARY KEY,
    tenant_id              TEXT NOT NULL UNIQUE,
    tier                   TEXT NOT NULL DEFAULT 'Standard',
    region                 TEXT,
    status                 TEXT NOT NULL DEFAULT 'Active',
    default_classification TEXT NOT NULL DEFAULT 'Internal',
    default_retention      TEXT NOT NULL DEFAULT 'P7Y',
    -- The key of the HMACs by which repeated requests are recognised.
    fingerprint_key        BLOB NOT NULL,
    created_at_ms          INTEGER NOT NULL,
    updated_at_ms          INTEGER NOT NULL
  ) STRICT;

  CREATE TABLE api_keys (
    key_id        TEXT PRIMARY KEY,
    -- '*' for platform keys. A key of a tenant makes the tenant.
    tenant_id     TEXT NOT NULL,
    name          TEXT NOT NULL,
    roles         TEXT NOT NULL,
    scopes        TEXT NOT NULL,
    clearance     TEXT,
    -- SHA-256 of the whole key.
    hash          BLOB NOT NULL UNIQUE,
    created_at_ms INTEGER NOT NULL,
    -- The name of the caller that made it, or 'system'.
    created_by    TEXT NOT NULL,
    expires_at_ms INTEGER,
    revoked_at_ms INTEGER,
    -- The key that this one took the place of.
    replaces      TEXT
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE streams (
    tenant        INTEGER NOT NULL REFERENCES tenants,
    first_index   INTEGER NOT NULL,
    stream_id     TEXT NOT NULL UNIQUE,
    created_at_ms INTEGER NOT NULL,
    PRIMARY KEY (tenant, first_index)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE entries (
    id             INTEGER PRIMARY KEY,
    -- Of tenants; kept by the code, as the id of contents is, because SQLite would look it up for every event.
    tenant         INTEGER NOT NULL,
    leaf_index     INTEGER NOT NULL,
    classification INTEGER NOT NULL,
    entry          BLOB NOT NULL,
    -- A piece of the entry: it cannot differ from it, and costs nothing but its index.
    event_id       BLOB NOT NULL GENERATED ALWAYS AS (substr(entry, 37, 16)) VIRTUAL,
    leaf           BLOB NOT NULL,
    root1          BLOB NOT NULL,
    root2          BLOB NOT NULL
  ) STRICT;
  CREATE UNIQUE INDEX entries_by_index ON entries (tenant, leaf_index);
  -- The id comes first: ids grow with time, so new ones of all tenants go to the same pages.
  CREATE UNIQUE INDEX entries_by_event ON entries (event_id, tenant);
  CREATE TRIGGER entries_do_not_change BEFORE UPDATE ON entries BEGIN
    SELECT RAISE(ABORT, 'entries do not change');
  END;
  CREATE TRIGGER entries_stay BEFORE DELETE ON entries BEGIN
    SELECT RAISE(ABORT, 'entries stay for ever');
  END;

  CREATE TABLE contents (
    -- That of its entry.
    id               INTEGER PRIMARY KEY,
    text1            BLOB NOT NULL,
    text2            BLOB NOT NULL,
    -- Two seeds of 16 bytes, from which the salts of each group are made.
    seeds            BLOB NOT NULL,
    -- The data key that seals texts and seeds; null: they are not sealed.
    key_id           TEXT,
    sent_fingerprint BLOB,
    expires_at_ms    INTEGER
  ) STRICT;

  CREATE TABLE used_keys (
    tenant        INTEGER NOT NULL REFERENCES tenants,
    operation     TEXT NOT NULL,
    key           TEXT NOT NULL,
    fingerprint   BLOB NOT NULL,
    expires_at_ms INTEGER NOT NULL,
    note          TEXT NOT NULL,
    outcomes      BLOB NOT NULL,
    PRIMARY KEY (tenant, operation, key)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX used_keys_by_expiry ON used_keys (expires_at_ms);
  `,
  `
  -- What the tree of a log is read from beside its entries. All of it follows from them and can be made again, but for
  -- the signatures.
  CREATE TABLE checkpoints (
    tenant          INTEGER NOT NULL REFERENCES tenants,
    -- 0 for the first log of a tenant; one more for each time that it went on after a restore.
    epoch           INTEGER NOT NULL,
    size            INTEGER NOT NULL,
    note            TEXT NOT NULL,
    published_at_ms INTEGER NOT NULL,
    PRIMARY KEY (tenant, epoch, size)
  ) STRICT, WITHOUT ROWID;

  -- The hash over a full tile of the level below, 256 hashes wide; level 1 is over leaves.
  CREATE TABLE tile_hashes (
    tenant INTEGER NOT NULL,
    epoch  INTEGER NOT NULL,
    level  INTEGER NOT NULL,
    place  INTEGER NOT NULL,
    hash   BLOB NOT NULL,
    PRIMARY KEY (tenant, epoch, level, place)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE epochs (
    tenant              INTEGER NOT NULL REFERENCES tenants,
    epoch               INTEGER NOT NULL,
    -- Of its first entry in the tenant's sequence; the entry's own index is 0.
    first_index         INTEGER NOT NULL,
    -- The text of the last anchored checkpoint of the log before, which the genesis of this one names.
    previous_checkpoint TEXT NOT NULL,
    PRIMARY KEY (tenant, epoch)
  ) STRICT, WITHOUT ROWID;
  `,
  `
  -- The highest of what was sent under the key, a place in a list as in entries; of keys from before nobody knows it, so
  -- they have the highest there is.
  ALTER TABLE used_keys ADD COLUMN classification INTEGER NOT NULL DEFAULT 3;
  `,
  `
  -- When each key was last used. Apart from the keys: it grants nothing, and is written every minute.
  CREATE TABLE api_key_uses (
    tenant_id  TEXT NOT NULL,
    key_id     TEXT PRIMARY KEY,
    used_at_ms INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX api_keys_by_tenant ON api_keys (tenant_id);
  `,
  `
  -- What callers may change, such as API keys and the settings of tenants, each version in one commit with its notice.
  CREATE TABLE records (
    -- That of the installation has the name '*'.
    tenant      INTEGER NOT NULL REFERENCES tenants,
    kind        TEXT NOT NULL,
    id          TEXT NOT NULL,
    version     INTEGER NOT NULL,
    -- All of it; the three behind it are copies of members.
    body        TEXT NOT NULL,
    state       TEXT NOT NULL,
    unique_name TEXT,
    lookup      BLOB,
    -- With it, the notice commits to the body.
    salt        BLOB NOT NULL,
    -- Under a key that is not here.
    mac         BLOB NOT NULL,
    PRIMARY KEY (tenant, kind, id)
  ) STRICT, WITHOUT ROWID;
  CREATE UNIQUE INDEX records_by_name ON records (tenant, kind, unique_name) WHERE unique_name IS NOT NULL;
  CREATE INDEX records_by_lookup ON records (lookup) WHERE lookup IS NOT NULL;
  CREATE INDEX records_by_id ON records (kind, id);

  -- Nobody could change these; from now on they are in a record.
  ALTER TABLE tenants DROP COLUMN tier;
  ALTER TABLE tenants DROP COLUMN region;
  ALTER TABLE tenants DROP COLUMN status;
  ALTER TABLE tenants DROP COLUMN default_classification;
  ALTER TABLE tenants DROP COLUMN default_retention;
  ALTER TABLE tenants DROP COLUMN updated_at_ms;
  `,
  `
  -- What was removed under which notice, made of the ranges of purge notices in the commit of each. No two overlap. All
  -- indexes are those of the tenant's sequence.
  CREATE TABLE deletions (
    tenant       INTEGER NOT NULL REFERENCES tenants,
    first_index  INTEGER NOT NULL,
    -- The first index behind it.
    end_index    INTEGER NOT NULL,
    notice_index INTEGER NOT NULL,
    PRIMARY KEY (tenant, first_index)
  ) STRICT, WITHOUT ROWID;
  `,
  `
  -- Jobs that changes have caused, on their way to work.db: two files do not commit together.
  CREATE TABLE outbox (
    tenant INTEGER NOT NULL REFERENCES tenants,
    job_id TEXT NOT NULL,
    -- JSON.
    job    TEXT NOT NULL,
    PRIMARY KEY (tenant, job_id)
  ) STRICT, WITHOUT ROWID;
  `,
  `
  -- The index of events asks what was removed since its segments were made.
  CREATE INDEX deletions_by_notice ON deletions (tenant, notice_index);

  -- Keys in the order in which they are used. In the order of the keys, which are random, each would rewrite a page of its own:
  -- so they are moved to used_keys many at a time, and a key that is in both counts as it is here.
  CREATE TABLE recent_keys (
    id             INTEGER PRIMARY KEY,
    tenant         INTEGER NOT NULL REFERENCES tenants,
    operation      TEXT NOT NULL,
    key            TEXT NOT NULL,
    fingerprint    BLOB NOT NULL,
    classification INTEGER NOT NULL,
    expires_at_ms  INTEGER NOT NULL,
    note           TEXT NOT NULL,
    outcomes       BLOB NOT NULL
  ) STRICT;
  `,
  `
  -- Versions of records before the current one, each as it was.
  CREATE TABLE past_records (
    tenant      INTEGER NOT NULL REFERENCES tenants,
    kind        TEXT NOT NULL,
    id          TEXT NOT NULL,
    version     INTEGER NOT NULL,
    body        TEXT NOT NULL,
    state       TEXT NOT NULL,
    unique_name TEXT,
    lookup      BLOB,
    salt        BLOB NOT NULL,
    mac         BLOB NOT NULL,
    PRIMARY KEY (tenant, kind, id, version)
  ) STRICT, WITHOUT ROWID;
  `,
  `
  -- What has decided about events, once for all that were decided alike.
  CREATE TABLE decisions (
    tenant   INTEGER NOT NULL REFERENCES tenants,
    -- Made of the body.
    decision INTEGER NOT NULL,
    body     TEXT NOT NULL,
    PRIMARY KEY (tenant, decision)
  ) STRICT, WITHOUT ROWID;
  -- NULL: the settings of the tenant have decided.
  ALTER TABLE contents ADD COLUMN decision INTEGER;
  `,
  `
  -- Of which events single units were removed under which notice, made of redaction notices in the commit of each. All
  -- indexes are those of the tenant's sequence.
  CREATE TABLE redactions (
    tenant       INTEGER NOT NULL REFERENCES tenants,
    leaf_index   INTEGER NOT NULL,
    notice_index INTEGER NOT NULL,
    PRIMARY KEY (tenant, leaf_index, notice_index)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX redactions_by_notice ON redactions (tenant, notice_index);
  -- What deleted units have left, in the form of rows/punctured.ts; NULL: the content is whole.
  ALTER TABLE contents ADD COLUMN closed BLOB;
  `,
  `
  -- The sweep finds expired content by it. Content of one retention expires in the order in which it came, so an append adds to
  -- the ends of a few runs.
  CREATE INDEX contents_by_expiry ON contents (expires_at_ms) WHERE expires_at_ms IS NOT NULL;
  -- When a sweep found that no event in it has content any more.
  ALTER TABLE streams ADD COLUMN purged_at_ms INTEGER;
  `,
  `
  -- The keys of tenants, sealed: sealing/keyring.ts. What opens them is in no table.
  CREATE TABLE tenant_keys (
    tenant        INTEGER NOT NULL REFERENCES tenants,
    key_id        TEXT NOT NULL,
    purpose       TEXT NOT NULL,
    -- In which the content expires; 0: never, or the key is of no content.
    month         INTEGER NOT NULL,
    state         TEXT NOT NULL,
    -- The key of the tenant that this one is sealed with; its own id for that one.
    over_id       TEXT NOT NULL,
    -- Empty once it is destroyed.
    sealed        BLOB NOT NULL,
    -- The key of the keyring that is named in it.
    ring_key      TEXT NOT NULL,
    -- How many blocks of nonces were given out.
    blocks        INTEGER NOT NULL,
    created_at_ms INTEGER NOT NULL,
    PRIMARY KEY (tenant, key_id)
  ) STRICT, WITHOUT ROWID;
  -- Of two processes that make the same key at once, one is refused.
  CREATE UNIQUE INDEX open_tenant_keys ON tenant_keys (tenant, purpose, month) WHERE state = 'Open';
  `,
  `
  -- The notices that tell of holds and policies: who removes content asks for the newest one.
  CREATE INDEX entries_of_holds ON entries (tenant, leaf_index) WHERE substr(entry, 17, 1) IN (x'05', x'06');
  `,
  `
  -- NULL: the index is opened by what is made of the key of fingerprints. Else that was replaced since.
  ALTER TABLE tenants ADD COLUMN kept_index_key BLOB;
  `,
  `
  -- Some kinds of records stay for ever, and few of them are in the state that somebody asks for.
  CREATE INDEX records_by_state ON records (tenant, kind, state, id);
  `,
];
