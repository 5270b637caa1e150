// Ends jobs, many in one commit. Those that are done and kept, which most are, are one statement: each statement has to make ready all
// that it may need for the many indexes of jobs, which takes longer than to change a row.

import { LIMITS, type TenantId } from '@tallystick/contract';
import type { Finished, JobOutcome, NewJob } from '../../work/jobs.ts';
import { textIn } from '../rows/columns.ts';
import { compared } from './job-row.ts';
import type { JobDatabase, JobTransaction, JobValue } from './job-database.ts';
import { reasonText } from './job-values.ts';
import type { LaneTables } from './lane-tables.ts';

export interface FinisherParts<S> {
  readonly database: JobDatabase<S>;
  readonly lanes: LaneTables<S>;
  readonly add: (transaction: JobTransaction<S>, jobs: readonly NewJob[]) => Promise<void>;
}

type Kept = Extract<JobOutcome, { status: 'Done' }> & { readonly keepMs: number };

export class JobFinisher<S> {
  readonly #parts: FinisherParts<S>;

  constructor(parts: FinisherParts<S>) {
    this.#parts = parts;
  }

  /** As part of a larger transaction; in the order of their keys. Returns those that were still held. */
  async finish(
    transaction: JobTransaction<S>,
    finished: readonly Finished[],
  ): Promise<ReadonlySet<Finished>> {
    const ordered = finished.toSorted(compared);
    const ended = await Promise.all(runsOf(ordered).map((run) => this.#end(transaction, run)));
    const held = ended.flat();
    const caused = held.flatMap(({ outcome }) => (outcome.status === 'Done' ? (outcome.jobs ?? []) : []));
    await this.#parts.add(transaction, caused);
    const news = held.flatMap(({ tenant, outcome }) =>
      (outcome.lanes ?? []).map((each) => ({ tenant, news: each })),
    );
    await this.#parts.add(transaction, await this.#parts.lanes.takeAll(transaction, news));
    return new Set(held);
  }

  /** Returns those that were still held. */
  async #end(transaction: JobTransaction<S>, run: readonly Finished[]): Promise<readonly Finished[]> {
    const { tenant, jobId, token, outcome } = run[0]!;
    if (isKept(outcome)) return this.#complete(transaction, tenant, run);
    const { remove, removeLater } = this.#parts.database.statements;
    const held = [tenant, jobId, token];
    const [statement, values] = this.#ending(outcome);
    let changed = await transaction.change(statement, [...held, ...values]);
    if (changed === 0 && statement === remove) changed = await transaction.change(removeLater, held);
    return changed > 0 ? run : [];
  }

  async #complete(
    transaction: JobTransaction<S>,
    tenant: TenantId,
    run: readonly Finished[],
  ): Promise<readonly Finished[]> {
    const given = run.map(({ jobId, token, outcome }) => {
      const { result, keepMs, progress, heard } = outcome as Kept;
      return { tenant_id: tenant, job_id: jobId, token, result, keep_ms: keepMs, progress, heard };
    });
    const { complete } = this.#parts.database.statements;
    const rows = await transaction.query(complete, [tenant, JSON.stringify(given)]);
    const done = new Set(rows.map((row) => textIn(row, 'job_id')));
    return run.filter(({ jobId }) => done.has(jobId));
  }

  #ending(outcome: JobOutcome): [S, JobValue[]] {
    const { remove, putOff, fail, bury } = this.#parts.database.statements;
    const { progress = null, heard = null } = outcome;
    switch (outcome.status) {
      case 'Done':
        return [remove, []];
      case 'PutOff':
        return [putOff, [outcome.forMs ?? 0]];
      case 'Failed':
        return [fail, [outcome.againInMs, reasonText(outcome.reason), progress, heard]];
      case 'Dead':
        return [
          bury,
          [reasonText(outcome.reason), outcome.keepMs ?? LIMITS.deadLetterLifetimeMs, progress, heard],
        ];
    }
  }
}

function isKept(outcome: JobOutcome): outcome is Kept {
  return outcome.status === 'Done' && outcome.keepMs !== undefined;
}

/** Neighbours that one statement ends: so all are locked in their order. A job that is named twice has two turns. */
function runsOf(ordered: readonly Finished[]): Finished[][] {
  const runs: Finished[][] = [];
  for (const each of ordered) {
    const run = runs.at(-1);
    const last = run?.at(-1);
    const isNext =
      last?.tenant === each.tenant &&
      last.jobId !== each.jobId &&
      isKept(last.outcome) &&
      isKept(each.outcome);
    if (isNext) run!.push(each);
    else runs.push([each]);
  }
  return runs;
}
