// What of keys and tenants was read, for as long as it holds. Whoever asks gets it after a look at the number that every
// change counts up, unless that was looked at within 50 ms: so long, and no longer, does a key work that another node has
// revoked. What this node changes itself is forgotten at once.

import type { ApiKeyRecord } from '../../access/api-keys.ts';
import type { TenantRecord } from '../../access/tenants.ts';
import type { Clock } from '../../runtime/clock.ts';

/** By name. Only what exists is kept, so strangers cannot fill the memory; who asks for what is being read waits for it. */
export class Kept<V> {
  readonly #asked = new Map<string, Promise<V | undefined>>();

  get(name: string): Promise<V | undefined> | undefined {
    return this.#asked.get(name);
  }

  put<T extends V | undefined>(name: string, asked: Promise<T>): Promise<T> {
    this.#asked.set(name, asked);
    const dropUnless = (found: V | undefined) => {
      if (found === undefined && this.#asked.get(name) === asked) this.#asked.delete(name);
    };
    asked.then(dropUnless, () => dropUnless(undefined));
    return asked;
  }
}

/** Of one state of the tables, or a newer one. Who has read writes into the one that was current before: it may be over. */
export interface Known {
  /** By hash, in hex. */
  readonly keys: Kept<ApiKeyRecord>;
  readonly tenants: Kept<TenantRecord>;
}

interface Look {
  readonly atNs: number;
  readonly done: Promise<void>;
}

const FRESH_NS = 50e6;

export class AccessMemory {
  readonly #readVersion: () => Promise<unknown>;
  readonly #clock: Clock;
  #known = nothingKnown();
  #version: unknown;
  #look: Look | undefined;

  constructor(readVersion: () => Promise<unknown>, clock: Clock) {
    this.#readVersion = readVersion;
    this.#clock = clock;
  }

  /** What still holds; rejects when the version cannot be read, since nothing is known to hold then. */
  async current(): Promise<Known> {
    const nowNs = this.#clock.monotonicNs();
    // The age counts from when it was asked, so one that takes long is not waited for by those who come late.
    if (this.#look === undefined || nowNs - this.#look.atNs >= FRESH_NS) {
      this.#look = { atNs: nowNs, done: this.#forgetOnChange() };
    }
    await this.#look.done;
    return this.#known;
  }

  forget(): void {
    this.#known = nothingKnown();
  }

  async #forgetOnChange(): Promise<void> {
    const found = await this.#readVersion();
    if (found === this.#version) return;
    this.#version = found;
    this.forget();
  }
}

function nothingKnown(): Known {
  return { keys: new Kept(), tenants: new Kept() };
}
