// views.db of a data directory: the segments of the index of events. What is in it follows from journal.db, so it is never
// repaired: one that is of another version, or cannot be read, is thrown away, and its segments are made again.

import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { numberOf } from '../../rows/columns.ts';
import { createFile, inTransaction } from '../connection/database.ts';

export const VIEWS_FILE = 'views.db';

/** "Tviw": tells the file from any other SQLite database. */
const APPLICATION_ID = 0x54766977;
/** Of the tables, and of what is in them. */
const INDEX_VERSION = 10;
const PAGE_BYTES = 4096;
const CACHE_KIB = 16 * 1024;
const BUSY_TIMEOUT_MS = 5000;

const TABLES = `
  CREATE TABLE meta (name TEXT PRIMARY KEY, value ANY) STRICT, WITHOUT ROWID;
  INSERT INTO meta VALUES ('segments', 0);
  CREATE TABLE manifests (tenant_id TEXT PRIMARY KEY, body TEXT NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE blocks (id INTEGER PRIMARY KEY, bytes BLOB NOT NULL) STRICT;
`;

export interface OpenedViews {
  readonly db: DatabaseSync;
  /** Why the file that was there could not be used; undefined if it could, or if there was none. */
  readonly discarded: string | undefined;
}

/** For the one who writes. `isDamaged`: somebody who read them has found that out. `tidy` is the first to read them. */
export function openViews(
  directory: string,
  isDamaged = false,
  tidy: (db: DatabaseSync) => void = () => {},
): OpenedViews {
  if (isDamaged) return { db: openAnew(directory), discarded: 'it is damaged' };
  try {
    const db = openFile(directory);
    const fault = faultOf(db);
    if (fault === undefined) {
      try {
        tidy(db);
        return { db, discarded: undefined };
      } catch (error) {
        db.close();
        throw error;
      }
    }
    db.close();
    return { db: openAnew(directory), discarded: fault };
  } catch (error) {
    return { db: openAnew(directory), discarded: error instanceof Error ? error.message : String(error) };
  }
}

const openReadOnly = (path: string) => new DatabaseSync(path, { readOnly: true });

/** For those who read; the writer has opened it before. */
export function openViewsForReading(directory: string, open = openReadOnly): DatabaseSync {
  const db = open(join(directory, VIEWS_FILE));
  db.exec(
    `PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}; PRAGMA query_only = ON; PRAGMA cache_size = ${-CACHE_KIB}`,
  );
  return db;
}

function openFile(directory: string): DatabaseSync {
  const path = join(directory, VIEWS_FILE);
  if (!existsSync(path)) createFile(directory, path);
  const db = new DatabaseSync(path);
  try {
    db.exec(
      `PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}; PRAGMA page_size = ${PAGE_BYTES}; PRAGMA auto_vacuum = INCREMENTAL`,
    );
    // A power cut may take the last commits: what they held is made again. Deleted blocks are overwritten: they may hold words
    // of what was removed from the log.
    db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA secure_delete = ON');
    db.exec(`PRAGMA cache_size = ${-CACHE_KIB}`);
    if (tableCount(db) === 0) {
      inTransaction(db, () => {
        db.exec(TABLES);
        db.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${INDEX_VERSION}`);
      });
    }
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

function openAnew(directory: string): DatabaseSync {
  // Whatever it is that stands in their place.
  for (const suffix of ['', '-wal', '-shm'])
    rmSync(join(directory, VIEWS_FILE + suffix), { force: true, recursive: true });
  return openFile(directory);
}

/** Why these are no views of this version. */
export function faultOf(db: DatabaseSync): string | undefined {
  const found = db
    .prepare('SELECT user_version, application_id FROM pragma_user_version, pragma_application_id')
    .get();
  if (found?.['application_id'] !== APPLICATION_ID) return 'it is a database of something else';
  if (found['user_version'] !== INDEX_VERSION) return `it has version ${String(found['user_version'])}`;
  if (schemaOf(db) !== SCHEMA) return 'it has other tables than this program makes';
  return undefined;
}

/** Views and triggers would show a reader something else than the next. */
function schemaOf(db: DatabaseSync): string {
  return JSON.stringify(db.prepare('SELECT type, name, sql FROM sqlite_schema ORDER BY name').all());
}

const SCHEMA = schemaOfNew();

function schemaOfNew(): string {
  using db = new DatabaseSync(':memory:');
  db.exec(TABLES);
  return schemaOf(db);
}

function tableCount(db: DatabaseSync): number {
  return numberOf(db.prepare('SELECT count(*) AS count FROM sqlite_schema').get(), 'count');
}
