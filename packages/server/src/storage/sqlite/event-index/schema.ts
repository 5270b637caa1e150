// The tables of views.db: what lists and searches are answered from. All of it follows from the log and can be made
// again, so there are no migrations: a file of another version is thrown away.
//
// A view is the index of one tenant's events, whole or still being made; a tenant that is indexed anew has two for a
// while. Rows of a view know no other one: its number is in every key, and in every term of `words`.

/** Counted up whenever a table, a term, or the meaning of either changes. */
export const INDEX_VERSION = 6;

export const INDEX_TABLES = `
  CREATE TABLE meta (
    name  TEXT PRIMARY KEY,
    value ANY NOT NULL
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE views (
    view       INTEGER PRIMARY KEY AUTOINCREMENT,
    -- That of journal.db.
    tenant     INTEGER NOT NULL,
    -- How often the tenant has been indexed, this time included.
    generation INTEGER NOT NULL,
    -- 'Building', 'Current', or 'Old' while it is being removed.
    state      TEXT NOT NULL,
    -- The first index of the tenant's log that is not in it.
    next_index INTEGER NOT NULL
  ) STRICT;
  CREATE UNIQUE INDEX views_by_tenant ON views (tenant, generation);
  -- Every turn looks for one that is being made or going away; there are as many as tenants, and mostly none of these.
  CREATE INDEX views_by_state ON views (state);

  CREATE TABLE docs (
    -- The row of words, too. Grows with the index within a view.
    doc            INTEGER PRIMARY KEY,
    view           INTEGER NOT NULL,
    -- The row of entries and contents in journal.db.
    entry          INTEGER NOT NULL,
    leaf_index     INTEGER NOT NULL,
    event_id       BLOB NOT NULL,
    -- The timestamp: whole milliseconds since 1970, and nanoseconds beyond.
    at_ms          INTEGER NOT NULL,
    at_ns          INTEGER NOT NULL,
    classification INTEGER NOT NULL,
    -- A place in KINDS.
    kind           INTEGER NOT NULL,
    outcome        INTEGER NOT NULL,
    actor_type     INTEGER NOT NULL,
    -- Of keys.
    action         INTEGER NOT NULL,
    actor          INTEGER NOT NULL,
    resource_type  INTEGER NOT NULL
  ) STRICT;
  CREATE UNIQUE INDEX docs_by_time ON docs (view, at_ms, at_ns, leaf_index);
  CREATE UNIQUE INDEX docs_by_event ON docs (view, event_id);
  CREATE UNIQUE INDEX docs_by_action ON docs (view, action, at_ms, at_ns, leaf_index);

  -- The texts by which events are counted and sorted: actions, actors, types of resources.
  CREATE TABLE keys (
    key        INTEGER PRIMARY KEY,
    view       INTEGER NOT NULL,
    -- A place in KEY_KINDS.
    kind       INTEGER NOT NULL,
    text       TEXT NOT NULL,
    -- The newest name for people, where there is one; and the newest of events that everybody may know of.
    label      TEXT,
    open_label TEXT
  ) STRICT;
  CREATE UNIQUE INDEX keys_by_text ON keys (view, kind, text);

  -- How many events of some span of time have a value. What span is a place in SPANS, what was counted one in COUNTED.
  CREATE TABLE counts (
    view           INTEGER NOT NULL,
    counted        INTEGER NOT NULL,
    span           INTEGER NOT NULL,
    -- Months since the year 0, days or hours since 1970; 0 for ever.
    time           INTEGER NOT NULL,
    classification INTEGER NOT NULL,
    kind           INTEGER NOT NULL,
    value          INTEGER NOT NULL,
    count          INTEGER NOT NULL,
    PRIMARY KEY (view, counted, span, time, classification, kind, value)
  ) STRICT, WITHOUT ROWID;

  -- Terms are made by terms.ts and written with spaces between them: this tokenizer takes them as they are. The columns
  -- after facts hold the words of content, one for each classification, so that a reader's clearance decides which
  -- are looked into.
  CREATE VIRTUAL TABLE words USING fts5 (
    facets, facts, public, internal, confidential, secret,
    content = '', contentless_delete = 1, detail = full, tokenize = "ascii tokenchars '_'"
  );
`;
