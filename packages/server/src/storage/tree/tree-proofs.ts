// Proofs from one state of the store: all parts are read by one query. A proof that is returned verifies against its
// checkpoint; if it does not, the store was changed.

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
  proveInclusion,
  treeRoot,
  verifyInclusion,
} from '@tallystick/evidence';
import type {
  AlteredEvent,
  ProofRequest,
  ProvenEvent,
  ProvenGrowth,
  StoredCheckpoint,
  StoredEvidence,
} from '../../streams/tree.ts';
import { type Awaitable, awaited, type Resumable } from '../resumable.ts';
import { headOf, type LogIdentity } from '../rows/log-identity.ts';
import type { StoredTrees } from './stored-trees.ts';

type AnyLog = LogIdentity<unknown>;

/** Reads from one state of the store while one proof is made. */
export interface ProofStore<Log extends AnyLog> extends StoredTrees<Log> {
  /** Includes an event whose text has a visible classification even if its column does not. */
  evidence(request: ProofRequest): Awaitable<StoredEvidence | AlteredEvent | undefined>;
}

export function* proveEvent<Log extends AnyLog>(
  store: ProofStore<Log>,
  tenant: TenantId,
  request: ProofRequest,
): Resumable<ProvenEvent | AlteredEvent | undefined> {
  const evidence = yield* awaited(store.evidence(request));
  if (evidence === undefined || 'fault' in evidence) return evidence;
  const log = yield* awaited(store.log(evidence.index));
  if (log === undefined) throw new Error(`${tenant} has an event and no log`);
  const { index } = decodeEntry(evidence.entry);
  // No checkpoint may ever cover the index that it was moved to.
  if (index !== evidence.index - log.firstIndex)
    return { index: evidence.index, fault: `its entry is of ${index}` };
  const head = headOf(log, yield* awaited(store.latest(log)));
  const least = index + 1;
  const wanted = request.preferred.find(({ epoch, size }) => epoch === log.epoch && size >= least);
  const known = wanted === undefined ? undefined : yield* awaited(store.checkpoint(log, wanted.size));
  const checkpoint = known ?? head.latest;
  if (checkpoint === undefined || checkpoint.size < least) return { head, evidence, under: undefined };
  try {
    const hashes = yield* inclusion(store, log, evidence, checkpoint);
    return { head, evidence, under: { checkpoint, hashes } };
  } catch (error) {
    if (!(error instanceof EvidenceError)) throw error;
    return { index: evidence.index, fault: error.message };
  }
}

export function* proveGrowth<Log extends AnyLog>(
  store: StoredTrees<Log>,
  from: number,
  wantedTo: number | undefined,
): Resumable<ProvenGrowth | undefined> {
  const log = yield* awaited(store.log());
  if (log === undefined) return undefined;
  const head = headOf(log, yield* awaited(store.latest(log)));
  const newest = head.latest?.size ?? 0;
  const to = wantedTo ?? newest;
  if (from < 1 || from > to || to > newest) return { head, proof: undefined };
  // The older tree consists of subtrees that the newer one has too: no tile of its own is needed.
  const made = store.made(log, to, (read) => ({
    fromRoot: treeRoot(from, read).slice(),
    toRoot: treeRoot(to, read).slice(),
    hashes: inOneBuffer(proveConsistency(from, to, read)),
  }));
  const proof = yield* awaited(made);
  const checkpoint = to === newest ? head.latest : yield* awaited(store.checkpoint(log, to));
  if (checkpoint !== undefined && !equalBytes(rootIn(checkpoint), proof.toRoot)) {
    throw new EvidenceError(
      'ROOT_MISMATCH',
      `the tree of ${log.origin} is not what was signed at size ${to}`,
    );
  }
  return { head, proof: { ...proof, checkpoint } };
}

/** Throws unless it leads to the signed root. */
function* inclusion<Log extends AnyLog>(
  store: ProofStore<Log>,
  log: Log,
  { entry }: StoredEvidence,
  checkpoint: StoredCheckpoint,
): Resumable<Uint8Array[]> {
  const { index } = decodeEntry(entry);
  const { size } = checkpoint;
  const made = store.made(log, size, (read) => inOneBuffer(proveInclusion(index, size, read)));
  const hashes = yield* awaited(made);
  verifyInclusion({ leaf: leafHash(entry), index, size, proof: hashes, root: rootIn(checkpoint) });
  return hashes;
}

function rootIn({ note }: StoredCheckpoint): Uint8Array {
  return parseCheckpoint(parseNote(note).text).root;
}

/** Hashes are views into tiles, and passing a view to another thread copies its whole tile. */
function inOneBuffer(hashes: readonly Uint8Array[]): Uint8Array[] {
  const bytes = new Uint8Array(hashes.length * HASH_BYTES);
  return hashes.map((hash, i) => {
    bytes.set(hash, i * HASH_BYTES);
    return bytes.subarray(i * HASH_BYTES, (i + 1) * HASH_BYTES);
  });
}
