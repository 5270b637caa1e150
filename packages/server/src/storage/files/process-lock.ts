// Locks that end with the process that holds them, however it ends: each is a file that SQLite locks and never writes
// to. Nothing else may open such a file while a process holds the lock: closing any descriptor of it releases the lock.
// On NFS the locks work between machines if the mount supports them (version 4, without `nolock`); the server releases
// those of a crashed machine after its lease, about 90 seconds.

import { closeSync, openSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { StartError } from '../../start-error.ts';

/** The lock of a directory, held by one process alone or shared by several. */
export const LOCK_FILE = 'lock.db';

/** `Shared`: together with others that share it, and not while a process holds it alone. */
export type LockKind = 'Alone' | 'Shared';

/** An attempt to lock exclusively blocks those that would share it for a moment. */
const SHARING_MS_MAX = 2000;

const TAKE: Record<LockKind, string> = {
  Alone: 'PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE',
  // A transaction holds its lock from its first read to its end.
  Shared: 'BEGIN; SELECT 1 FROM sqlite_schema',
};

/** Throws StartError: with this message if another process has it. The folder must exist. */
export function takeProcessLock(path: string, kind: LockKind, heldMessage: string): Disposable {
  let db: DatabaseSync | undefined;
  try {
    closeSync(openSync(path, 'wx', 0o600));
  } catch {
    // It exists already; the database tells whether it can be used.
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
