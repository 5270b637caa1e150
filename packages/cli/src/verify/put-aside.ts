// Keeps what a log has signed and should not have, beside what was seen of it before: neither may get lost. Nor may the
// verdict, where it cannot be written. What the two prove to others is said only where they do.

import { type Checkpoint, EvidenceError, openCheckpoint, type Verifier } from '@tallystick/evidence';
import { CannotRun } from '../cannot-run.ts';
import { Contradiction } from './contradiction.ts';
import type { SeenCheckpoint, WatchedLogs } from './watched-log.ts';

export interface Refused {
  readonly watched: WatchedLogs;
  /** The log that was kept, and that the note contradicts. */
  readonly origin: string;
  readonly note: string;
  /** Of the log that has signed the note. */
  readonly now: Checkpoint;
  /** By which the note was opened. */
  readonly verifiers: readonly Verifier[];
}

/** Throws what `work` throws; after a rollback and a fork it says where the refused checkpoint is. */
export async function orPutAside<T>(refused: Refused, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof EvidenceError) || (error.reason !== 'FORK' && error.reason !== 'ROLLBACK')) {
      throw error;
    }
    const message = `${error.message}. ${await putAside(refused, error)}`;
    throw error instanceof Contradiction
      ? new Contradiction(error.reason, message, error.seen, error.named)
      : new EvidenceError(error.reason, message, { cause: error });
  }
}

/** Says where it is, and what it is worth. */
async function putAside(refused: Refused, error: EvidenceError): Promise<string> {
  const { watched, origin, note, now } = refused;
  const { seen, named } = error instanceof Contradiction ? error : {};
  try {
    const file = watched.keepRefused(origin, note, named?.proof);
    if (seen !== undefined && seen.origin === now.origin)
      return `What it has signed now is kept in ${file}; ${await worthOf(refused, seen)}`;
    const says = named === undefined ? '' : ', and what its first entry says beside it, in refused-proof';
    const older = seen === undefined ? '' : `; the older checkpoint is ${seen.file}`;
    return `The checkpoint of ${now.origin} that was refused is kept in ${file}${says}${older}`;
  } catch (failure) {
    if (!(failure instanceof CannotRun)) throw failure;
    return `What it has signed now could not be kept: ${failure.message}`;
  }
}

async function worthOf({ note, now, verifiers }: Refused, seen: SeenCheckpoint): Promise<string> {
  const older = `the older checkpoint is ${seen.file}`;
  if (seen.size !== now.size)
    return `${older}. Their sizes differ: by themselves they show it to nobody else`;
  return (await isByOneKey([note, seen.note], now.origin, verifiers))
    ? `beside ${seen.file} it proves the fork to anybody: one name, one key, one size and two roots`
    : `${older}. They show it to nobody else, for no one key has signed both`;
}

async function isByOneKey(
  notes: readonly string[],
  origin: string,
  verifiers: readonly Verifier[],
): Promise<boolean> {
  for (const verifier of verifiers) {
    try {
      for (const note of notes) await openCheckpoint(note, { origin, verifiers: [verifier] });
      return true;
    } catch (error) {
      if (!(error instanceof EvidenceError)) throw error;
    }
  }
  return false;
}
