// Where a tenant's logs part from what was anchored of them. The newest anchored head cannot tell that of a log that has
// less than was signed: those before it can, as far as the anchor still knows them.

import type { TenantId } from '@tallystick/contract';
import { CompactRange, equalBytes, EvidenceError, leafHash, toHex } from '@tallystick/evidence';
import type { AnchoredHead, AnchorHistory } from './anchor.ts';
import type { LogTree, TreeReader } from './tree.ts';

/** A size at which a log is not the one that was signed. */
export interface Parting {
  readonly origin: string;
  readonly size: number;
  readonly signedRoot: Uint8Array;
  /** Undefined where hashes or entries that it is made of are missing. */
  readonly root: Uint8Array | undefined;
}

export type PartingReader = Pick<TreeReader, 'tree'>;

/** So many entries are read at once. */
const LOT = 1000;

/**
 * In the log that is written to now and in all before it. Of each, the largest anchored size that it has is compared:
 * its root stands for all that is smaller. In the log that is written to now, what is not signed yet is left out.
 */
export async function findParting(
  tenant: TenantId,
  history: AnchorHistory,
  reader: PartingReader,
): Promise<Parting | undefined> {
  let endIndex: number | undefined;
  for (let log = await reader.tree(tenant); log !== undefined; ) {
    const heads = history.get(log.origin) ?? [];
    const signedSize = (await log.latest())?.size ?? 0;
    const entries = endIndex === undefined ? signedSize : endIndex - log.firstIndex;
    const head = heads.findLast(({ size }) => size <= entries);
    if (head !== undefined && head.size > 0) {
      const isSigned = head.size <= signedSize;
      const root = await (isSigned ? rootOf(log, head.size) : rootOfEntries(log, head.size));
      if (root === undefined || !equalBytes(root, head.root)) return partingAt(head, root);
    }
    endIndex = log.firstIndex;
    log = endIndex === 0 ? undefined : await reader.tree(tenant, endIndex - 1);
  }
  return undefined;
}

export function partingAt({ origin, size, root: signedRoot }: AnchoredHead, root?: Uint8Array): Parting {
  return { origin, size, signedRoot, root };
}

/** For people. */
export function partingMessage({ origin, size, signedRoot, root }: Parting): string {
  const found = root === undefined ? 'they have none, something is missing' : `theirs is ${toHex(root)}`;
  return `the first ${size} entries of ${origin} are not those that were signed with root ${toHex(signedRoot)}: ${found}`;
}

/** Undefined where hashes are missing: then it is not what was signed either. */
export async function rootOf(tree: LogTree | undefined, size: number): Promise<Uint8Array | undefined> {
  try {
    return await tree?.root(size);
  } catch (error) {
    if (error instanceof EvidenceError) return undefined;
    throw error;
  }
}

/** For what was not signed, of which there are no hashes of tiles. Undefined where an entry is missing. */
async function rootOfEntries(log: LogTree, size: number): Promise<Uint8Array | undefined> {
  const range = new CompactRange();
  while (range.size < size) {
    const wanted = Math.min(LOT, size - range.size);
    const lot = await log.entries(range.size, wanted);
    if (lot.length < wanted) return undefined;
    for (const entry of lot) range.append(leafHash(entry));
  }
  return range.root();
}
