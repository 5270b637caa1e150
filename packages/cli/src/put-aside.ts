// Keeps what a log has signed and should not have: two checkpoints by one key that do not fit are the proof for others,
// and neither may get lost. Nor may the verdict, where they cannot be written.

import { EvidenceError } from '@tallystick/evidence';
import { CannotRun } from './cannot-run.ts';
import { NotContinued } from './new-epoch.ts';
import type { WatchedLogs } from './watched-log.ts';

export interface Refused {
  readonly watched: WatchedLogs;
  /** The log that was kept, and that the note contradicts. */
  readonly origin: string;
  readonly note: string;
}

/** Throws what `work` throws; after a rollback and a fork it says where the refused checkpoint is. */
export async function orPutAside<T>(refused: Refused, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof EvidenceError) || (error.reason !== 'FORK' && error.reason !== 'ROLLBACK')) {
      throw error;
    }
    const proof = error instanceof NotContinued ? error.proof : undefined;
    const message = `${error.message}. ${putAside(refused, proof)}`;
    throw error instanceof NotContinued
      ? new NotContinued(error.reason, message, proof)
      : new EvidenceError(error.reason, message, { cause: error });
  }
}

/** Says where it is. */
function putAside({ watched, origin, note }: Refused, proof: string | undefined): string {
  try {
    const file = watched.keepRefused(origin, note, proof);
    return `What it has signed now is kept in ${file}; it proves this beside the older checkpoint`;
  } catch (error) {
    if (!(error instanceof CannotRun)) throw error;
    return `What it has signed now could not be kept: ${error.message}`;
  }
}
