// A database as the service needs it: made so by `tallystick migrate` with the credential of its owner, or by the service
// itself at its first start, where its user may do that. Whatever an operator can mend is a StartError, without a password.

import { StartError } from '../../start-error.ts';
import { Database } from './database.ts';
import {
  isDenied,
  migrate,
  type Migrated,
  type MigrateOptions,
  requireDurable,
  requireReady,
  versionIn,
} from './migrate.ts';
import { MIGRATIONS } from './schema.ts';

export interface DatabaseUrls {
  readonly url: string;
  /** Undefined: the user that serves is the owner too. */
  readonly ownerUrl: string | undefined;
  /** Where the operator has said the URL; undefined: in Storage__Url. */
  readonly saidIn?: string;
}

export interface Provisioned extends Migrated {
  /** Where it is, without any credential. */
  readonly place: string;
  /** The user that may take on the roles. */
  readonly servedBy: string;
}

/** Brings the database to this version, with the rights of the owner, for the user that serves. Throws StartError. */
export async function provision(
  { url, ownerUrl, saidIn = 'Storage__Url' }: DatabaseUrls,
  options: MigrateOptions = {},
): Promise<Provisioned> {
  await using served = new Database({ url, connectionsMax: 1 });
  const servedBy = await userOf(served, saidIn);
  await using owned = new Database({ url: ownerUrl ?? url, connectionsMax: 1 });
  const owner = await userOf(owned, ownerUrl === undefined ? saidIn : 'Storage__OwnerUrl');
  for (const database of [served, owned]) await requireDurable(database);
  if (ownerUrl !== undefined && !(await areSame(served, owned)))
    throw new StartError(`${saidIn} and Storage__OwnerUrl are not of the same database`);
  const migrated = await migrate(owned, servedBy, options).catch(async (cause: unknown) => {
    if (!isDenied(cause)) throw cause;
    const version = await versionIn(served);
    // There is nothing to be done.
    if (version === MIGRATIONS.length) return { from: version, to: version };
    const hint =
      ownerUrl === undefined
        ? '; Storage__OwnerUrl may name one that may'
        : '; it needs CREATE and CREATEROLE';
    throw new StartError(`the user ${owner} may not migrate the database (${cause.message})${hint}`, {
      cause,
    });
  });
  // As it will be served.
  await requireReady(served);
  return { ...migrated, servedBy, place: placeOf(url) };
}

/** A lock that one has taken is known to whoever is in the same database, and to nobody else. */
async function areSame(served: Database, owned: Database): Promise<boolean> {
  return served.plainly(async (client) => {
    const { rows } = await client.query<{ key: string }>(
      `SELECT key, pg_advisory_lock(key) FROM (SELECT (random() * 2 ^ 52)::bigint AS key) AS any_key`,
    );
    try {
      return await owned.plainly(async (other) => {
        const tried = await other.query<{ free: boolean }>('SELECT pg_try_advisory_lock($1) AS free', [
          rows[0]!.key,
        ]);
        return !tried.rows[0]!.free;
      });
    } finally {
      await client.query('SELECT pg_advisory_unlock_all()');
    }
  });
}

/** For whoever serves: a database without tables gets them, if the user may make them. Throws StartError. */
export async function ensureReady(database: Database, options: MigrateOptions = {}): Promise<void> {
  const user = await userOf(database, 'Storage__Url');
  await requireDurable(database);
  if ((await versionIn(database)) === 0) {
    try {
      await migrate(database, user, options);
    } catch (cause) {
      if (!isDenied(cause)) throw cause;
      throw new StartError(
        `the database has no tables of this service, and the user ${user} may not make them (${cause.message}): run \`tallystick migrate\` with Storage__OwnerUrl`,
        { cause },
      );
    }
  }
  await requireReady(database);
}

/** The first that is asked: says so where nobody answers. */
export async function userOf(database: Database, setting: string): Promise<string> {
  try {
    return await database.plainly(async (client) => {
      const { rows } = await client.query<{ user: string }>('SELECT session_user::text AS user');
      return rows[0]!.user;
    });
  } catch (cause) {
    throw new StartError(`cannot connect to the database of ${setting}: ${reasonOf(cause)}`, { cause });
  }
}

/** Several addresses of a host that all fail come as one error without words. */
function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0]);
  return error instanceof Error ? error.message : String(error);
}

/** Where it is, without any credential. */
export function placeOf(url: string): string {
  const { host, pathname } = new URL(url);
  return `postgres://${host}${pathname}`;
}
