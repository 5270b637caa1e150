// journal.db of a data directory, opened so that what it promises is true: every commit is on the disk before it
// returns (WAL, synchronous FULL), deleted content is overwritten (secure_delete), space is given back in portions
// (auto_vacuum INCREMENTAL). Each is set on every open and read back: a driver's default must not decide it.
// An older schema is brought up in one transaction, for the holder of the lock alone; a newer one is refused.

import { closeSync, existsSync, fsyncSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { StartError } from '../../../start-error.ts';
import { MIGRATIONS } from './schema.ts';

export const JOURNAL_FILE = 'journal.db';

/** Fixed when the file is made. An event of 1 KB leaves a twentieth of such a page unused, a tenth of one of half the size. */
export const PAGE_BYTES = 16 * 1024;
/** How long a writer waits for another one: the service and the command line share the file. */
const BUSY_TIMEOUT_MS = 5000;
const CACHE_KIB = 32 * 1024;
const READER_CACHE_KIB = 8 * 1024;
/** "Tall": tells the file from any other SQLite database. */
const APPLICATION_ID = 0x54616c6c;

export interface OpenOptions {
  /**
   * It is made, for its owner alone, if it is not there. Whoever opens it again says no: a journal that has gone must
   * not come back empty.
   */
  readonly mayCreate?: boolean;
  /** An older schema is brought up: for the holder of the lock alone, or it would change under a running service. */
  readonly mayMigrate?: boolean;
  readonly migrations?: readonly string[];
}

/** Opens the journal for writing; throws StartError. */
export function openJournal(directory: string, options: OpenOptions = {}): DatabaseSync {
  const { mayCreate = true, mayMigrate = false, migrations = MIGRATIONS } = options;
  const path = join(directory, JOURNAL_FILE);
  return orStartError(path, () => {
    if (!existsSync(path)) {
      if (!mayCreate) throw new StartError(`${path} is not there any more`);
      createFile(directory, path);
    }
    const db = new DatabaseSync(path);
    return closedOnError(db, () => {
      set(db, 'busy_timeout', BUSY_TIMEOUT_MS, BUSY_TIMEOUT_MS);
      const judge = () => judgeSchema(db, path, { mayCreate, mayMigrate, migrations });
      // Before anything is set: a file that is refused stays as it is.
      const version = judge();
      // Fixed with the first table. Asked again, the second would be a commit of its own at every open.
      if (version === 0) db.exec(`PRAGMA page_size = ${PAGE_BYTES}; PRAGMA auto_vacuum = INCREMENTAL`);
      set(db, 'secure_delete', 'ON', 1);
      set(db, 'journal_mode', 'WAL', 'wal');
      set(db, 'synchronous', 'FULL', 2);
      set(db, 'foreign_keys', 'ON', 1);
      set(db, 'cache_size', -CACHE_KIB, -CACHE_KIB);
      if (version < migrations.length) {
        inTransaction(db, () => {
          // Somebody else may have been faster.
          for (const migration of migrations.slice(judge())) db.exec(migration);
          db.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${migrations.length}`);
        });
      }
      demand(db, 'auto_vacuum', 2);
    });
  });
}

/** The version of the schema, whoever wrote it; throws StartError. */
export function journalVersion(directory: string): number {
  const path = join(directory, JOURNAL_FILE);
  return orStartError(path, () => {
    using db = new DatabaseSync(path, { readOnly: true });
    return Number(readPragma(db, 'user_version'));
  });
}

/** Brings the journal of a stopped service up to this program; throws StartError. The caller holds the lock. */
export function migrateJournal(directory: string, migrations = MIGRATIONS): { from: number; to: number } {
  const from = journalVersion(directory);
  using _ = openJournal(directory, { mayCreate: false, mayMigrate: true, migrations });
  return { from, to: migrations.length };
}

export interface ReadOptions {
  readonly migrations?: readonly string[];
  readonly open?: (path: string) => DatabaseSync;
}

const openReadOnly = (path: string) => new DatabaseSync(path, { readOnly: true });

/** Opens the journal, which must be there, for reading only; throws StartError. */
export function openJournalForReading(directory: string, options: ReadOptions = {}): DatabaseSync {
  const { migrations = MIGRATIONS, open = openReadOnly } = options;
  const path = join(directory, JOURNAL_FILE);
  return orStartError(path, () => {
    const db = open(path);
    return closedOnError(db, () => {
      set(db, 'busy_timeout', BUSY_TIMEOUT_MS, BUSY_TIMEOUT_MS);
      set(db, 'query_only', 'ON', 1);
      set(db, 'cache_size', -READER_CACHE_KIB, -READER_CACHE_KIB);
      judgeSchema(db, path, { mayCreate: false, mayMigrate: false, migrations });
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

/** Reads from one state of the database; whoever is in a transaction already does. */
export function inOneState<T>(db: DatabaseSync, read: () => T): T {
  if (db.isTransaction) return read();
  db.exec('BEGIN');
  try {
    return read();
  } finally {
    // Nothing was written. After some faults SQLite has ended the transaction itself, and what it says of that hides them.
    rollBack(db);
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

/** The version of the schema that is there, 0 for none; throws StartError where nothing may be done with it. */
function judgeSchema(
  db: DatabaseSync,
  path: string,
  { mayCreate, mayMigrate, migrations }: Required<OpenOptions>,
): number {
  // One query sees one state, also while somebody else makes the journal.
  const found = db.prepare(
    `SELECT user_version, application_id, (SELECT count(*) FROM sqlite_schema) AS tables
     FROM pragma_user_version, pragma_application_id`,
  );
  const { user_version: version, application_id: application, tables } = found.get() ?? {};
  if (typeof version !== 'number') throw new Error('there is no user_version');
  const isOurs = application === APPLICATION_ID;
  const isEmpty = version === 0 && tables === 0;
  const refuse = (why: string) => new StartError(`${path} ${why}`);
  if (isEmpty) {
    if (!mayCreate) throw refuse('is empty');
  } else if (!isOurs) {
    throw refuse('is a database of something else');
  } else if (version > migrations.length) {
    throw refuse(
      `has schema version ${version}; this program knows versions up to ${migrations.length}: it was written by a newer one`,
    );
  } else if (version < migrations.length && !mayMigrate) {
    throw refuse(
      `has schema version ${version}; this program needs version ${migrations.length}: stop the service that uses it, then run \`tallystick migrate\``,
    );
  }
  return version;
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

/** For its owner alone: SQLite gives the files beside it the mode of the database itself. */
export function createFile(directory: string, path: string): void {
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
