// Connections that wait for another request: each to the peer that it was opened for (its origin, and the TLS material that
// it was opened with). A bounded number of them; the one that has waited longest goes first.

import type { Clock } from '../../runtime/clock.ts';
import type { Connection } from './connection.ts';

/** Names move to other addresses; no connection outlives that for longer. */
const AGE_MS_MAX = 60_000;

interface Resting {
  readonly peer: string;
  readonly untilNs: number;
}

export class Pool {
  readonly #clock: Clock;
  readonly #idleMs: number;
  /** In the order in which they began to rest. */
  readonly #resting = new Map<Connection, Resting>();
  readonly #byPeer = new Map<string, Connection[]>();

  constructor(clock: Clock, idleMs: number) {
    this.#clock = clock;
    this.#idleMs = idleMs;
  }

  get size(): number {
    return this.#resting.size;
  }

  /** The one that was used last. */
  take(peer: string): Connection | undefined {
    for (;;) {
      const connection = this.#byPeer.get(peer)?.at(-1);
      if (connection === undefined) return undefined;
      const { untilNs } = this.#resting.get(connection)!;
      this.#remove(connection);
      if (connection.isFree && this.#clock.monotonicNs() < untilNs) return connection;
      connection.close();
    }
  }

  give(peer: string, connection: Connection): void {
    const nowNs = this.#clock.monotonicNs();
    const idleMs = Math.min(this.#idleMs, connection.idleMsMax);
    if (!connection.isFree || idleMs <= 0 || nowNs - connection.openedNs > AGE_MS_MAX * 1e6) {
      return connection.close();
    }
    this.#resting.set(connection, { peer, untilNs: nowNs + idleMs * 1e6 });
    const others = this.#byPeer.get(peer);
    if (others === undefined) this.#byPeer.set(peer, [connection]);
    else others.push(connection);
    return connection.rest();
  }

  closeOldest(): void {
    for (const [connection] of this.#resting) {
      this.#remove(connection);
      return connection.close();
    }
  }

  /** It has closed. */
  forget(connection: Connection): void {
    if (this.#resting.has(connection)) this.#remove(connection);
  }

  close(): void {
    for (const connection of this.#resting.keys()) connection.close();
  }

  #remove(connection: Connection): void {
    const { peer } = this.#resting.get(connection)!;
    this.#resting.delete(connection);
    const others = this.#byPeer.get(peer)!;
    others.splice(others.lastIndexOf(connection), 1);
    if (others.length === 0) this.#byPeer.delete(peer);
  }
}
