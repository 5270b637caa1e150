// What the protocols load for their first requests is loaded once the service is ready: a start does not wait for it, and
// neither do the first requests. A request that comes before that begins it.

import type { Mount } from '../protocols/http/mount.ts';
import type { Surroundings } from './surroundings.ts';

/** The first requests of a process find enough to do; one that ends before that has loaded nothing in vain. */
const AFTER_READY_MS = 1500;

export function loadMounts(
  mounts: readonly Mount[],
  { clock, telemetry }: Pick<Surroundings, 'clock' | 'telemetry'>,
): Disposable {
  const load = async () => {
    for (const mount of mounts) await mount.load?.();
  };
  const timer = clock.after(AFTER_READY_MS, () => {
    load().catch((error: unknown) => telemetry.error('a protocol could not be loaded', error));
  });
  return { [Symbol.dispose]: () => timer.cancel() };
}
