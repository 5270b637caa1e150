// Transactions with locked heads. Usually locked logs are skipped. But a continuous writer leaves a log free only for
// moments, which occasional attempts rarely hit: after some time, a transaction waits for its one log in the database,
// which queues the writers. It holds no other lock meanwhile, so there is no deadlock.

import type { TenantId } from '@tallystick/contract';
import type { Head } from '../../pool/head.ts';
import { PoolWriter } from '../../pool/pool-writer.ts';
import type { StreamWriterOptions } from '../../pool/stream-writer.ts';
import { type ContentMonths, MissingMonths } from '../schema/content-months.ts';
import { type Database, isLockNotAvailable, type Transaction } from '../connection/database.ts';
import { MissingKeys } from '../../sealing/pool-sealer.ts';
import type { PoolKeys } from './pool-keys.ts';
import type { KnownDecisions } from './decisions.ts';
import type { Heads, LockedHeads } from './heads.ts';
import type { Pipeline } from '../connection/pipeline.ts';
import { PostgresPoolTables, type Wanted } from './pool-tables.ts';
import type { KeyedQueue } from '../../../runtime/turns.ts';

/** The logs of a transaction, and its lookups. */
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
  /** Must be idle before heads are locked here without waiting. */
  readonly pipeline: Pipeline;
  readonly months: ContentMonths;
  readonly decisions: KnownDecisions;
  /** Undefined: nothing is sealed. */
  readonly keys: PoolKeys | undefined;
  readonly writing: StreamWriterOptions;
  /** Called when a commit has failed: cached facts about the database may be wrong. */
  readonly onFailure: () => void;
}

/** The longest single wait for a log. */
const WAITED_MS_MAX = 2000;
/** A partition, keys, and both again: a failed commit beside it clears what is known; that rarely happens twice in a row. */
const ATTEMPTS_MAX = 5;

export class LockedCommits {
  readonly #parts: LockedCommitsParts;
  #isWaiting = false;

  constructor(parts: LockedCommitsParts) {
    this.#parts = parts;
  }

  /** Skips locked logs; runs in turn with the other commits of this process. */
  async commit<T>(scope: TransactionScope, work: Work<T>): Promise<T> {
    const { database, turns, pipeline } = this.#parts;
    // Two at once would only lock each other out of the logs that they have in common.
    const name = (await database.isDistributed()) ? scope.tenants.join() : '';
    return this.#untilMade(() =>
      turns.take(name, async () => {
        await pipeline.idle();
        return this.#attempt(scope, work);
      }),
    );
  }

  /**
   * Waits for the log of one tenant; undefined if the lock was not available. Runs outside the turns, so that other
   * commits continue, and one at a time, so that they have connections left.
   */
  async commitWaiting<T>(scope: TransactionScope, work: Work<T>): Promise<T | undefined> {
    if (this.#isWaiting) return undefined;
    this.#isWaiting = true;
    try {
      return await this.#untilMade(() => this.#attempt(scope, work, WAITED_MS_MAX));
    } catch (error) {
      if (isLockNotAvailable(error)) return undefined;
      throw error;
    } finally {
      this.#isWaiting = false;
    }
  }

  /**
   * If a partition or a key is missing, the transaction is rolled back and restarted once that exists. It is made outside the
   * turns: it may take long, and other commits need not wait for it.
   */
  async #untilMade<T>(commit: () => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await commit();
      } catch (error) {
        if (attempt === ATTEMPTS_MAX) throw error;
        if (error instanceof MissingMonths) await this.#parts.months.ensure(error.months);
        else if (error instanceof MissingKeys) await this.#parts.keys!.provide(error.months);
        else throw error;
      }
    }
  }

  async #attempt<T>(
    { tenants, wanted, steadyNowMs }: TransactionScope,
    work: Work<T>,
    waitMs?: number,
  ): Promise<T> {
    const { database, heads, months, decisions, keys, writing, onFailure } = this.#parts;
    let locked: LockedHeads | undefined;
    let written: PostgresPoolTables | undefined;
    try {
      const result = await database.inTransaction({ role: 'Writer', tenants }, async (transaction) => {
        locked = await heads.lock(transaction, tenants, waitMs);
        const tables = (written = new PostgresPoolTables(locked, decisions));
        await Promise.all([
          tables.load(transaction, wanted, steadyNowMs),
          keys?.confirm(transaction, [...locked.heads.keys()]),
        ]);
        const done = await work(new PoolWriter(tables, writing), transaction, tables, locked);
        if (!months.hasAll(tables.rows.months)) throw new MissingMonths(tables.rows.months);
        if (tables.rows.missingKeys.length > 0) throw new MissingKeys(tables.rows.missingKeys);
        await tables.write(transaction);
        return done;
      });
      heads.remember(locked?.heads.values() ?? []);
      written?.rows.decisions.remember();
      for (const [tenant, { head, from }] of locked?.heads ?? [])
        if (head.nextIndex > from.nextIndex) heads.reached(tenant, head.nextIndex);
      return result;
    } catch (error) {
      const isExpected = error instanceof MissingMonths || error instanceof MissingKeys;
      if (!isLockNotAvailable(error) && !isExpected) onFailure();
      throw error;
    }
  }
}
