// Brings what is stored up to this program: the data directory of a stopped service, or the database of one.

import { databaseUrls } from '../config/database-urls.ts';
import type { Config } from '../config/settings.ts';
import { journalVersion, migrateJournal } from '../storage/sqlite/connection/database.ts';
import { takeLock } from '../storage/sqlite/connection/lock.ts';
import { MIGRATIONS } from '../storage/sqlite/connection/schema.ts';
import { requireData } from './open-data.ts';

/** What became of the data: the version that it had, 0 for none, and the one that it has now. */
export interface Migrated {
  /** The data directory, or the address of the database without any credential. */
  readonly place: string;
  readonly from: number;
  readonly to: number;
  /** The users of the database that the service takes; undefined for a data directory. */
  readonly users?: DatabaseUsers;
  /** How the one who serves could do what others are there for, in one line; undefined: it cannot. */
  readonly exposure?: string | undefined;
}

/** By what they are there for. */
export interface DatabaseUsers {
  readonly Serving: string;
  readonly Index?: string;
  readonly Retention?: string;
}

/** Throws StartError, and ConfigError where there is no data directory. No service may use that meanwhile. */
export async function migrate(config: Config): Promise<Migrated> {
  const { dataDirectory, ownerUrl, distribute } = config.storage;
  const urls = databaseUrls(config.storage);
  if (urls !== undefined) {
    // Loaded here: a command over a data directory does not wait for what speaks to databases.
    const { provision } = await import('../storage/postgres/schema/provision.ts');
    return provision({ ...urls, ownerUrl: ownerUrl?.reveal() }, { distribute });
  }
  requireData(config);
  const version = journalVersion(dataDirectory);
  if (version === MIGRATIONS.length) return { place: dataDirectory, from: version, to: version };
  using _ = takeLock(dataDirectory);
  return { place: dataDirectory, ...migrateJournal(dataDirectory) };
}
