// What a verifier is given to trust: the log's public key, and, where there are any, witnesses and a
// checkpoint that was seen before. Everything else comes from whoever is being checked.

import { equalBytes } from '../bytes.ts';
import { type Checkpoint, openCheckpoint } from './checkpoint.ts';
import { verifyCosignatures } from './cosignature.ts';
import { EvidenceError } from '../errors.ts';
import type { Verifier } from './note.ts';

export interface Trust {
  /** The log's keys; their name is the log's origin. More than one while a key is being rotated. */
  verifiers: readonly Verifier[];
  witnesses?: { verifiers: readonly Verifier[]; countMin: number };
  /** An older checkpoint of the same log: what is verified now must extend it. */
  since?: Checkpoint;
  /** False for a reader who may see everything: nothing can then be withheld, only deleted. Default true. */
  allowWithheld?: boolean;
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
  return { checkpoint, cosignedBy: cosignatures.map(({ name }) => name) };
}

/**
 * Throws unless the log that `now` speaks of can be the one that `then` spoke of, grown. `rootThen` is the
 * root that the log of now has at the size of then, or undefined where nothing at hand proves one.
 */
export function verifyExtends(then: Checkpoint, now: Checkpoint, rootThen: Uint8Array | undefined): void {
  if (then.origin !== now.origin) {
    throw new EvidenceError(
      'ORIGIN_MISMATCH',
      `the older checkpoint is of ${then.origin}, not of ${now.origin}`,
    );
  }
  if (then.size > now.size) {
    throw new EvidenceError('ROLLBACK', `the log has ${now.size} entries; it had ${then.size}`);
  }
  const root = then.size === now.size ? now.root : rootThen;
  if (root === undefined) {
    throw new EvidenceError('PROOF_INVALID', `nothing here reaches back to size ${then.size}`);
  }
  if (!equalBytes(root, then.root)) {
    throw new EvidenceError('FORK', `the log is not an extension of what it was at size ${then.size}`);
  }
}
