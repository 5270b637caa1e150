// Notices that the file of the keyring has changed, by a command or another node, and tells all threads of this process. Until it is
// noticed, what was sealed with a new key cannot be read here: who adds one waits for longer than that.

import { Keyring } from './keyring.ts';
import { readKeyring, versionOfKeyring } from './keyring-file.ts';
import type { KeyringPlace } from './open-keyring.ts';

export const KEYRING_LOOK_MS = 1000;

export class KeyringWatch implements Disposable {
  readonly #ring: Keyring;
  readonly #place: KeyringPlace;
  #version: string | undefined;

  constructor(place: KeyringPlace) {
    this.#place = place;
    this.#ring = new Keyring({ place: place.path, keys: [] });
  }

  /** Reads the file if it has changed. Throws StartError for one that cannot be used: what was there before counts. */
  async look(): Promise<void> {
    const version = versionOfKeyring(this.#place.path);
    if (version === this.#version || version === undefined) return;
    const changed = await readKeyring(this.#place);
    this.#version = version;
    if (changed !== undefined) this.#ring.become(changed.ring);
  }

  [Symbol.dispose](): void {
    this.#ring[Symbol.dispose]();
  }
}
