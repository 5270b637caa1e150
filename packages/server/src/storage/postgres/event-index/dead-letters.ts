// Events that could not be indexed: dead letters from now on, in the same transaction as the position behind them.

import type { TenantId } from '@tallystick/contract';
import { letterJob } from '../../event-index/index-letter.ts';
import type { JobTables } from '../../work/job-tables.ts';
import type { Statement, Transaction } from '../connection/database.ts';
import { ATTEMPTS_MAX, type Reasons } from './pieces.ts';

export interface Letters {
  readonly jobs: Pick<JobTables<Statement>, 'add'>;
  readonly nextId: () => string;
}

/** One that is there already has failed again. */
export async function addLetters(
  transaction: Transaction,
  tenant: TenantId,
  failed: Reasons,
  { jobs, nextId }: Letters,
): Promise<void> {
  for (const [index, reason] of failed)
    await jobs.add(transaction, letterJob(tenant, { index, reason, attempts: ATTEMPTS_MAX }, nextId()));
}
