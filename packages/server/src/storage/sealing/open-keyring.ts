// Finds the keyring of a store by the settings. A store that has sealed anything is never given another keyring: what was sealed
// could not be opened, and a new file at the place of the lost one would hide that it is lost.

import { join } from 'node:path';
import { CLASSIFICATIONS } from '@tallystick/contract';
import type { Clock } from '../../runtime/clock.ts';
import type { Random } from '../../runtime/random.ts';
import { StartError } from '../../start-error.ts';
import { FILE_PROVIDER, type KeyringProvider, makeKeyring, readKeyring } from './keyring-file.ts';
import { type OpenSealing, type SealingData, sealedBits } from './sealing.ts';

export const KEYRING_FILE = 'keyring.json';

export interface KeyringPlace {
  readonly path: string;
  readonly provider: KeyringProvider;
  /** Bits of the classifications whose content is sealed. */
  readonly sealed: number;
}

/** The part of the settings that says so. */
export interface EncryptionSettings {
  readonly encryption: {
    readonly classifications: readonly string[];
    readonly provider: KeyringProvider['name'];
    readonly keyring: string | undefined;
  };
  readonly storage: { readonly dataDirectory: string };
}

export function keyringOf({ encryption, storage }: EncryptionSettings): KeyringPlace {
  const { classifications, keyring, provider } = encryption;
  const sealed = CLASSIFICATIONS.filter(
    (each) => classifications.includes('All') || classifications.includes(each),
  );
  return {
    path: keyring ?? join(storage.dataDirectory, KEYRING_FILE),
    provider: providerOf(provider),
    sealed: sealedBits(sealed),
  };
}

/** Only who serves makes a keyring: `making` is undefined for others. */
export function sealingOf(
  settings: EncryptionSettings,
  making: { readonly random: Random; readonly clock: Pick<Clock, 'now'> } | undefined,
): OpenSealing {
  const own = making && { random: making.random, nowMs: making.clock.now() };
  return (ringKeys) => openKeyring(keyringOf(settings), ringKeys, own);
}

function providerOf(name: KeyringProvider['name']): KeyringProvider {
  if (name === 'File') return FILE_PROVIDER;
  throw new StartError(`Encryption__Provider: ${name} is not there in this version; File is`);
}

/** `ringKeys` are the keys of the keyring that the store needs. Throws StartError. */
export async function openKeyring(
  { path, provider, sealed }: KeyringPlace,
  ringKeys: readonly string[],
  making: { readonly random: Random; readonly nowMs: number } | undefined,
): Promise<SealingData> {
  const found = await readKeyring(path, provider);
  if (found === undefined) {
    if (ringKeys.length > 0)
      throw new StartError(
        `the keyring ${path} is not there, and the store has content that only it opens: put it back, or name its place by Encryption__Keyring`,
      );
    if (sealed === 0 || making === undefined) return { ring: undefined, sealed: 0 };
    return { ring: await makeKeyring(path, provider, making), sealed };
  }
  const missing = ringKeys.find((id) => !found.keys.some((key) => key.id === id));
  if (missing === undefined) return { ring: found, sealed };
  throw new StartError(
    `the keyring ${path} is not the one of this store: it has no key ${missing}, with which content is sealed`,
  );
}
