// Notices that the file of the keyring has changed, by a command or another node, and tells all threads of this process. Until it is
// noticed, what was sealed with a new key cannot be read here: who adds one waits for longer than that.

import { isDeepStrictEqual } from 'node:util';
import { StartError } from '../../start-error.ts';
import { Keyring, type RingData } from './keyring.ts';
import { readKeyring, versionOfKeyring } from './keyring-file.ts';
import type { KeyringPlace } from './open-keyring.ts';

export const KEYRING_LOOK_MS = 1000;
/** Looks after a change, each of which tells of it again. */
const TELLINGS = 10;

export class KeyringWatch implements Disposable {
  #ring: Keyring;
  readonly #place: KeyringPlace;
  readonly #needed: () => Promise<readonly string[]>;
  #version: string | undefined;
  #tellings = 0;

  /** `needed` are the keys of the keyring that the store needs; asked when the file has changed. */
  constructor(place: KeyringPlace, needed: () => Promise<readonly string[]>) {
    this.#place = place;
    this.#needed = needed;
    this.#ring = new Keyring({ place: place.path, keys: [] });
  }

  /** What the threads were started with: they need not be told of it. */
  opened(ring: RingData): void {
    this.#ring[Symbol.dispose]();
    this.#ring = new Keyring(ring);
  }

  /** Reads the file if it has changed. Throws StartError for one that cannot be used: what was there before counts. */
  async look(): Promise<void> {
    const version = versionOfKeyring(this.#place.path);
    if (version === this.#version || version === undefined) return this.#tellAgain();
    const changed = await readKeyring(this.#place);
    if (changed !== undefined) this.#requireAllKeys(changed.ring, await this.#needed());
    this.#version = version;
    if (changed === undefined || isDeepStrictEqual(changed.ring, this.#ring.data)) return;
    this.#ring.become(changed.ring);
    this.#tellings = TELLINGS;
  }

  /** A thread that was about to start when the others were told has not heard it. */
  #tellAgain(): void {
    if (this.#tellings === 0) return;
    this.#tellings -= 1;
    this.#ring.become(this.#ring.data);
  }

  /**
   * No command takes a key out of a keyring, so this is the file of another store, or one from before a rotation. New content would
   * be sealed with what is lost once the right file is back, and what is stored could not be read.
   */
  #requireAllKeys({ keys }: RingData, needed: readonly string[]): void {
    const known = [...this.#ring.data.keys.map(({ id }) => id), ...needed];
    const lost = known.find((id) => !keys.some((key) => key.id === id));
    if (lost === undefined) return;
    throw new StartError(
      `the keyring ${this.#place.path} has lost the key ${lost}: it is of another store, or from before a rotation. The service goes on with the one that it has in memory, and will not start with this one: put the right one back`,
    );
  }

  [Symbol.dispose](): void {
    this.#ring[Symbol.dispose]();
  }
}
