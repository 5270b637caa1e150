// Proofs from the journal, each from one state of it.

import type { DatabaseSync } from 'node:sqlite';
import type { TenantId } from '@tallystick/contract';
import type { AlteredEvent, ProofWish, ProvenEvent, ProvenGrowth } from '../../../streams/tree.ts';
import { atOnce } from '../../answers.ts';
import * as proofs from '../../tree/tree-proofs.ts';
import { inOneState } from '../connection/database.ts';
import type { EvidenceTables } from '../log/evidence-tables.ts';
import { tenantTrees, type TreeTables } from './tree-tables.ts';

interface ProofTables {
  readonly db: DatabaseSync;
  readonly trees: TreeTables;
  readonly evidence: EvidenceTables;
}

export function proveEvent(
  { db, trees, evidence }: ProofTables,
  tenant: TenantId,
  wish: ProofWish,
): ProvenEvent | AlteredEvent | undefined {
  const store = {
    ...tenantTrees(trees, tenant),
    evidence: ({ eventId, visible }: ProofWish) => evidence.one(tenant, eventId, visible),
  };
  return inOneState(db, () => atOnce(proofs.proveEvent(store, tenant, wish)));
}

export function proveGrowth(
  { db, trees }: ProofTables,
  tenant: TenantId,
  from: number,
  to: number | undefined,
): ProvenGrowth | undefined {
  return inOneState(db, () => atOnce(proofs.proveGrowth(tenantTrees(trees, tenant), from, to)));
}
