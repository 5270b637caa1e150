// A log as it was last signed: the contents of its newest checkpoint, and the tree that grows from there. Every backend
// rebuilds that tree from its stored hashes, and continues only if it has the signed root.

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
import type { LogIdentity } from '../rows/log-identity.ts';

type AnyLog = LogIdentity<unknown>;

/** The contents of a stored checkpoint; undefined for an unreadable one. Its signature is verified elsewhere. */
export function headIn(note: string): Pick<Checkpoint, 'size' | 'root'> | undefined {
  try {
    const { size, root } = parseCheckpoint(parseNote(note).text);
    return { size, root };
  } catch (error) {
    if (error instanceof EvidenceError) return undefined;
    throw error;
  }
}

/** The stored state of a current log; throws EvidenceError if its checkpoint has another size than its row. */
export function standingOf(
  tenant: TenantId,
  { origin, epoch, firstIndex }: AnyLog,
  entries: number,
  latest: StoredCheckpoint | undefined,
): Standing {
  const checkpoint = latest && headIn(latest.note);
  if (checkpoint !== undefined && checkpoint.size !== latest?.size)
    throw new EvidenceError('ROOT_MISMATCH', `its checkpoint of ${latest?.size} is of ${checkpoint.size}`);
  return { tenant, origin, epoch, firstIndex, entries, checkpoint };
}

/** The standing of an unreadable log. */
export function unreadableStanding(tenant: TenantId, origin: string, fault: string): Standing {
  return { tenant, origin, epoch: 0, firstIndex: 0, entries: 0, checkpoint: undefined, fault };
}

/** The row of an epoch alone would excuse any loss: the entry that announces it must exist. */
export function requireBegun({ epoch, origin, genesis }: AnyLog, first: Uint8Array | undefined): void {
  if (epoch === 0) return;
  const entry = first && decodeEntry(first);
  if (entry?.kind === KINDS.newEpoch && equalBytes(entry.previous, genesis)) return;
  throw new EvidenceError('NOTICE_INVALID', `${origin} does not begin as its epoch says`);
}

/** The tree of a log that was never signed. */
export function unsignedTree({ origin, genesis }: AnyLog): TreeState {
  return { origin, range: new CompactRange(), previous: genesis };
}

/** The perfect subtrees of a tree of this size. */
export function subtreesAt(size: number, read: HashReader): Uint8Array[] {
  return subtreesOf({ begin: 0, end: size }).map(({ level, index }) => read(level, index));
}

/** The tree as it was last signed, from its stored subtrees and its last leaf. */
export function signedTree(
  { origin }: AnyLog,
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
