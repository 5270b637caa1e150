// Proofs from the journal, each from one state of it.

import type { DatabaseSync } from 'node:sqlite';
import type { TenantId } from '@tallystick/contract';
import type { AlteredEvent, ProofRequest, ProvenEvent, ProvenGrowth } from '../../../streams/tree.ts';
import { runSync } from '../../resumable.ts';
import * as proofs from '../../tree/tree-proofs.ts';
import { inOneState } from '../connection/database.ts';
import type { EvidenceTables } from '../log/evidence-tables.ts';
import { storedTrees, type TreeTables } from './tree-tables.ts';

interface ProofTables {
  readonly db: DatabaseSync;
  readonly trees: TreeTables;
  readonly evidence: EvidenceTables;
}

export function proveEvent(
  { db, trees, evidence }: ProofTables,
  tenant: TenantId,
  request: ProofRequest,
): ProvenEvent | AlteredEvent | undefined {
  const store = {
    ...storedTrees(trees, tenant),
    evidence: ({ eventId, visible }: ProofRequest) => evidence.one(tenant, eventId, visible),
  };
  return inOneState(db, () => runSync(proofs.proveEvent(store, tenant, request)));
}

export function proveGrowth(
  { db, trees }: ProofTables,
  tenant: TenantId,
  from: number,
  to: number | undefined,
): ProvenGrowth | undefined {
  return inOneState(db, () => runSync(proofs.proveGrowth(storedTrees(trees, tenant), from, to)));
}
