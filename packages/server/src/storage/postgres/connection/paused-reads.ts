// Long work pauses for other work, since the same process answers requests. The work per row depends on its texts, so a
// turn is limited by their bytes: a few large events count as much as many small ones.

import { pauseForOthers } from '../../../runtime/pause.ts';
import type { StoredEvent } from '../../../streams/log.ts';
import { type StoredEvents, textBytesOf } from '../../rows/event-row.ts';
import type { Row } from './database.ts';

/** Text that is parsed and searched for words: a few milliseconds; a single value may need only a few bytes. */
const LOOKED_BYTES = 32 * 1024;
/** Text that is hashed, which is faster. */
const HASHED_BYTES = 256 * 1024;

/** Counts the work since the last pause. */
export class Turn {
  readonly #bytesMax: number;
  #bytes = 0;

  constructor(bytesMax = LOOKED_BYTES) {
    this.#bytesMax = bytesMax;
  }

  /** Whether to pause before work on this row. */
  isOverBefore(row: Row): boolean {
    const bytes = textBytesOf(row);
    const isOver = this.#bytes > 0 && this.#bytes + bytes > this.#bytesMax;
    this.#bytes = isOver ? bytes : this.#bytes + bytes;
    return isOver;
  }
}

/** The events of the rows, with the notices that may cover them. */
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
