// Purges the expired content of one stream, as a job. Each removal is done or repeated as a whole (streams/removal/remove.ts): after a
// crash the job is claimed again and finds what is still there, also what a notice names already. Behind the last stream, the
// index is cleaned, and space is given back.

import type { TenantId } from '@tallystick/contract';
import { parseJson } from '@tallystick/evidence';
import type { TenantRecord, Tenants } from '../access/tenants.ts';
import { forgetGoneValues } from '../alerts/gone-values.ts';
import type { ViolationStore } from '../alerts/violations.ts';
import type { EventIndex } from '../events/event-index.ts';
import { type Clock, wait } from '../runtime/clock.ts';
import { Deadline } from '../runtime/deadline.ts';
import { pausesBy } from '../runtime/pause.ts';
import type { Random } from '../runtime/random.ts';
import type { LogReader, StoredStream } from '../streams/log.ts';
import type { IndexSpan, RemovalStore } from '../streams/removal/removal.ts';
import { remove, type Removed, type RemovalParts } from '../streams/removal/remove.ts';
import type { TreesWith } from '../streams/tree.ts';
import type { Telemetry } from '../telemetry.ts';
import type { Job, JobOutcome, NewJob } from '../work/jobs.ts';
import type { KindOfWork } from '../work/workers.ts';
import { type JudgeParts, judgeExpired } from './judge-expired.ts';
import type { KeptContent } from './kept-content.ts';
import { type Gathered, gatherRemovable, type Removable, type RemovableParts } from './removable.ts';

/** The body of a job. */
type Task =
  | {
      /** The first index of the stream. */
      readonly stream: number;
      /** Where content has expired; undefined: anywhere in the stream. */
      readonly span?: IndexSpan | undefined;
    }
  /** What is left to do once content was removed. */
  | 'Tidy';

export interface PurgeParts extends Omit<RemovalParts, 'forget' | 'trees'> {
  readonly removal: RemovalStore;
  readonly trees: TreesWith<'tree' | 'head'>;
  readonly tenants: Pick<Tenants, 'find'>;
  readonly log: LogReader;
  readonly index: Pick<EventIndex, 'forTenant'>;
  readonly clock: Clock;
  readonly random: Pick<Random, 'uuid'>;
  readonly telemetry: Pick<Telemetry, 'error' | 'info'>;
  /** The time by which content has expired. */
  readonly untilMs: () => Promise<number>;
  readonly intervalMs: number;
  readonly violations: ViolationStore;
  readonly judging: JudgeParts;
  readonly kept: KeptContent;
}

export interface PurgeWork extends KindOfWork {
  /** How many tenants' purges have failed, each until one of its own succeeds. */
  failingTenants(): number;
  /** How many tenants have content that looks expired and stays, since it does not follow from what has decided. */
  keepingTenants(): number;
}

const AT_ONCE = 2;
const ATTEMPTS_MAX = 5;
/** Entries of one statement that counts. */
const COUNTED = 50_000;
/** Records that are kept are compared with the store this often. */
const AFTER_CHANGE_MS = 100;
/** A tenant that changes its holds without end takes the turn of no other; what is left is for a later sweep. */
const HOLD_CHANGES_MAX = 20;
/** After some attempts one soon after the other: a backup or a verification may read for long. */
const TIDY_AGAIN_MS = 60_000;
/** Between two steps that give space back: others commit meanwhile. */
const RECLAIM_PAUSE_MS = 5;

export function purgeJob(tenant: TenantId, jobId: string, task: Task, dueInMs?: number): NewJob {
  const uniqueKey = task === 'Tidy' ? task : String(task.stream);
  return { tenant, jobId, kind: 'Purge', uniqueKey, dueInMs, body: JSON.stringify(task) };
}

interface Doing {
  readonly signal: AbortSignal;
  /** A part of it is done: it is not stuck, however long all of it takes. */
  readonly moved: () => void;
}

/** Streams of a tenant are purged one after the other. */
export function purgeWork(parts: PurgeParts): PurgeWork {
  const failing = new Set<TenantId>();
  return {
    kind: 'Purge',
    atOnce: AT_ONCE,
    perLane: 1,
    attemptsMax: ATTEMPTS_MAX,
    async handle({ tenant, body, attempts }, { signal, progress }) {
      let steps = 0;
      const doing: Doing = { signal, moved: () => progress(String((steps += 1))) };
      try {
        const task = parseJson(body) as Task;
        const outcome =
          task === 'Tidy'
            ? await tidy(tenant, doing, parts)
            : await purge(tenant, task, attempts > 1, doing, parts);
        failing.delete(tenant);
        return outcome;
      } catch (error) {
        if (!signal.aborted) failing.add(tenant);
        throw error;
      }
    },
    /**
     * The next sweep finds expired content again; as a dead letter it would keep that from trying. What a removal has left in
     * files and indexes no sweep finds, also if only a part of the content could be removed: that goes on until it is gone.
     */
    outOfAttempts({ tenant, body, reason }: Job) {
      const what =
        parseJson(body) === 'Tidy'
          ? 'traces of removed content stay for now'
          : 'expired content could not be removed';
      parts.telemetry.error(what, new Error(reason), { tenant });
      return { status: 'Done', jobs: [purgeJob(tenant, parts.nextId(), 'Tidy', TIDY_AGAIN_MS)] };
    },
    failingTenants: () => failing.size,
    keepingTenants: () => parts.kept.tenants(),
  };
}

async function purge(
  tenant: TenantId,
  { stream: streamFirstIndex, span }: Exclude<Task, 'Tidy'>,
  isRepeated: boolean,
  doing: Doing,
  parts: PurgeParts,
): Promise<JobOutcome> {
  const done = { status: 'Done' } as const;
  // The content of a refused log may be needed to find the cause, and nothing may be appended to it.
  if (parts.checkpointer.refusalOf(tenant) !== undefined) return done;
  const [stream] = await parts.log.forTenant(tenant).streams({ after: streamFirstIndex - 1 }, 1);
  if (stream?.firstIndex !== streamFirstIndex) return done;
  const within = span ?? { firstIndex: stream.firstIndex, endIndex: stream.endIndex };
  const signed = await signedPart(tenant, within, parts);
  const { notices, isStopped } =
    signed === undefined ? NOTHING : await purgeSpan(tenant, signed, doing, parts);
  // An attempt that was killed may have removed all of it.
  const tidy = notices > 0 || isRepeated ? [purgeJob(tenant, parts.nextId(), 'Tidy')] : [];
  // The next attempt may find nothing more to remove, and would not know that this one has.
  if (isStopped) {
    const rest = purgeJob(tenant, parts.nextId(), { stream: streamFirstIndex, span });
    return { ...done, jobs: [...tidy, rest] };
  }
  const next = await settle(tenant, stream, doing, parts);
  return { ...done, jobs: [...tidy, ...(next === undefined ? [] : [next])] };
}

interface Purged {
  /** Under which something was removed. */
  readonly notices: number;
  /** Told to stop before its end. */
  readonly isStopped: boolean;
}

const NOTHING: Purged = { notices: 0, isStopped: false };

/**
 * Of a log that ended with a restore nothing is removed: no notice can follow in it. What is not signed yet is removed by a later
 * sweep.
 */
async function signedPart(
  tenant: TenantId,
  { firstIndex, endIndex }: IndexSpan,
  { trees }: PurgeParts,
): Promise<IndexSpan | undefined> {
  const tree = await trees.forTenant(tenant).tree();
  if (tree === undefined) return undefined;
  const size = (await tree.latest())?.size ?? 0;
  const span = {
    firstIndex: Math.max(firstIndex, tree.firstIndex),
    endIndex: Math.min(endIndex, tree.firstIndex + size),
  };
  return span.firstIndex < span.endIndex ? span : undefined;
}

async function purgeSpan(
  tenant: TenantId,
  { firstIndex, endIndex }: IndexSpan,
  { signal, moved }: Doing,
  parts: PurgeParts,
): Promise<Purged> {
  const deadline = new Deadline();
  const stop = () => deadline.pass(signal.reason as Error);
  signal.addEventListener('abort', stop);
  let notices = 0;
  let changes = 0;
  const portions = new Portions(tenant, endIndex, signal, parts);
  try {
    for (let from = firstIndex; from < endIndex; ) {
      signal.throwIfAborted();
      const portion = await portions.next(from);
      if (portion === undefined) break;
      moved();
      const { removable, nextIndex, holdsAsOf } = portion;
      const removed = await removeAll(tenant, removable, { holdsAsOf, deadline }, parts);
      moved();
      notices += removed.reduce((sum, { noticeIndexes }) => sum + noticeIndexes.length, 0);
      if (!removed.some(({ holdsChanged }) => holdsChanged)) from = nextIndex;
      else if (++changes > HOLD_CHANGES_MAX) break;
      else await wait(parts.clock, AFTER_CHANGE_MS, signal);
    }
    return { notices, isStopped: false };
  } catch (error) {
    if (signal.aborted && notices > 0) return { notices, isStopped: true };
    throw error;
  } finally {
    signal.removeEventListener('abort', stop);
    await portions.end();
  }
}

interface Portion extends Gathered {
  /** The holds that it was gathered under: none is removed under others. */
  readonly holdsAsOf: string;
}

interface Ahead {
  readonly from: number;
  readonly portion: Promise<Portion | undefined>;
  readonly giveUp: AbortController;
}

/** What may be removed, portion by portion. While one is removed, the next one is gathered: the one waits for the disk, the other judges. */
class Portions {
  readonly #tenant: TenantId;
  readonly #endIndex: number;
  readonly #parts: PurgeParts;
  readonly #signal: AbortSignal;
  #ahead: Ahead | undefined;

  constructor(tenant: TenantId, endIndex: number, signal: AbortSignal, parts: PurgeParts) {
    this.#tenant = tenant;
    this.#signal = signal;
    this.#endIndex = endIndex;
    this.#parts = parts;
  }

  /** The portion that begins there; undefined where nothing may be removed. */
  async next(from: number): Promise<Portion | undefined> {
    const ahead = this.#ahead;
    // One that was gathered under other holds is asked for once more, and gathered again.
    if (ahead !== undefined && ahead.from !== from) await this.end();
    const portion = await (ahead?.from === from ? ahead.portion : this.#gather(from, this.#signal));
    this.#ahead = undefined;
    if (portion !== undefined && portion.nextIndex < this.#endIndex) this.#gatherAhead(portion.nextIndex);
    return portion;
  }

  /** Gives up what nobody wants any more. */
  async end(): Promise<void> {
    this.#ahead?.giveUp.abort();
    await this.#ahead?.portion.catch(() => undefined);
    this.#ahead = undefined;
  }

  #gatherAhead(from: number): void {
    const giveUp = new AbortController();
    const portion = this.#gather(from, AbortSignal.any([this.#signal, giveUp.signal]));
    // Thrown when it is asked for.
    portion.catch(() => undefined);
    this.#ahead = { from, portion, giveUp };
  }

  async #gather(from: number, signal: AbortSignal): Promise<Portion | undefined> {
    const parts = this.#parts;
    // Read again for each portion: its holds may have changed. Nobody knows the holds of one that was altered.
    const record = await parts.tenants.find(this.#tenant);
    if (record === undefined || record.isAltered === true) return undefined;
    const untilMs = await parts.untilMs();
    const rest = { firstIndex: from, endIndex: this.#endIndex };
    const gathered = await gatherJudged(record, rest, untilMs, signal, parts);
    // A notice bears the time of its commit, and a verifier compares that with the expiry.
    if ((await parts.untilMs()) < untilMs) throw new Error('a clock was set back');
    return { ...gathered, holdsAsOf: record.holdsAsOf };
  }
}

/** Without what does not follow from its decision, which is reported. */
function gatherJudged(
  record: TenantRecord,
  span: IndexSpan,
  untilMs: number,
  signal: AbortSignal,
  parts: PurgeParts,
): Promise<Gathered> {
  const { tenantId: tenant } = record;
  const { removal, log, judging, kept, clock } = parts;
  const pauseByClock = pausesBy(clock);
  const pause = () => {
    signal.throwIfAborted();
    return pauseByClock();
  };
  const gathering: RemovableParts = {
    log,
    removal: { expired: async (...asked) => kept.without(tenant, await removal.expired(...asked)) },
    async judge(runs) {
      const judged = await judgeExpired(tenant, runs, untilMs, judging, pause);
      kept.keep(tenant, judged.kept);
      return judged.removable;
    },
  };
  return gatherRemovable(record, span, untilMs, gathering, pause);
}

/** All policies at once: their notices wait for the same checkpoint. */
async function removeAll(
  tenant: TenantId,
  removable: readonly Removable[],
  { holdsAsOf, deadline }: { readonly holdsAsOf: string; readonly deadline: Deadline },
  parts: PurgeParts,
): Promise<Removed[]> {
  const correlationId = parts.random.uuid();
  // The index is cleaned once, by the job behind the last stream.
  const removing = { ...parts, forget: async () => {} };
  const settled = await Promise.allSettled(
    removable.map(({ policy, spans }) =>
      remove({ tenant, spans, cause: 'Retention', policy, holdsAsOf, correlationId, deadline }, removing),
    ),
  );
  const failed = settled.find((each) => each.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
  return settled.flatMap((each) => (each.status === 'fulfilled' ? each.value : []));
}

/**
 * Marks a stream in which no event has content left. An open one may yet get events, so it is looked at again until it is
 * sealed; it returns the job that does.
 */
async function settle(
  tenant: TenantId,
  { firstIndex, endIndex, sealedAtMs, isPurged }: StoredStream,
  { moved }: Doing,
  { removal, clock, nextId, intervalMs }: PurgeParts,
): Promise<NewJob | undefined> {
  if (isPurged || (await removal.deletions(tenant, { firstIndex, endIndex }, 1)).length === 0)
    return undefined;
  for (let from = firstIndex; from < endIndex; from += COUNTED) {
    const span = { firstIndex: from, endIndex: Math.min(endIndex, from + COUNTED) };
    if ((await removal.countContents(tenant, [span])) > 0) return undefined;
    moved();
  }
  if (sealedAtMs === undefined) return purgeJob(tenant, nextId(), { stream: firstIndex }, intervalMs);
  await removal.markPurged(tenant, firstIndex, clock.now());
  return undefined;
}

async function tidy(
  tenant: TenantId,
  { signal, moved }: Doing,
  { index, removal, violations, log, clock }: PurgeParts,
): Promise<JobOutcome> {
  await index.forTenant(tenant).forget();
  moved();
  await forgetGoneValues(tenant, signal, { violations, log }, moved);
  while (!signal.aborted && (await removal.reclaimSpace(clock.now()))) {
    moved();
    await wait(clock, RECLAIM_PAUSE_MS, signal);
  }
  // Fails where a reader is in the way for long: then all of it is done again.
  await removal.eraseTraces();
  return { status: 'Done' };
}
