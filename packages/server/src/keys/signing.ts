// Signing as the rest of the service knows it: handed out before the keys are there, since the service listens first
// and opens its data afterwards.

import { ok as assert } from 'node:assert/strict';
import { AuditError } from '@tallystick/contract';
import type { Checkpoint } from '@tallystick/evidence';
import type { Clock } from '../runtime/clock.ts';
import {
  activeKeys,
  macKeyOf,
  signCheckpointHead,
  type SigningKeys,
  type SigningKeyStore,
  signatureLines,
  verifierKeys,
} from './signing-keys.ts';

export interface Signing {
  /** From now on these keys sign. */
  use(keys: SigningKeyStore): void;
  /** Looks whether the command line has made a new key. */
  reload(): Promise<void>;
  /** A signed note. */
  sign(head: Checkpoint): string;
  /** The signatures of the log of this origin under the manifest of an export, which no text of a checkpoint is like. */
  signManifest(text: string, origin: string): string[];
  /** Made from all keys that ever signed, the oldest first. */
  macKeys(): readonly Uint8Array[];
  /** Of all keys that ever signed. */
  publicKeys(): Uint8Array[];
  /** Of the keys that sign the log of this origin now, newest first. */
  verifierKeys(origin: string): string[];
}

export function createSigning(clock: Pick<Clock, 'now'>): Signing {
  let store: SigningKeyStore | undefined;
  let macKeys: readonly Uint8Array[] = [];
  const keys = (): SigningKeys => {
    if (store === undefined) throw new AuditError('SERVICE_UNAVAILABLE', 'The service is starting.');
    return store.keys();
  };
  return {
    use(opened) {
      store = opened;
    },
    reload: async () => store?.reload(),
    sign: (head) => signCheckpointHead(head, keys(), clock.now()),
    signManifest(text, origin) {
      // A checkpoint begins with an origin. A text that may be taken for one is never signed here.
      assert(text.startsWith('{'), 'a manifest is an object');
      return signatureLines(text, origin, activeKeys(keys(), clock.now()));
    },
    macKeys() {
      const current = keys();
      if (macKeys.length !== current.length) macKeys = current.map(macKeyOf).toReversed();
      return macKeys;
    },
    publicKeys: () => keys().map(({ publicKey }) => publicKey),
    verifierKeys: (origin) => verifierKeys(activeKeys(keys(), clock.now()), origin),
  };
}
