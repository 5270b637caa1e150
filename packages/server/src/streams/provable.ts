// The tree of the tenant whose log a call is about, for whoever proves something of it: only of a log that is not
// refused, and of a new one as soon as there is a checkpoint.

import { ok as assert } from 'node:assert/strict';
import { AuditError, ERRORS, type TenantId } from '@tallystick/contract';
import { EMPTY_ROOT } from '@tallystick/evidence';
import type { Call } from '../call.ts';
import type { Signing } from '../keys/signing.ts';
import type { Checkpointer } from './checkpointer.ts';
import type { LogTree, StoredCheckpoint, TreeReader } from './tree.ts';

export interface ProvableParts {
  readonly trees: TreeReader;
  readonly checkpointer: Pick<Checkpointer, 'covers' | 'refusalOf'>;
  readonly signing: Pick<Signing, 'sign' | 'verifierKeys'>;
}

/** A log with the checkpoint that everything said of it is under. */
export interface ProvableLog {
  readonly tree: LogTree;
  readonly checkpoint: StoredCheckpoint;
}

export async function treeOf({ tenant, tenantRecord }: Call, { trees, checkpointer }: ProvableParts) {
  assert(tenant !== undefined, 'a log belongs to a tenant');
  const tree = tenantRecord === undefined ? undefined : await trees.tree(tenant);
  if (tree === undefined) throw new AuditError('TENANT_NOT_FOUND', ERRORS.TENANT_NOT_FOUND.meaning);
  requireSound(tenant, checkpointer);
  return tree;
}

/** What would be proven of a refused log might contradict what was proven before. */
export function requireSound(tenant: TenantId, checkpointer: Pick<Checkpointer, 'refusalOf'>): void {
  const refusal = checkpointer.refusalOf(tenant);
  if (refusal !== undefined) {
    throw new AuditError('SERVICE_UNAVAILABLE', `The log of ${tenant} is refused: ${refusal}`);
  }
}

/** The newest checkpoint; of a log that nobody has written to, one that says so. */
export async function latestOf(call: Call, parts: ProvableParts): Promise<ProvableLog> {
  const tree = await treeOf(call, parts);
  const known = await tree.latest();
  if (known !== undefined) return { tree, checkpoint: known };
  if ((await parts.trees.evidenceRange(call.tenant!, tree.firstIndex, tree.firstIndex + 1, 1)).length === 0) {
    const note = parts.signing.sign({ origin: tree.origin, size: 0, root: EMPTY_ROOT });
    return { tree, checkpoint: { note, size: 0, publishedAtMs: 0 } };
  }
  return covering(call, tree.firstIndex, parts);
}

/**
 * A checkpoint that covers this index of the tenant's sequence, of the log that holds it: the newest one, or the next. A
 * log that ended with a restore gets no more of them.
 */
export async function covering(call: Call, index: number, parts: ProvableParts): Promise<ProvableLog> {
  const current = await treeOf(call, parts);
  const tree = index < current.firstIndex ? (await parts.trees.tree(call.tenant!, index))! : current;
  const size = index - tree.firstIndex + 1;
  const known = await tree.latest();
  if (known !== undefined && known.size >= size) return { tree, checkpoint: known };
  if (tree.epoch !== current.epoch) {
    throw new AuditError(
      'EVENT_NOT_FOUND',
      `There is no proof of this event, and there will be none: it was never signed under ${tree.origin}, and after a ` +
        `restore the log goes on as ${current.origin}.`,
    );
  }
  const isPublished = async () => ((await tree.latest())?.size ?? 0) >= size;
  await parts.checkpointer.covers({ tenant: call.tenant!, size, deadline: call.deadline }, isPublished);
  const checkpoint = await tree.latest();
  assert(checkpoint !== undefined && checkpoint.size >= size, 'what was waited for is there');
  return { tree, checkpoint };
}
