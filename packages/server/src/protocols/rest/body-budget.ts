// How many bytes of bodies may be held at once while they are being read. Each body is bounded by itself; this bounds
// all of them together, so that many callers who send slowly, or little that unpacks to much, cannot fill the memory.

import { AuditError } from '@tallystick/contract';

/** Some twelve of the largest bodies, or very many small ones. */
export const BODIES_BYTES_MAX = 128 * 1024 * 1024;

export class BodyBudget {
  readonly #bytesMax: number;
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Undefined when the bytes may be held; they must then be given back. */
  take(bytes: number): AuditError | undefined {
    if (this.#bytes + bytes > this.#bytesMax) {
      // Without figures: how much others send is their affair.
      return new AuditError('SERVICE_UNAVAILABLE', 'Too many bodies are being read at the moment.');
    }
    this.#bytes += bytes;
    return undefined;
  }

  giveBack(bytes: number): void {
    this.#bytes -= bytes;
  }
}
