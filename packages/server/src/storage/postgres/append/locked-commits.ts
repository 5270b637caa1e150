// Transactions upon locked heads. Mostly logs that somebody else has locked are passed by. But who writes to one without end
// leaves it free for moments only, which others who look now and then hardly ever meet: whoever has looked for some time waits
// for its one log in the database, which lets them in one after the other. Nothing else is held meanwhile, so that no two wait
// for each other.

import type { TenantId } from '@tallystick/contract';
import type { Head } from '../../pool/head.ts';
import { PoolWriter } from '../../pool/pool-writer.ts';
import type { StreamWriterOptions } from '../../pool/stream-writer.ts';
import { type ContentMonths, MissingMonths } from '../schema/content-months.ts';
import { type Database, isLockNotAvailable, type Transaction } from '../connection/database.ts';
import type { Heads, LockedHeads } from './heads.ts';
import type { Pipeline } from '../connection/pipeline.ts';
import { PostgresPoolTables, type Wanted } from './pool-tables.ts';
import type { KeyedQueue } from '../../../runtime/turns.ts';

/** Which logs a transaction is about, and what it looks up. */
export interface TransactionScope {
  readonly tenants: readonly TenantId[];
  readonly wanted: readonly Wanted[];
  readonly steadyNowMs: number;
}

export type Work<T> = (
  writer: PoolWriter<Head>,
  transaction: Transaction,
  tables: PostgresPoolTables,
  heads: LockedHeads,
) => Promise<T>;

export interface LockedCommitsParts {
  readonly database: Database;
  readonly heads: Heads;
  readonly turns: KeyedQueue;
  /** Empty before anything is locked here that is not waited for. */
  readonly pipeline: Pipeline;
  readonly months: ContentMonths;
  readonly writing: StreamWriterOptions;
  /** Told when one has failed: what is remembered of the database may be wrong. */
  readonly onFailure: () => void;
}

/** So long is a log waited for at a time. */
const WAITED_MS_MAX = 2000;
/** A commit that fails beside it makes the journal forget which partitions are there; hardly ever twice in a row. */
const ATTEMPTS_MAX = 3;

export class LockedCommits {
  readonly #parts: LockedCommitsParts;
  #isWaiting = false;

  constructor(parts: LockedCommitsParts) {
    this.#parts = parts;
  }

  /** Passes by logs that somebody else has; others of this process come before and behind it. */
  async commit<T>(scope: TransactionScope, work: Work<T>): Promise<T> {
    const { database, turns, pipeline } = this.#parts;
    // Two at once would only lock each other out of the logs that they have in common.
    const name = (await database.isDistributed()) ? scope.tenants.join() : '';
    return turns.take(name, async () => {
      await pipeline.idle();
      return this.#commit(scope, work);
    });
  }

  /**
   * Waits for the log of one tenant; undefined if it was not to be had. In no turn, so that others of this process go on; and
   * one at a time, so that connections are left for them.
   */
  async commitWaiting<T>(scope: TransactionScope, work: Work<T>): Promise<T | undefined> {
    if (this.#isWaiting) return undefined;
    this.#isWaiting = true;
    try {
      return await this.#commit(scope, work, WAITED_MS_MAX);
    } catch (error) {
      if (isLockNotAvailable(error)) return undefined;
      throw error;
    } finally {
      this.#isWaiting = false;
    }
  }

  /** Where a partition is missing, the transaction is rolled back and begins anew once the partition is there. */
  async #commit<T>(scope: TransactionScope, work: Work<T>, waitMs?: number): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#attempt(scope, work, waitMs);
      } catch (error) {
        if (!(error instanceof MissingMonths) || attempt === ATTEMPTS_MAX) throw error;
        await this.#parts.months.ensure(error.months);
      }
    }
  }

  async #attempt<T>(
    { tenants, wanted, steadyNowMs }: TransactionScope,
    work: Work<T>,
    waitMs?: number,
  ): Promise<T> {
    const { database, heads, months, writing, onFailure } = this.#parts;
    let locked: LockedHeads | undefined;
    try {
      const result = await database.inTransaction({ role: 'Writer', tenants }, async (transaction) => {
        locked = await heads.lock(transaction, tenants, waitMs);
        const tables = new PostgresPoolTables(locked);
        await tables.load(transaction, wanted, steadyNowMs);
        const done = await work(new PoolWriter(tables, writing), transaction, tables, locked);
        if (!months.hasAll(tables.rows.months)) throw new MissingMonths(tables.rows.months);
        await tables.write(transaction);
        return done;
      });
      heads.remember(locked?.heads.values() ?? []);
      for (const [tenant, { head, from }] of locked?.heads ?? [])
        if (head.nextIndex > from.nextIndex) heads.reached(tenant, head.nextIndex);
      return result;
    } catch (error) {
      if (!isLockNotAvailable(error) && !(error instanceof MissingMonths)) onFailure();
      throw error;
    }
  }
}
