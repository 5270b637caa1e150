// The tree of the call's tenant, for proofs: only if the log is not refused, and for a new log as soon as it has a
// checkpoint. An event is proven under the newest checkpoint that witnesses have cosigned, or under the newest of all
// if none of these covers it.

import { ok as assert } from 'node:assert/strict';
import { AuditError, type Classification, ERRORS, type EventId, type TenantId } from '@tallystick/contract';
import { EMPTY_ROOT } from '@tallystick/evidence';
import type { Call } from '../../call.ts';
import type { Signing } from '../../keys/signing.ts';
import type { Checkpointer } from './checkpointer.ts';
import type { NewestWitnessed } from '../witness/newest-witnessed.ts';
import { refusedLog } from './refused-log.ts';
import type { AlteredEvent, LogTree, NamedLog, ProvenEvent, StoredCheckpoint, TreeReader } from '../tree.ts';

export interface ProvableParts {
  readonly trees: TreeReader;
  readonly checkpointer: Pick<Checkpointer, 'covers' | 'refusalOf'>;
  readonly signing: Pick<Signing, 'sign' | 'verifierKeys'>;
  readonly newestWitnessed: NewestWitnessed;
}

type CoverParts = Omit<ProvableParts, 'newestWitnessed'>;

/** A log with the checkpoint that covers everything said about it. */
export interface ProvableLog {
  readonly tree: LogTree;
  readonly checkpoint: StoredCheckpoint;
}

/** An event that is proven under a checkpoint. */
export type ProvableEvent = ProvenEvent & { readonly under: NonNullable<ProvenEvent['under']> };

export async function treeOf({ tenant, tenantRecord }: Call, { trees, checkpointer }: CoverParts) {
  assert(tenant !== undefined, 'a log belongs to a tenant');
  const tree = tenantRecord === undefined ? undefined : await trees.forTenant(tenant).tree();
  if (tree === undefined) throw new AuditError('TENANT_NOT_FOUND', ERRORS.TENANT_NOT_FOUND.meaning);
  requireSound(tenant, checkpointer);
  return tree;
}

/** A proof from a refused log, or a seal in it, might contradict earlier proofs. */
export function requireSound(tenant: TenantId, checkpointer: Pick<Checkpointer, 'refusalOf'>): void {
  const refusal = checkpointer.refusalOf(tenant);
  if (refusal !== undefined) throw refusedLog(tenant, refusal);
}

/** The newest checkpoint; for a log without entries, one that says so. */
export async function latestOf(call: Call, parts: CoverParts): Promise<ProvableLog> {
  const tree = await treeOf(call, parts);
  const known = await tree.latest();
  if (known !== undefined) return { tree, checkpoint: known };
  if (
    (await parts.trees.forTenant(call.tenant!).evidenceRange(tree.firstIndex, tree.firstIndex + 1, 1))
      .length === 0
  ) {
    const note = parts.signing.sign({ origin: tree.origin, size: 0, root: EMPTY_ROOT });
    return { tree, checkpoint: { note, size: 0, publishedAtMs: 0 } };
  }
  return covering(call, tree.firstIndex, parts);
}

/** The newest checkpoint of the log that holds this index of the tenant's sequence, once it covers the index. */
export async function covering(call: Call, index: number, parts: CoverParts): Promise<ProvableLog> {
  const current = await treeOf(call, parts);
  const tree =
    index < current.firstIndex ? (await parts.trees.forTenant(call.tenant!).tree(index))! : current;
  const size = index - tree.firstIndex + 1;
  const known = await tree.latest();
  if (known !== undefined && known.size >= size) return { tree, checkpoint: known };
  await untilCovered(call, { log: tree, current, size }, parts);
  const checkpoint = await tree.latest();
  assert(checkpoint !== undefined && checkpoint.size >= size, 'a checkpoint covers the size after the wait');
  return { tree, checkpoint };
}

/** A log that ended with a restore gets no more checkpoints. */
async function untilCovered(
  { tenant, deadline }: Call,
  { log, current, size }: { readonly log: NamedLog; readonly current: NamedLog; readonly size: number },
  { trees, checkpointer }: CoverParts,
): Promise<void> {
  if (log.epoch !== current.epoch) {
    throw new AuditError(
      'EVENT_NOT_FOUND',
      `There is no proof of this event, and there will be none: it was never signed under ${log.origin}, and after a ` +
        `restore the log goes on as ${current.origin}.`,
    );
  }
  const isPublished = async () =>
    ((await trees.forTenant(tenant!).head(log.firstIndex))?.latest?.size ?? 0) >= size;
  await checkpointer.covers({ tenant: tenant!, size, deadline }, isPublished);
}

/** Undefined if there is no such event with a classification in `visible`. Waits until a checkpoint covers it. */
export async function proofOf(
  call: Call,
  { eventId, visible }: { readonly eventId: EventId; readonly visible: readonly Classification[] },
  parts: ProvableParts,
): Promise<ProvableEvent | AlteredEvent | undefined> {
  const { trees, newestWitnessed, checkpointer } = parts;
  const tenant = call.tenant!;
  const ask = () =>
    trees.forTenant(tenant).proveEvent({ eventId, visible, preferred: newestWitnessed.known(tenant) });
  let found = await ask();
  if (found === undefined) return undefined;
  requireSound(tenant, checkpointer);
  if ('fault' in found) return found;
  const { evidence, head } = found;
  const size = evidence.index - head.firstIndex + 1;
  if (found.under === undefined) {
    await untilCovered(call, { log: head, current: (await trees.forTenant(tenant).head())!, size }, parts);
    found = await ask();
  }
  if (await isWitnessedElsewhere(tenant, found, size, newestWitnessed)) found = await ask();
  if (found === undefined || 'fault' in found) return found;
  assert(found.under !== undefined, 'what was waited for is there');
  return { ...found, under: found.under };
}

/** Whether a better checkpoint exists than the one that was known when the proof was requested. */
async function isWitnessedElsewhere(
  tenant: TenantId,
  found: ProvenEvent | AlteredEvent | undefined,
  size: number,
  newestWitnessed: NewestWitnessed,
): Promise<boolean> {
  if (found === undefined || 'fault' in found || found.under === undefined) return false;
  const witnessedSize = await newestWitnessed.sizeOf(tenant, found.head);
  return witnessedSize >= size && witnessedSize !== found.under.checkpoint.size;
}
