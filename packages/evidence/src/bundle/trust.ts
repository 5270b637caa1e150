// What a verifier is given to trust: the log's public key, and, where there are any, witnesses and a
// checkpoint that was seen before. Everything else comes from whoever is being checked.

import { equalBytes } from '../bytes.ts';
import { type Checkpoint, openCheckpoint } from '../note/checkpoint.ts';
import { verifyCosignatures } from '../note/cosignature.ts';
import { EvidenceError } from '../errors.ts';
import { verifyConsistency } from '../tree/tree-proof.ts';
import type { Verifier } from '../note/note.ts';

export interface Trust {
  /** The log's keys; their name is the log's origin. More than one while a key is being rotated. */
  verifiers: readonly Verifier[];
  witnesses?: { verifiers: readonly Verifier[]; countMin: number };
  /** An older checkpoint of the same log: what is verified now must extend it. */
  since?: Checkpoint;
  /** A consistency proof from that older checkpoint to the one being verified, where what is verified has none. */
  consistency?: readonly Uint8Array[];
  /** False for a reader who may see everything: nothing can then be withheld, only deleted. Default true. */
  allowWithheld?: boolean;
  /** For such a reader: the filter that was asked for. Default none: everything. */
  filter?: unknown;
}

export interface TrustedCheckpoint {
  checkpoint: Checkpoint;
  /** Names of the witnesses that have cosigned it. */
  cosignedBy: string[];
}

export async function openTrustedCheckpoint(
  note: string,
  origin: string,
  trust: Trust,
): Promise<TrustedCheckpoint> {
  if (trust.verifiers.length === 0) throw new EvidenceError('KEY_UNKNOWN', 'no key of the log was given');
  const checkpoint = await openCheckpoint(note, { origin, verifiers: trust.verifiers });
  if (trust.witnesses === undefined) return { checkpoint, cosignedBy: [] };
  const { verifiers: witnesses, countMin: witnessesMin } = trust.witnesses;
  const cosignatures = await verifyCosignatures(note, { witnesses, witnessesMin });
  const cosignedBy = [...new Set(cosignatures.map(({ name }) => name))];
  // One witness with two keys is one witness.
  if (cosignedBy.length < witnessesMin) {
    throw new EvidenceError(
      'WITNESS_MISSING',
      `${cosignedBy.length} witnesses cosigned; ${witnessesMin} must`,
    );
  }
  return { checkpoint, cosignedBy };
}

/**
 * Throws unless the log that `now` speaks of is the one that the older checkpoint spoke of, grown. `rootThen` is the
 * root that the log of now has at the older size, where what is verified shows it.
 */
export function verifyExtends(trust: Trust, now: Checkpoint, rootThen: Uint8Array | undefined): void {
  const { since: then, consistency } = trust;
  if (then === undefined) return;
  if (then.origin !== now.origin) {
    throw new EvidenceError(
      'ORIGIN_MISMATCH',
      `the older checkpoint is of ${then.origin}, not of ${now.origin}`,
    );
  }
  if (then.size > now.size) {
    throw new EvidenceError('ROLLBACK', `the log has ${now.size} entries; it had ${then.size}`);
  }
  // The empty tree is the beginning of every log.
  if (then.size === 0) return;
  const root = then.size === now.size ? now.root : rootThen;
  if (root === undefined && consistency === undefined) {
    throw new EvidenceError('HISTORY_UNPROVEN', `nothing here reaches back to size ${then.size}`);
  }
  if (root === undefined ? !isConsistent(then, now, consistency!) : !equalBytes(root, then.root)) {
    throw new EvidenceError('FORK', `the log is not an extension of what it was at size ${then.size}`);
  }
}

function isConsistent(then: Checkpoint, now: Checkpoint, proof: readonly Uint8Array[]): boolean {
  try {
    verifyConsistency({ from: then.size, fromRoot: then.root, to: now.size, toRoot: now.root, proof });
    return true;
  } catch (error) {
    if (error instanceof EvidenceError && error.reason === 'ROOT_MISMATCH') return false;
    throw error;
  }
}
