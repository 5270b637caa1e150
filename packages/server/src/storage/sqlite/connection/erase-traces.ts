// Empties the write-ahead logs of all databases of a data directory: they hold what pages held before they were overwritten,
// also once it is folded into the database, until the file is written over or cut off.

import { statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { numberOf } from '../../rows/columns.ts';

/** A reader that takes longer is waited for outside of the writer's thread. */
const READERS_WAIT_MS = 50;

/** False where a reader was in the way: then it must be tried again. */
export function emptyWriteAheadLogs(directory: string, files: readonly string[]): boolean {
  return files.every((file) => {
    const path = join(directory, file);
    const log = statSync(`${path}-wal`, { throwIfNoEntry: false });
    if (log === undefined || log.size === 0) return true;
    using db = new DatabaseSync(path);
    db.exec(`PRAGMA busy_timeout = ${READERS_WAIT_MS}`);
    return numberOf(db.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get(), 'busy') === 0;
  });
}
