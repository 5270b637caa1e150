// The job of an erasure: it goes through the tenant's log in portions. The events of the person get a notice each, many in one
// commit, and lose their fields once a checkpoint covers it. Those that a hold keeps are counted and left; the job looks
// again until none is left. How it ended is a record with a notice, so that it can be proven.

import { CLASSIFICATIONS, type TenantId } from '@tallystick/contract';
import { decodeEntry, isNotice, parseJson } from '@tallystick/evidence';
import type { TenantRecord } from '../access/tenants.ts';
import { readFacts } from '../events/show.ts';
import { eraseTenant, type EraseTenantParts, type TenantScope } from './erase-tenant.ts';
import type { GenuineRecords } from '../records/genuine-records.ts';
import { wait } from '../runtime/clock.ts';
import { Deadline } from '../runtime/deadline.ts';
import { pausesBy } from '../runtime/pause.ts';
import type { StoredContent, StoredEvent } from '../streams/log.ts';
import type { Job, JobOutcome } from '../work/jobs.ts';
import type { Holding, KindOfWork } from '../work/workers.ts';
import {
  CONFIRMED_WITHIN_MS,
  type ErasureCounts,
  type ErasureNotice,
  type ErasureRecord,
  erasureWrite,
} from './erasure.ts';
import { deleteNoted, leaveNoTraces, redactionJob } from './finish-redactions.ts';
import { redactableField, unitsOfFields } from './named-units.ts';
import { isHeld, type RedactParts, redactionNotice } from './redact.ts';
import { type SubjectHashes, subjectJudge } from './subject.ts';

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
const LOOK_AGAIN_MS = 50;
/** A tenant that changes its holds without end takes the turn of no other. */
const PORTION_ATTEMPTS_MAX = 20;
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
    return ended(record, erased.counts, erased.isOlder, parts);
  }
  const { subject } = body;
  const fields = (record.fields ?? ALL_FIELDS).map((field) => {
    const steps = redactableField(field);
    if (typeof steps === 'string') throw new Error(`${field} ${steps}`);
    return steps;
  });
  const head = await parts.trees.forTenant(tenant).head();
  const { firstIndex } = head!;
  let walk = await walkOf(job, record, parts);
  const isFirst = record.counts === undefined;
  const erasedBefore = walk.counts.erased;
  let forgetAt = erasedBefore + FORGOTTEN_EVERY;
  let isOlder = false;
  while (walk.next < walk.counts.end) {
    signal.throwIfAborted();
    const way = { bytesMax: READ_BYTES_MAX };
    const events = await parts.log.forTenant(tenant).events(walk.next, walk.counts.end, READ_AT_ONCE, way);
    if (events.length === 0) break;
    const portion = await erasePortion(
      events,
      { tenant, subject, fields, correlationId, firstIndex },
      signal,
      parts,
    );
    const { matched, erased, held } = walk.counts;
    isOlder ||= portion.isOlder;
    walk = {
      version: record.version,
      next: events.at(-1)!.index + 1,
      counts: {
        ...walk.counts,
        matched: isFirst ? matched + portion.matched : matched,
        erased: erased + portion.erased,
        held: held + portion.held,
        firstHeld: walk.counts.firstHeld ?? portion.firstHeld ?? null,
      },
    };
    progress(JSON.stringify(walk));
    if (walk.counts.erased < forgetAt) continue;
    await parts.index.forTenant(tenant).forget();
    forgetAt = walk.counts.erased + FORGOTTEN_EVERY;
  }
  if (isFirst || walk.counts.erased > erasedBefore) await leaveNoTraces(tenant, parts);
  return ended(record, walk.counts, isOlder, parts);
}

/** From where it was, or from the beginning; later walks begin at the first event that was held. */
async function walkOf(job: Job, record: ErasureRecord, { log }: ErasureWorkParts): Promise<Walk> {
  const { version, counts, noticeId } = record;
  const saved = job.progress === undefined ? undefined : (parseJson(job.progress) as Walk);
  // Of this job: the one that looks again after a wait is another.
  if (saved?.version === version) return saved;
  if (counts !== undefined) {
    const next = counts.firstHeld ?? counts.end;
    return { version, next, counts: { ...counts, held: 0, firstHeld: null } };
  }
  // Nothing behind the notice of the request is looked at.
  const notice = await log.forTenant(job.tenant).event(noticeId, CLASSIFICATIONS);
  if (notice === undefined) throw new Error(`there is no notice ${noticeId} of ${job.tenant}`);
  const none = { matched: 0, erased: 0, held: 0, firstHeld: null };
  return { version, next: 0, counts: { ...none, end: notice.index } };
}

interface Erasing {
  readonly tenant: TenantId;
  readonly subject: SubjectHashes;
  readonly fields: Parameters<typeof unitsOfFields>[0];
  readonly correlationId: string;
  /** Of the current log: nothing can be said of the ones before it. */
  readonly firstIndex: number;
}

interface Portion {
  readonly matched: number;
  readonly erased: number;
  readonly held: number;
  readonly firstHeld: number | undefined;
  readonly isOlder: boolean;
}

type Present = StoredEvent & { readonly content: StoredContent };

interface Wanted {
  readonly event: Present;
  readonly tags: string[];
}

async function erasePortion(
  events: readonly StoredEvent[],
  { tenant, subject, fields, correlationId, firstIndex }: Erasing,
  signal: AbortSignal,
  parts: ErasureWorkParts,
): Promise<Portion> {
  const pause = pausesBy(parts.clock);
  for (let attempt = 1; attempt <= PORTION_ATTEMPTS_MAX; attempt++) {
    const tenantRecord = (await parts.tenants.find(tenant))!;
    const isOfSubject = subjectJudge(subject);
    const matching: Present[] = [];
    const held: Present[] = [];
    const wanted: Wanted[] = [];
    let isOlder = false;
    for (const event of events) {
      await pause();
      if (!isMatching(event, isOfSubject)) continue;
      matching.push(event);
      if (event.index < firstIndex) isOlder = true;
      else if (isHeld(tenantRecord, event)) held.push(event);
      else {
        const tags = [...unitsOfFields(fields, event.content.texts)];
        if (tags.length > 0) wanted.push({ event, tags });
      }
    }
    const isDone = await commitPortion(wanted, { tenant, tenantRecord, correlationId }, signal, parts);
    if (isDone)
      return {
        matched: matching.length,
        erased: wanted.length,
        held: held.length,
        firstHeld: held[0]?.index,
        isOlder,
      };
    // Holds have changed since.
    await wait(parts.clock, LOOK_AGAIN_MS, signal);
  }
  throw new Error(`the holds of ${tenant} are being changed`);
}

function isMatching(event: StoredEvent, isOfSubject: ReturnType<typeof subjectJudge>): event is Present {
  const { content, classification, entry } = event;
  if (content === undefined || !('texts' in content) || isNotice(decodeEntry(entry).kind)) return false;
  const facts = readFacts(content.texts, classification);
  return !('fault' in facts) && isOfSubject(facts);
}

/** False, and nothing is done, where holds have changed. */
async function commitPortion(
  wanted: readonly Wanted[],
  given: { readonly tenant: TenantId; readonly tenantRecord: TenantRecord; readonly correlationId: string },
  signal: AbortSignal,
  parts: ErasureWorkParts,
): Promise<boolean> {
  if (wanted.length === 0) return true;
  const { tenant, tenantRecord, correlationId } = given;
  const named = wanted.map(({ event, tags }) => {
    const { index: leafIndex, eventId } = decodeEntry(event.entry);
    return { leafIndex, eventId, tags, cause: 'Erasure' as const };
  });
  const drafts = named.map((payload) => redactionNotice(payload, correlationId, parts));
  const jobs = [
    redactionJob(
      parts.nextId(),
      drafts.map(({ eventId }) => eventId),
    ),
  ];
  const { holdsAsOf } = tenantRecord;
  const result = await parts.sequencer.append({ tenant, drafts, atomic: true, jobs, holdsAsOf });
  if (result.status === 'HoldsChanged') return false;
  if (result.status !== 'Done') throw new Error(`an erasure was answered ${result.status}`);
  const noticeIndexes = result.outcomes.flatMap((outcome) => ('index' in outcome ? [outcome.index] : []));
  const deadline = new Deadline();
  signal.addEventListener('abort', () => deadline.pass(new Error('the job is stopped')), { once: true });
  const eventIds = named.map(({ eventId }) => eventId);
  await deleteNoted({ tenant, noticeIndexes, eventIds }, deadline, parts);
  return true;
}

/** Says in the log how it stands; whether it is over. */
async function ended(
  record: ErasureRecord,
  counts: ErasureCounts,
  isOlder: boolean,
  parts: ErasureWorkParts,
): Promise<boolean> {
  const failureReason = isOlder
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
