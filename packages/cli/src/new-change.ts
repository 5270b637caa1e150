// A change that a command asks for: its key, and how it waits before it is sent again.

import type { Change } from './retried-change.ts';

export async function newChange(): Promise<Change> {
  // Loaded only if there is something to change: it takes a while.
  const { createSystemRandom, systemClock, wait } = await import('@tallystick/server');
  return { idempotencyKey: createSystemRandom().uuid(), wait: (ms) => wait(systemClock, ms) };
}
