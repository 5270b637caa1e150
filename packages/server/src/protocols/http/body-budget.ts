// How many bytes of bodies may be held at once while they are being read. Each body is bounded by itself; this bounds
// all of them together, so that many callers who send slowly, or little that unpacks to much, cannot fill the memory.
// No sender may hold more than is still free: one tenant gets half at most, two a third each, and there is always room
// for a new one.

import { AuditError } from '@tallystick/contract';

/** Some twelve of the largest bodies for a tenant that sends alone, or very many small ones. */
export const BODIES_BYTES_MAX = 256 * 1024 * 1024;

export class BodyBudget {
  /** By sender. */
  readonly #held = new Map<string, number>();
  #free: number;

  constructor(bytesMax: number) {
    this.#free = bytesMax;
  }

  /** Undefined when the bytes may be held; they must then be given back. */
  take(sender: string, bytes: number): AuditError | undefined {
    const held = (this.#held.get(sender) ?? 0) + bytes;
    if (held > this.#free - bytes) {
      // Without figures: how much others send is not for this caller.
      return new AuditError('SERVICE_UNAVAILABLE', 'Too many bodies are being read at the moment.');
    }
    this.#held.set(sender, held);
    this.#free -= bytes;
    return undefined;
  }

  giveBack(sender: string, bytes: number): void {
    const held = (this.#held.get(sender) ?? 0) - bytes;
    if (held > 0) this.#held.set(sender, held);
    else this.#held.delete(sender);
    this.#free += bytes;
  }
}
