// Counts the cosignatures of a stored note: which witnesses of the policy have cosigned it, and whether they are enough.
// They are verified before they are stored, and by the reader to whom the note is shown; here every read of an event asks.

import { EvidenceError, isQuorum, parseNote, type WitnessPolicy } from '@tallystick/evidence';

export interface Witnessed {
  /** The witnesses of the policy that cosigned the note, by their names in the policy. */
  cosignersOf(note: string): string[];
  /** Somebody has cosigned, and the quorum is met. */
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

/** None for a note that cannot be read: nobody has cosigned that. */
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
