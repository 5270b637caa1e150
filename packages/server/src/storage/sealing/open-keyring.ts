// Opens the keyring of a store. A store that has sealed anything is never given another keyring: what was sealed
// could not be opened, and a new file at the place of the lost one would hide that it is lost.

import { join } from 'node:path';
import type { Random } from '../../runtime/random.ts';
import { StartError } from '../../start-error.ts';
import { FILE_PROVIDER, type KeyringFile, makeKeyring, readKeyring } from './keyring-file.ts';
import type { OpenSealing, SealingData } from './sealing.ts';

export const KEYRING_FILE = 'keyring.json';

export interface KeyringPlace extends KeyringFile {
  /** Bits of the classifications whose content is sealed. */
  readonly sealed: number;
}

/** A file of secrets in the data directory, for a caller without settings. */
export function plainKeyring(directory: string): KeyringFile {
  return { path: join(directory, KEYRING_FILE), provider: FILE_PROVIDER };
}

type Making = { readonly random: Random; readonly nowMs: number };

/** Only the service makes a keyring: `making` is undefined for commands. */
export function openingOf(place: KeyringPlace, making?: Making): OpenSealing {
  return (ringKeys) => openKeyring(place, ringKeys, making);
}

/** `ringKeys` are the keys of the keyring that the store names. Throws StartError. */
export async function openKeyring(
  place: KeyringPlace,
  ringKeys: readonly string[],
  making: Making | undefined,
): Promise<SealingData> {
  const { path, sealed } = place;
  const found = (await readKeyring(place))?.ring;
  if (found === undefined) {
    if (ringKeys.length > 0)
      throw new StartError(
        `the keyring ${path} is not there, and the store has content that only it opens: put it back, or name its place by Encryption__Keyring`,
      );
    if (making === undefined) return { ring: undefined, sealed: 0 };
    // Also where no content is sealed: secrets that callers store always are.
    return { ring: await makeKeyring(place, making), sealed };
  }
  const missing = ringKeys.find((id) => !found.keys.some((key) => key.id === id));
  if (missing === undefined) return { ring: found, sealed };
  throw new StartError(
    `the keyring ${path} is not the one of this store: it has no key ${missing}, with which content was sealed, so it is of another store, or from before a rotation`,
  );
}
