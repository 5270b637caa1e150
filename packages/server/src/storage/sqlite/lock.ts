// lock.db: held by one service at a time for as long as it runs, so that two never serve one data directory. The
// operating system lets go of it when the process ends, however it ends. The command line does not take it.

import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { StartError } from '../../start-error.ts';

const LOCK_FILE = 'lock.db';

/** Throws StartError when another instance holds it. */
export function takeLock(directory: string): Disposable {
  const path = join(directory, LOCK_FILE);
  let db: DatabaseSync | undefined;
  try {
    closeSync(openSync(path, 'wx', 0o600));
  } catch {
    // It is there already; the database says whether it can be used.
  }
  try {
    db = new DatabaseSync(path, { timeout: 0 });
    db.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
    const held = db;
    return { [Symbol.dispose]: () => held.close() };
  } catch (cause) {
    db?.close();
    const why = cause instanceof Error ? cause.message : String(cause);
    if (/locked/.test(why)) {
      throw new StartError(`another instance is running on the data directory ${directory}`, { cause });
    }
    throw new StartError(`cannot lock ${path}: ${why}`, { cause });
  }
}
