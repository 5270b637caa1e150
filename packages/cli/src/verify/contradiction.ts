// What is served contradicts a checkpoint that was seen before: of the same log, or of the one whose place it has taken.

import { type Checkpoint, EvidenceError, type Reason } from '@tallystick/evidence';
import type { SeenCheckpoint } from './watched-log.ts';

/** What the first entry of a new log says of the log before it. */
export interface NamedEnd {
  readonly former: Checkpoint;
  /** The text that shows it. */
  readonly proof: string;
}

export class Contradiction extends EvidenceError {
  readonly seen: SeenCheckpoint;
  readonly named: NamedEnd | undefined;

  constructor(reason: Reason, message: string, seen: SeenCheckpoint, named?: NamedEnd) {
    super(reason, message);
    this.seen = seen;
    this.named = named;
  }
}
