// The job of an erasure: it goes through the tenant's log in portions. The events of the person get a notice each, many in one
// commit, and lose their fields once a checkpoint covers it. Those that a hold keeps are counted and left; the job looks
// again until none is left. How it ended is a record with a notice, so that it can be proven.

import { CLASSIFICATIONS } from '@tallystick/contract';
import { parseJson } from '@tallystick/evidence';
import { erasePortion, type Portion } from './erase-portion.ts';
import { eraseTenant, type EraseTenantParts, type TenantScope } from './erase-tenant.ts';
import type { GenuineRecords } from '../records/genuine-records.ts';
import type { Job, JobOutcome } from '../work/jobs.ts';
import type { Holding, KindOfWork } from '../work/workers.ts';
import {
  CONFIRMED_WITHIN_MS,
  type ErasureCounts,
  type ErasureNotice,
  type ErasureRecord,
  erasureWrite,
  hashOfJob,
} from './erasure.ts';
import { leaveNoTraces } from './finish-redactions.ts';
import { redactableField } from './named-units.ts';
import type { RedactParts } from './redact.ts';
import type { SubjectHashes } from './subject.ts';

export type ErasureBody =
  | { readonly subject: SubjectHashes }
  /** The whole tenant: erase-tenant.ts. */
  | { readonly ofAll: TenantScope };

export interface ErasureWorkParts extends EraseTenantParts, Pick<RedactParts, 'change' | 'uuid'> {
  readonly erasures: GenuineRecords<ErasureRecord>;
}

/** Where a walk through the log is. */
interface Walk {
  readonly version: number;
  readonly next: number;
  readonly counts: ErasureCounts;
}

const ALL_FIELDS = [
  'actor.userId',
  'actor.userName',
  'actor.serviceId',
  'actor.serviceName',
  'context',
  'payload',
];

const READ_AT_ONCE = 200;
const READ_BYTES_MAX = 4 * 1024 * 1024;
/** The index is made again after so many, and at the end. */
const FORGOTTEN_EVERY = 10_000;
const CONFIRMED_EVERY_MS = 2000;
const HELD_EVERY_MS = 60_000;
/** Of erasures that wait for holds. One that is forgotten goes through the log once more. */
const HELD_KEPT_MAX = 10_000;
const ATTEMPTS_MAX = 1_000_000;

export function erasureWork(parts: ErasureWorkParts): KindOfWork {
  /** The holds under which an erasure has left events: until they change, it would leave the same ones. */
  const heldAsOf = new Map<string, string>();
  return {
    kind: 'Erasure',
    atOnce: 2,
    perLane: 1,
    attemptsMax: ATTEMPTS_MAX,
    async handle(job, holding) {
      const record = await parts.erasures.find(job.tenant, job.jobId);
      if (record === undefined) throw new Error(`there is no erasure ${job.jobId} of ${job.tenant}`);
      if (record.state === 'AwaitingConfirmation') {
        const isOver = parts.clock.now() - record.requested.atMs > CONFIRMED_WITHIN_MS;
        return isOver ? { status: 'Done' } : later('it is not confirmed yet', CONFIRMED_EVERY_MS);
      }
      if (record.state === 'Completed' || record.state === 'Failed') return { status: 'Done' };
      if (!isJobOf(record, job.body)) {
        const error = new Error(
          `the job of the erasure ${job.jobId} of ${job.tenant} is not as it was asked for`,
        );
        parts.telemetry.altered('Record', 'an erasure was altered, and is not carried out', error);
        return later(error.message, HELD_EVERY_MS);
      }
      // Read before the walk: holds that change during it let it go again.
      const { holdsAsOf, isAltered } = (await parts.tenants.find(job.tenant))!;
      if (record.counts !== undefined && heldAsOf.get(job.jobId) === holdsAsOf) return waitForHolds(job);
      heldAsOf.delete(job.jobId);
      const isOver = await erase(job, record, holding, parts);
      if (isOver) return { status: 'Done' };
      if (heldAsOf.size >= HELD_KEPT_MAX) heldAsOf.clear();
      // Of records that somebody has altered nobody knows the holds, and they may be put right without a change.
      if (isAltered !== true) heldAsOf.set(job.jobId, holdsAsOf);
      return waitForHolds(job);
    },
  };
}

function isJobOf({ jobHash, isOfAll }: ErasureRecord, body: string): boolean {
  if (jobHash !== undefined) return jobHash === hashOfJob(body);
  return isOfAll === 'ofAll' in (parseJson(body) as ErasureBody);
}

function later(reason: string, againInMs: number): JobOutcome {
  return { status: 'Failed', reason, againInMs };
}

/** A hold may last for years, and what waits is no failure: this job ends, and leaves the next one in its place. */
function waitForHolds({ tenant, jobId, body }: Job): JobOutcome {
  return { status: 'Done', jobs: [{ tenant, jobId, kind: 'Erasure', body, dueInMs: HELD_EVERY_MS }] };
}

/** False where holds keep some of the events. */
async function erase(
  job: Job,
  record: ErasureRecord,
  holding: Holding,
  parts: ErasureWorkParts,
): Promise<boolean> {
  const { signal, progress } = holding;
  const { tenant } = job;
  const body = parseJson(job.body) as ErasureBody;
  const { correlationId } = record;
  if ('ofAll' in body) {
    const erased = await eraseTenant({ job, record, scope: body.ofAll }, holding, parts);
    return ended(record, erased.counts, parts);
  }
  const { subject } = body;
  const fields = (record.fields ?? ALL_FIELDS).map((field) => {
    const steps = redactableField(field);
    if (typeof steps === 'string') throw new Error(`${field} ${steps}`);
    return steps;
  });
  const head = await parts.trees.forTenant(tenant).head();
  const { firstIndex } = head!;
  const requestIndex = await noticeIndexOf(record, parts);
  const erasing = { tenant, subject, fields, correlationId, requestIndex, firstIndex };
  let walk = walkOf(job, record, requestIndex);
  const isFirst = record.counts === undefined;
  const erasedBefore = walk.counts.erased;
  let forgetAt = erasedBefore + FORGOTTEN_EVERY;
  while (walk.next < walk.counts.end) {
    signal.throwIfAborted();
    const way = { bytesMax: READ_BYTES_MAX };
    const events = await parts.log.forTenant(tenant).events(walk.next, walk.counts.end, READ_AT_ONCE, way);
    if (events.length === 0) break;
    const portion = await erasePortion(events, erasing, signal, parts);
    const next = events.at(-1)!.index + 1;
    walk = { version: record.version, next, counts: withPortion(walk.counts, portion, isFirst) };
    progress(JSON.stringify(walk));
    if (walk.counts.erased < forgetAt) continue;
    await parts.index.forTenant(tenant).forget();
    forgetAt = walk.counts.erased + FORGOTTEN_EVERY;
  }
  if (isFirst || walk.counts.erased > erasedBefore) await leaveNoTraces(tenant, parts);
  return ended(record, walk.counts, parts);
}

/** From where it was, or from the beginning; later walks begin at the first event that was held. */
function walkOf(job: Job, { version, counts }: ErasureRecord, requestIndex: number): Walk {
  const saved = job.progress === undefined ? undefined : (parseJson(job.progress) as Walk);
  // Of this job: the one that looks again after a wait is another.
  if (saved?.version === version) return saved;
  if (counts !== undefined) {
    const next = counts.firstHeld ?? counts.end;
    // What was erased behind that is counted again.
    return { version, next, counts: { ...counts, erased: counts.settled, held: 0, firstHeld: null } };
  }
  const none = { matched: 0, erased: 0, settled: 0, held: 0, firstHeld: null };
  // Nothing behind the notice of the request is looked at.
  return { version, next: 0, counts: { ...none, end: requestIndex } };
}

function withPortion(counts: ErasureCounts, { held, ...portion }: Portion, isFirst: boolean): ErasureCounts {
  const firstHeld = counts.firstHeld ?? portion.firstHeld ?? null;
  const settled = portion.erased.filter((index) => firstHeld === null || index < firstHeld);
  return {
    ...counts,
    matched: isFirst ? counts.matched + portion.matched : counts.matched,
    erased: counts.erased + portion.erased.length,
    settled: counts.settled + settled.length,
    held: counts.held + held,
    firstHeld,
    // Also for later walks, which begin behind those events.
    isOlder: counts.isOlder === true || portion.isOlder,
  };
}

async function noticeIndexOf(
  { tenantId, noticeId }: ErasureRecord,
  { log }: Pick<ErasureWorkParts, 'log'>,
): Promise<number> {
  const notice = await log.forTenant(tenantId).event(noticeId, CLASSIFICATIONS);
  if (notice === undefined) throw new Error(`there is no notice ${noticeId} of ${tenantId}`);
  return notice.index;
}

/** Says in the log how it stands; whether it is over. */
async function ended(
  record: ErasureRecord,
  counts: ErasureCounts,
  parts: ErasureWorkParts,
): Promise<boolean> {
  const failureReason = counts.isOlder
    ? 'Some events are of a log that ended with a restore; no notice can follow in it, so that they stay.'
    : undefined;
  const isOver = counts.held === 0;
  if (isOver || counts.held !== record.counts?.held || counts.erased !== record.counts.erased) {
    const state = !isOver ? 'Processing' : failureReason === undefined ? 'Completed' : 'Failed';
    const completedAtMs = isOver ? parts.clock.now() : undefined;
    const next = {
      ...record,
      version: record.version + 1,
      state,
      counts,
      completedAtMs,
      failureReason,
    } as const;
    await putErasure(next, isOver ? 'ErasureCompleted' : 'ErasureHeld', counts.erased, parts);
  }
  return isOver;
}

async function putErasure(
  erasure: ErasureRecord,
  act: ErasureNotice['act'],
  count: number,
  { change, nextId }: Pick<ErasureWorkParts, 'change' | 'nextId'>,
): Promise<void> {
  const write = erasureWrite(erasure, { action: 'Update.Erasure', act, requestId: nextId(), count });
  const { tenantId: owner, correlationId } = erasure;
  const result = await change({ owner, writes: [write], correlationId });
  if (result.status !== 'Done')
    throw new Error(`the erasure ${erasure.erasureId} is being changed by another process`);
}
