// lock.db: held by one service while it runs, so that two never serve one data directory. The command line does not
// take it.

import { join } from 'node:path';
import { LOCK_FILE, takeProcessLock } from '../../files/process-lock.ts';

/** Throws StartError if another instance holds it. */
export function takeLock(directory: string): Disposable {
  const heldMessage = `another instance is running on the data directory ${directory}`;
  return takeProcessLock(join(directory, LOCK_FILE), 'Alone', heldMessage);
}
