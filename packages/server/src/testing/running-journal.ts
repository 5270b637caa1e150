// The database of a service that runs, for a test that looks into it or changes something behind its back. It waits its
// turn: the service may be in the middle of a commit.

import { join } from 'node:path';
import { DatabaseSync, type DatabaseSyncOptions } from 'node:sqlite';
import { JOURNAL_FILE } from '../storage/sqlite/connection/database.ts';

const BUSY_TIMEOUT_MS = 20_000;

export function openRunningJournal(directory: string, options: DatabaseSyncOptions = {}): DatabaseSync {
  return new DatabaseSync(join(directory, JOURNAL_FILE), { timeout: BUSY_TIMEOUT_MS, ...options });
}
