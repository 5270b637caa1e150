// Proofs from the database, each from one state of it.

import type { TenantId } from '@tallystick/contract';
import type { AlteredEvent, ProofRequest, ProvenEvent, ProvenGrowth } from '../../../streams/tree.ts';
import { runAsync } from '../../resumable.ts';
import type { LogIdentity } from '../../rows/log-identity.ts';
import type { StoredTrees } from '../../tree/stored-trees.ts';
import * as proofs from '../../tree/tree-proofs.ts';
import type { Statements } from '../connection/by-tenant.ts';
import type { Database } from '../connection/database.ts';
import type { EvidenceTables } from '../log/evidence-tables.ts';
import { readerOf, type SignedLog, storedTrees, type TreeTables } from './tree-tables.ts';

interface ProofTables {
  readonly database: Database;
  readonly trees: TreeTables;
  readonly evidence: EvidenceTables;
}

export async function proveEvent(
  { database, trees, evidence }: ProofTables,
  tenant: TenantId,
  request: ProofRequest,
): Promise<ProvenEvent | AlteredEvent | undefined> {
  return database.inOneState(readerOf(tenant), (statements) => {
    const store = {
      ...treesInOneState(trees, statements, tenant),
      evidence: (one: ProofRequest) => evidence.one(statements, tenant, one),
    };
    return runAsync(proofs.proveEvent(store, tenant, request));
  });
}

export async function proveGrowth(
  { database, trees }: ProofTables,
  tenant: TenantId,
  from: number,
  to: number | undefined,
): Promise<ProvenGrowth | undefined> {
  return database.inOneState(readerOf(tenant), (statements) =>
    runAsync(proofs.proveGrowth(treesInOneState(trees, statements, tenant), from, to)),
  );
}

/** The newest checkpoint is read with its log, and stays the newest within one state. */
function treesInOneState(
  tables: TreeTables,
  statements: Statements,
  tenant: TenantId,
): StoredTrees<LogIdentity> {
  let found: SignedLog | undefined;
  return {
    ...storedTrees(tables, statements, tenant),
    async log(index) {
      found = await tables.signedLog(statements, tenant, index);
      return found?.log;
    },
    latest: (log) => (found?.log === log ? found.latest : tables.latest(statements, log)),
  };
}
