// The levels of service as this process has measured them, and as it has measured them for one tenant.

import type { ServiceLevel, TenantId } from '@tallystick/contract';
import type { Follower } from '../followers/follower.ts';
import type { Clock } from '../runtime/clock.ts';
import { LatencyWindow } from './latency-window.ts';
import type { Meter } from './meter.ts';
import { serviceLevels } from './judge-levels.ts';

export interface Levels {
  /** To be called every few seconds. */
  measureLag(): void;
  ofProcess(): readonly ServiceLevel[];
  ofTenant(tenant: TenantId): readonly ServiceLevel[];
}

export function createLevels(
  meter: Pick<Meter, 'ofProcess' | 'ofTenant'>,
  index: Pick<Follower, 'progress'>,
  clock: Pick<Clock, 'monotonicNs'>,
): Levels {
  const lags = new LatencyWindow();
  const nothing = { count: 0, percentiles: { p50: 0, p95: 0, p99: 0 } };
  return {
    measureLag: () => lags.note(index.progress().lagMs * 1e6, clock.monotonicNs()),
    ofProcess: () =>
      serviceLevels({
        work: meter.ofProcess(),
        projectionLag: lags.measured(clock.monotonicNs()) ?? nothing,
      }),
    // The lag of the whole index is not shown to tenants.
    ofTenant: (tenant) => serviceLevels({ work: meter.ofTenant(tenant), projectionLag: undefined }),
  };
}
