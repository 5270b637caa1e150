// The turns of a follower whose positions the store keeps. Each takes the next entries of the logs that it is behind, and stores
// what is made of them together with the position.

import type { RecordKind } from '../records/records.ts';
import type { LogReader, StoredEvent } from '../streams/log.ts';
import type { FollowStep, FollowStore, LogBehind } from './follow-store.ts';
import type { FollowerTurn, SetAside } from './follower-work.ts';

export interface LogTurnsParts {
  /** Letters and digits: positions are kept under it. */
  readonly name: string;
  /** Where it begins in logs that are there before it. */
  readonly from: 'Beginning' | 'End';
  /** Only logs of tenants with such records; undefined: all. */
  readonly having?: RecordKind;
  readonly follows: FollowStore;
  /** What is made of these logs. One that it leaves out is taken again in the next turn. */
  readonly stepsOf: (behind: readonly LogBehind[], setAside: SetAside[]) => Promise<FollowStep[]>;
}

/** How many logs are taken in a turn, and how much of each. */
const LOGS_MAX = 100;
const PORTION = 500;
const PORTION_BYTES = 4 * 1024 * 1024;

export function logTurns(parts: LogTurnsParts): () => Promise<FollowerTurn> {
  const { name, from, having, follows, stepsOf } = parts;
  let begun: Promise<void> | undefined;
  return async () => {
    begun ??= follows.begin(name, from);
    await begun.catch((error: unknown) => {
      begun = undefined;
      throw error;
    });
    const behind = await follows.behind(name, LOGS_MAX, having);
    if (behind.length === 0) return { isMore: false, taken: 0, logs: [], isAll: true, setAside: [] };
    const setAside: SetAside[] = [];
    const steps = await stepsOf(behind, setAside);
    const moved = await follows.advance(name, steps);
    let taken = 0;
    for (const [i, { nextIndex, endIndex }] of steps.entries()) if (moved[i]) taken += endIndex - nextIndex;
    const nextIndexes = new Map(
      steps.flatMap(({ tenant, endIndex }, i) => (moved[i] ? [[tenant, endIndex]] : [])),
    );
    const logs = behind.map((log) => ({ ...log, nextIndex: nextIndexes.get(log.tenant) ?? log.nextIndex }));
    const isAll = behind.length < LOGS_MAX;
    const ends = new Map(behind.map(({ tenant, endIndex }) => [tenant, endIndex]));
    const isMore = !isAll || steps.some(({ tenant, endIndex }) => endIndex < ends.get(tenant)!);
    return { isMore, taken, logs, isAll, setAside };
  };
}

/** The entries of a log that one turn takes at most. */
export function nextPortion(
  log: Pick<LogReader, 'forTenant'>,
  { tenant, nextIndex, endIndex }: LogBehind,
): Promise<readonly StoredEvent[]> {
  const end = Math.min(endIndex, nextIndex + PORTION);
  return log.forTenant(tenant).events(nextIndex, end, PORTION, { bytesMax: PORTION_BYTES });
}
