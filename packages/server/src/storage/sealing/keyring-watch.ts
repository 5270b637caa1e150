// Notices that the file of the keyring has changed, by a command or another node, and tells all threads of this process. Until it is
// noticed, what was sealed with a new key cannot be read here: who adds one waits for longer than that.

import type { Clock, Timer } from '../../runtime/clock.ts';
import { Keyring, type RingData } from './keyring.ts';
import { readKeyring, versionOfKeyring } from './keyring-file.ts';
import type { KeyringPlace } from './open-keyring.ts';

export const KEYRING_LOOK_MS = 1000;

export interface WatchParts {
  readonly clock: Pick<Clock, 'after'>;
  /** Told of a file that cannot be used: what was there before counts. */
  readonly onTrouble: (error: unknown) => void;
}

export class KeyringWatch implements Disposable {
  readonly #ring: Keyring;
  readonly #place: KeyringPlace;
  readonly #parts: WatchParts;
  #version: string | undefined;
  #timer: Timer | undefined;
  #isDisposed = false;

  constructor(data: RingData, place: KeyringPlace, parts: WatchParts) {
    this.#ring = new Keyring(data);
    this.#place = place;
    this.#parts = parts;
    this.#version = versionOfKeyring(place.path);
    this.#next();
  }

  /** Reads the file if it has changed. */
  async look(): Promise<void> {
    const { path, provider } = this.#place;
    try {
      const version = versionOfKeyring(path);
      if (version === this.#version || version === undefined) return;
      const changed = await readKeyring(path, provider);
      this.#version = version;
      if (changed !== undefined && !this.#isDisposed) this.#ring.become(changed);
    } catch (error) {
      this.#parts.onTrouble(error);
    }
  }

  [Symbol.dispose](): void {
    this.#isDisposed = true;
    this.#timer?.cancel();
    this.#ring[Symbol.dispose]();
  }

  #next(): void {
    this.#timer = this.#parts.clock.after(KEYRING_LOOK_MS, () => {
      void this.look().finally(() => {
        if (!this.#isDisposed) this.#next();
      });
    });
  }
}
