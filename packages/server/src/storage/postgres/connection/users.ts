// The users of the database URLs, as the database knows them: they must exist, differ and be of one database, and the
// serving user must not have the rights of the others. Faults that an operator can repair are a StartError, without a
// password.

import type { PoolClient } from 'pg';
import { StartError } from '../../../start-error.ts';
import { type Database, SCHEMA } from './database.ts';
import { type Login, LOGINS, rolesOf } from './logins.ts';
import { DATABASE_ROLES } from '../schema/rights.ts';

/** Names by login. */
export interface Users extends Readonly<Partial<Record<Login, string>>> {
  readonly Serving: string;
}

/** `saidIn` is the setting or option with the URL of the serving user. Throws StartError. */
export async function usersOf(database: Database, saidIn = LOGINS.Serving.setting): Promise<Users> {
  const serving = await userOf(database, saidIn);
  const besides: Partial<Record<Login, string>> = {};
  for (const login of database.logins.slice(1)) {
    const { setting } = LOGINS[login];
    const user = await userOf(database, setting, login);
    const [same] = Object.entries({ Serving: serving, ...besides }).find(([, other]) => other === user) ?? [];
    if (same !== undefined) {
      const where = same === 'Serving' ? saidIn : LOGINS[same as Login].setting;
      throw new StartError(
        `${setting} names the user ${user}, who is that of ${where}: name another one, or leave the setting out`,
      );
    }
    if (!(await areSame(database, database, login)))
      throw new StartError(`${saidIn} and ${setting} are not of the same database`);
    besides[login] = user;
  }
  return { Serving: serving, ...besides };
}

/** The first query of a login: reports an unreachable database. Throws StartError. */
export async function userOf(database: Database, setting: string, login?: Login): Promise<string> {
  try {
    return await database.plainly(async (client) => {
      const { rows } = await client.query<{ user: string }>('SELECT session_user::text AS user');
      return rows[0]!.user;
    }, login);
  } catch (cause) {
    throw new StartError(`cannot connect to the database of ${setting}: ${reasonOf(cause)}`, { cause });
  }
}

/** If all addresses of a host fail, the error has no message. */
function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0]);
  return error instanceof Error ? error.message : String(error);
}

/** An advisory lock is visible within its own database only. */
export async function areSame(served: Database, other: Database, login?: Login): Promise<boolean> {
  return served.plainly(async (client) => {
    const { rows } = await client.query<{ key: string }>(
      `SELECT key, pg_advisory_lock(key) FROM (SELECT (random() * 2 ^ 52)::bigint AS key) AS any_key`,
    );
    try {
      return await other.plainly(async (second) => {
        const tried = await second.query<{ free: boolean }>('SELECT pg_try_advisory_lock($1) AS free', [
          rows[0]!.key,
        ]);
        if (tried.rows[0]!.free) await second.query('SELECT pg_advisory_unlock_all()');
        return !tried.rows[0]!.free;
      }, login);
    } finally {
      await client.query('SELECT pg_advisory_unlock_all()');
    }
  });
}

/**
 * How the serving user could use the rights of others, and the commands that prevent it, in one line; undefined: it
 * cannot. The tables must exist.
 */
export async function exposureOf(database: Database): Promise<string | undefined> {
  const { logins } = database;
  if (logins.length === 1) return undefined;
  const own = rolesOf('Serving', logins);
  const kept = Object.values(DATABASE_ROLES).filter((role) => !own.includes(role));
  const settings = logins.slice(1).map((login) => LOGINS[login].setting);
  return database.plainly(async (client) => {
    const might = await mightOf(client);
    if (might !== undefined)
      return `the user of Storage__Url ${might}, so nothing is kept from it by ${settings.join(' and ')}: name another user in Storage__Url`;
    const taken = await takenOf(client, kept);
    if (taken.length === 0) return undefined;
    return `the user of Storage__Url may still take on ${taken.join(', ')}: once every node has ${settings.join(' and ')}, ${await endOf(client, taken)}`;
  });
}

/** Why roles do not restrict this user, if they do not. */
async function mightOf(client: PoolClient): Promise<string | undefined> {
  // Before PostgreSQL 16, CREATEROLE allows to grant oneself any role but that of a superuser.
  const { rows } = await client.query<{ super: boolean; bypasses: boolean; grants: boolean; owns: boolean }>(
    `SELECT rolsuper AS super, rolbypassrls AS bypasses,
       rolcreaterole AND current_setting('server_version_num')::int < 160000 AS grants, EXISTS (
       SELECT 1 FROM pg_class WHERE relnamespace = '${SCHEMA}'::regnamespace AND relkind IN ('r', 'p')
         AND pg_has_role(session_user, relowner, 'MEMBER')) AS owns
     FROM pg_roles WHERE rolname = session_user`,
  );
  const [found] = rows;
  if (found?.super === true) return 'is a superuser';
  if (found?.bypasses === true) return 'has BYPASSRLS';
  if (found?.grants === true) return 'has CREATEROLE';
  return found?.owns === true ? 'owns the tables' : undefined;
}

/** Includes roles that it could grant to itself. */
async function takenOf(client: PoolClient, roles: readonly string[]): Promise<string[]> {
  const { rows } = await client.query<{ role: string }>(
    `SELECT role FROM unnest($1::text[]) AS role WHERE pg_has_role(session_user, role, 'MEMBER')`,
    [roles],
  );
  return rows.map(({ role }) => role);
}

/** Since PostgreSQL 16 a grant is revoked in the name of the role that made it. */
async function endOf(client: PoolClient, roles: readonly string[]): Promise<string> {
  const { rows } = await client.query<{ roles: string; user: string; by: string }>(
    `SELECT string_agg(roleid::regrole::text, ', ' ORDER BY roleid::regrole::text) AS roles,
       quote_ident(session_user) AS user,
       CASE WHEN current_setting('server_version_num')::integer < 160000 THEN '' ELSE ' GRANTED BY ' || grantor::regrole END AS by
     FROM pg_auth_members WHERE member = session_user::regrole AND roleid::regrole::text = ANY ($1) GROUP BY by ORDER BY by`,
    [roles],
  );
  if (rows.length === 0) return 'end its membership of the role by which it has them';
  return `run ${rows.map((grant) => `REVOKE ${grant.roles} FROM ${grant.user}${grant.by}`).join('; ')}`;
}
