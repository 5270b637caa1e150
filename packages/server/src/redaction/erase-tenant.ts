// The job of an erasure of a whole tenant: it goes through the log in portions. All content goes under notices of the cause
// KeyDestroyed but what a hold keeps, and then the keys that the request has closed are destroyed, as far as nothing is left under
// them. What was erased is counted by these notices, so that a job which was killed and begun again counts the same.

import { CLASSIFICATIONS, type TenantId } from '@tallystick/contract';
import { decodeEntry, isNotice, parseJson } from '@tallystick/evidence';
import type { TenantRecord, Tenants } from '../access/tenants.ts';
import { holdsOn } from '../holds/hold-judge.ts';
import { isKept } from '../retention/removable.ts';
import { type Clock, wait } from '../runtime/clock.ts';
import { Deadline } from '../runtime/deadline.ts';
import type { Sequencer } from '../streams/append/sequencer.ts';
import type { LogReader, LogWriter, StoredEvent } from '../streams/log.ts';
import type { IndexSpan } from '../streams/removal/removal.ts';
import { remove, untilSigned } from '../streams/removal/remove.ts';
import type { DestroyedKeys } from '../streams/removal/tenant-keys.ts';
import type { Telemetry } from '../telemetry.ts';
import type { Job, WorkStore } from '../work/jobs.ts';
import type { Holding } from '../work/workers.ts';
import type { ErasureCounts, ErasureRecord } from './erasure.ts';
import { type FinishParts, leaveNoTraces } from './finish-redactions.ts';

/** What the job of an erasure of all content knows. */
export interface TenantScope {
  /** Idempotency keys whose windows end earlier were used before the request. */
  readonly keysBeforeMs: number;
}

export interface EraseTenantParts extends FinishParts {
  readonly log: LogReader & Pick<LogWriter, 'endKeyWindows'>;
  readonly work: Pick<WorkStore, 'forTenant'>;
  readonly tenants: Pick<Tenants, 'find'>;
  readonly sequencer: Pick<Sequencer, 'append'>;
  readonly clock: Clock;
  readonly nextId: () => string;
  readonly telemetry: Pick<Telemetry, 'altered' | 'info' | 'warn' | 'error'>;
  /** Those of the tenant that are closed, and have no content left, in the store and in the keyring. */
  readonly destroyKeys: (tenant: TenantId) => Promise<DestroyedKeys>;
}

export interface TenantErasure {
  readonly job: Job;
  readonly record: ErasureRecord;
  readonly scope: TenantScope;
}

/** Where a walk through the log is. */
interface Walk {
  readonly version: number;
  readonly next: number;
  readonly firstHeld: number | undefined;
}

interface Portion {
  readonly spans: readonly IndexSpan[];
  readonly eventIds: readonly string[];
  readonly firstHeld: number | undefined;
  readonly next: number;
}

/** Of one removal: few enough for memory, and many enough that few checkpoints are waited for. */
const EVENTS_MAX = 50_000;
const SPANS_MAX = 1000;
const READ_AT_ONCE = 500;
const READ_BYTES_MAX = 4 * 1024 * 1024;
/** Entries of one call that counts. */
const COUNTED = 50_000;
const DELETIONS_AT_ONCE = 1000;
const LOOK_AGAIN_MS = 50;

/** Repeated after a crash, it goes on. */
export async function eraseTenant(
  erasure: TenantErasure,
  { signal, progress }: Holding,
  parts: EraseTenantParts,
): Promise<{ readonly counts: ErasureCounts }> {
  const { job, record, scope } = erasure;
  const { correlationId } = record;
  const { tenant } = job;
  const request = await noticeOf(record, parts);
  const end = record.counts?.end ?? request.index;
  const { firstIndex } = (await parts.trees.forTenant(tenant).head())!;
  const violations = parts.violations.forTenant(tenant);
  using deadline = deadlineOf(signal);
  if (end > firstIndex) await untilSigned(end - 1, { tenant, deadline }, parts);
  // Nothing recognises them: the key of the fingerprints was replaced at the request.
  while (await parts.log.endKeyWindows(tenant, scope.keysBeforeMs)) signal.throwIfAborted();
  while (await parts.work.forTenant(tenant).endKeyWindows(scope.keysBeforeMs)) signal.throwIfAborted();
  let walk = walkOf(erasure, firstIndex);
  while (walk.next < end) {
    signal.throwIfAborted();
    const tenantRecord = await recordOf(tenant, parts);
    const { spans, eventIds, firstHeld, next } = await portionOf(tenantRecord, walk.next, end, parts);
    const { holdsAsOf } = tenantRecord;
    const wish = { tenant, spans, cause: 'KeyDestroyed', holdsAsOf, correlationId, deadline } as const;
    // The index is cleaned once, at the end.
    const { holdsChanged } = await remove(wish, { ...parts, forget: async () => {} });
    await violations.removeOf(eventIds);
    if (holdsChanged) {
      await wait(parts.clock, LOOK_AGAIN_MS, signal);
      continue;
    }
    walk = { ...walk, next, firstHeld: walk.firstHeld ?? firstHeld };
    progress(JSON.stringify(walk));
  }
  await violations.removeWindows(request.receivedAtMs);
  await leaveNoTraces(tenant, parts);
  const { tenantKeys } = await parts.destroyKeys(tenant);
  // What was made under these keys, as there was no content yet to make others for.
  if (tenantKeys.length > 0) await parts.index.forTenant(tenant).forget();
  parts.telemetry.info('content of a tenant is erased', { tenant, destroyedKeys: tenantKeys.length });
  return countsOf(erasure, { firstIndex, end, firstHeld: walk.firstHeld }, signal, parts);
}

/** Passes when the job is not held any more. */
function deadlineOf(signal: AbortSignal): Deadline & Disposable {
  const deadline = new Deadline();
  const stop = () => deadline.pass(new Error('the job is stopped'));
  signal.addEventListener('abort', stop, { once: true });
  return Object.assign(deadline, { [Symbol.dispose]: () => signal.removeEventListener('abort', stop) });
}

/** From where it was, or from the beginning; later walks begin at the first event that was held. */
function walkOf({ job, record: { version, counts } }: TenantErasure, firstIndex: number): Walk {
  const saved = job.progress === undefined ? undefined : (parseJson(job.progress) as Walk);
  if (saved?.version === version) return saved;
  const next = counts === undefined ? firstIndex : (counts.firstHeld ?? counts.end);
  return { version, next: Math.max(next, firstIndex), firstHeld: undefined };
}

/** Of the request: nothing behind it is erased. */
async function noticeOf(
  { tenantId, noticeId }: ErasureRecord,
  { log }: Pick<EraseTenantParts, 'log'>,
): Promise<{ readonly index: number; readonly receivedAtMs: number }> {
  const notice = await log.forTenant(tenantId).event(noticeId, CLASSIFICATIONS);
  if (notice === undefined) throw new Error(`there is no notice ${noticeId} of ${tenantId}`);
  return { index: notice.index, receivedAtMs: decodeEntry(notice.entry).receivedAtMs };
}

/** Nobody knows the holds of one that was altered. */
async function recordOf(
  tenant: TenantId,
  { tenants }: Pick<EraseTenantParts, 'tenants'>,
): Promise<TenantRecord> {
  const found = await tenants.find(tenant);
  if (found === undefined || found.isAltered === true)
    throw new Error(`the holds of ${tenant} are not known: its settings were altered`);
  return found;
}

/** What is to be removed from an index on, without what holds keep and what is gone already. */
async function portionOf(
  tenant: TenantRecord,
  from: number,
  end: number,
  { log }: Pick<EraseTenantParts, 'log'>,
): Promise<Portion> {
  const judge = holdsOn(tenant);
  const spans: IndexSpan[] = [];
  const eventIds: string[] = [];
  let firstHeld: number | undefined;
  let next = from;
  while (next < end && next - from < EVENTS_MAX && spans.length < SPANS_MAX) {
    const way = { bytesMax: READ_BYTES_MAX };
    const events = await log.forTenant(tenant.tenantId).events(next, end, READ_AT_ONCE, way);
    if (events.length === 0) throw new Error(`the log of ${tenant.tenantId} has no entry ${next}`);
    for (const event of events) {
      const { kind, eventId } = decodeEntry(event.entry);
      const last = spans.at(-1);
      const isNext = last?.endIndex === event.index;
      // Notices keep their content in every range: one between two events does not part them.
      if (isNotice(kind) && !isNext) continue;
      if (!isNotice(kind)) {
        if (!isGone(event) && !judge.isEmpty && isKept(event, judge)) {
          firstHeld ??= event.index;
          continue;
        }
        // Also of one that is gone: after a crash, what alerts have found in it may be left.
        eventIds.push(eventId);
        if (isGone(event)) continue;
      }
      if (isNext) spans[spans.length - 1] = { firstIndex: last.firstIndex, endIndex: event.index + 1 };
      else spans.push({ firstIndex: event.index, endIndex: event.index + 1 });
    }
    next = events.at(-1)!.index + 1;
  }
  return { spans, eventIds, firstHeld, next };
}

/** Content that is missing without a notice stays a fault of the log. */
function isGone({ content }: StoredEvent): boolean {
  return content === undefined || ('purgedAtMs' in content && content.isDeleted);
}

async function countsOf(
  { job: { tenant }, record }: TenantErasure,
  { firstIndex, end, firstHeld }: { firstIndex: number; end: number; firstHeld: number | undefined },
  signal: AbortSignal,
  parts: EraseTenantParts,
): Promise<{ readonly counts: ErasureCounts }> {
  const older = await contentsIn(tenant, { firstIndex: 0, endIndex: firstIndex }, signal, parts);
  const held = await contentsIn(tenant, { firstIndex, endIndex: end }, signal, parts);
  let erased = 0;
  const request = await noticeOf(record, parts);
  for (const noticeIndex of await noticesBehind(request.index, tenant, signal, parts)) {
    const [notice] = await parts.log.forTenant(tenant).events(noticeIndex, noticeIndex + 1, 1);
    if (notice?.content === undefined || !('texts' in notice.content))
      throw new Error(`the notice ${noticeIndex} of ${tenant} cannot be read`);
    const [facts, rest] = notice.content.texts;
    const { correlationId: of } = parseJson(facts) as { readonly correlationId: string };
    const { payload } = parseJson(rest) as NoticeText;
    if (payload.cause === 'KeyDestroyed' && of === record.correlationId) erased += payload.count;
  }
  const matched = record.counts?.matched ?? erased + held + older;
  const counts = { matched, erased, settled: erased, held, firstHeld: firstHeld ?? null, end };
  return { counts: { ...counts, isOlder: older > 0 } };
}

interface NoticeText {
  readonly payload: { readonly cause: string; readonly count: number };
}

/** The notices that remove something of the tenant, behind an index. */
async function noticesBehind(
  index: number,
  tenant: TenantId,
  signal: AbortSignal,
  { removal }: Pick<EraseTenantParts, 'removal'>,
): Promise<ReadonlySet<number>> {
  const found = new Set<number>();
  for (let from = 0; from < index; ) {
    signal.throwIfAborted();
    const span = { firstIndex: from, endIndex: index };
    const deletions = await removal.deletions(tenant, span, DELETIONS_AT_ONCE);
    for (const { noticeIndex } of deletions) if (noticeIndex > index) found.add(noticeIndex);
    if (deletions.length < DELETIONS_AT_ONCE) break;
    from = deletions.at(-1)!.endIndex;
  }
  return found;
}

async function contentsIn(
  tenant: TenantId,
  { firstIndex, endIndex }: IndexSpan,
  signal: AbortSignal,
  { removal }: Pick<EraseTenantParts, 'removal'>,
): Promise<number> {
  let count = 0;
  for (let from = firstIndex; from < endIndex; from += COUNTED) {
    signal.throwIfAborted();
    const span = { firstIndex: from, endIndex: Math.min(endIndex, from + COUNTED) };
    count += await removal.countContents(tenant, [span]);
  }
  return count;
}
