// The answers that their readers have not taken yet. Each is bounded, and so is the time for which it is held; this
// bounds all of them together, so that many who ask for large pages and read them slowly cannot fill the memory. When
// there are too many, the clients that have held theirs longest are disconnected: refusing new ones would let slow clients
// lock out quick ones. A page that was cut off can be asked for again.

import type { Writable } from 'node:stream';

/** An answer on its way: a response of HTTP/1.1, or a stream of HTTP/2. */
export type Outgoing = Pick<
  Writable,
  'writableLength' | 'destroyed' | 'destroy' | 'write' | 'end' | 'once' | 'on' | 'off'
>;

export class UnreadAnswers {
  readonly #bytesMax: number;
  /** Longest held first. */
  readonly #held = new Map<Outgoing, number>();
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** From now on until it is closed. The one that came last is never cut off for the sake of the others. */
  hold(response: Outgoing): void {
    const bytes = response.writableLength;
    this.#held.set(response, bytes);
    this.#bytes += bytes;
    response.once('close', () => this.#letGo(response));
    for (const oldest of this.#held.keys()) {
      if (this.#bytes <= this.#bytesMax || oldest === response) return;
      this.#letGo(oldest);
      oldest.destroy();
    }
  }

  #letGo(response: Outgoing): void {
    this.#bytes -= this.#held.get(response) ?? 0;
    this.#held.delete(response);
  }
}
