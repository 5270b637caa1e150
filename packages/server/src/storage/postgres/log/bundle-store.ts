// The contents of a bundle, from a database.

import type { TenantId } from '@tallystick/contract';
import { StartError } from '../../../start-error.ts';
import type { BundleStore, OpenBundleStore } from '../../bundle-store.ts';
import { numberOf, textIn } from '../../rows/columns.ts';
import type { LogIdentity } from '../../rows/log-identity.ts';
import { streamIn } from '../../rows/stream-row.ts';
import type { SealedRows } from '../../sealing/sealed-rows.ts';
import { type OpenSealing, sealingWith } from '../../sealing/sealing.ts';
import { ringKeysIn } from '../records/tenant-keys.ts';
import { statement, VERIFIER } from '../connection/database.ts';
import { EvidenceTables } from './evidence-tables.ts';
import { logIn } from './log-row.ts';
import { readInstallation } from '../schema/meta.ts';
import { STREAMS } from './stream-rows.ts';
import type { Statements } from '../connection/by-tenant.ts';
import { singleStatements, storedTrees, TreeTables } from '../tree/tree-tables.ts';
import { openForVerifying, verifiedState } from '../verified-state.ts';

const STREAM = statement(`${STREAMS} WHERE this.tenant_id = $1 AND this.stream_id = $2`);
const END = statement(
  `SELECT coalesce((SELECT min(first_index) FROM epochs WHERE tenant_id = $1 AND epoch > $2),
     (SELECT max(leaf_index) + 1 FROM entries WHERE tenant_id = $1), 0) AS end`,
);
const PREVIOUS = statement('SELECT previous_checkpoint FROM epochs WHERE tenant_id = $1 AND epoch = $2');

/** Throws StartError. */
export async function openBundleStore(
  { url, setting }: { readonly url: string; readonly setting: string },
  tenant: TenantId,
  openSealing: OpenSealing,
): Promise<OpenBundleStore<LogIdentity>> {
  await using opening = new AsyncDisposableStack();
  const database = opening.use(await openForVerifying(url, setting));
  const installation = await readInstallation(database, VERIFIER);
  if (installation === undefined) throw new StartError('no service was started on the database');
  const { logOrigin } = installation;
  const sealing = opening.use(sealingWith(await openSealing(await ringKeysIn(database, VERIFIER))));
  const opened = opening.move();
  return {
    now: storeIn(singleStatements(database, VERIFIER), logOrigin, tenant, sealing.rows),
    async inOneState() {
      const state = opened.use(await verifiedState(database));
      return storeIn(state, logOrigin, tenant, sealing.rows);
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

function storeIn(
  statements: Statements,
  logOrigin: string,
  tenant: TenantId,
  sealed: SealedRows,
): BundleStore<LogIdentity> {
  const trees = new TreeTables(logOrigin);
  const tables = new EvidenceTables(sealed);
  return {
    ...storedTrees(trees, statements, tenant),
    async stream(streamId) {
      const [row] = await statements.query(STREAM, [tenant, streamId]);
      return row && streamIn(row, logIn(row, tenant, logOrigin));
    },
    endOf: async ({ epoch }) => numberOf((await statements.query(END, [tenant, epoch]))[0], 'end'),
    evidence: (first, end) => tables.range(statements, tenant, first, end, end - first),
    entries: (log, index, count) => trees.entries(statements, log, index, count),
    async previousCheckpoint({ epoch }) {
      const [row] = await statements.query(PREVIOUS, [tenant, epoch]);
      return row && textIn(row, 'previous_checkpoint');
    },
  };
}
