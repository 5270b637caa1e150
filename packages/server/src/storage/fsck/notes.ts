// A stored checkpoint, as the store verifier reads it: of the right log, and signed by keys of this service, alone or
// together with witnesses. It is stricter than a reader of checkpoints has to be, so that every change is found: a
// signature under the log's own name must be by a known key, and any other must have the form of a cosignature.

import { createPublicKey, type KeyObject, verify } from 'node:crypto';
import {
  type Checkpoint,
  COSIGNATURE_BYTES,
  keyIdOf,
  parseCheckpoint,
  parseNote,
  SIGNATURE_TYPES,
  toBase64,
} from '@tallystick/evidence';
import { fault } from './store-fault.ts';

export interface TrustedKey {
  /** The 32 bytes of RFC 8032. */
  readonly publicKey: Uint8Array;
  /**
   * Given by the caller, not found beside the data: the newest checkpoint of each log must have a signature of such a
   * key.
   */
  readonly isGiven: boolean;
}

/** The service's own keys, which are stored beside the data. */
export function trustedOf({ publicKeys }: { readonly publicKeys: readonly Uint8Array[] }): TrustedKey[] {
  return publicKeys.map((publicKey) => ({ publicKey, isGiven: false }));
}

interface NamedKey extends TrustedKey {
  readonly key: KeyObject;
}

export class NoteReader {
  readonly #origin: string;
  readonly #keys = new Map<string, NamedKey>();
  /** The newest checkpoint must be signed by a given key. */
  readonly mustBeGiven: boolean;

  constructor(origin: string, keys: readonly TrustedKey[]) {
    this.#origin = origin;
    this.mustBeGiven = keys.some(({ isGiven }) => isGiven);
    for (const trusted of keys) {
      const id = keyIdOf({ name: origin, type: SIGNATURE_TYPES.note, publicKey: trusted.publicKey });
      const isGiven = trusted.isGiven || this.#keys.get(id)?.isGiven === true;
      this.#keys.set(id, { ...trusted, isGiven, key: keyObject(trusted.publicKey) });
    }
  }

  /** The contents of the checkpoint; throws EvidenceError. */
  read(note: string, isNewest: boolean): Pick<Checkpoint, 'size' | 'root'> {
    const { text, signatures } = parseNote(note);
    const { origin, size, root, extensions } = parseCheckpoint(text);
    if (origin !== this.#origin)
      throw fault('ORIGIN_MISMATCH', `a checkpoint is of the log ${JSON.stringify(origin)}`);
    if (extensions.length > 0)
      throw fault('MALFORMED', `the checkpoint of size ${size} has unknown extension lines`);
    let ours = 0;
    let given = 0;
    for (const { name, keyId: id, signature } of signatures) {
      if (name !== this.#origin) {
        if (signature.length === COSIGNATURE_BYTES) continue;
        throw fault(
          'MALFORMED',
          `the checkpoint of size ${size} has a foreign signature that is not a cosignature`,
        );
      }
      const known = this.#keys.get(id);
      if (known === undefined)
        throw fault('KEY_UNKNOWN', `the checkpoint of size ${size} is signed by an unknown key`);
      if (!verify(null, Buffer.from(text), known.key, signature))
        throw fault('SIGNATURE_INVALID', `a signature of the checkpoint of size ${size} does not verify`);
      ours++;
      if (known.isGiven) given++;
    }
    if (ours === 0 || (isNewest && this.mustBeGiven && given === 0))
      throw fault('KEY_UNKNOWN', `the checkpoint of size ${size} is not signed by a key that is trusted`);
    return { size, root };
  }
}

function keyObject(publicKey: Uint8Array): KeyObject {
  const x = toBase64(publicKey).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
  return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
}
