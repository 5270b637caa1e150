// The contents of a bundle, from a journal.

import type { DatabaseSync } from 'node:sqlite';
import type { TenantId } from '@tallystick/contract';
import { StartError } from '../../../start-error.ts';
import type { BundleStore, OpenBundleStore } from '../../bundle-store.ts';
import { numberOf, textIn } from '../../rows/columns.ts';
import type { SealedRows } from '../../sealing/sealed-rows.ts';
import { type OpenSealing, sealingWith } from '../../sealing/sealing.ts';
import { ringKeysIn } from '../records/tenant-keys.ts';
import { openJournalForReading } from '../connection/database.ts';
import { LogTables } from './log-tables.ts';
import { readInstallation } from '../connection/meta.ts';
import { TreeReads } from '../tree/tree-reads.ts';
import { type LogIdentity, storedTrees } from '../tree/tree-tables.ts';

/** Throws StartError. */
export async function openBundleStore(
  directory: string,
  tenant: TenantId,
  openSealing: OpenSealing,
): Promise<OpenBundleStore<LogIdentity>> {
  using opening = new DisposableStack();
  const db = opening.use(openJournalForReading(directory));
  const installation = readInstallation(db);
  if (installation === undefined) throw new StartError(`no service was started on ${directory}`);
  const sealing = opening.use(sealingWith(await openSealing(ringKeysIn(db))));
  const store = storeIn(db, installation.logOrigin, tenant, sealing.rows);
  const opened = opening.move();
  return {
    now: store,
    inOneState() {
      db.exec('BEGIN');
      return store;
    },
    [Symbol.asyncDispose]: async () => opened.dispose(),
  };
}

function storeIn(
  db: DatabaseSync,
  logOrigin: string,
  tenant: TenantId,
  sealed: SealedRows,
): BundleStore<LogIdentity> {
  const { trees, evidence } = new TreeReads(db, logOrigin, sealed);
  const streams = new LogTables(db, logOrigin);
  const end = db.prepare(
    `SELECT coalesce((SELECT min(first_index) FROM epochs WHERE tenant = ?1 AND epoch > ?2),
       (SELECT max(leaf_index) + 1 FROM entries WHERE tenant = ?1), 0) AS end`,
  );
  const previous = db.prepare('SELECT previous_checkpoint FROM epochs WHERE tenant = ? AND epoch = ?');
  return {
    ...storedTrees(trees, tenant),
    stream: (streamId) => streams.stream(tenant, streamId),
    endOf: (log) => numberOf(end.get(log.tenant, log.epoch), 'end'),
    evidence: (first, endIndex) => evidence.range(tenant, first, endIndex, endIndex - first),
    entries: (log, index, count) => trees.entries(log, index, count),
    previousCheckpoint(log) {
      const row = previous.get(log.tenant, log.epoch);
      return row && textIn(row, 'previous_checkpoint');
    },
  };
}
