// Content that is removed while a service runs, beside it, as the service will do it: under a notice that the service signs.

import type { TenantId } from '@tallystick/contract';
import type { KINDS, NoticePayload } from '@tallystick/evidence';
import { systemClock } from '../runtime/clock.ts';
import { Deadline } from '../runtime/deadline.ts';
import { createSystemRandom } from '../runtime/random.ts';
import { nextId, STREAMS } from '../storage/conformance/claims.ts';
import { openSqliteStorage } from '../storage/sqlite/sqlite-storage.ts';
import type { Storage } from '../storage/storage.ts';
import type { IndexSpan } from '../streams/removal/removal.ts';
import { remove } from '../streams/removal/remove.ts';
import { createSequencer } from '../streams/append/sequencer.ts';
import type { TestApp } from './test-app.ts';
import { until } from './until.ts';

/** With `isLeft` the content is still there when it is done, as after a crash behind the notice. */
export interface PurgeRequest {
  readonly tenant: TenantId;
  readonly spans: readonly IndexSpan[];
  readonly isLeft?: boolean;
  /** A purge for retention is only true of what has expired. */
  readonly cause?: NoticePayload<typeof KINDS.purge>['cause'];
  /** Undefined: the index is not made again for it. */
  readonly forget?: (tenant: TenantId) => Promise<void>;
}

/** Of a service on a data directory. */
export async function purgeBeside({ dataDirectory }: TestApp, request: PurgeRequest): Promise<void> {
  await using storage = await openSqliteStorage({
    directory: dataDirectory,
    logOrigin: undefined,
    streams: STREAMS,
    clock: systemClock,
    random: createSystemRandom(),
    threads: false,
    exclusive: false,
    onFatal: (error) => {
      throw error;
    },
  });
  await purgeIn(storage, request);
}

/** Of a service that has the same store open. */
export async function purgeIn(
  { log, tree, removal }: Storage,
  { tenant, spans, isLeft = false, cause = 'KeyDestroyed', forget = async () => {} }: PurgeRequest,
): Promise<void> {
  const correlationId = createSystemRandom().uuid();
  const request = { tenant, spans, cause, correlationId, deadline: new Deadline() };
  await using sequencer = createSequencer({
    writer: log,
    clock: systemClock,
    steadyNowMs: () => systemClock.now(),
  });
  await remove(request, {
    removal: isLeft ? { ...removal, deleteContents: async () => undefined } : removal,
    trees: tree,
    sequencer,
    checkpointer: { refusalOf: () => undefined, covers: (_, isPublished) => until(isPublished) },
    clock: systemClock,
    nextId,
    forget,
  });
}
