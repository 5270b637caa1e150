// Turns entries of all logs into jobs: gives a handler the next entries of each, in their order, and stores the jobs that it makes of them
// together with the position. An entry that the handler cannot take is tried some times and then set aside as a dead letter,
// so that it holds up no other.

import type { TenantId } from '@tallystick/contract';
import { parseJson } from '@tallystick/evidence';
import type { LogReader, StoredEvent } from '../streams/log.ts';
import type { JobKind, NewJob } from '../work/jobs.ts';
import type { KindOfWork } from '../work/workers.ts';
import type { FollowStore, LogBehind, FollowStep } from './follow-store.ts';
import type { FollowerTurn, FollowerWork, SetAside } from './follower-work.ts';

export interface EntryJobsParts {
  /** Letters and digits: positions and dead letters are kept under it. */
  readonly name: string;
  /** Where it begins in logs that are there before it. */
  readonly from: 'Beginning' | 'End';
  /** The jobs that these entries lead to. It is called again for entries whose jobs were not stored. */
  readonly handle: (tenant: TenantId, events: readonly StoredEvent[]) => Promise<readonly NewJob[]>;
  readonly follows: FollowStore;
  readonly log: Pick<LogReader, 'forTenant'>;
  readonly nextId: () => string;
}

/** How many logs are taken in a turn, and how much of each. */
const LOGS_MAX = 100;
const PORTION = 500;
const PORTION_BYTES = 4 * 1024 * 1024;
/** After this number of failures the entry itself is at fault. */
const ATTEMPTS_MAX = 3;

export function createEntryJobs(parts: EntryJobsParts): FollowerWork & { readonly retryWork: KindOfWork } {
  let begun: Promise<void> | undefined;
  return {
    async turn() {
      begun ??= parts.follows.begin(parts.name, parts.from);
      await begun.catch((error: unknown) => {
        begun = undefined;
        throw error;
      });
      return takeTurn(parts);
    },
    retryWork: retryWork(parts),
  };
}

async function takeTurn({ follows, name, ...parts }: EntryJobsParts): Promise<FollowerTurn> {
  const behind = await follows.behind(name, LOGS_MAX);
  const setAside: SetAside[] = [];
  const steps: FollowStep[] = [];
  for (const log of behind) steps.push(await stepOf(log, { follows, name, ...parts }, setAside));
  const moved = await follows.advance(name, steps);
  let taken = 0;
  for (const [i, { nextIndex, endIndex }] of steps.entries()) if (moved[i]) taken += endIndex - nextIndex;
  const isMore =
    behind.length === LOGS_MAX || steps.some(({ endIndex }, i) => endIndex < behind[i]!.endIndex);
  return { isMore, taken, setAside };
}

async function stepOf(
  { tenant, nextIndex, endIndex }: LogBehind,
  parts: EntryJobsParts,
  setAside: SetAside[],
): Promise<FollowStep> {
  const end = Math.min(endIndex, nextIndex + PORTION);
  const events = await parts.log
    .forTenant(tenant)
    .events(nextIndex, end, PORTION, { bytesMax: PORTION_BYTES });
  const jobs = await jobsOf(tenant, events, parts, setAside);
  return { tenant, nextIndex, endIndex: nextIndex + events.length, jobs };
}

async function jobsOf(
  tenant: TenantId,
  events: readonly StoredEvent[],
  parts: EntryJobsParts,
  setAside: SetAside[],
): Promise<readonly NewJob[]> {
  try {
    return await parts.handle(tenant, events);
  } catch {
    // One by one, so that only the entry at fault is set aside.
  }
  const jobs: NewJob[] = [];
  for (const event of events) {
    const made = await madeOf(tenant, event, parts);
    if (typeof made !== 'string') jobs.push(...made);
    else {
      jobs.push(letterOf(tenant, event.index, made, parts));
      setAside.push({ tenantId: tenant, sequence: event.index + 1, reason: made });
    }
  }
  return jobs;
}

/** The jobs, or why there are none. */
async function madeOf(
  tenant: TenantId,
  event: StoredEvent,
  { handle }: EntryJobsParts,
): Promise<readonly NewJob[] | string> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await handle(tenant, [event]);
    } catch (error) {
      if (attempt === ATTEMPTS_MAX) return error instanceof Error ? error.message : String(error);
    }
  }
}

function letterOf(tenant: TenantId, index: number, reason: string, { name, nextId }: EntryJobsParts): NewJob {
  return {
    tenant,
    jobId: nextId(),
    kind: kindOf(name),
    uniqueKey: String(index),
    body: JSON.stringify({ index }),
    dead: { reason, attempts: ATTEMPTS_MAX },
  };
}

/** Takes an entry again that was set aside. */
function retryWork({ name, log, handle }: EntryJobsParts): KindOfWork {
  return {
    kind: kindOf(name),
    atOnce: 4,
    perLane: 2,
    attemptsMax: 1,
    async handle({ tenant, body }) {
      const { index } = parseJson(body) as { readonly index: number };
      const events = await log.forTenant(tenant).events(index, index + 1, 1);
      return { status: 'Done', jobs: await handle(tenant, events) };
    },
  };
}

function kindOf(name: string): JobKind {
  return `Followed.${name}`;
}
