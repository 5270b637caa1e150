// Transactions in sequence over one connection, each of one statement: it is sent together with its commit, and the
// next one follows before the first is answered. So the database is never idle, and each transaction sees the previous
// ones. While nothing is under way the connection is returned to the pool.

import type { PoolClient } from 'pg';
import { orUnavailable, UnknownCommitError } from './unavailable.ts';
import {
  begin,
  type Database,
  type DatabaseNotice,
  type DatabaseScope,
  DURABLY,
  isWarning,
  type Row,
  type Statement,
  transactionOn,
  type Value,
} from './database.ts';

interface Asked {
  readonly scope: DatabaseScope;
  readonly statement: Statement;
  readonly values: readonly Value[];
  readonly settings: readonly string[];
  readonly answer: PromiseWithResolvers<Row[]>;
}

export class Pipeline {
  readonly #database: Database;
  /** Waiting for a connection. */
  #waiting: Asked[] = [];
  #client: PoolClient | undefined;
  #underWay = 0;
  #warning: string | undefined;
  #failure: unknown;
  #drained = Promise.withResolvers<void>();
  /** Pending while anything waits or is under way. */
  #serving: Promise<void> | undefined;

  constructor(database: Database) {
    this.#database = database;
  }

  /** The rows of the statement, once they are durable. The settings apply to this transaction. */
  commit(
    scope: DatabaseScope,
    statement: Statement,
    values: readonly Value[],
    ...settings: readonly string[]
  ): Promise<Row[]> {
    const asked = { scope, statement, values, settings, answer: Promise.withResolvers<Row[]>() };
    if (this.#client === undefined) this.#waiting.push(asked);
    else this.#send(this.#client, asked);
    this.#serving ??= this.#serve();
    return asked.answer.promise;
  }

  /** Resolves once nothing is under way. */
  async idle(): Promise<void> {
    while (this.#serving !== undefined) await this.#serving;
  }

  async #serve(): Promise<void> {
    let isConnected = false;
    try {
      await this.#database.plainly((client) => {
        isConnected = true;
        return this.#serveOver(client);
      });
    } catch (error) {
      // The sent ones were rejected already; later ones get another connection.
      if (!isConnected) for (const { answer } of this.#waiting.splice(0)) answer.reject(orUnavailable(error));
    } finally {
      this.#serving = this.#waiting.length === 0 ? undefined : this.#serve();
    }
  }

  /** Throws if the connection must not be reused. */
  async #serveOver(client: PoolClient): Promise<void> {
    const onNotice = (notice: DatabaseNotice) => {
      // The warning does not name its commit, so it applies to all under way: they are in doubt, which is always safe.
      if (isWarning(notice) && this.#underWay > 0) this.#warning ??= notice.message ?? '';
    };
    client.on('notice', onNotice);
    this.#client = client;
    this.#drained = Promise.withResolvers();
    this.#failure = undefined;
    for (const asked of this.#waiting.splice(0)) this.#send(client, asked);
    await this.#drained.promise;
    client.off('notice', onNotice);
    if (this.#failure !== undefined) throw this.#failure;
  }

  #send(client: PoolClient, { scope, statement, values, settings, answer }: Asked): void {
    this.#underWay += 1;
    begin(client, false, scope, '', DURABLY, ...settings);
    const rows = transactionOn(client, false).query(statement, values);
    const committed = client.query('COMMIT');
    void this.#settle(answer, rows, committed);
  }

  async #settle(
    answer: PromiseWithResolvers<Row[]>,
    rows: Promise<Row[]>,
    committed: Promise<{ readonly command: string }>,
  ): Promise<void> {
    const [found, commit] = await Promise.allSettled([rows, committed]);
    if (found.status === 'rejected') this.#reject(answer, found.reason);
    else if (commit.status === 'rejected') this.#reject(answer, commit.reason);
    else if (commit.value.command !== 'COMMIT')
      this.#reject(answer, new Error('the transaction was rolled back'));
    else if (this.#warning !== undefined) this.#reject(answer, new UnknownCommitError(this.#warning));
    else answer.resolve(found.value);
    this.#leave();
  }

  #reject(answer: PromiseWithResolvers<Row[]>, error: unknown): void {
    this.#failure ??= error;
    answer.reject(orUnavailable(error));
  }

  #leave(): void {
    this.#underWay -= 1;
    if (this.#underWay > 0) return;
    this.#client = undefined;
    this.#warning = undefined;
    this.#drained.resolve();
  }
}
