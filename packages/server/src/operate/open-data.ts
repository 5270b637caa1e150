// Opens the data directory of the service for a command. Where there is no data it throws ConfigError, and makes none.

import { statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { ConfigError } from '../config/config-error.ts';
import type { Config } from '../config/settings.ts';
import { systemClock } from '../runtime/clock.ts';
import { createSystemRandom } from '../runtime/random.ts';
import { StartError } from '../start-error.ts';
import { openDataDirectory } from '../storage/data-directory.ts';
import { JOURNAL_FILE } from '../storage/sqlite/database.ts';
import { openSqliteStorage } from '../storage/sqlite/sqlite-storage.ts';
import type { Storage } from '../storage/storage.ts';
import type { Facts, Telemetry } from '../telemetry.ts';

/** Where the anchor is. */
export function anchorOf({ log, storage }: Config): string {
  return log.anchor ?? storage.dataDirectory;
}

/** Warnings as lines for whoever runs the command. */
export function warnInto(warnings: string[]): Pick<Telemetry, 'warn'> {
  return {
    warn: (message: string, facts: Facts = {}) => {
      const about = Object.entries(facts).map(([name, value]) => `${name} ${value}`);
      warnings.push([message, ...about].join(', '));
    },
  };
}

/** In this thread; throws StartError, where it is to be exclusive also while the service runs. */
export async function openStorage(config: Config, exclusive: boolean): Promise<Storage> {
  const { dataDirectory: directory } = config.storage;
  await openDataDirectory(directory);
  return openSqliteStorage({
    directory,
    logOrigin: config.log.origin,
    streams: config.streams,
    clock: systemClock,
    random: createSystemRandom(),
    threads: false,
    exclusive,
    onFatal: (error) => {
      throw error;
    },
  });
}

/** Only the service makes data: a key or a token that was made in the wrong directory would work nowhere. */
export function requireData({ storage }: Config): void {
  const directory = resolve(storage.dataDirectory);
  if (hasJournal(directory)) return;
  throw new ConfigError([
    `there is no data in ${directory}: name the data directory of the service by Storage__DataDirectory or --config, or start the service there once (tallystick serve)`,
  ]);
}

function hasJournal(directory: string): boolean {
  try {
    return statSync(join(directory, JOURNAL_FILE), { throwIfNoEntry: false }) !== undefined;
  } catch (error) {
    // Most likely the directory of another user: it may well hold data.
    const why = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    throw new StartError(`cannot look into the data directory ${directory} (${why})`, { cause: error });
  }
}
