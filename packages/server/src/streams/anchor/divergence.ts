// Finds where a tenant's logs diverge from their anchored heads. The newest anchored head cannot tell that of a log that has
// less than was signed: those before it can, as far as the anchor still knows them.

import type { TenantId } from '@tallystick/contract';
import { CompactRange, equalBytes, EvidenceError, leafHash, toHex } from '@tallystick/evidence';
import type { LogTree, TreeHead, TreeReader } from '../tree.ts';
import type { AnchoredHead, AnchorHistory, ReadAnchor } from './anchor.ts';

/** A size at which a log is not the one that was signed. */
export interface Divergence {
  readonly origin: string;
  readonly size: number;
  readonly signedRoot: Uint8Array;
  /** Undefined where hashes or entries that it is made of are missing. */
  readonly root: Uint8Array | undefined;
}

const ENTRIES_AT_ONCE = 1000;

/**
 * Looks at the log that is written to now and at all before it. Of each, the largest anchored size that it has is compared:
 * its root stands for all that is smaller. In the log that is written to now, entries that are not signed yet are left out.
 */
export async function findDivergence(
  tenant: TenantId,
  history: AnchorHistory,
  reader: Pick<TreeReader, 'tree'>,
): Promise<Divergence | undefined> {
  let endIndex: number | undefined;
  for (let log = await reader.tree(tenant); log !== undefined; ) {
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
    log = endIndex === 0 ? undefined : await reader.tree(tenant, endIndex - 1);
  }
  return undefined;
}

export function divergenceAt(
  { origin, size, root: signedRoot }: AnchoredHead,
  root?: Uint8Array,
): Divergence {
  return { origin, size, signedRoot, root };
}

/** For people. */
export function divergenceMessage({ origin, size, signedRoot, root }: Divergence): string {
  const found = root === undefined ? 'they have none, something is missing' : `theirs is ${toHex(root)}`;
  return `the first ${size} entries of ${origin} are not those that were signed with root ${toHex(signedRoot)}: ${found}`;
}

/** Why not to sign these heads of one log, for people; undefined where nothing contradicts them that is anchored. */
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

/** Undefined where hashes are missing: then it is not the signed log either. */
export async function rootOf(tree: LogTree | undefined, size: number): Promise<Uint8Array | undefined> {
  try {
    return await tree?.root(size);
  } catch (error) {
    if (error instanceof EvidenceError) return undefined;
    throw error;
  }
}

/** Entries that were not signed have no hashes of tiles. Undefined where an entry is missing. */
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
