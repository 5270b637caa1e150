// Copies one state of a journal, also while a service writes to it: later commits are not in the copy, and do not wait
// for it.

import { closeSync, fsyncSync, linkSync, mkdtempSync, openSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { systemClock, wait } from '../../../runtime/clock.ts';
import { threadsBeside } from '../../../runtime/thread.ts';
import type { CopyData, CopyMessage } from './copy-thread.ts';
import { openJournalForReading } from '../connection/database.ts';

export interface CopyingProgress {
  readonly bytes: number;
  /** An estimate of the size of the copy. */
  readonly bytesTotal: number;
}

const LOOK_MS = 100;

const startThread = threadsBeside(import.meta.url);

/** Writes the whole file or none. Throws StartError for data of another version. */
export async function copyJournal(
  directory: string,
  file: string,
  onProgress: (progress: CopyingProgress) => void = () => {},
): Promise<void> {
  const bytesTotal = bytesInUse(directory);
  const folder = mkdtempSync(`${file}.draft-`);
  const draft = join(folder, 'draft');
  // SQLite fills an existing empty file, so its permissions are right from the start.
  closeSync(openSync(draft, 'wx', 0o600));
  try {
    await fill(draft, directory, (bytes) => onProgress({ bytes, bytesTotal }));
    sync(draft);
    // Unlike a rename, a link never replaces an existing file.
    linkSync(draft, file);
    sync(dirname(file));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function fill(draft: string, directory: string, onProgress: (bytes: number) => void): Promise<void> {
  const data: CopyData = { directory };
  // The waiting call rejects if the thread dies.
  await using thread = startThread<CopyMessage>('copy-thread', data, () => {});
  const copied = new AbortController();
  const copying = thread.ask({ file: draft }).finally(() => copied.abort());
  const telling = async (): Promise<void> => {
    while (!copied.signal.aborted) {
      onProgress(statSync(draft).size);
      await wait(systemClock, LOOK_MS, copied.signal);
    }
  };
  await Promise.all([copying, telling()]);
}

/** Free pages are not copied. */
function bytesInUse(directory: string): number {
  using db = openJournalForReading(directory);
  const valueOf = (name: string) => Number(Object.values(db.prepare(`PRAGMA ${name}`).get() ?? {})[0] ?? 0);
  return (valueOf('page_count') - valueOf('freelist_count')) * valueOf('page_size');
}

function sync(path: string): void {
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
