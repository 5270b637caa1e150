// Prepares a database for the service: `tallystick migrate` does it with the credential of the owner, or the service
// itself at its first start, if its user may. Faults that an operator can repair are a StartError, without a password.

import { StartError } from '../../../start-error.ts';
import { Database } from '../connection/database.ts';
import {
  isDenied,
  migrate,
  type Migrated,
  type MigrateOptions,
  requireDurable,
  requireReady,
  versionIn,
} from './migrate.ts';
import { LOGINS, type LoginUrls } from '../connection/logins.ts';
import { MIGRATIONS } from './schema.ts';
import { areSame, exposureOf, userOf, type Users, usersOf } from '../connection/users.ts';

export interface DatabaseUrls extends LoginUrls {
  /** Undefined: the serving user is the owner, too. */
  readonly ownerUrl: string | undefined;
  /** The option or setting with the URL; undefined: Storage__Url. */
  readonly saidIn?: string;
}

export interface Provisioned extends Migrated {
  /** Its location, without credentials. */
  readonly place: string;
  /** The users that may take on the roles. */
  readonly users: Users;
  /** How the serving user could use the rights of others; undefined: it cannot. */
  readonly exposure: string | undefined;
}

/** Brings the database to this version, with the rights of the owner, for the serving user. Throws StartError. */
export async function provision(
  { ownerUrl, saidIn = LOGINS.Serving.setting, ...urls }: DatabaseUrls,
  options: MigrateOptions = {},
): Promise<Provisioned> {
  const { url } = urls;
  await using served = new Database({ ...urls, connectionsMax: 1 });
  const users = await usersOf(served, saidIn);
  await using owned = new Database({ url: ownerUrl ?? url, connectionsMax: 1 });
  const owner = await userOf(owned, ownerUrl === undefined ? saidIn : 'Storage__OwnerUrl');
  for (const database of [served, owned]) await requireDurable(database);
  if (ownerUrl !== undefined && !(await areSame(served, owned)))
    throw new StartError(`${saidIn} and Storage__OwnerUrl are not of the same database`);
  const { Serving: servedBy, ...besides } = users;
  const migrated = await migrate(owned, servedBy, { ...options, besides }).catch(async (cause: unknown) => {
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
  return { ...migrated, users, exposure: await exposureOf(served), place: placeOf(url) };
}

/** For the service: creates missing tables, if the user may. Throws StartError. */
export async function ensureReady(database: Database, options: MigrateOptions = {}): Promise<void> {
  await requireDurable(database);
  if ((await versionIn(database)) === 0) await makeTables(database, options);
  await requireReady(database);
}

async function makeTables(database: Database, options: MigrateOptions): Promise<void> {
  const user = await userOf(database, LOGINS.Serving.setting);
  const fail = (why: string, cause?: Error) =>
    new StartError(
      `the database has no tables of this service, and ${why}: run \`tallystick migrate\` with Storage__OwnerUrl`,
      { cause },
    );
  const [, separate] = database.logins;
  // The user that creates them owns them, and could grant itself every role.
  if (separate !== undefined)
    throw fail(`with ${LOGINS[separate].setting} the user ${user}, who serves, is not to make them`);
  try {
    await migrate(database, user, { ...options, onlyIfMissing: true });
  } catch (cause) {
    if (!isDenied(cause)) throw cause;
    throw fail(`the user ${user} may not make them (${cause.message})`, cause);
  }
}

/** The location, without credentials. */
export function placeOf(url: string): string {
  const { host, pathname } = new URL(url);
  return `postgres://${host}${pathname}`;
}
