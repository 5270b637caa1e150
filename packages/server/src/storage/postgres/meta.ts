// The rows of `meta`: facts about the installation as a whole, each written once and frozen.

import {
  type Installation,
  installationIn,
  newInstallation,
  requireOrigin,
  type WantedInstallation,
} from '../installation.ts';
import { textIn } from '../rows/columns.ts';
import { type Database, type Scope, statement } from './database.ts';

const READER: Scope = { role: 'Reader', tenants: [] };
const WRITER: Scope = { role: 'Writer', tenants: [] };

const READ = statement("SELECT name, value FROM meta WHERE name IN ('installation_id', 'log_origin')");
// Both in one statement and in this order: another node that comes at the same time waits at the first, and then adds none.
const SETTLE = statement(
  `INSERT INTO meta (name, value) VALUES ('installation_id', $1), ('log_origin', $2) ON CONFLICT (name) DO NOTHING`,
);

/** The facts of this installation, settled by whichever node comes first; a `logOrigin` that differs is a StartError. */
export async function settleInstallation(
  database: Database,
  wanted: WantedInstallation,
): Promise<Installation> {
  const settled = (await readInstallation(database)) ?? (await create(database, wanted));
  requireOrigin(settled, wanted);
  return settled;
}

export async function readInstallation(
  database: Database,
  scope: Scope = READER,
): Promise<Installation | undefined> {
  return installationIn(await database.read(scope, READ));
}

async function create(database: Database, wanted: WantedInstallation): Promise<Installation> {
  const { installationId, logOrigin } = newInstallation(wanted);
  const rows = await database.inTransaction(WRITER, async (transaction) => {
    await transaction.change(SETTLE, [installationId, logOrigin]);
    return transaction.query(READ);
  });
  const settled = installationIn(rows);
  if (settled === undefined) throw new Error('the installation was settled and is not there');
  return settled;
}

const SIGNER = statement("SELECT value FROM meta WHERE name = 'signer'");
const SETTLE_SIGNER = statement(
  "INSERT INTO meta (name, value) VALUES ('signer', $1) ON CONFLICT (name) DO NOTHING",
);

/** The key that signs here: two services with keys of their own would sign the same logs, each by its own. */
export async function settleSigner(database: Database, fingerprint: string): Promise<string> {
  const [row] = await database.inTransaction(WRITER, async (transaction) => {
    await transaction.change(SETTLE_SIGNER, [fingerprint]);
    return transaction.query(SIGNER);
  });
  return textIn(row, 'value');
}
