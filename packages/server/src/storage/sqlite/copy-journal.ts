// A copy of a journal, of one state of it, whether a service writes to it or not: what the service acknowledges meanwhile is
// not in it, and waits for nothing.

import { closeSync, fsyncSync, linkSync, mkdtempSync, openSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { openJournalForReading } from './database.ts';

/** The whole file or none. Throws StartError for data of another version. */
export function copyJournal(directory: string, file: string): void {
  const folder = mkdtempSync(`${file}.draft-`);
  const draft = join(folder, 'draft');
  // SQLite fills a file that is there and empty: so nobody else can ever read it.
  closeSync(openSync(draft, 'wx', 0o600));
  try {
    {
      using db = openJournalForReading(directory);
      // The connection itself cannot write to the journal; this would keep it from writing anywhere.
      db.exec('PRAGMA query_only = OFF');
      db.prepare('VACUUM INTO ?').run(draft);
    }
    sync(draft);
    // Unlike a rename, a link never replaces what is there.
    linkSync(draft, file);
    sync(dirname(file));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function sync(path: string): void {
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
