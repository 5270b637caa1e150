// Work that takes long lets others have a turn in between: this is the process that answers requests, too. How much
// work a row is follows from its texts, so that a turn ends by their bytes: a few large events are as much as many small.

import { pauseForOthers } from '../../../runtime/pause.ts';
import type { StoredEvent } from '../../../streams/log.ts';
import { type StoredEvents, textBytesOf } from '../../rows/event-row.ts';
import type { Row } from './database.ts';

/** Of text that is parsed and searched for words: a few milliseconds, for one value a few bytes. */
const LOOKED_BYTES = 32 * 1024;
/** Of text that is hashed, which is quicker. */
const HASHED_BYTES = 256 * 1024;

/** Counts what is done since others had a turn. */
export class Turn {
  readonly #bytesMax: number;
  #bytes = 0;

  constructor(bytesMax = LOOKED_BYTES) {
    this.#bytesMax = bytesMax;
  }

  /** Whether others come first, before work is done on this row. */
  isOverBefore(row: Row): boolean {
    const bytes = textBytesOf(row);
    const isOver = this.#bytes > 0 && this.#bytes + bytes > this.#bytesMax;
    this.#bytes = isOver ? bytes : this.#bytes + bytes;
    return isOver;
  }
}

/** What `StoredEvents` makes of the rows and of the notices that they may be covered by. */
export async function eventsInTurns(
  events: StoredEvents,
  rows: readonly Row[],
  notices: readonly Row[],
): Promise<StoredEvent[]> {
  const turn = new Turn(HASHED_BYTES);
  const stored: StoredEvent[] = [];
  let portion: Row[] = [];
  for (const row of rows) {
    if (turn.isOverBefore(row)) {
      stored.push(...events.of(portion, notices));
      portion = [];
      await pauseForOthers();
    }
    portion.push(row);
  }
  stored.push(...events.of(portion, notices));
  return stored;
}
