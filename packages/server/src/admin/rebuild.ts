// Rebuilds: a tenant's view of its events is made anew from the log while the old one answers, and takes its place when it
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
import type { BuildStep, EventIndex } from '../events/event-index.ts';
import { instant, wait } from '../runtime/clock.ts';
import type { UsedKey } from '../streams/log.ts';
import type { KeyTime } from '../streams/append/once.ts';
import { firstAnswer, jobKeyOf } from '../work/job-keys.ts';
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

/** The body of the job: who asked for it, and when. */
interface Request {
  readonly requestedBy: string;
  readonly requestedAtMs: number;
}

type Result = { readonly events: number } | { readonly failureReason: string };
type Progress = Pick<BuildStep, 'processedEvents' | 'totalEvents'>;

export interface RebuildParts extends KeyTime {
  readonly work: WorkStore;
  readonly nextId: () => string;
  /** There is something to do. */
  readonly wake: () => void;
}

export function createRebuild(parts: RebuildParts) {
  const { work, clock } = parts;
  return {
    'projections.rebuild': {
      async perform(
        call: Call,
        { rebuild: { projections } = {} }: InputOf<'projections.rebuild'>,
      ): Promise<Answer<'projections.rebuild'>> {
        refuseUnknown(projections ?? []);
        const request: Request = { requestedBy: call.caller!.name, requestedAtMs: clock.now() };
        const jobId = parts.nextId();
        const body = shown(jobId, request);
        const enqueued = await work.forTenant(call.tenant!).enqueue(
          {
            jobId,
            kind: 'Rebuild',
            uniqueKey: EVENTS_PROJECTION,
            body: JSON.stringify(request),
            once: jobKeyOf(call, body, parts),
          },
          { doneMax: KEPT_MAX },
        );
        if (enqueued.status === 'KeyUsed') return repeated(firstAnswer(call, enqueued.used));
        if (enqueued.status !== 'Enqueued')
          throw new AuditError('REBUILD_IN_PROGRESS', ERRORS.REBUILD_IN_PROGRESS.meaning);
        parts.wake();
        return { kind: 'Accepted', body };
      },
      again: (_: Call, __: unknown, { note }: UsedKey) => repeated(note),
    },
    async 'operations.get'(
      { tenant }: Call,
      { operationId }: InputOf<'operations.get'>,
    ): Promise<Answer<'operations.get'>> {
      const job = await work.forTenant(tenant!).find(operationId);
      if (job?.kind !== 'Rebuild')
        throw new AuditError('OPERATION_NOT_FOUND', ERRORS.OPERATION_NOT_FOUND.meaning);
      return { kind: 'Done', body: shown(operationId, parseJson(job.body) as Request, job) };
    },
  };
}

/** Parses an answer of `shown`. */
function repeated(answer: string) {
  return { kind: 'Repeated', body: parseJson(answer) as BackgroundOperation } as const;
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
          await work.forTenant(job.tenant).removeLetters('IndexEvent', job.startedAtMs!);
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
function shown(operationId: string, { requestedBy, requestedAtMs }: Request, job?: Job): BackgroundOperation {
  const result = job?.result === undefined ? undefined : (parseJson(job.result) as Result);
  const isCompleted = result !== undefined && 'events' in result;
  const told = job?.progress === undefined ? undefined : (parseJson(job.progress) as Progress);
  const { processedEvents, totalEvents } = isCompleted
    ? { processedEvents: result.events, totalEvents: result.events }
    : (told ?? { processedEvents: 0, totalEvents: 0 });
  const percent = isCompleted ? 100 : Math.floor((100 * processedEvents) / Math.max(1, totalEvents));
  return {
    operationId,
    kind: 'ProjectionRebuild',
    status: statusOf(job, result),
    progress: { percent, processedEvents, totalEvents },
    requestedAt: instant(requestedAtMs),
    requestedBy,
    ...(job?.startedAtMs === undefined
      ? {}
      : { startedAt: instant(Math.max(requestedAtMs, job.startedAtMs)) }),
    ...(job?.endedAtMs === undefined ? {} : { completedAt: instant(Math.max(requestedAtMs, job.endedAtMs)) }),
    ...(result !== undefined && 'failureReason' in result ? { failureReason: result.failureReason } : {}),
  };
}

function statusOf(job: Job | undefined, result: Result | undefined): BackgroundOperation['status'] {
  if (result !== undefined) return 'events' in result ? 'Completed' : 'Failed';
  return job?.startedAtMs === undefined ? 'Pending' : 'Processing';
}
