// The rules from one entry of a log to the next ones, besides the chain: time does not run backwards, and no two
// entries have one event id. A fault here is the log's own, so it is told only once the entries are known to be those
// that the log has signed. Entries come in index order. Memory stays constant, so ids are compared within a window:
// each with at least the 65,536 entries before it.

import { EvidenceError } from '../errors.ts';
import type { Entry } from '../event/entry.ts';

const WINDOW_ENTRIES = 65_536;

export class Succession {
  #last: Entry | undefined;
  /** The ids of the window that is being filled, and of the one before it. */
  #ids = new Set<string>();
  #idsBefore = new Set<string>();
  #fault: EvidenceError | undefined;

  next(entry: Entry): void {
    this.#fault ??= this.#faultOf(entry);
    this.#last = entry;
    if (this.#ids.size === WINDOW_ENTRIES) {
      this.#idsBefore = this.#ids;
      this.#ids = new Set();
    }
    this.#ids.add(entry.eventId);
  }

  /** Throws the first fault. */
  close(): void {
    if (this.#fault !== undefined) throw this.#fault;
  }

  #faultOf({ index, receivedAtMs, eventId }: Entry): EvidenceError | undefined {
    const last = this.#last;
    if (last !== undefined && receivedAtMs < last.receivedAtMs) {
      const message = `entry ${index} was received before entry ${last.index}`;
      return new EvidenceError('TIME_REVERSED', message, { index });
    }
    if (!this.#ids.has(eventId) && !this.#idsBefore.has(eventId)) return undefined;
    const message = `entry ${index} has the event id ${eventId} of another entry`;
    return new EvidenceError('EVENT_ID_REPEATED', message, { index });
  }
}
