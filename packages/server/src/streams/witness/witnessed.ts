// Applies the policy to a stored note: which of its witnesses have cosigned it, and whether they are enough.
// Cosignatures are verified before they are stored, so this only counts them, because every read of an event needs it;
// the recipient of the note verifies it.

import { EvidenceError, isQuorum, parseNote, type WitnessPolicy } from '@tallystick/evidence';

export interface Witnessed {
  /** The names in the policy of the witnesses that cosigned the note. */
  cosignersOf(note: string): string[];
  /** At least one witness has cosigned, and the quorum is met. */
  isWitnessed(note: string): boolean;
}

export function createWitnessed(policy: WitnessPolicy | undefined): Witnessed {
  if (policy === undefined) return { cosignersOf: () => [], isWitnessed: () => false };
  const names = new Map(policy.witnesses.map(({ name, verifier }) => [keyOf(verifier), name]));
  const cosignersOf = (note: string) => [...new Set(keysIn(note).flatMap((key) => names.get(key) ?? []))];
  return {
    cosignersOf,
    isWitnessed(note) {
      const cosigners = cosignersOf(note);
      return cosigners.length > 0 && isQuorum(policy, cosigners);
    },
  };
}

/** None for an unreadable note, which has no cosignatures. */
function keysIn(note: string): string[] {
  try {
    return parseNote(note).signatures.map(keyOf);
  } catch (error) {
    if (error instanceof EvidenceError) return [];
    throw error;
  }
}

function keyOf({ name, keyId }: { readonly name: string; readonly keyId: string }): string {
  return `${name}+${keyId}`;
}
