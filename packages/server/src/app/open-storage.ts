// The backend of the service: PostgreSQL where a URL names one, else the embedded one in the data directory. Keys and the
// anchor are files in either case: somebody who may change the database must not be able to sign.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { readBuild } from '../config/build.ts';
import { databaseUrls } from '../config/database-urls.ts';
import { StartError } from '../start-error.ts';
import { readMove } from '../storage/files/moved-store.ts';
import { JOURNAL_FILE } from '../storage/sqlite/connection/database.ts';
import { openSqliteStorage } from '../storage/sqlite/sqlite-storage.ts';
import type { RingData } from '../storage/sealing/keyring.ts';
import { openingOf } from '../storage/sealing/open-keyring.ts';
import type { OpenSealing } from '../storage/sealing/sealing.ts';
import type { Storage } from '../storage/storage.ts';
import { nodeName } from './node-name.ts';
import type { Surroundings } from './surroundings.ts';

/** Throws StartError. The data directory must be there; `onRing` is told of the keyring that is opened. */
export async function openStorage(
  surroundings: Surroundings,
  onRing: (ring: RingData) => void,
): Promise<Storage> {
  const { config, clock, random, telemetry, hasThreads, keyring } = surroundings;
  const { dataDirectory: directory, distribute } = config.storage;
  const urls = databaseUrls(config.storage);
  const { origin: logOrigin } = config.log;
  const { streams } = config;
  const onFailure = (error: unknown) =>
    telemetry.error('keys or tenants could not be read or written', error);
  const opening = openingOf(keyring, { random, nowMs: clock.now() });
  const openSealing: OpenSealing = async (ringKeys) => {
    const sealing = await opening(ringKeys);
    if (sealing.ring !== undefined) onRing(sealing.ring);
    return sealing;
  };
  const common = { logOrigin, streams, clock, random, openSealing, onFailure };
  const onIndexTrouble = (what: string, error: Error | undefined) =>
    error === undefined ? telemetry.warn(what) : telemetry.error(what, error);
  if (urls === undefined) {
    const ways = { threads: hasThreads, exclusive: true, onIndexTrouble, onFatal };
    return openSqliteStorage({ directory, ...common, ...ways });
  }
  requireMovedFrom(directory);
  // Loaded on demand: most installations have no database, and each file costs a millisecond at the start.
  const { openPostgresStorage } = await import('../storage/postgres/postgres-storage.ts');
  const onTrouble = (error: Error) =>
    telemetry.warn('a connection to the database is gone', { cause: error.message });
  const node = { name: nodeName(config), version: readBuild().version };
  const threads = hasThreads ? { threads: { onFatal, onIndexTrouble } } : {};
  const onExposure = (line: string) => telemetry.warn(line);
  const told = { onTrouble, onExposure };
  return openPostgresStorage({ ...urls, ...common, node, ...threads, distribute, ...told });
}

/** Without the threads that write and read, nothing can be promised any more: the process ends. */
function onFatal(error: Error): void {
  throw error;
}

/** The events of the directory would not be in the database. Throws StartError. */
function requireMovedFrom(directory: string): void {
  if (!existsSync(join(directory, JOURNAL_FILE)) || readMove(directory) !== undefined) return;
  throw new StartError(
    `${directory} holds the log of an embedded store, which is not in the database: \`tallystick copy\` moves it there; or name another data directory`,
  );
}
