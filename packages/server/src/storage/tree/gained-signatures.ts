// A stored checkpoint only ever gains signatures.

import { EvidenceError, parseNote, signatureLine } from '@tallystick/evidence';

/** Whether the second note has the same text and every signature of the first. */
export function hasGained(stored: string, cosigned: string): boolean {
  try {
    const [before, after] = [parseNote(stored), parseNote(cosigned)];
    const lines = new Set(after.signatures.map(signatureLine));
    return (
      before.text === after.text &&
      before.signatures.every((signature) => lines.has(signatureLine(signature)))
    );
  } catch (error) {
    if (error instanceof EvidenceError) return false;
    throw error;
  }
}
