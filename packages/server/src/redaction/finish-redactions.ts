// What follows upon redaction notices: a signed checkpoint over them, then the values are deleted, then what alerts, exports, answers
// of webhook consumers and the index have of them, then what write-ahead logs still hold. A crash leaves a notice without its effect,
// never an effect without its notice: the commit of the notices has caused a job that does all of it again. A repeat changes nothing.

import { CLASSIFICATIONS, type TenantId } from '@tallystick/contract';
import { parseJson } from '@tallystick/evidence';
import type { ViolationStore } from '../alerts/violations.ts';
import type { EventIndex } from '../events/event-index.ts';
import { Deadline } from '../runtime/deadline.ts';
import type { Checkpointer } from '../streams/checkpoints/checkpointer.ts';
import type { LogReader } from '../streams/log.ts';
import type { RemovalStore } from '../streams/removal/removal.ts';
import { untilSigned } from '../streams/removal/remove.ts';
import type { TreesWith } from '../streams/tree.ts';
import type { CausedJob } from '../work/jobs.ts';
import type { KindOfWork } from '../work/workers.ts';

export interface FinishParts {
  readonly removal: RemovalStore;
  readonly trees: TreesWith<'tree' | 'head'>;
  readonly checkpointer: Pick<Checkpointer, 'covers' | 'refusalOf'>;
  readonly violations: ViolationStore;
  readonly index: Pick<EventIndex, 'forTenant'>;
  /** Removes the files of the tenant's exports: any of them may hold what is gone. */
  readonly removeFiles: (tenant: TenantId) => Promise<void>;
  /** Forgets what consumers of the tenant's webhooks have answered: any of them may have repeated what is gone. */
  readonly forgetAnswers: (tenant: TenantId) => Promise<void>;
}

/** Notices of one tenant, with the events that they are about. */
export interface NotedRedactions {
  readonly tenant: TenantId;
  /** In the tenant's sequence. */
  readonly noticeIndexes: readonly number[];
  readonly eventIds: readonly string[];
}

/** Who asked for it does the work at once; the job is for the case that it is killed. */
const DUE_IN_MS = 5000;
const ATTEMPTS_MAX = 1_000_000;

export async function finishRedactions(
  noted: NotedRedactions,
  deadline: Deadline,
  parts: FinishParts,
): Promise<void> {
  await deleteNoted(noted, deadline, parts);
  await leaveNoTraces(noted.tenant, parts);
}

/** Everything but the index of events and the write-ahead logs: those are done once for many. */
export async function deleteNoted(
  { tenant, noticeIndexes, eventIds }: NotedRedactions,
  deadline: Deadline,
  parts: FinishParts,
): Promise<void> {
  if (noticeIndexes.length === 0) return;
  await untilSigned(Math.max(...noticeIndexes), { tenant, deadline }, parts);
  await parts.removal.deleteUnits(tenant, noticeIndexes);
  await parts.violations.forTenant(tenant).forgetValues(eventIds);
}

export async function leaveNoTraces(
  tenant: TenantId,
  { index, removal, removeFiles, forgetAnswers }: FinishParts,
): Promise<void> {
  await removeFiles(tenant);
  await forgetAnswers(tenant);
  await index.forTenant(tenant).forget();
  await removal.eraseTraces();
}

/** The job that the commit of the notices causes; it names nothing but ids. */
export function redactionJob(jobId: string, noticeIds: readonly string[]): CausedJob {
  return { jobId, kind: 'Redaction', dueInMs: DUE_IN_MS, body: JSON.stringify({ noticeIds }) };
}

export function redactionWork(parts: FinishParts & { readonly log: LogReader }): KindOfWork {
  return {
    kind: 'Redaction',
    atOnce: 2,
    perLane: 1,
    attemptsMax: ATTEMPTS_MAX,
    async handle({ tenant, body }, { signal }) {
      const { noticeIds } = parseJson(body) as { readonly noticeIds: readonly string[] };
      const noticeIndexes: number[] = [];
      const eventIds: string[] = [];
      for (const noticeId of noticeIds) {
        const notice = await parts.log.forTenant(tenant).event(noticeId, CLASSIFICATIONS);
        if (notice?.content === undefined || !('texts' in notice.content))
          throw new Error(`the notice ${noticeId} of ${tenant} cannot be read`);
        const { payload } = parseJson(notice.content.texts[1]) as { readonly payload: { eventId: string } };
        noticeIndexes.push(notice.index);
        eventIds.push(payload.eventId);
      }
      const deadline = new Deadline();
      signal.addEventListener('abort', () => deadline.pass(new Error('the job is stopped')));
      await finishRedactions({ tenant, noticeIndexes, eventIds }, deadline, parts);
      return { status: 'Done' };
    },
  };
}
