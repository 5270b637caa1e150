// A thread whose work nobody waits for lets the others run first.

import { constants, platform, setPriority } from 'node:os';

/** For the thread that calls it alone: of all systems that we run on, only Linux has priorities of threads. */
export function yieldToOthers(): void {
  if (platform() === 'linux') setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
}
