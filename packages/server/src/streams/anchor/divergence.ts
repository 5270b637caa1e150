// Finds where a tenant's logs diverge from the anchor. The newest anchored head cannot show that for a log that is
// shorter; older heads can, as far as the anchor still has them.

import type { TenantId } from '@tallystick/contract';
import { CompactRange, equalBytes, EvidenceError, leafHash, toHex } from '@tallystick/evidence';
import type { LogTree, TreeHead, TreesWith } from '../tree.ts';
import type { AnchoredHead, AnchorHistory, ReadAnchor } from './anchor.ts';

/** A size at which a log differs from the signed one. */
export interface Divergence {
  readonly origin: string;
  readonly size: number;
  readonly signedRoot: Uint8Array;
  /** Undefined if hashes or entries are missing. */
  readonly root: Uint8Array | undefined;
}

const ENTRIES_AT_ONCE = 1000;

/**
 * Checks the current log and all earlier ones. For each, it compares the largest anchored size that the log reaches,
 * since its root covers all smaller sizes. Unsigned entries of the current log are left out.
 */
export async function findDivergence(
  tenant: TenantId,
  history: AnchorHistory,
  reader: TreesWith<'tree'>,
): Promise<Divergence | undefined> {
  const trees = reader.forTenant(tenant);
  let endIndex: number | undefined;
  for (let log = await trees.tree(); log !== undefined; ) {
    const heads = history.get(log.origin) ?? [];
    const signedSize = (await log.latest())?.size ?? 0;
    const entries = endIndex === undefined ? signedSize : endIndex - log.firstIndex;
    const head = heads.findLast(({ size }) => size <= entries);
    if (head !== undefined && head.size > 0) {
      const isSigned = head.size <= signedSize;
      const root = await (isSigned ? rootOf(log, head.size) : rootOfEntries(log, head.size));
      if (root === undefined || !equalBytes(root, head.root)) return divergenceAt(head, root);
    }
    endIndex = log.firstIndex;
    log = endIndex === 0 ? undefined : await trees.tree(endIndex - 1);
  }
  return undefined;
}

export function divergenceAt(
  { origin, size, root: signedRoot }: AnchoredHead,
  root?: Uint8Array,
): Divergence {
  return { origin, size, signedRoot, root };
}

/** A message for the operator. */
export function divergenceMessage({ origin, size, signedRoot, root }: Divergence): string {
  const found = root === undefined ? 'they have none, something is missing' : `theirs is ${toHex(root)}`;
  return `the first ${size} entries of ${origin} are not those that were signed with root ${toHex(signedRoot)}: ${found}`;
}

/** Tells the operator why these heads of a log must not be signed; undefined if no anchored head contradicts them. */
export function contradictionOf(
  heads: readonly TreeHead[],
  anchor: Pick<ReadAnchor, 'heads' | 'forks'>,
): string | undefined {
  for (const { origin, size, root } of heads) {
    const fork = anchor.forks().get(origin);
    if (fork !== undefined) return fork;
    const anchored = anchor.heads().get(origin);
    if (anchored?.size === size && !equalBytes(anchored.root, root))
      return `${divergenceMessage(divergenceAt(anchored, root))}.`;
  }
  return undefined;
}

/** Undefined if hashes are missing: then the log differs from the signed one as well. */
export async function rootOf(tree: LogTree | undefined, size: number): Promise<Uint8Array | undefined> {
  try {
    return await tree?.root(size);
  } catch (error) {
    if (error instanceof EvidenceError) return undefined;
    throw error;
  }
}

/** Unsigned entries have no tile hashes. Undefined if an entry is missing. */
async function rootOfEntries(log: LogTree, size: number): Promise<Uint8Array | undefined> {
  const range = new CompactRange();
  while (range.size < size) {
    const wanted = Math.min(ENTRIES_AT_ONCE, size - range.size);
    const entries = await log.entries(range.size, wanted);
    if (entries.length < wanted) return undefined;
    for (const entry of entries) range.append(leafHash(entry));
  }
  return range.root();
}
