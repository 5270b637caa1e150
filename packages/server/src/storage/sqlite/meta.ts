// The rows of `meta`: facts about the installation as a whole, each written once and frozen.
// `installation_id` is a ULID; `log_origin` is the name under which every log of this installation is signed.

import type { DatabaseSync } from 'node:sqlite';
import { StartError } from '../../start-error.ts';
import { inTransaction } from './database.ts';

export interface Installation {
  readonly installationId: string;
  readonly logOrigin: string;
}

/** The facts of this installation, settled by whoever comes first; a `logOrigin` that differs is a StartError. */
export function settleInstallation(
  db: DatabaseSync,
  wanted: { readonly logOrigin: string | undefined; readonly nextId: () => string },
): Installation {
  const settled = readInstallation(db) ?? inTransaction(db, () => readInstallation(db) ?? create(db, wanted));
  if (wanted.logOrigin !== undefined && wanted.logOrigin !== settled.logOrigin) {
    throw new StartError(
      `Log__Origin is ${wanted.logOrigin}; this installation has signed as ${settled.logOrigin} since its first start, and that cannot change`,
    );
  }
  return settled;
}

export function readInstallation(db: DatabaseSync): Installation | undefined {
  const rows = db.prepare("SELECT name, value FROM meta WHERE name IN ('installation_id', 'log_origin')");
  const values = new Map(rows.all().map(({ name, value }) => [name, value]));
  const installationId = values.get('installation_id');
  const logOrigin = values.get('log_origin');
  if (typeof installationId !== 'string' || typeof logOrigin !== 'string') return undefined;
  return { installationId, logOrigin };
}

function create(
  db: DatabaseSync,
  { logOrigin, nextId }: { readonly logOrigin: string | undefined; readonly nextId: () => string },
): Installation {
  const installationId = nextId();
  const installation = { installationId, logOrigin: logOrigin ?? `tallystick.local/${installationId}` };
  const insert = db.prepare('INSERT INTO meta (name, value) VALUES (?, ?)');
  insert.run('installation_id', installation.installationId);
  insert.run('log_origin', installation.logOrigin);
  return installation;
}
