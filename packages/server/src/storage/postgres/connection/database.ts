// Connections and transactions, which take on a role and name the tenants that they see. Statements can be sent without
// waiting for the answers in between. A connection that has failed is discarded.

import { hash } from 'node:crypto';
import { nextTick } from 'node:process';
import type { Writable } from 'node:stream';
import { Pool, type PoolClient } from 'pg';
import type { TenantId } from '@tallystick/contract';
import { orUnavailable, UnknownCommitError } from './unavailable.ts';
import { COLUMN_TYPES } from './column-types.ts';
import { areDistributed } from '../schema/distribute.ts';
import { type Login, loginFor, LOGINS, loginsIn, type LoginUrls } from './logins.ts';
import type { DatabaseRole } from '../../table.ts';
import { DATABASE_ROLES, KEY_SETTING, TENANTS_SETTING } from '../schema/rights.ts';

/** Where all tables are. */
export const SCHEMA = 'tallystick';

export type Row = Readonly<Record<string, unknown>>;
export type Value = string | number | bigint | boolean | Uint8Array | null | readonly Value[];

/** A statement is prepared once on each connection, under this name. */
export interface Statement {
  readonly name: string;
  readonly text: string;
}

export function statement(text: string): Statement {
  return { name: hash('sha1', text, 'base64url'), text };
}

/** The role of a transaction, and the tenants, or the key hash, that it sees. Projector and verifier see all tenants. */
export type DatabaseScope =
  | {
      readonly role: Exclude<DatabaseRole, 'Projector' | 'Verifier'>;
      readonly tenants: readonly TenantId[];
    }
  | { readonly role: 'Reader'; readonly keyHash: Uint8Array }
  | { readonly role: 'Writer'; readonly tenants: readonly TenantId[]; readonly keyHash: Uint8Array }
  | { readonly role: 'Projector' | 'Verifier' };

/** For the service's own work, which concerns all tenants. */
export const ALL_TENANTS: DatabaseScope = { role: 'Projector' };
export const VERIFIER: DatabaseScope = { role: 'Verifier' };

export interface Transaction {
  /** Whether its tables are distributed over machines by tenant. */
  isDistributed(): Promise<boolean>;
  /** May be called again before it has answered: the answers come in order. */
  query(statement: Statement, values?: readonly Value[]): Promise<Row[]>;
  /** Returns the number of changed rows. */
  change(statement: Statement, values?: readonly Value[]): Promise<number>;
}

/** One state of the database while it is open; its connection is not shared. */
export interface OpenState extends AsyncDisposable, Pick<Transaction, 'query' | 'isDistributed'> {}

export interface DatabaseOptions extends LoginUrls {
  /** Per login that has its own URL. */
  readonly connectionsMax: number;
  /** Overrides for some logins. */
  readonly connectionsMaxOf?: Readonly<Partial<Record<Login, number>>>;
  /** The time limit for a connection; undefined: five seconds. */
  readonly connectMsMax?: number;
  /** The time limit for an answer; undefined: ten seconds. */
  readonly answerMsMax?: number;
  /** The time that a transaction may be idle; undefined: ten seconds. */
  readonly idleMsMax?: number;
  /** Called when an idle connection breaks. */
  readonly onTrouble?: (error: Error) => void;
  /** Its tables are distributed over machines by tenant; undefined: detect it. */
  readonly isDistributed?: boolean;
}

/** After this time the caller is told to retry. */
const CONNECT_MS_MAX = 5000;
const ANSWER_MS_MAX = 10_000;
/** A node that hangs must not keep its locks. */
const IDLE_MS_MAX = 10_000;

/** Reads and writes must not depend on settings of the database or the user. */
const SESSION_SETTINGS: readonly string[] = [
  `search_path=${SCHEMA}`,
  'bytea_output=hex',
  'array_nulls=on',
  'row_security=on',
  'standard_conforming_strings=on',
  'default_transaction_read_only=off',
  'default_transaction_isolation=read\\ committed',
  'gin_fuzzy_search_limit=0',
  // A warning reports that a commit was not waited for.
  'client_min_messages=warning',
  // With distributed tables, the other machines get the settings of a transaction. Otherwise it has no effect.
  'citus.propagate_set_commands=local',
];

const ONE_STATE = 'ISOLATION LEVEL REPEATABLE READ READ ONLY';

/** This was checked at the start, but can be changed for a database or a user at any time. */
export const DURABLY = 'SET LOCAL synchronous_commit = on';

/** PostgreSQL otherwise plans some statements anew each time, which may take longer than to carry them out. */
const PLANNED_ONCE = 'SET LOCAL plan_cache_mode = force_generic_plan';

const WARNING_CLASS = '01';
const NO_TRANSACTION = '25P01';

/** The package's types do not know it yet. */
const PIPELINED = { pipeline: true };

export class Database implements AsyncDisposable {
  /** Logins with their own URL; the serving one comes first. */
  readonly logins: readonly Login[];
  readonly #pools: ReadonlyMap<Login, Pool>;
  #isDistributed: boolean | undefined;

  constructor(options: DatabaseOptions) {
    this.logins = loginsIn(options);
    this.#pools = new Map(this.logins.map((login) => [login, poolOf(options, login)]));
    this.#isDistributed = options.isDistributed;
  }

  /** Whether its tables are distributed by tenant: a transaction is then limited to one tenant where possible. */
  async isDistributed(): Promise<boolean> {
    return this.#isDistributed ?? this.#orUnavailable('Serving', async (_, isDistributed) => isDistributed);
  }

  /** One durable commit of `work`; if this rejects, its state is unknown. `isPlannedOnce`: the plans of its statements do not depend on values. */
  async inTransaction<T>(
    scope: DatabaseScope,
    work: (transaction: Transaction) => Promise<T>,
    isPlannedOnce = false,
  ): Promise<T> {
    return this.#orUnavailable(loginOf(scope), async (client, isDistributed) => {
      // Citus plans by the values, which say on which machine the rows are.
      const settings = isPlannedOnce && !isDistributed ? [DURABLY, PLANNED_ONCE] : [DURABLY];
      begin(client, isDistributed, scope, '', ...settings);
      const result = await work(transactionOn(client, isDistributed));
      await commit(client);
      return result;
    });
  }

  /** Reads from one state of the database. */
  async inOneState<T>(scope: DatabaseScope, read: (transaction: Transaction) => Promise<T>): Promise<T> {
    return this.#orUnavailable(loginOf(scope), async (client, isDistributed) => {
      begin(client, isDistributed, scope, ONE_STATE);
      const result = await read(transactionOn(client, isDistributed));
      await client.query('COMMIT');
      return result;
    });
  }

  /** The first statement determines the state. */
  async openState(scope: DatabaseScope): Promise<OpenState> {
    const isDistributed = await this.isDistributed();
    const client = await this.#poolOf(loginOf(scope))
      .connect()
      .catch((error: unknown) => {
        throw orUnavailable(error);
      });
    begin(client, isDistributed, scope, ONE_STATE);
    const transaction = transactionOn(client, isDistributed);
    return {
      isDistributed: () => transaction.isDistributed(),
      query: (asked, values) =>
        transaction.query(asked, values).catch((error: unknown) => {
          throw orUnavailable(error);
        }),
      async [Symbol.asyncDispose]() {
        let failure: Error | undefined;
        await client.query('ROLLBACK').catch((error: Error) => (failure = error));
        client.release(failure);
      },
    };
  }

  /** A single statement, in one round trip. */
  async read(scope: DatabaseScope, asked: Statement, values: readonly Value[] = []): Promise<Row[]> {
    return this.#orUnavailable(loginOf(scope), async (client, isDistributed) => {
      begin(client, isDistributed, scope, 'READ ONLY');
      const rows = transactionOn(client, isDistributed).query(asked, values);
      const committed = client.query('COMMIT');
      committed.catch(() => {});
      const found = await rows;
      await committed;
      return found;
    });
  }

  /** Runs as the user of the URL, without a role: for migrations and for looking at the database itself. */
  async plainly<T>(work: (client: PoolClient) => Promise<T>, login: Login = 'Serving'): Promise<T> {
    return this.#with(login, work);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#pools.values()].map((pool) => pool.end()));
  }

  /** The serving login also does the work of missing logins. */
  #poolOf(login: Login): Pool {
    return this.#pools.get(login) ?? this.#pools.get('Serving')!;
  }

  async #orUnavailable<T>(
    login: Login,
    work: (client: PoolClient, isDistributed: boolean) => Promise<T>,
  ): Promise<T> {
    try {
      return await this.#with(login, async (client) => {
        this.#isDistributed ??= await areDistributed(client, SCHEMA);
        return work(client, this.#isDistributed);
      });
    } catch (error) {
      throw orUnavailable(error);
    }
  }

  async #with<T>(login: Login, work: (client: PoolClient) => Promise<T>): Promise<T> {
    const client = await this.#poolOf(login).connect();
    let failure: Error | undefined;
    const onError = (error: Error) => (failure = error);
    client.on('error', onError);
    try {
      return await work(client);
    } catch (error) {
      // Discards pending statements and everything done so far.
      await client.query('ROLLBACK').catch((cause: Error) => (failure = cause));
      if (isOfPrepared(error)) failure ??= error;
      throw error;
    } finally {
      client.off('error', onError);
      client.release(failure);
    }
  }
}

function loginOf(scope: DatabaseScope): Login {
  return loginFor(scope.role);
}

function poolOf(options: DatabaseOptions, login: Login): Pool {
  const { connectionsMax, connectionsMaxOf = {}, onTrouble } = options;
  const { connectMsMax = CONNECT_MS_MAX, answerMsMax = ANSWER_MS_MAX, idleMsMax = IDLE_MS_MAX } = options;
  const isAlone = loginsIn(options).length === 1;
  const pool = new Pool({
    connectionString: withSettings(options[LOGINS[login].url]!),
    max: isAlone ? connectionsMax : (connectionsMaxOf[login] ?? connectionsMax),
    connectionTimeoutMillis: connectMsMax,
    query_timeout: answerMsMax,
    statement_timeout: answerMsMax,
    idle_in_transaction_session_timeout: idleMsMax,
    idleTimeoutMillis: 30_000,
    keepAlive: true,
    application_name: 'tallystick',
    types: COLUMN_TYPES,
    ...PIPELINED,
  });
  pool.on('error', (error) => onTrouble?.(error));
  // Between the pool and the user of a connection there is a moment without another listener, and an unhandled error
  // ends the process. The user of the connection gets the error from its own statements.
  pool.on('connect', (client) => client.on('error', () => {}));
  return pool;
}

/** The URL overrides separate options, so the settings are appended to its own. */
function withSettings(url: string): string {
  const place = new URL(url);
  const own = SESSION_SETTINGS.map((setting) => `-c ${setting}`);
  place.searchParams.set('options', [...place.searchParams.getAll('options'), ...own].join(' '));
  return place.href;
}

/** If a part of it fails, so does everything up to the commit. */
export function begin(
  client: PoolClient,
  isDistributed: boolean,
  scope: DatabaseScope,
  mode: string,
  ...first: readonly string[]
): void {
  const settings = [...first];
  if ('tenants' in scope) settings.push(`SET LOCAL ${TENANTS_SETTING} = ${quoted(scope.tenants.join(','))}`);
  if ('keyHash' in scope)
    settings.push(`SET LOCAL ${KEY_SETTING} = '${Buffer.from(scope.keyHash).toString('hex')}'`);
  const texts = isDistributed
    ? // Citus sends the whole text that sets something to the other machines. The role must not be set there: connections
      // to them log in as the role, or as the owner inside a function of the owner.
      [`BEGIN ${mode}; SELECT set_config('role', '${DATABASE_ROLES[scope.role]}', true)`, ...settings]
    : [`BEGIN ${mode}; ${[...settings, `SET LOCAL ROLE ${DATABASE_ROLES[scope.role]}`].join('; ')}`];
  sendTogether(client);
  for (const text of texts) client.query(text).catch(() => {});
}

/** What is asked in this turn of the process goes out in one piece: the system, and the database, are called once for all of it. */
function sendTogether(client: PoolClient): void {
  // The package has no type for it.
  const { stream } = (client as unknown as { readonly connection: { readonly stream: Writable } }).connection;
  stream.cork();
  nextTick(() => stream.uncork());
}

export function transactionOn(client: PoolClient, isDistributed: boolean): Transaction {
  const run = ({ name, text }: Statement, values: readonly Value[]) => {
    sendTogether(client);
    return client.query<Record<string, unknown>>({ name, text, values: values.map(bound) });
  };
  return {
    isDistributed: async () => isDistributed,
    query: async (asked, values = []) => (await run(asked, values)).rows,
    change: async (asked, values = []) => (await run(asked, values)).rowCount ?? 0,
  };
}

/** A Buffer is sent as bytes. */
function bound(value: Value): unknown {
  return value instanceof Uint8Array
    ? Buffer.from(value.buffer, value.byteOffset, value.byteLength)
    : Array.isArray(value)
      ? value.map((each) => bound(each as Value))
      : value;
}

export interface DatabaseNotice {
  readonly code?: string | undefined;
  readonly message?: string | undefined;
}

/** Also if there was nothing to commit: its BEGIN was cancelled, and the following statements ran alone. */
export function isWarning({ code }: DatabaseNotice): boolean {
  return code?.startsWith(WARNING_CLASS) === true || code === NO_TRANSACTION;
}

/**
 * A failed transaction answers a COMMIT, too: with a ROLLBACK. If the wait for a synchronous standby was cancelled, the
 * COMMIT succeeds with a warning; a COMMIT gives no other warning.
 */
async function commit(client: PoolClient): Promise<void> {
  let warning: string | undefined;
  const onNotice = (notice: DatabaseNotice) => {
    if (isWarning(notice)) warning = notice.message ?? '';
  };
  client.on('notice', onNotice);
  try {
    const { command } = await client.query('COMMIT');
    if (command !== 'COMMIT') throw new Error('the transaction was rolled back');
    if (warning !== undefined) throw new UnknownCommitError(warning);
  } finally {
    client.off('notice', onNotice);
  }
}

/** The lock timeout has passed. */
export function isLockNotAvailable(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === '55P03';
}

/** Concerns the prepared statement, not the query: a table has another column now, or the statement was discarded. */
function isOfPrepared(error: unknown): error is Error {
  return error instanceof Error && 'code' in error && (error.code === '0A000' || error.code === '26000');
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
