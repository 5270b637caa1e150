// Turns entries of all logs into jobs: gives a handler the next entries of each, in their order, and stores the jobs that it makes of them
// together with the position. An entry that the handler cannot take is tried some times and then set aside as a dead letter,
// so that it holds up no other.

import type { TenantId } from '@tallystick/contract';
import { parseJson } from '@tallystick/evidence';
import type { LogReader, StoredEvent } from '../streams/log.ts';
import type { JobKind, NewJob } from '../work/jobs.ts';
import type { KindOfWork } from '../work/workers.ts';
import type { FollowStep } from './follow-store.ts';
import type { FollowerWork, SetAside } from './follower-work.ts';
import { logTurns, type LogTurnsParts, nextPortion } from './log-turns.ts';

export interface EntryJobsParts extends Pick<LogTurnsParts, 'name' | 'from' | 'follows'> {
  /** The jobs that these entries lead to. It is called again for entries whose jobs were not stored. */
  readonly handle: (tenant: TenantId, events: readonly StoredEvent[]) => Promise<readonly NewJob[]>;
  readonly log: Pick<LogReader, 'forTenant'>;
  readonly nextId: () => string;
}

/** After this number of failures the entry itself is at fault. */
const ATTEMPTS_MAX = 3;

export function createEntryJobs(parts: EntryJobsParts): FollowerWork & { readonly retryWork: KindOfWork } {
  const stepsOf: LogTurnsParts['stepsOf'] = async (behind, setAside) => {
    const steps: FollowStep[] = [];
    for (const log of behind) {
      const { tenant, nextIndex } = log;
      const events = await nextPortion(parts.log, log);
      const jobs = await jobsOf(tenant, events, parts, setAside);
      steps.push({ tenant, nextIndex, endIndex: nextIndex + events.length, jobs });
    }
    return steps;
  };
  return { turn: logTurns({ ...parts, stepsOf }), retryWork: retryWork(parts) };
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
