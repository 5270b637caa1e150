// How many events a hold keeps: those that it covers and that have their content. Each hold has a job, made in the commit that places
// it. It walks the log to its end, and comes again later to go on from there, until the hold is released: what an active hold
// covers is never removed, so a count stays right, and only new events are looked at.

import type { HoldId } from '@tallystick/contract';
import { parseJson, toHex } from '@tallystick/evidence';
import { factsOf } from '../events/show.ts';
import type { Clock } from '../runtime/clock.ts';
import { pausesBy } from '../runtime/pause.ts';
import type { LogReader, TenantLog } from '../streams/log.ts';
import type { Job, NewJob, WorkStore } from '../work/jobs.ts';
import type { KindOfWork } from '../work/workers.ts';
import type { HoldRecord } from './hold.ts';
import { judgeOfHold } from './hold-judge.ts';
import type { Holds } from './holds.ts';

/** How far it has come. */
interface Counted {
  /** The first index of the tenant's log that was not looked at. */
  readonly nextIndex: number;
  readonly heldEvents: number;
  /** Of the last entry that was looked at, in hex: after a restore, another one may be there. */
  readonly leaf: string | undefined;
  /** Whether the end of the log was reached once: until then the number says nothing. */
  readonly isWhole: boolean;
  /** How long the job has waited. */
  readonly pauseMs: number;
}

export interface HoldCountParts {
  readonly log: Pick<LogReader, 'forTenant'>;
  readonly clock: Pick<Clock, 'monotonicNs'>;
}

const NOTHING: Counted = { nextIndex: 0, heldEvents: 0, leaf: undefined, isWhole: false, pauseMs: 0 };
const PORTION = 500;
const PORTION_BYTES = 2 * 1024 * 1024;
/** A request that shows a hold counts on by itself over so many events: a small log is counted at once. */
export const AT_ONCE_MAX = 1000;
const PAUSE_MS = 60_000;
/** Of a log that does not grow: each time twice as long, since a request that shows the hold looks itself. */
const PAUSE_MS_MAX = 3_600_000;
const ATTEMPTS_MAX = 10;

/** The job of a new hold. */
export function countJob(holdId: HoldId): Pick<NewJob, 'jobId' | 'kind' | 'lane' | 'body'> {
  return { jobId: holdId, kind: 'HoldCount', lane: holdId, body: JSON.stringify(NOTHING) };
}

export function holdCountWork(parts: HoldCountParts & { readonly holds: Pick<Holds, 'find'> }): KindOfWork {
  return {
    kind: 'HoldCount',
    atOnce: 2,
    perLane: 1,
    attemptsMax: ATTEMPTS_MAX,
    async handle(job, { signal, progress }) {
      const hold = await parts.holds.find(job.tenant, job.jobId);
      if (hold?.status !== 'Active') return { status: 'Done' };
      const before = countedIn(job);
      const counted = await countOn(hold, before, Number.MAX_SAFE_INTEGER, parts, (sofar) => {
        signal.throwIfAborted();
        progress(JSON.stringify(sofar));
      });
      return againLater(job, counted, counted.nextIndex > before.nextIndex ? 0 : before.pauseMs);
    },
    // The store may be away for long; a count is worth no dead letter.
    outOfAttempts: (job) => againLater(job, countedIn(job), PAUSE_MS_MAX),
  };
}

/** Ends this job, and leaves the next one in its place. */
function againLater({ tenant, jobId }: Job, counted: Counted, pausedMs: number) {
  const pauseMs = Math.min(Math.max(PAUSE_MS, 2 * pausedMs), PAUSE_MS_MAX);
  const body = JSON.stringify({ ...counted, pauseMs } satisfies Counted);
  const next = { ...countJob(jobId), tenant, body, dueInMs: pauseMs };
  return { status: 'Done', jobs: [next] } as const;
}

/** Over at most `max` entries. */
async function countOn(
  hold: HoldRecord,
  from: Counted,
  max: number,
  { log, clock }: HoldCountParts,
  onPortion: (counted: Counted) => void = () => {},
): Promise<Counted> {
  const { fromSequence, toSequence } = hold.range ?? { fromSequence: 1, toSequence: Number.MAX_SAFE_INTEGER };
  const judge = judgeOfHold(hold);
  const pause = pausesBy(clock);
  const events = log.forTenant(hold.tenantId);
  const start = (await isSameLog(from, events)) ? from : NOTHING;
  const begin = Math.max(start.nextIndex, fromSequence - 1);
  let counted = { ...start, nextIndex: begin };
  for (;;) {
    const { nextIndex } = counted;
    const limit = Math.min(PORTION, begin + max - nextIndex);
    if (limit <= 0) return counted;
    const portion = await events.events(nextIndex, toSequence, limit, { bytesMax: PORTION_BYTES });
    let held = 0;
    for (const stored of portion) {
      const facts = factsOf(stored);
      if (facts !== undefined && judge.isHeld(stored.index + 1, facts)) held++;
      await pause();
    }
    const last = portion.at(-1);
    if (last === undefined) return { ...counted, isWhole: true };
    const leaf = toHex(last.leaf);
    counted = { ...counted, nextIndex: last.index + 1, heldEvents: counted.heldEvents + held, leaf };
    onPortion(counted);
  }
}

async function isSameLog({ nextIndex, leaf }: Counted, events: TenantLog): Promise<boolean> {
  if (leaf === undefined) return true;
  const [last] = await events.events(nextIndex - 1, nextIndex, 1);
  return last !== undefined && toHex(last.leaf) === leaf;
}

export interface HeldEventsParts extends HoldCountParts {
  readonly work: Pick<WorkStore, 'forTenant'>;
  /** Signals that there is work. */
  readonly wakeHoldCount: () => void;
}

/** How many an active hold keeps now, or kept when they were counted last; undefined until then. */
export async function heldEvents(
  hold: HoldRecord,
  parts: HeldEventsParts,
  atOnceMax = AT_ONCE_MAX,
): Promise<number | undefined> {
  if (hold.status !== 'Active') return undefined;
  const jobs = parts.work.forTenant(hold.tenantId);
  const job = await jobs.find(hold.holdId);
  if (job === undefined) {
    // The store of jobs was put back, or is a new one.
    await jobs.enqueue(countJob(hold.holdId));
    parts.wakeHoldCount();
  }
  const before = job === undefined ? NOTHING : countedIn(job);
  const counted = await countOn(hold, before, atOnceMax, parts);
  return counted.isWhole ? counted.heldEvents : undefined;
}

/** Nothing for a text that is none: it is counted anew. */
function countedIn({ body, progress }: Pick<Job, 'body' | 'progress'>): Counted {
  try {
    const read = { ...NOTHING, ...(parseJson(progress ?? body) as Counted) };
    const isSound = [read.nextIndex, read.heldEvents, read.pauseMs].every(
      (number) => Number.isSafeInteger(number) && number >= 0,
    );
    return isSound ? read : NOTHING;
  } catch {
    return NOTHING;
  }
}
