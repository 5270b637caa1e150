// Opens the data directory of the service, and reads its anchor, for a command. Where there is no data it throws
// ConfigError, and makes none; no command brings up an older schema but `migrate`, and none writes the anchor.

import { statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { anchorPlace } from '../config/anchor-place.ts';
import { ConfigError } from '../config/config-error.ts';
import { databaseUrls } from '../config/database-urls.ts';
import { requireServable } from '../config/rules.ts';
import type { Config } from '../config/settings.ts';
import { keyringOf } from '../keyring-place.ts';
import { systemClock } from '../runtime/clock.ts';
import { createSystemRandom } from '../runtime/random.ts';
import { StartError } from '../start-error.ts';
import { readAnchorAt, takeAnchorAlone } from '../storage/anchor/file-anchor.ts';
import { openDataDirectory } from '../storage/files/data-directory.ts';
import { requireNotMoved } from '../storage/files/moved-store.ts';
import { JOURNAL_FILE } from '../storage/sqlite/connection/database.ts';
import type { PostgresOptions } from '../storage/postgres/postgres-storage.ts';
import { SIGNING_KEYS_FOLDER } from '../storage/keys/signing-key-files.ts';
import { openSqliteStorage } from '../storage/sqlite/sqlite-storage.ts';
import { openingOf } from '../storage/sealing/open-keyring.ts';
import type { Storage } from '../storage/storage.ts';
import type { ReadAnchor } from '../streams/anchor/anchor.ts';
import { isAnchorLost, lostAnchorMessage } from '../streams/anchor/unanchored.ts';
import type { Facts, Telemetry } from '../telemetry.ts';

/** The anchor as it is now, for a command that writes to logs. Throws StartError also where it knows none that was signed. */
export async function requireAnchorOf(
  config: Config,
  { tree, logOrigin }: Pick<Storage, 'tree' | 'logOrigin'>,
): Promise<ReadAnchor> {
  // In this order: what a running service signs is anchored before it is stored.
  const standings = await tree.standings();
  const anchor = await readAnchorAt(anchorPlace(config));
  if (!isAnchorLost(standings, { anchor, logOrigin })) return anchor;
  // Where only the setting is missing, nothing is lost.
  requireServable(config);
  throw new StartError(lostAnchorMessage(resolve(anchorPlace(config))));
}

/** Collects warnings as lines, to be printed by the command. */
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
  const urls = databaseUrls(config.storage);
  await openDataDirectory(directory);
  const clock = systemClock;
  const common = {
    logOrigin: config.log.origin,
    streams: config.streams,
    clock,
    random: createSystemRandom(),
    openSealing: openingOf(keyringOf(config)),
  };
  if (urls !== undefined) {
    const alone = exclusive ? anchorPlace(config) : undefined;
    return openDatabase({ ...urls, ...common }, alone);
  }
  return openSqliteStorage({
    directory,
    ...common,
    threads: false,
    exclusive,
    mayMigrate: false,
    onFatal: (error) => {
      throw error;
    },
  });
}

/** `alone`: the anchor that nodes of this database share, where none of them may run meanwhile. */
async function openDatabase(options: PostgresOptions, alone: string | undefined): Promise<Storage> {
  // Loaded where it is needed.
  const { openPostgresStorage } = await import('../storage/postgres/postgres-storage.ts');
  await using parts = new AsyncDisposableStack();
  if (alone !== undefined) parts.use(takeAnchorAlone(alone));
  const storage = parts.use(await openPostgresStorage({ ...options, mayMigrate: false }));
  const opened = parts.move();
  return { ...storage, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

/**
 * Only the service makes data: a key or a token that was made in the wrong directory would work nowhere. Throws
 * ConfigError, and StartError for a directory whose log goes on in a database.
 */
export function requireData({ storage }: Config): void {
  const directory = resolve(storage.dataDirectory);
  if (hasFile(directory, storage.url === undefined ? JOURNAL_FILE : SIGNING_KEYS_FOLDER)) {
    if (storage.url === undefined) requireNotMoved(directory);
    return;
  }
  throw new ConfigError([
    `there is no data in ${directory}: name the data directory of the service by Storage__DataDirectory or --config, or start the service there once (tallystick serve)`,
  ]);
}

function hasFile(directory: string, name: string): boolean {
  try {
    return statSync(join(directory, name), { throwIfNoEntry: false }) !== undefined;
  } catch (error) {
    // Most likely the directory of another user: it may well hold data.
    const why = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    throw new StartError(`cannot look into the data directory ${directory} (${why})`, { cause: error });
  }
}
