// How far the projections have come: the port through which status and metrics learn of it.

import type { ProjectionStatus, TenantId } from '@tallystick/contract';
import type { EventIndex, IndexProgress } from '../events/event-index.ts';
import type { Follower } from '../followers/follower.ts';
import { EVENTS_PROJECTION } from './rebuild.ts';

/** As it is shown, with the figures that only metrics have. */
export interface ProjectionFigures extends ProjectionStatus {
  /** Events in the log that are not in it yet. */
  readonly pendingEvents: number;
}

export type ReadProjections = (tenant: TenantId) => Promise<readonly ProjectionFigures[]>;

export interface Projections {
  /** Of one tenant: nothing in it tells of another. */
  readonly ofTenant: ReadProjections;
  /** Of all tenants together: the longest lag, the sum of what is pending, no generation and no position. */
  readonly ofAll: () => Promise<readonly ProjectionFigures[]>;
}

/** The index of events is the only projection. */
export function projectionsOf(
  index: Pick<EventIndex, 'forTenant' | 'isRebuilding'>,
  follower: Pick<Follower, 'progress'>,
): Projections {
  return {
    async ofTenant(tenant) {
      const state = await index.forTenant(tenant).state();
      const { generation, indexedEvents } = state;
      return [{ ...figuresOf(state), generation, ...(indexedEvents > 0 ? { position: indexedEvents } : {}) }];
    },
    async ofAll() {
      const isRebuilding = await index.isRebuilding();
      const { lagMs, pendingEvents } = follower.progress();
      return [figuresOf({ lagMs, pendingEvents, isRebuilding })];
    },
  };
}

function figuresOf({ lagMs, isRebuilding, pendingEvents }: IndexProgress): ProjectionFigures {
  return { name: EVENTS_PROJECTION, lagMs, rebuilding: isRebuilding, pendingEvents };
}
