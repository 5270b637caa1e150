// Locks that end with the process that holds them, however it ends: each is a file, which SQLite locks and writes nothing
// to. Nothing else may open such a file while a process has it locked: closing any descriptor of it lets go of the lock.
// On NFS they hold between machines where the mount supports locks (version 4, without `nolock`); those of a machine
// that is gone without a word are let go by the server after its lease, some 90 seconds.

import { closeSync, openSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { StartError } from '../../start-error.ts';

/** Of whoever uses a directory: one who has it alone, or several who share it. */
export const LOCK_FILE = 'lock.db';

/** `Shared`: with others who share it, and with nobody who has it alone. */
export type LockKind = 'Alone' | 'Shared';

/** Whoever tries to have it alone keeps out those who would share it, for a moment. */
const SHARING_MS_MAX = 2000;

const TAKE: Record<LockKind, string> = {
  Alone: 'PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE',
  // A transaction that has read has its lock until it ends.
  Shared: 'BEGIN; SELECT 1 FROM sqlite_schema',
};

/** Throws StartError: with this message when another process has it. The folder must be there. */
export function takeProcessLock(path: string, kind: LockKind, heldMessage: string): Disposable {
  let db: DatabaseSync | undefined;
  try {
    closeSync(openSync(path, 'wx', 0o600));
  } catch {
    // It is there already; the database says whether it can be used.
  }
  try {
    db = new DatabaseSync(path, { timeout: kind === 'Shared' ? SHARING_MS_MAX : 0 });
    db.exec(TAKE[kind]);
    const held = db;
    return { [Symbol.dispose]: () => held.close() };
  } catch (cause) {
    db?.close();
    const why = cause instanceof Error ? cause.message : String(cause);
    if (/locked/.test(why)) throw new StartError(heldMessage, { cause });
    throw new StartError(`cannot lock ${path}: ${why}`, { cause });
  }
}
