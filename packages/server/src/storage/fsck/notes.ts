// A stored checkpoint, as the verifier of a store reads it: of the right log, and signed by keys of this service alone
// or beside witnesses. Stricter than a reader of checkpoints must be, so that no byte of it can change unseen: a
// signature under the log's own name is by a known key, and what is under another name has the form of a cosignature.

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
  /** Handed in by whoever asks, not found beside the data: the newest checkpoint of each log must bear one of these. */
  readonly isGiven: boolean;
}

/** Keys of the service itself, which lie beside the data. */
export function trustedOf({ publicKeys }: { readonly publicKeys: readonly Uint8Array[] }): TrustedKey[] {
  return publicKeys.map((publicKey) => ({ publicKey, isGiven: false }));
}

interface NamedKey extends TrustedKey {
  readonly key: KeyObject;
}

export class NoteReader {
  readonly #origin: string;
  readonly #keys = new Map<string, NamedKey>();
  /** The newest checkpoint must bear a key that was handed in. */
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

  /** What the checkpoint says; throws EvidenceError. */
  read(note: string, isNewest: boolean): Pick<Checkpoint, 'size' | 'root'> {
    const { text, signatures } = parseNote(note);
    const { origin, size, root, extensions } = parseCheckpoint(text);
    if (origin !== this.#origin)
      throw fault('ORIGIN_MISMATCH', `a checkpoint is of the log ${JSON.stringify(origin)}`);
    if (extensions.length > 0)
      throw fault('MALFORMED', `the checkpoint of size ${size} has lines that are none of ours`);
    let ours = 0;
    let given = 0;
    for (const { name, keyId: id, signature } of signatures) {
      if (name !== this.#origin) {
        if (signature.length === COSIGNATURE_BYTES) continue;
        throw fault('MALFORMED', `the checkpoint of size ${size} has a signature that is no cosignature`);
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
