// The positions of followers, moved together with the jobs and violations that they create.

import type { FollowStep } from '../../followers/follow-store.ts';
import type { JobDatabase, JobTransaction } from './job-database.ts';
import type { JobTables } from './job-tables.ts';
import { ViolationTables } from './violation-tables.ts';

/** For each step, whether the position was where it begins: only then what it leads to is stored. */
export async function advanceBy<S>(
  database: JobDatabase<S>,
  tables: JobTables<S>,
  name: string,
  steps: readonly FollowStep[],
): Promise<boolean[]> {
  const { move, place } = database.statements;
  const violations = new ViolationTables(database);
  const moved = new Map<FollowStep, boolean>();
  const advance = async (transaction: JobTransaction<S>, step: FollowStep) => {
    const { tenant, nextIndex, endIndex, jobs = [], alerts } = step;
    // A log that is new to the follower has no position yet.
    const isMoved =
      (nextIndex === 0 && (await transaction.change(place, [tenant, name, endIndex])) > 0) ||
      (await transaction.change(move, [tenant, name, nextIndex, endIndex])) > 0;
    if (isMoved) await tables.addAll(transaction, jobs);
    if (isMoved && alerts !== undefined) await violations.add(transaction, tenant, alerts);
    moved.set(step, isMoved);
  };
  // In the order of names, in which every transaction locks them.
  const ordered = steps.toSorted((a, b) => (a.tenant < b.tenant ? -1 : a.tenant > b.tenant ? 1 : 0));
  if (await database.isDistributed()) {
    for (const step of ordered)
      await database.inTransaction('All', (transaction) => advance(transaction, step));
  } else if (ordered.length > 0) {
    await database.inTransaction('All', async (transaction) => {
      for (const step of ordered) await advance(transaction, step);
    });
  }
  return steps.map((step) => moved.get(step)!);
}
