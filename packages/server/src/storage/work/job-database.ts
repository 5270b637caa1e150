// The interface of a backend for jobs: statements, and transactions to run them in.

import type { TenantId } from '@tallystick/contract';
import type { JobStatements } from './job-statements.ts';

export type JobRow = Readonly<Record<string, unknown>>;
export type JobValue = string | number | Uint8Array | null;

/** One transaction of a backend. */
export interface JobTransaction<S> {
  query(statement: S, values: readonly JobValue[]): Promise<JobRow[]>;
  /** Returns the number of changed rows. */
  change(statement: S, values: readonly JobValue[]): Promise<number>;
}

/** The tenant of a transaction, and whether it only reads. */
export type JobScope = { readonly tenant: TenantId; readonly isRead?: true } | 'All';

export interface JobDatabase<S> {
  readonly statements: JobStatements<S>;
  /** How many lanes one statement takes jobs of. */
  readonly lanesAtOnce: number;
  inTransaction<T>(scope: JobScope, work: (transaction: JobTransaction<S>) => Promise<T>): Promise<T>;
  /** Rows of different tenants are on different machines: a transaction is limited to one tenant where possible. */
  isDistributed(): Promise<boolean>;
}
