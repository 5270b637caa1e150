// Rebuilds: a tenant's view of its events is rebuilt from the log while the old one answers, and takes its place when it
// is complete. One at a time in a tenant. It is a job: it goes on after a restart, and every node knows of it.

import {
  type Answer,
  AuditError,
  type BackgroundOperation,
  ERRORS,
  type InputOf,
} from '@tallystick/contract';
import { parseJson } from '@tallystick/evidence';
import type { Call } from '../call.ts';
import type { EventIndex } from '../events/event-index.ts';
import { wait } from '../runtime/clock.ts';
import type { IdempotencyTime } from '../streams/append/idempotency-key.ts';
import { type Progress, type Requested, shownOperation } from '../work/background-operation.ts';
import { acceptJob, jobOperation } from '../work/job-keys.ts';
import type { Job, WorkStore } from '../work/jobs.ts';
import type { KindOfWork } from '../work/workers.ts';

/** The only projection. */
export const EVENTS_PROJECTION = 'events';

/** How long a finished operation can be read. */
const KEPT_MS = 30 * 86_400_000;
const KEPT_MAX = 1000;
const ATTEMPTS_MAX = 5;
/** The pause while another process holds the index. */
const LOOK_AGAIN_MS = 50;

type Result = { readonly events: number } | { readonly failureReason: string };

export interface RebuildParts extends IdempotencyTime {
  readonly work: WorkStore;
  readonly nextId: () => string;
  /** There is something to do. */
  readonly wake: () => void;
  /** Operations of other kinds; undefined where there is none with this id. */
  readonly otherOperation?: (call: Call, operationId: string) => Promise<BackgroundOperation | undefined>;
}

export function createRebuild(parts: RebuildParts) {
  const { work, clock } = parts;
  return {
    'projections.rebuild': jobOperation(
      async (call, { rebuild: { projections } = {} }: InputOf<'projections.rebuild'>) => {
        refuseUnknown(projections ?? []);
        const request: Requested = { requestedBy: call.caller!.name, requestedAtMs: clock.now() };
        const jobId = parts.nextId();
        const job = {
          jobId,
          kind: 'Rebuild',
          uniqueKey: EVENTS_PROJECTION,
          body: JSON.stringify(request),
        } as const;
        return acceptJob(
          call,
          shown(jobId, request),
          parts,
          (once) => work.forTenant(call.tenant!).enqueue({ ...job, once }, { doneMax: KEPT_MAX }),
          ({ status }) => {
            if (status !== 'Enqueued')
              throw new AuditError('REBUILD_IN_PROGRESS', ERRORS.REBUILD_IN_PROGRESS.meaning);
            parts.wake();
          },
        );
      },
    ),
    async 'operations.get'(
      call: Call,
      { operationId }: InputOf<'operations.get'>,
    ): Promise<Answer<'operations.get'>> {
      const other = await parts.otherOperation?.(call, operationId);
      if (other !== undefined) return { kind: 'Done', body: other };
      const job = await work.forTenant(call.tenant!).find(operationId);
      if (job?.kind !== 'Rebuild')
        throw new AuditError('OPERATION_NOT_FOUND', ERRORS.OPERATION_NOT_FOUND.meaning);
      return { kind: 'Done', body: shown(operationId, parseJson(job.body) as Requested, job) };
    },
  };
}

/** Makes the view, portion by portion. */
export function rebuildWork(
  index: Pick<EventIndex, 'forTenant'>,
  { work, clock }: Pick<RebuildParts, 'work' | 'clock'>,
): KindOfWork {
  return {
    kind: 'Rebuild',
    atOnce: 1,
    perLane: 1,
    attemptsMax: ATTEMPTS_MAX,
    async handle(job, { signal, progress }) {
      for (;;) {
        signal.throwIfAborted();
        const { isDone, ...step } = await index.forTenant(job.tenant).build();
        progress(JSON.stringify(step satisfies Progress));
        if (isDone) {
          // All events were tried: those that failed before and not now are in the view.
          const jobs = work.forTenant(job.tenant);
          while ((await jobs.removeLetters('IndexEvent', job.startedAtMs!)) > 0) signal.throwIfAborted();
          return ended({ events: step.totalEvents });
        }
        if (step.totalEvents === 0) await wait(clock, LOOK_AGAIN_MS, signal);
      }
    },
    outOfAttempts: () => ended({ failureReason: 'The view could not be made; the diagnostics say why.' }),
  };
}

function ended(result: Result) {
  return { status: 'Done', result: JSON.stringify(result), keepMs: KEPT_MS } as const;
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

/** Without a job: the rebuild as it was just requested. */
function shown(operationId: string, request: Requested, job?: Job): BackgroundOperation {
  const result = job?.result === undefined ? undefined : (parseJson(job.result) as Result);
  const progress = job?.progress === undefined ? undefined : (parseJson(job.progress) as Progress);
  const { processedEvents, totalEvents } =
    result !== undefined && 'events' in result
      ? { processedEvents: result.events, totalEvents: result.events }
      : (progress ?? { processedEvents: 0, totalEvents: 0 });
  return {
    operationId,
    kind: 'ProjectionRebuild',
    ...shownOperation(request, { processedEvents, totalEvents }, result, job),
  };
}
