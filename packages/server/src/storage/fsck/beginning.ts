// How a log after a restore begins: its epoch and its first notice must say the same of the log before.

import { type KINDS, type NoticePayload, parseCheckpoint, toBase64 } from '@tallystick/evidence';

/** The facts of an epoch about the previous log: its anchored head, and how much of it was left. */
export interface Beginning {
  /** The text that the genesis names. */
  readonly previousCheckpoint: string;
  /** The only log that it may continue. */
  readonly previousOrigin: string;
  /** The number of stored entries of the previous log; undefined if that log is not stored. */
  readonly previousEntries: number | undefined;
}

export function agree(epoch: NoticePayload<typeof KINDS.newEpoch>, beginning: Beginning): boolean {
  const { origin, size, root } = parseCheckpoint(beginning.previousCheckpoint);
  const { previousEntries } = beginning;
  // If the previous log has everything that was anchored, or something else, no log may follow it.
  const restored = previousEntries ?? 0;
  return (
    restored < size &&
    epoch.restoredSize === restored &&
    origin === beginning.previousOrigin &&
    epoch.previousOrigin === origin &&
    epoch.anchoredSize === size &&
    epoch.anchoredRoot === toBase64(root)
  );
}
