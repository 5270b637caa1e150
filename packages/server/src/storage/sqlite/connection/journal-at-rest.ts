// journal.db, or another file beside it, for a reader that must not write any: an auditor may have the data on a read-only disk. While the
// service is stopped there is no write-ahead log, and SQLite can open the file as immutable. It then takes no lock, so
// changes of the file are detected afterwards. Beside a running service the file is opened as usual.

import { existsSync, realpathSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { StartError } from '../../../start-error.ts';
import { JOURNAL_FILE, openJournalForReading } from './database.ts';

export interface ReadJournal extends Disposable {
  readonly db: DatabaseSync;
  /** Throws StartError if a journal at rest was written to: the data may be of two states. */
  requireUnchanged(): void;
}

/** The journal; throws StartError. */
export function openUnwritten(directory: string): ReadJournal {
  return openAtRestOr(join(directory, JOURNAL_FILE), (open) =>
    open === undefined ? openRunning(directory) : openJournalForReading(directory, { open }),
  );
}

/** Any file; `open` gets how one is opened that nobody writes to, or undefined beside a service that runs. */
export function openAtRestOr(
  path: string,
  open: (openFile: ((path: string) => DatabaseSync) | undefined) => DatabaseSync,
): ReadJournal {
  // SQLite keeps its files beside the one that a link leads to.
  const real = existsSync(path) ? realpathSync(path) : path;
  const isAtRest = !hasWriteAheadLog(real);
  const before = stateOf(real);
  const db = open(isAtRest ? openUnchanging : undefined);
  return {
    db,
    requireUnchanged() {
      if (isAtRest && (hasWriteAheadLog(real) || stateOf(real) !== before))
        throw new StartError(`${path} was changed while it was read; try again`);
    },
    [Symbol.dispose]: () => db.close(),
  };
}

function openUnchanging(path: string): DatabaseSync {
  const url = pathToFileURL(path);
  url.searchParams.set('immutable', '1');
  return new DatabaseSync(url, { readOnly: true });
}

function openRunning(directory: string): DatabaseSync {
  try {
    return openJournalForReading(directory);
  } catch (error) {
    if (!isUnwritable(error)) throw error;
    throw new StartError(
      `${directory} has a write-ahead log, because the service runs or was killed; reading it needs the right to write to the directory: take that, or verify a copy`,
      { cause: error },
    );
  }
}

const CANNOT_OPEN = 14;
const READ_ONLY = 8;

function isUnwritable(error: unknown): boolean {
  const cause = error instanceof StartError ? error.cause : error;
  if (!(cause instanceof Error) || !('errcode' in cause)) return false;
  const code = Number(cause.errcode) & 0xff;
  return code === CANNOT_OPEN || code === READ_ONLY;
}

function hasWriteAheadLog(path: string): boolean {
  return existsSync(`${path}-wal`);
}

function stateOf(path: string): string | undefined {
  const found = statSync(path, { throwIfNoEntry: false, bigint: true });
  return found && [found.ino, found.size, found.mtimeNs].join();
}
