// The store: a database that is reachable, durable, of this version, and with no more rights than it should give; or the embedded journal.

import { databaseUrls } from '../../config/database-urls.ts';
import type { Config } from '../../config/settings.ts';
import { StartError } from '../../start-error.ts';
import { journalVersion } from '../../storage/sqlite/connection/database.ts';
import { MIGRATIONS } from '../../storage/sqlite/connection/schema.ts';
import type { Examined, Problem } from './examined.ts';

export async function examineDatabase(config: Config): Promise<Examined> {
  const urls = databaseUrls(config.storage);
  if (urls === undefined) return embedded(config.storage.dataDirectory);
  const { findings, version } = await (
    await import('../../storage/postgres/examine-database.ts')
  ).examineServer(urls);
  const problems = findings.map(({ what, of }): Problem => ({ what, remedy: REMEDIES[of] }));
  return { problems, ...(version !== undefined && { measured: `PostgreSQL ${version}` }) };
}

const REMEDIES = {
  Reach: 'see Storage__Url and its like, and that the database runs and lets this machine in',
  Durability: 'switch it on in the configuration of the database, for its users and databases, too',
  Version: 'run tallystick migrate, with the program that the service runs',
  Rights: 'give the users of the database the rights that tallystick migrate gives them, and no more',
} as const;

function embedded(directory: string): Examined {
  const newest = MIGRATIONS.length;
  try {
    const version = journalVersion(directory);
    const measured = `schema version ${version}`;
    if (version === newest) return { problems: [], measured };
    const what = `the data has schema version ${version}; this program has ${newest}`;
    const remedy =
      version < newest
        ? 'start the service, which brings it up, or run tallystick migrate'
        : 'use the program that has written it, or a newer one';
    return { problems: [{ what, remedy }], measured };
  } catch (error) {
    if (!(error instanceof StartError)) throw error;
    return { problems: [{ what: error.message, remedy: 'run tallystick verify, and see the diagnostics' }] };
  }
}
