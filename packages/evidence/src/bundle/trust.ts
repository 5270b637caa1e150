// What a verifier is given to trust: the log's public key, and, where there are any, witnesses and a
// checkpoint that was seen before. Everything else comes from the party that is being verified.

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
  /** A checkpoint of the same log that was seen before: what is verified now must extend it, or be a part of it. */
  since?: Checkpoint;
  /** A consistency proof from the older to the newer of that one and the one being verified. */
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
  return { checkpoint, cosignedBy: [...new Set(cosignatures.map(({ name }) => name))] };
}

/** Which of the two is the older one; none, where nothing was seen before. */
export interface SeenBefore {
  /** Size of the older checkpoint that this one was found to extend. */
  extends?: number;
  /** Size of the newer checkpoint, seen before, that was found to extend this one. */
  precedes?: number;
}

export function seenBefore({ since }: Trust, now: { readonly size: number }): SeenBefore {
  if (since === undefined) return {};
  return since.size <= now.size ? { extends: since.size } : { precedes: since.size };
}

/**
 * Throws unless `now` and the checkpoint that was seen before are of one log that has grown from one to the other.
 * `rootThen` is the root that the log of now has at the older size, where what is verified shows it. What is verified may
 * well be older than what was seen: a file does not change when its log grows, so that alone is no rollback.
 */
export function verifyExtends(trust: Trust, now: Checkpoint, rootThen: Uint8Array | undefined): void {
  const { since: then, consistency } = trust;
  if (then === undefined) return;
  if (then.origin !== now.origin) {
    const message = `the older checkpoint is of ${then.origin}, not of ${now.origin}`;
    throw new EvidenceError('ORIGIN_MISMATCH', message);
  }
  if (then.size > now.size) return verifyPrecedes(now, then, consistency);
  // The empty tree is the beginning of every log.
  if (then.size === 0) return;
  const root = then.size === now.size ? now.root : rootThen;
  if (root === undefined && consistency === undefined)
    throw new EvidenceError('HISTORY_UNPROVEN', `nothing here reaches back to size ${then.size}`);
  if (root === undefined ? !isConsistent(then, now, consistency!) : !equalBytes(root, then.root))
    throw new EvidenceError('FORK', `the log is not an extension of what it was at size ${then.size}`);
}

function verifyPrecedes(now: Checkpoint, then: Checkpoint, consistency: Trust['consistency']): void {
  if (now.size === 0) return;
  if (consistency === undefined) {
    const message = `this is under a checkpoint of size ${now.size}, older than the one of size ${then.size} that was seen; that is no rollback, but nothing here shows that the log of ${then.size} begins with these ${now.size}; a consistency proof would`;
    throw new EvidenceError('HISTORY_UNPROVEN', message);
  }
  if (isConsistent(now, then, consistency)) return;
  throw new EvidenceError('FORK', `the log of size ${then.size} does not begin with what this shows`);
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
