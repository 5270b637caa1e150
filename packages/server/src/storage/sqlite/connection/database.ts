// Opens journal.db of a data directory with the settings that its promises need: every commit is on the disk before it
// returns (WAL, synchronous FULL), deleted content is overwritten (secure_delete), and space is freed in portions
// (auto_vacuum INCREMENTAL). Each is set on every open and read back: a driver's default must not decide it. An older
// schema is migrated in one transaction, by the holder of the lock only; a newer one is refused.

import { closeSync, existsSync, fsyncSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { StartError } from '../../../start-error.ts';
import { MIGRATIONS } from './schema.ts';

export const JOURNAL_FILE = 'journal.db';

/**
 * Fixed when the file is created. An event of 1 KB leaves a twentieth of such a page unused, a tenth of one of half the
 * size.
 */
export const PAGE_BYTES = 16 * 1024;
/** How long a writer waits for another one: the service and the command line share the file. */
const BUSY_TIMEOUT_MS = 5000;
const CACHE_KIB = 32 * 1024;
const READER_CACHE_KIB = 8 * 1024;
/** "Tall": distinguishes the file from any other SQLite database. */
const APPLICATION_ID = 0x54616c6c;

export interface OpenOptions {
  /** Creates a missing file, for its owner only. Off on reopening: a lost journal must not come back empty. */
  readonly mayCreate?: boolean;
  /** Migrates an older schema: only for the holder of the lock, or it would change under a running service. */
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
      // Before anything is set: a refused file stays unchanged.
      const version = judge();
      // Fixed with the first table. On later opens the second pragma would be a commit of its own.
      if (version === 0) db.exec(`PRAGMA page_size = ${PAGE_BYTES}; PRAGMA auto_vacuum = INCREMENTAL`);
      set(db, 'secure_delete', 'ON', 1);
      set(db, 'journal_mode', 'WAL', 'wal');
      set(db, 'synchronous', 'FULL', 2);
      set(db, 'foreign_keys', 'ON', 1);
      set(db, 'cache_size', -CACHE_KIB, -CACHE_KIB);
      if (version < migrations.length) {
        inTransaction(db, () => {
          // Another process may have migrated already.
          for (const migration of migrations.slice(judge())) db.exec(migration);
          db.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${migrations.length}`);
        });
      }
      demand(db, 'auto_vacuum', 2);
    });
  });
}

/** The version of the schema, of any program; throws StartError. */
export function journalVersion(directory: string): number {
  const path = join(directory, JOURNAL_FILE);
  return orStartError(path, () => {
    using db = new DatabaseSync(path, { readOnly: true });
    return Number(readPragma(db, 'user_version'));
  });
}

/** Migrates the journal of a stopped service; throws StartError. The caller holds the lock. */
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

/** Opens an existing journal for reading only; throws StartError. */
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

/** Runs `work` in one transaction that holds the write lock from its beginning; rolls back if it throws. */
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

/** Reads from one state of the database; an open transaction already provides that. */
export function inOneState<T>(db: DatabaseSync, read: () => T): T {
  if (db.isTransaction) return read();
  db.exec('BEGIN');
  try {
    return read();
  } finally {
    // Nothing was written. After some faults SQLite has ended the transaction itself, and its error would hide the
    // cause.
    rollBack(db);
  }
}

function rollBack(db: DatabaseSync): void {
  if (!db.isTransaction) return;
  try {
    db.exec('ROLLBACK');
  } catch {
    // The original error says more; its receiver reopens the database.
  }
}

/** The version of the existing schema, 0 for none; throws StartError if it cannot be used. */
function judgeSchema(
  db: DatabaseSync,
  path: string,
  { mayCreate, mayMigrate, migrations }: Required<OpenOptions>,
): number {
  // One query sees one state, also while another process creates the journal.
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
    throw refuse('is a database of another program');
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

/** For its owner only: SQLite gives its side files the mode of the database. */
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
