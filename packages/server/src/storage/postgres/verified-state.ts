// One state of a database, to verify it or make bundles of it while the service runs: read only, in a role that sees
// only evidence, over one connection.

import type { ComparedIndex } from '../event-index/store/compare.ts';
import type { SealedRows } from '../sealing/sealed-rows.ts';
import { Database, type OpenState, VERIFIER } from './connection/database.ts';
import { LogEvents } from './event-index/log-events.ts';
import { SegmentReads } from './event-index/segment-tables.ts';
import { readsIn } from './event-index/tenant-reads.ts';
import { requireVersion } from './schema/migrate.ts';
import { DATABASE_ROLES } from './schema/rights.ts';
import { userOf } from './connection/users.ts';

/** Counting all contents of a large database takes long, and only the caller waits for it. */
const ANSWER_MS_MAX = 24 * 60 * 60 * 1000;
/** The command may be suspended for a moment, or write to a slow disk. */
const IDLE_MS_MAX = 10 * 60 * 1000;

/** A database that can be verified; `setting` is the source of its URL. Throws StartError. */
export async function openForVerifying(url: string, setting: string): Promise<Database> {
  await using parts = new AsyncDisposableStack();
  const options = { url, connectionsMax: 1, answerMsMax: ANSWER_MS_MAX, idleMsMax: IDLE_MS_MAX };
  const database = parts.use(new Database(options));
  await userOf(database, setting);
  await requireVersion(database, [DATABASE_ROLES.Verifier]);
  parts.move();
  return database;
}

export function verifiedState(database: Database): Promise<OpenState> {
  return database.openState(VERIFIER);
}

/** The index as it is in that state. */
export function comparedIndex(state: OpenState, sealed: SealedRows): ComparedIndex {
  const reads = readsIn(state);
  return { store: new SegmentReads(reads), log: new LogEvents(reads, undefined, sealed) };
}
