// Work that takes long lets others have a turn in between: this is the process that answers requests, too.

import { setImmediate } from 'node:timers/promises';

export async function pauseForOthers(): Promise<void> {
  await setImmediate();
}
