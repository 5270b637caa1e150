// The rows of an event in the embedded store and its index entries, by prepared statements alone.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { openViews } from '../packages/server/src/storage/sqlite/event-index/views-database.ts';
import { MIGRATIONS } from '../packages/server/src/storage/sqlite/connection/schema.ts';
import type { Made } from './made-rows.ts';

/** Of a commit. */
const PORTION = 4000;

/** How many events a second are written to a log and to an index. */
export function rawInserts(rows: readonly Made[]): number {
  const folder = mkdtempSync(join(tmpdir(), 'tallystick-bench-'));
  try {
    const journal = new DatabaseSync(join(folder, 'journal.db'));
    journal.exec('PRAGMA page_size = 16384; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL');
    for (const migration of MIGRATIONS) journal.exec(migration);
    const { db: views } = openViews(folder, journal);
    const write = [entries(journal), contents(journal), docs(views), words(views)];
    const began = performance.now();
    for (let at = 0; at < rows.length; at += PORTION) {
      for (const db of [journal, views]) db.exec('BEGIN');
      for (let i = at; i < Math.min(at + PORTION, rows.length); i++)
        for (const insert of write) insert(i, rows[i]!);
      for (const db of [journal, views]) db.exec('COMMIT');
    }
    const seconds = (performance.now() - began) / 1000;
    journal.close();
    views.close();
    return rows.length / seconds;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

type Insert = (i: number, made: Made) => void;

function entries(db: DatabaseSync): Insert {
  const insert = db.prepare(
    'INSERT INTO entries (id, tenant, leaf_index, classification, entry, leaf, root1, root2) VALUES (?, 1, ?, 1, ?, ?, ?, ?)',
  );
  return (i, { entry, hash }) => void insert.run(i + 1, i, entry, hash, hash, hash);
}

function contents(db: DatabaseSync): Insert {
  const insert = db.prepare('INSERT INTO contents (id, text1, text2, seeds) VALUES (?, ?, ?, ?)');
  return (i, { texts, hash }) => void insert.run(i + 1, texts[0], texts[1], hash);
}

function docs(db: DatabaseSync): Insert {
  const insert = db.prepare('INSERT INTO docs VALUES (?, 1, ?, ?, ?, ?, ?, 1, 0, 0, 0, ?, ?, 1)');
  return (i, { document, entry }) =>
    void insert.run(i + 1, i + 1, i, entry.subarray(0, 16), document.atMs, document.atNs, i % 36, i % 5000);
}

function words(db: DatabaseSync): Insert {
  const insert = db.prepare(
    "INSERT INTO words (rowid, facets, facts, public, internal, confidential, secret) VALUES (?, ?, ?, '', ?, '', '')",
  );
  return (i, { document }) => void insert.run(i + 1, document.facets, document.facts, document.content);
}
