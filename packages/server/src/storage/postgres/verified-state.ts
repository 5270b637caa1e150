// One state of a database, for whoever verifies it or makes bundles of it, also while the service goes on: read only, in a
// role that sees evidence and nothing else, over one connection.

import { Database, type OpenState, VERIFIER } from './connection/database.ts';
import { requireVersion } from './schema/migrate.ts';
import { ROLES } from './schema/rights.ts';
import { userOf } from './connection/users.ts';

/** To count all contents of a large database takes long, and nobody waits for it but who has asked. */
const ANSWER_MS_MAX = 24 * 60 * 60 * 1000;
/** Whoever has stopped the command for a moment, or writes to a slow disk, goes on. */
const IDLE_MS_MAX = 10 * 60 * 1000;

/** A database that can be verified; `setting` says where its URL is from. Throws StartError. */
export async function openForVerifying(url: string, setting: string): Promise<Database> {
  await using parts = new AsyncDisposableStack();
  const options = { url, connectionsMax: 1, answerMsMax: ANSWER_MS_MAX, idleMsMax: IDLE_MS_MAX };
  const database = parts.use(new Database(options));
  await userOf(database, setting);
  await requireVersion(database, [ROLES.Verifier]);
  parts.move();
  return database;
}

export function verifiedState(database: Database): Promise<OpenState> {
  return database.openState(VERIFIER);
}
