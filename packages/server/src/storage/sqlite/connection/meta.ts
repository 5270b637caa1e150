// The rows of `meta`: facts about the whole installation, each written once and never changed.

import type { DatabaseSync } from 'node:sqlite';
import {
  type Installation,
  installationIn,
  newInstallation,
  requireOrigin,
  type WantedInstallation,
} from '../../installation.ts';
import { textIn } from '../../rows/columns.ts';
import { inTransaction } from './database.ts';

/** The facts of this installation, fixed by the first process; a different `logOrigin` is a StartError. */
export function settleInstallation(db: DatabaseSync, wanted: WantedInstallation): Installation {
  const settled = readInstallation(db) ?? inTransaction(db, () => readInstallation(db) ?? create(db, wanted));
  requireOrigin(settled, wanted);
  return settled;
}

export function readInstallation(db: DatabaseSync): Installation | undefined {
  const rows = db.prepare("SELECT name, value FROM meta WHERE name IN ('installation_id', 'log_origin')");
  return installationIn(rows.all());
}

function create(db: DatabaseSync, wanted: WantedInstallation): Installation {
  const installation = newInstallation(wanted);
  const insert = db.prepare('INSERT INTO meta (name, value) VALUES (?, ?)');
  insert.run('installation_id', installation.installationId);
  insert.run('log_origin', installation.logOrigin);
  return installation;
}

/** The fingerprint of the key that signs in this store: the first call decides. */
export function settleSigner(db: DatabaseSync, fingerprint: string): string {
  return settle(db, 'signer', fingerprint);
}

/** A key of the keyring of this store: the first call decides. */
export function settleKeyring(db: DatabaseSync, ringKey: string): string {
  return settle(db, 'keyring', ringKey);
}

function settle(db: DatabaseSync, name: string, value: string): string {
  db.prepare('INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT DO NOTHING').run(name, value);
  return textIn(db.prepare('SELECT value FROM meta WHERE name = ?').get(name), 'value');
}
