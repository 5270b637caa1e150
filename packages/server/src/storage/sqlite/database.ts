// journal.db of a data directory, opened so that what it promises is true: every commit is on the disk before it
// returns (WAL, synchronous FULL), deleted content is overwritten (secure_delete), space is given back in portions
// (auto_vacuum INCREMENTAL). Each is set on every open and read back: a driver's default must not decide it.
// The schema is brought to the version of this program in one transaction; a newer one is refused.

import { closeSync, existsSync, fsyncSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { StartError } from '../../start-error.ts';
import { MIGRATIONS, SCHEMA_VERSION } from './schema.ts';

export const JOURNAL_FILE = 'journal.db';

/** Fixed when the file is made. An event of 1 KB leaves a twentieth of such a page unused, a tenth of one of half the size. */
export const PAGE_BYTES = 16 * 1024;
/** How long a writer waits for another one: the service and the command line share the file. */
const BUSY_TIMEOUT_MS = 5000;
const CACHE_KIB = 32 * 1024;
const READER_CACHE_KIB = 8 * 1024;
/** "Tall": tells the file from any other SQLite database. */
const APPLICATION_ID = 0x54616c6c;

/**
 * Opens the journal for writing; throws StartError. `mayCreate`: it is made, for its owner alone, if it is not there.
 * Whoever opens it again says no: a journal that has gone must not come back empty.
 */
export function openJournal(directory: string, { mayCreate = true } = {}): DatabaseSync {
  const path = join(directory, JOURNAL_FILE);
  return orStartError(path, () => {
    if (!existsSync(path)) {
      if (!mayCreate) throw new StartError(`${path} is not there any more`);
      createFile(directory, path);
    }
    const db = new DatabaseSync(path);
    return closedOnError(db, () => {
      set(db, 'busy_timeout', BUSY_TIMEOUT_MS, BUSY_TIMEOUT_MS);
      // Fixed with the first table. Asked again, the second would be a commit of its own at every open.
      if (readPragma(db, 'user_version') === 0) {
        db.exec(`PRAGMA page_size = ${PAGE_BYTES}; PRAGMA auto_vacuum = INCREMENTAL`);
      }
      set(db, 'secure_delete', 'ON', 1);
      set(db, 'journal_mode', 'WAL', 'wal');
      set(db, 'synchronous', 'FULL', 2);
      set(db, 'foreign_keys', 'ON', 1);
      set(db, 'cache_size', -CACHE_KIB, -CACHE_KIB);
      migrate(db, path);
      demand(db, 'auto_vacuum', 2);
    });
  });
}

/** Opens the journal, which must be there, for reading only. */
export function openJournalForReading(directory: string): DatabaseSync {
  const path = join(directory, JOURNAL_FILE);
  return orStartError(path, () => {
    const db = new DatabaseSync(path, { readOnly: true });
    return closedOnError(db, () => {
      set(db, 'busy_timeout', BUSY_TIMEOUT_MS, BUSY_TIMEOUT_MS);
      set(db, 'query_only', 'ON', 1);
      set(db, 'cache_size', -READER_CACHE_KIB, -READER_CACHE_KIB);
      refuseUnknownSchema(db, path);
      demand(db, 'user_version', SCHEMA_VERSION);
    });
  });
}

/** Runs `work` in one transaction that holds the write lock from its beginning; rolls back when it throws. */
export function inTransaction<T>(db: DatabaseSync, work: () => T): T {
  db.exec('BEGIN IMMEDIATE');
  try {
    const result = work();
    db.exec('COMMIT');
    return result;
  } catch (error) {
    rollBack(db);
    throw error;
  }
}

function rollBack(db: DatabaseSync): void {
  if (!db.isTransaction) return;
  try {
    db.exec('ROLLBACK');
  } catch {
    // The error that led here says more; whoever sees it opens the database anew.
  }
}

function migrate(db: DatabaseSync, path: string): void {
  if (readPragma(db, 'user_version') === SCHEMA_VERSION) return refuseUnknownSchema(db, path);
  inTransaction(db, () => {
    refuseUnknownSchema(db, path);
    const version = Number(readPragma(db, 'user_version'));
    for (const migration of MIGRATIONS.slice(version)) db.exec(migration);
    db.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${SCHEMA_VERSION}`);
  });
}

function refuseUnknownSchema(db: DatabaseSync, path: string): void {
  const version = Number(readPragma(db, 'user_version'));
  const isOurs = readPragma(db, 'application_id') === APPLICATION_ID;
  const isEmpty = version === 0 && db.prepare('SELECT count(*) AS n FROM sqlite_schema').get()?.['n'] === 0;
  if (!isOurs && !isEmpty) throw new StartError(`${path} is a database of something else`);
  if (version > SCHEMA_VERSION) {
    throw new StartError(
      `${path} has schema version ${version}; this program knows versions up to ${SCHEMA_VERSION}: it was written by a newer one`,
    );
  }
}

function set(db: DatabaseSync, pragma: string, value: string | number, expected: string | number): void {
  db.exec(`PRAGMA ${pragma} = ${value}`);
  demand(db, pragma, expected);
}

function demand(db: DatabaseSync, pragma: string, expected: string | number): void {
  const found = readPragma(db, pragma);
  if (found === expected) return;
  throw new StartError(
    `${db.location() ?? 'the database'} has ${pragma} ${String(found)}; it must be ${expected}`,
  );
}

function readPragma(db: DatabaseSync, pragma: string): unknown {
  const row = db.prepare(`PRAGMA ${pragma}`).get();
  return row === undefined ? undefined : Object.values(row)[0];
}

/** SQLite gives the files beside it the mode of the database itself. */
function createFile(directory: string, path: string): void {
  closeSync(openSync(path, 'a', 0o600));
  const folder = openSync(directory, 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

function closedOnError(db: DatabaseSync, work: () => void): DatabaseSync {
  try {
    work();
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

function orStartError<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof StartError) throw error;
    const why = error instanceof Error ? error.message : String(error);
    throw new StartError(`cannot open ${path}: ${why}`, { cause: error });
  }
}
