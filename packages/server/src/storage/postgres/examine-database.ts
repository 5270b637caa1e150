// What is wrong with a database or its users, for the command line; it writes nothing.

import { StartError } from '../../start-error.ts';
import { Database } from './connection/database.ts';
import type { LoginUrls } from './connection/logins.ts';
import { exposureOf, usersOf } from './connection/users.ts';
import { namedRingKeysIn } from './records/tenant-keys.ts';
import { isDenied, requireDurable, requireVersion } from './schema/migrate.ts';

export interface DatabaseFinding {
  readonly what: string;
  readonly of: 'Reach' | 'Durability' | 'Version' | 'Rights';
}

export interface ExaminedServer {
  readonly findings: readonly DatabaseFinding[];
  /** Undefined: it was not reached. */
  readonly version: string | undefined;
}

export async function examineServer(urls: LoginUrls): Promise<ExaminedServer> {
  await using database = new Database({ ...urls, connectionsMax: 2 });
  const findings: DatabaseFinding[] = [];
  /** Whether it could be looked into. */
  const look = async (of: DatabaseFinding['of'], work: () => Promise<unknown>): Promise<boolean> => {
    try {
      await work();
      return true;
    } catch (error) {
      if (isDenied(error)) findings.push({ what: error.message, of: 'Rights' });
      else if (error instanceof StartError) findings.push({ what: error.message, of });
      else throw error;
      return false;
    }
  };
  if (!(await look('Reach', () => usersOf(database)))) return { findings, version: undefined };
  const version = await database.plainly(async (client) => {
    const { rows } = await client.query<{ version: string }>(
      "SELECT current_setting('server_version') AS version",
    );
    return rows[0]?.version;
  });
  await look('Durability', () => requireDurable(database));
  if (await look('Version', () => requireVersion(database))) {
    const exposure = await exposureOf(database);
    if (exposure !== undefined) findings.push({ what: exposure, of: 'Rights' });
  }
  return { findings, version };
}

export async function databaseNowMs(urls: LoginUrls): Promise<number> {
  await using database = new Database({ ...urls, connectionsMax: 1 });
  return database.plainly(async (client) => {
    const { rows } = await client.query<{ now: string }>(
      'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now',
    );
    return Number(rows[0]!.now);
  });
}

/** The keys of the keyring that it names. */
export async function ringKeysNamedIn(urls: LoginUrls): Promise<string[]> {
  await using database = new Database({ ...urls, connectionsMax: 1 });
  return await namedRingKeysIn(database);
}
