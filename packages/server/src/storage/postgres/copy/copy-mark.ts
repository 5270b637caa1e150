// What a database says of itself into which an installation is copied: the row `copy` of `meta`. It is written before
// anything else, together with the names of the installation, and until it says `Whole` no node serves the database.
//
//   <state> <id of the copy>

import type { PoolClient } from 'pg';
import { StartError } from '../../../start-error.ts';
import { type Installation, installationIn } from '../../installation.ts';
import { textIn } from '../../rows/columns.ts';
import {
  ALL_TENANTS,
  type Database,
  type DatabaseScope,
  type Row,
  SCHEMA,
  statement,
} from '../connection/database.ts';
import { isDenied } from '../schema/migrate.ts';
import { TENANT_TABLES } from '../schema/rights.ts';

/** `Differs`: the copy differs from its source, so it must not be used. */
const STATES = ['Copying', 'Differs', 'Whole'] as const;
export type CopyState = (typeof STATES)[number];

export interface CopyMark {
  readonly state: CopyState;
  readonly copyId: string;
}

export const COPY_NAME = 'copy';
const UNIQUE_VIOLATION = '23505';

const WRITER: DatabaseScope = { role: 'Writer', tenants: [] };
const META = statement('SELECT name, value FROM meta');
const HOLDS_ANY = statement(
  `SELECT ${Object.keys(TENANT_TABLES)
    .map((table) => `EXISTS (SELECT 1 FROM ${table})`)
    .join(' OR ')} AS holds`,
);
// Fails if any row exists: of two concurrent copies, or a copy and a service, only one succeeds.
const BEGIN = statement('INSERT INTO meta (name, value) SELECT * FROM unnest($1::text[], $2::text[])');
const SET = statement(`UPDATE meta SET value = $1 WHERE name = '${COPY_NAME}'`);

/** The state before a copy begins or resumes. */
export interface CopyTargetState {
  readonly mark: CopyMark | undefined;
  readonly installation: Installation | undefined;
  /** There is no row of any tenant. */
  readonly isEmpty: boolean;
}

export async function readTarget(database: Database): Promise<CopyTargetState> {
  const rows = await database.read(ALL_TENANTS, META);
  const [found] = await database.read(ALL_TENANTS, HOLDS_ANY);
  return {
    mark: markIn(rows),
    installation: installationIn(rows),
    isEmpty: found?.['holds'] === false,
  };
}

/** Reads rows of `meta`; undefined if nothing was ever copied into the database. Throws StartError. */
export function markIn(rows: readonly Row[]): CopyMark | undefined {
  const row = rows.find(({ name }) => name === COPY_NAME);
  if (row === undefined) return undefined;
  const value = textIn(row, 'value');
  const [word, copyId] = value.split(' ');
  const state = STATES.find((each) => each === word);
  if (state === undefined || copyId === undefined)
    throw new StartError(`the database says of a copy what this program does not know: ${value}`);
  return { state, copyId };
}

/** Throws StartError for a database that holds a part of a copy. */
export function requireWhole(mark: CopyMark | undefined): void {
  if (mark === undefined || mark.state === 'Whole') return;
  throw new StartError(
    'the database holds a part of a copy, and is not served: run `tallystick copy` again until it says that all is there, or name another database',
  );
}

/** `signer` is the first key that has signed, if there is one. */
export async function beginCopy(
  database: Database,
  copyId: string,
  { installationId, logOrigin }: Installation,
  signer: string | undefined,
): Promise<void> {
  const facts: [string, string][] = [
    [COPY_NAME, `Copying ${copyId}`],
    ['installation_id', installationId],
    ['log_origin', logOrigin],
  ];
  if (signer !== undefined) facts.push(['signer', signer]);
  const columns = [facts.map(([name]) => name), facts.map(([, value]) => value)];
  try {
    await database.inTransaction(WRITER, (transaction) => transaction.change(BEGIN, columns));
  } catch (cause) {
    if (!(cause instanceof Error && 'code' in cause && cause.code === UNIQUE_VIOLATION)) throw cause;
    throw new StartError('another process has just begun to use the database', { cause });
  }
}

export async function markCopy(database: Database, { state, copyId }: CopyMark): Promise<void> {
  await database.inTransaction(WRITER, (transaction) => transaction.change(SET, [`${state} ${copyId}`]));
}

/** Deletes the copied rows. Only the owner of the tables may: no serving role can remove an entry. */
export async function emptyTarget(owned: Database): Promise<void> {
  const tables = Object.keys(TENANT_TABLES).map((table) => `${SCHEMA}.${table}`);
  await orDenied(owned, async (client) => {
    await client.query(
      `BEGIN; TRUNCATE ${tables.join(', ')}; DELETE FROM ${SCHEMA}.meta WHERE name <> 'schema_version'; COMMIT`,
    );
  });
}

/** Updates the statistics of the new tables, which determine how they are read. */
export async function analyze(owned: Database): Promise<void> {
  await owned.plainly(async (client) => {
    for (const table of Object.keys(TENANT_TABLES)) await client.query(`ANALYZE ${SCHEMA}.${table}`);
  });
}

async function orDenied(owned: Database, work: (client: PoolClient) => Promise<void>): Promise<void> {
  try {
    await owned.plainly(work);
  } catch (cause) {
    if (!isDenied(cause)) throw cause;
    throw new StartError(
      `what was copied before has to be thrown away, and the user may not (${cause.message}): give Storage__OwnerUrl`,
      { cause },
    );
  }
}
