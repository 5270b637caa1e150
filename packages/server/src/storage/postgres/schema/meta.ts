// The rows of `meta`: facts about the whole installation, each written once and never changed.

import {
  type Installation,
  installationIn,
  newInstallation,
  requireOrigin,
  type WantedInstallation,
} from '../../installation.ts';
import { textIn } from '../../rows/columns.ts';
import { COPY_NAME, markIn, requireWhole } from '../copy/copy-mark.ts';
import { type Database, type DatabaseScope, type Row, statement } from '../connection/database.ts';

const READER: DatabaseScope = { role: 'Reader', tenants: [] };
const WRITER: DatabaseScope = { role: 'Writer', tenants: [] };

const READ = statement(
  `SELECT name, value FROM meta WHERE name IN ('installation_id', 'log_origin', '${COPY_NAME}')`,
);
// Both in one statement and in this order: a concurrent node waits at the first row, and then adds none.
const SETTLE = statement(
  `INSERT INTO meta (name, value) VALUES ('installation_id', $1), ('log_origin', $2) ON CONFLICT (name) DO NOTHING`,
);

/**
 * The facts of this installation, fixed by the first node; a different `logOrigin` is a StartError. So is a database
 * with a partial copy: a copy settles the installation before anything else.
 */
export async function settleInstallation(
  database: Database,
  wanted: WantedInstallation,
): Promise<Installation> {
  let rows = await database.read(READER, READ);
  if (installationIn(rows) === undefined) rows = await create(database, wanted);
  requireWhole(markIn(rows));
  const settled = installationIn(rows);
  if (settled === undefined) throw new Error('the installation was settled and is not there');
  requireOrigin(settled, wanted);
  return settled;
}

export async function readInstallation(
  database: Database,
  scope: DatabaseScope = READER,
): Promise<Installation | undefined> {
  return installationIn(await database.read(scope, READ));
}

async function create(database: Database, wanted: WantedInstallation): Promise<Row[]> {
  const { installationId, logOrigin } = newInstallation(wanted);
  return database.inTransaction(WRITER, async (transaction) => {
    await transaction.change(SETTLE, [installationId, logOrigin]);
    return transaction.query(READ);
  });
}

const SETTLED = statement('SELECT value FROM meta WHERE name = $1');
const SETTLE_ONE = statement('INSERT INTO meta (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING');

/** The key that signs here: two services with different keys would both sign the same logs. */
export async function settleSigner(database: Database, fingerprint: string): Promise<string> {
  return settle(database, 'signer', fingerprint);
}

/** A key of the keyring of this store: nodes with different ones could not read each other's events. */
export async function settleKeyring(database: Database, ringKey: string): Promise<string> {
  return settle(database, 'keyring', ringKey);
}

async function settle(database: Database, name: string, value: string): Promise<string> {
  const [row] = await database.inTransaction(WRITER, async (transaction) => {
    await transaction.change(SETTLE_ONE, [name, value]);
    return transaction.query(SETTLED, [name]);
  });
  return textIn(row, 'value');
}
