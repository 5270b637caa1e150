// A service that tells how long it keeps its thread, in processor time: what others wait for on a quiet machine, seen also on one
// that is not.

import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type Service, startService } from './running.ts';

export const startTelling = (folder: string): Promise<Service> =>
  startService({
    dataDirectory: join(folder, 'data'),
    script: join(import.meta.dirname, 'processes/tells-holds.ts'),
  });

/** The longest that the thread was kept since this was last asked. */
export async function heldMs(service: Service): Promise<number> {
  const known = service.diagnostics().length;
  service.kill('SIGUSR2');
  for (;;) {
    const told = /held (\d+) ms/.exec(service.diagnostics().slice(known));
    if (told !== null) return Number(told[1]);
    await pause(10);
  }
}
