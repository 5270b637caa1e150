// A log as it was last signed: what its newest checkpoint says, and the tree from which it grows on. Every backend makes
// that tree again from what it has stored, and goes on only if it has the root that was signed.

import type { TenantId } from '@tallystick/contract';
import {
  type Checkpoint,
  CompactRange,
  decodeEntry,
  equalBytes,
  EvidenceError,
  type HashReader,
  KINDS,
  parseCheckpoint,
  parseNote,
  subtreesOf,
} from '@tallystick/evidence';
import type { Standing, StoredCheckpoint } from '../../streams/tree.ts';
import type { TreeState } from './growing-tree.ts';
import type { LogIdentity } from '../rows/log-place.ts';

type Place = LogIdentity<unknown>;

/** What a stored checkpoint says; undefined for one that cannot be read. Its signature is for others to verify. */
export function headIn(note: string): Pick<Checkpoint, 'size' | 'root'> | undefined {
  try {
    const { size, root } = parseCheckpoint(parseNote(note).text);
    return { size, root };
  } catch (error) {
    if (error instanceof EvidenceError) return undefined;
    throw error;
  }
}

/** What is stored of a log that is written to now; throws EvidenceError where its checkpoint is not of its size. */
export function standingOf(
  tenant: TenantId,
  { origin, epoch, firstIndex }: Place,
  entries: number,
  latest: StoredCheckpoint | undefined,
): Standing {
  const checkpoint = latest && headIn(latest.note);
  if (checkpoint !== undefined && checkpoint.size !== latest?.size)
    throw new EvidenceError('ROOT_MISMATCH', `its checkpoint of ${latest?.size} is of ${checkpoint.size}`);
  return { tenant, origin, epoch, firstIndex, entries, checkpoint };
}

/** Of one that cannot be told. */
export function unreadableStanding(tenant: TenantId, origin: string, fault: string): Standing {
  return { tenant, origin, epoch: 0, firstIndex: 0, entries: 0, checkpoint: undefined, fault };
}

/** The row of an epoch alone would excuse whatever is missing: the entry that says so must be there. */
export function requireBegun({ epoch, origin, genesis }: Place, first: Uint8Array | undefined): void {
  if (epoch === 0) return;
  const entry = first && decodeEntry(first);
  if (entry?.kind === KINDS.newEpoch && equalBytes(entry.previous, genesis)) return;
  throw new EvidenceError('NOTICE_INVALID', `${origin} does not begin as its epoch says`);
}

/** Of a log that was never signed. */
export function unsignedTree({ origin, genesis }: Place): TreeState {
  return { origin, range: new CompactRange(), previous: genesis };
}

/** The subtrees of which a tree of this size consists. */
export function subtreesAt(size: number, read: HashReader): Uint8Array[] {
  return subtreesOf({ begin: 0, end: size }).map(({ level, index }) => read(level, index));
}

/** The tree as it was last signed, of its subtrees and the leaf that it ends with, as they are stored. */
export function signedTree(
  { origin }: Place,
  { size, note }: StoredCheckpoint,
  subtrees: readonly Uint8Array[],
  lastLeaf: Uint8Array | undefined,
): TreeState {
  const signed = headIn(note);
  const bytes = Uint8Array.from(Buffer.concat(subtrees));
  const range = CompactRange.restore({ begin: 0, end: size, bytes });
  if (signed?.size !== size || !equalBytes(range.root(), signed.root))
    throw new EvidenceError('ROOT_MISMATCH', `the first ${size} entries are not those that were signed`);
  if (lastLeaf === undefined)
    throw new EvidenceError('TRUNCATED', `entry ${size - 1}, which was signed, is not there`);
  return { origin, range, previous: lastLeaf };
}
