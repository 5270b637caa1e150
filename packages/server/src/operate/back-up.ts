// What the command line does to copy the events of a data directory, whether the service runs or not. Keys and anchor are
// left where they are: a copy of the events is kept apart from them.

import { existsSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { ConfigError } from '../config/config-error.ts';
import type { Config } from '../config/settings.ts';
import { StartError } from '../start-error.ts';
import { copyJournal, type CopyingProgress } from '../storage/sqlite/copy/copy-journal.ts';
import { requireData } from './open-data.ts';

export interface BackedUp {
  readonly file: string;
  readonly bytes: number;
}

/** Throws StartError, and ConfigError where there is no data directory with events in it. Replaces no file. */
export async function backUp(
  config: Config,
  file: string,
  onProgress?: (progress: CopyingProgress) => void,
): Promise<BackedUp> {
  if (config.storage.url !== undefined)
    throw new ConfigError([
      'Storage__Url is set: a database is copied by its own means, pg_dump or pg_basebackup (docs/operating/backup.md)',
    ]);
  requireData(config);
  const path = resolve(file);
  if (existsSync(path)) throw new StartError(`${path} is there already; name another`);
  try {
    await copyJournal(config.storage.dataDirectory, path, onProgress);
  } catch (error) {
    // Of the file system or of SQLite; what has no code is said already, or a mistake of ours.
    if (!(error instanceof Error) || !('code' in error)) throw error;
    throw new StartError(`cannot write ${path}: ${error.message}`, { cause: error });
  }
  return { file: path, bytes: statSync(path).size };
}
