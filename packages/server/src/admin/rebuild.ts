// Rebuilds: a tenant's view of its events is made anew from the log while the old one answers, and takes its place when it
// is complete. One at a time in a tenant. It goes on after a restart.

import {
  type Answer,
  AuditError,
  type BackgroundOperation,
  ERRORS,
  type InputOf,
  type TenantId,
} from '@tallystick/contract';
import type { Call } from '../call.ts';
import { type Clock, instant } from '../runtime/clock.ts';
import { RememberedKeys } from './remembered-keys.ts';

/** The only projection there is. */
export const EVENTS_PROJECTION = 'events';

export interface Rebuild {
  readonly operationId: string;
  readonly requestedAtMs: number;
  readonly requestedBy: string;
  readonly processedEvents: number;
  readonly totalEvents: number;
  /** Undefined while nothing of it is done. */
  readonly startedAtMs: number | undefined;
  /** When the new view began to answer, and never before it was begun; undefined while it goes on. */
  readonly completedAtMs: number | undefined;
}

export interface RebuildStore {
  /** Undefined while another one goes on in this tenant. */
  beginRebuild(
    tenant: TenantId,
    request: Pick<Rebuild, 'operationId' | 'requestedAtMs' | 'requestedBy'>,
  ): Promise<Rebuild | undefined>;
  findRebuild(tenant: TenantId, operationId: string): Promise<Rebuild | undefined>;
}

export interface RebuildParts {
  readonly rebuilds: RebuildStore;
  readonly clock: Clock;
  readonly nextId: () => string;
  /** There is something to do. */
  readonly wake: () => void;
}

export function createRebuild({ rebuilds, clock, nextId, wake }: RebuildParts) {
  const keys = new RememberedKeys<BackgroundOperation>(clock);
  return {
    'projections.rebuild': {
      async perform(
        call: Call,
        { rebuild: { projections } = {} }: InputOf<'projections.rebuild'>,
      ): Promise<Answer<'projections.rebuild'>> {
        const { tenant, caller } = call;
        refuseUnknown(projections ?? []);
        const answered = keys.answered(call);
        if (answered !== undefined) return answered;
        const begun = await rebuilds.beginRebuild(tenant!, {
          operationId: nextId(),
          requestedAtMs: clock.now(),
          requestedBy: caller!.name,
        });
        if (begun === undefined)
          throw new AuditError('REBUILD_IN_PROGRESS', ERRORS.REBUILD_IN_PROGRESS.meaning);
        wake();
        const body = shown(begun);
        keys.remember(call, body);
        return { kind: 'Accepted', body };
      },
      again: keys.again,
    },
    async 'operations.get'(
      { tenant }: Call,
      { operationId }: InputOf<'operations.get'>,
    ): Promise<Answer<'operations.get'>> {
      const found = await rebuilds.findRebuild(tenant!, operationId);
      if (found === undefined)
        throw new AuditError('OPERATION_NOT_FOUND', ERRORS.OPERATION_NOT_FOUND.meaning);
      return { kind: 'Done', body: shown(found) };
    },
  };
}

function refuseUnknown(projections: readonly string[]): void {
  const details = projections.flatMap((value, i) =>
    value === EVENTS_PROJECTION
      ? []
      : [{ field: `projections[${i}]`, issue: `must be ${EVENTS_PROJECTION}, the only projection`, value }],
  );
  if (details.length === 0) return;
  throw new AuditError('VALIDATION_FAILED', `There is no projection ${details[0]!.value}.`, { details });
}

function shown(rebuild: Rebuild): BackgroundOperation {
  const { startedAtMs, completedAtMs, processedEvents, totalEvents } = rebuild;
  const isCompleted = completedAtMs !== undefined;
  const percent = isCompleted ? 100 : Math.floor((100 * processedEvents) / Math.max(1, totalEvents));
  return {
    operationId: rebuild.operationId,
    kind: 'ProjectionRebuild',
    status: isCompleted ? 'Completed' : startedAtMs === undefined ? 'Pending' : 'Processing',
    progress: { percent, processedEvents, totalEvents },
    requestedAt: instant(rebuild.requestedAtMs),
    requestedBy: rebuild.requestedBy,
    ...(startedAtMs === undefined ? {} : { startedAt: instant(startedAtMs) }),
    ...(isCompleted ? { completedAt: instant(completedAtMs) } : {}),
  };
}
