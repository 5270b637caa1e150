// Cosignatures (c2sp.org/tlog-cosignature, Ed25519): a witness says that, at a time, this was the largest
// tree of the log that it had seen, and that it grew out of those it saw before. A cosignature is one more
// signature line on the checkpoint's note, by a key of type 0x04:
//
//   signature = u64 time ‖ Ed25519 signature[64]             time in seconds since 1970, big-endian
//   signed    = "cosignature/v1\n" ‖ "time <decimal>\n" ‖ the checkpoint's text

import { readU64, utf8 } from '../bytes.ts';
import { parseCheckpoint } from './checkpoint.ts';
import { ED25519_SIGNATURE_BYTES } from './ed25519.ts';
import { EvidenceError } from '../errors.ts';
import { openNote, type Verifier, verifierOf } from './note.ts';
import { SIGNATURE_TYPES } from './verifier-key.ts';

export interface Cosignature {
  readonly name: string;
  readonly keyId: string;
  readonly timeSeconds: number;
}

export const TIME_BYTES = 8;
export const COSIGNATURE_BYTES = TIME_BYTES + ED25519_SIGNATURE_BYTES;

export function cosignatureVerifier(verifierKey: string): Promise<Verifier> {
  return verifierOf(verifierKey, SIGNATURE_TYPES.cosignature, async (verify, text, signature) => {
    if (signature.length !== COSIGNATURE_BYTES) return false;
    return verify(cosignedMessage(text, readU64(signature, 0)), signature.subarray(TIME_BYTES));
  });
}

/** Throws unless at least `witnessesMin` of the witnesses have cosigned the checkpoint in the note. */
export async function verifyCosignatures(
  note: string,
  { witnesses, witnessesMin }: { witnesses: readonly Verifier[]; witnessesMin: number },
): Promise<Cosignature[]> {
  const cosignatures = await knownCosignatures(note, witnesses);
  // One witness with two keys is one witness.
  const { size } = new Set(cosignatures.map(({ name }) => name));
  if (size >= witnessesMin) return cosignatures;
  throw new EvidenceError('WITNESS_MISSING', `${size} witnesses cosigned; ${witnessesMin} must`);
}

async function knownCosignatures(note: string, witnesses: readonly Verifier[]): Promise<Cosignature[]> {
  try {
    const { text, signatures } = await openNote(note, witnesses);
    parseCheckpoint(text);
    return signatures.map(({ signature, ...key }) => ({ ...key, timeSeconds: readU64(signature, 0) }));
  } catch (error) {
    // No cosignature at all is a matter of how many are wanted, not of form.
    if (error instanceof EvidenceError && error.reason === 'KEY_UNKNOWN') return [];
    throw error;
  }
}

export function cosignedMessage(checkpointText: string, timeSeconds: number): Uint8Array {
  return utf8(`cosignature/v1\ntime ${timeSeconds}\n${checkpointText}`);
}
