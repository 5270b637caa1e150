// Watches the room that is left where data is kept, so that somebody hears of it before writes fail.

import type { Telemetry } from '../telemetry.ts';
import type { Finding, Watch } from './watch.ts';

export interface SpaceWatchParts {
  /** As it is called in public: `data directory`. */
  readonly place: string;
  readonly freeBytes: () => Promise<number | undefined>;
  readonly limits: { readonly degradedBytes: number; readonly unhealthyBytes: number };
  readonly telemetry: Pick<Telemetry, 'info' | 'warn'>;
}

export interface SpaceWatch extends Watch {
  readonly place: string;
  /** Undefined: not known. */
  free(): number | undefined;
}

/** It must be so far above a limit again, so that the state does not flap. */
const MARGIN = 1.1;
const MEBIBYTE = 2 ** 20;

export function watchSpace({ place, freeBytes, limits, telemetry }: SpaceWatchParts): SpaceWatch {
  let free: number | undefined;
  let status: Finding['status'] | 'Healthy' = 'Healthy';
  return {
    name: `the free space of the ${place}`,
    place,
    free: () => free,
    async measure() {
      const found = await freeBytes();
      free = found;
      // A disk that was full is not known to have room now.
      if (found === undefined) return;
      const isUnder = (limit: number, wasUnder: boolean) => found < limit * (wasUnder ? MARGIN : 1);
      const before = status;
      if (isUnder(limits.unhealthyBytes, before === 'Unhealthy')) status = 'Unhealthy';
      else status = isUnder(limits.degradedBytes, before !== 'Healthy') ? 'Degraded' : 'Healthy';
      if (status === before) return;
      const facts = { place, freeMiB: Math.floor(found / MEBIBYTE) };
      if (status === 'Healthy') telemetry.info('there is enough free disk space again', facts);
      else telemetry.warn('free disk space is running out', facts);
    },
    findings() {
      if (status === 'Healthy') return [];
      const limit = status === 'Unhealthy' ? limits.unhealthyBytes : limits.degradedBytes;
      const least = `${Math.round(limit / MEBIBYTE)} MiB`;
      const description = `The disk of the ${place} has less than ${least} free: make room, or enlarge it, before writes fail.`;
      return [{ status, description }];
    },
  };
}
