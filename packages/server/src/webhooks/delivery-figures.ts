// The figures about deliveries in status and metrics, from their backlog.

import { parseJson } from '@tallystick/evidence';
import type { DeliveryFigures } from '../admin/metrics.ts';
import type { DeliveryCounts } from '../admin/status.ts';
import type { Backlog, WorkStore } from '../work/jobs.ts';
import type { ClosedBy } from './lane-circuits.ts';
import { DELIVERY } from './task.ts';

export function deliveryCounts(work: Pick<WorkStore, 'forTenant' | 'backlogOfAll'>): DeliveryCounts {
  return {
    ofTenant: async (tenant) => figuresOf(await work.forTenant(tenant).backlog(DELIVERY)),
    ofAll: async () => figuresOf(await work.backlogOfAll(DELIVERY)),
  };
}

function figuresOf({ open, waitingSinceMs, nowMs, closedLanes }: Backlog): DeliveryFigures {
  const closed = (state: ClosedBy['state']) =>
    closedLanes
      .filter(({ note }) => note !== '' && (parseJson(note) as ClosedBy).state === state)
      .reduce((sum, { count }) => sum + count, 0);
  return {
    queued: open,
    waitingMs: waitingSinceMs === undefined ? 0 : Math.max(0, nowMs - waitingSinceMs),
    openCircuits: closed('Open'),
    failedSubscriptions: closed('Failed'),
  };
}
