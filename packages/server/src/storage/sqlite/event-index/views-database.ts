// views.db of a data directory. What is in it follows from journal.db, so it is never repaired: one that is of another
// version, of another log, or cannot be read is thrown away and made again.

import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { equalBytes } from '@tallystick/evidence';
import { blobOf, numberOf } from '../../rows/columns.ts';
import { createFile, inTransaction } from '../connection/database.ts';
import { INDEX_TABLES, INDEX_VERSION } from './schema.ts';

export const VIEWS_FILE = 'views.db';

/** "Tviw": tells the file from any other SQLite database. */
const APPLICATION_ID = 0x54766977;
const PAGE_BYTES = 8192;
const CACHE_KIB = 64 * 1024;
const READER_CACHE_KIB = 32 * 1024;
const BUSY_TIMEOUT_MS = 5000;

/** Segments are written whole from a large memory, merged less often, and fill the pages: a third less work in all. */
const WORDS_SETTINGS = ['hashsize', 'automerge', 'pgsz']
  .map(
    (name, i) =>
      `INSERT INTO words (words, rank) VALUES ('${name}', ${[16 * 1024 * 1024, 8, PAGE_BYTES - 192][i]});`,
  )
  .join('\n');

export interface OpenedViews {
  readonly db: DatabaseSync;
  /** Why the file that was there could not be used; undefined if it could, or if there was none. */
  readonly discarded: string | undefined;
}

/** For the one who writes. `isDamaged`: somebody who read them has found that out. */
export function openViews(directory: string, journal: DatabaseSync, isDamaged = false): OpenedViews {
  if (isDamaged) return { db: openAnew(directory), discarded: 'it is damaged' };
  try {
    const db = openFile(directory);
    const fault = faultOf(db, journal);
    if (fault === undefined) return { db, discarded: undefined };
    db.close();
    return { db: openAnew(directory), discarded: fault };
  } catch (error) {
    return { db: openAnew(directory), discarded: error instanceof Error ? error.message : String(error) };
  }
}

/** For those who read; the writer has opened it before. */
export function openViewsForReading(directory: string): DatabaseSync {
  const db = new DatabaseSync(join(directory, VIEWS_FILE), { readOnly: true });
  db.exec(
    `PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}; PRAGMA query_only = ON; PRAGMA cache_size = ${-READER_CACHE_KIB}`,
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
    // A power cut may take the last commits, and with them the position: they are made again. Deleted words are overwritten.
    db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA secure_delete = FAST');
    db.exec(`PRAGMA cache_size = ${-CACHE_KIB}`);
    if (tableCount(db) === 0) {
      inTransaction(db, () => {
        db.exec(INDEX_TABLES);
        db.exec(WORDS_SETTINGS);
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

/** Why these are not views of this log. */
function faultOf(db: DatabaseSync, journal: DatabaseSync): string | undefined {
  const found = db
    .prepare('SELECT user_version, application_id FROM pragma_user_version, pragma_application_id')
    .get();
  if (found?.['application_id'] !== APPLICATION_ID) return 'it is a database of something else';
  if (found['user_version'] !== INDEX_VERSION) return `it has version ${String(found['user_version'])}`;
  const position = db.prepare("SELECT value FROM meta WHERE name = 'position'").get();
  if (position === undefined) return undefined;
  const leaf = db.prepare("SELECT value FROM meta WHERE name = 'leaf'").get();
  const entry = journal.prepare('SELECT leaf FROM entries WHERE id = ?').get(numberOf(position, 'value'));
  // A log that was put back to an earlier state has gone on differently, or not so far.
  if (entry === undefined || !equalBytes(blobOf(entry, 'leaf'), blobOf(leaf, 'value')))
    return 'the log is not the one that it followed';
  return undefined;
}

function tableCount(db: DatabaseSync): number {
  return numberOf(db.prepare('SELECT count(*) AS count FROM sqlite_schema').get(), 'count');
}
