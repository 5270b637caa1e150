// Proofs in one piece: everything that one is made of comes from one state of the store, by one question. What is handed
// out verifies against the checkpoint that it is made under; what does not was changed in the store.

import type { DatabaseSync } from 'node:sqlite';
import type { TenantId } from '@tallystick/contract';
import {
  decodeEntry,
  equalBytes,
  EvidenceError,
  HASH_BYTES,
  leafHash,
  parseCheckpoint,
  parseNote,
  proveConsistency,
  treeRoot,
  verifyInclusion,
} from '@tallystick/evidence';
import type {
  AlteredEvent,
  ProofWish,
  ProvenEvent,
  ProvenGrowth,
  StoredCheckpoint,
  StoredEvidence,
} from '../../streams/tree.ts';
import { inOneState } from './database.ts';
import type { EvidenceTables } from './evidence-tables.ts';
import type { LogPlace, TreeTables } from './tree-tables.ts';

interface ProofTables {
  readonly db: DatabaseSync;
  readonly trees: TreeTables;
  readonly evidence: EvidenceTables;
}

export function proveEvent(
  { db, trees, evidence: tables }: ProofTables,
  tenant: TenantId,
  { eventId, visible, preferred }: ProofWish,
): ProvenEvent | AlteredEvent | undefined {
  return inOneState(db, () => {
    const evidence = tables.one(tenant, eventId, visible);
    if (evidence === undefined || 'fault' in evidence) return evidence;
    const log = requireLog(trees.log(tenant, evidence.index), tenant);
    const { index } = decodeEntry(evidence.entry);
    // No checkpoint may ever cover the place that it was moved to.
    if (index !== evidence.index - log.firstIndex)
      return { index: evidence.index, fault: `its entry is of ${index}` };
    const head = trees.headOf(log);
    const least = index + 1;
    const wanted = preferred.find(({ epoch, size }) => epoch === log.epoch && size >= least);
    const known = wanted === undefined ? undefined : trees.checkpoint(log, wanted.size);
    const checkpoint = known ?? head.latest;
    if (checkpoint === undefined || checkpoint.size < least) return { head, evidence, under: undefined };
    try {
      return { head, evidence, under: { checkpoint, hashes: inclusion(trees, log, evidence, checkpoint) } };
    } catch (error) {
      if (!(error instanceof EvidenceError)) throw error;
      return { index: evidence.index, fault: error.message };
    }
  });
}

export function proveGrowth(
  { db, trees }: ProofTables,
  tenant: TenantId,
  from: number,
  wantedTo: number | undefined,
): ProvenGrowth | undefined {
  return inOneState(db, () => {
    const log = trees.log(tenant);
    if (log === undefined) return undefined;
    const head = trees.headOf(log);
    const newest = head.latest?.size ?? 0;
    const to = wantedTo ?? newest;
    if (from < 1 || from > to || to > newest) return { head, proof: undefined };
    const read = trees.hashes(log, to);
    const toRoot = treeRoot(to, read);
    const checkpoint = to === newest ? head.latest : trees.checkpoint(log, to);
    if (checkpoint !== undefined && !equalBytes(rootIn(checkpoint), toRoot)) {
      throw new EvidenceError(
        'ROOT_MISMATCH',
        `the tree of ${log.origin} is not what was signed at size ${to}`,
      );
    }
    // The older tree is made of subtrees that the newer one has too: no tile of its own has to be read.
    const fromRoot = treeRoot(from, read);
    const hashes = inOneBuffer(proveConsistency(from, to, read));
    return { head, proof: { fromRoot: fromRoot.slice(), toRoot: toRoot.slice(), hashes, checkpoint } };
  });
}

/** Throws unless it leads to the root that was signed. */
function inclusion(
  trees: TreeTables,
  log: LogPlace,
  { entry }: StoredEvidence,
  checkpoint: StoredCheckpoint,
): Uint8Array[] {
  const { index } = decodeEntry(entry);
  const { size } = checkpoint;
  const hashes = inOneBuffer(trees.inclusion(log, index, size));
  verifyInclusion({ leaf: leafHash(entry), index, size, proof: hashes, root: rootIn(checkpoint) });
  return hashes;
}

function rootIn({ note }: StoredCheckpoint): Uint8Array {
  return parseCheckpoint(parseNote(note).text).root;
}

/** Hashes are views into tiles, and a view that goes to another thread takes all of its tile along. */
function inOneBuffer(hashes: readonly Uint8Array[]): Uint8Array[] {
  const bytes = new Uint8Array(hashes.length * HASH_BYTES);
  return hashes.map((hash, i) => {
    bytes.set(hash, i * HASH_BYTES);
    return bytes.subarray(i * HASH_BYTES, (i + 1) * HASH_BYTES);
  });
}

function requireLog(log: LogPlace | undefined, tenant: TenantId): LogPlace {
  if (log === undefined) throw new Error(`${tenant} has an event and no log`);
  return log;
}
