// work.db of a data directory: jobs, the positions of followers, and violations. It is separate from journal.db, since it is
// written for every step of a job, and none of it is evidence. Every commit is on the disk before it returns.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import type { TenantId } from '@tallystick/contract';
import { StartError } from '../../../start-error.ts';
import type { NewJob } from '../../../work/jobs.ts';
import { numberOf, textIn } from '../../rows/columns.ts';
import { heardColumns, JOB_INDEXES, jobTables, laneTables } from '../../work/job-schema.ts';
import { jobStatements, type JobStatements } from '../../work/job-statements.ts';
import type { JobDatabase, JobScope, JobTransaction } from '../../work/job-database.ts';
import { valuesOf, valuesOfFailure } from '../../work/job-values.ts';
import { violationEvents, violationTables } from '../../work/violation-statements.ts';
import { createFile, inTransaction } from '../connection/database.ts';
import { isDamage } from '../fsck/damage.ts';
import { sqliteJobDialect } from './job-dialect.ts';

export const WORK_FILE = 'work.db';

/** "Twrk": distinguishes the file from any other SQLite database. */
const APPLICATION_ID = 0x5477726b;
const REMEDY = `It holds jobs and no events: move it away, with ${WORK_FILE}-wal and ${WORK_FILE}-shm, and the next start makes a new one; ask again for verifications and rebuilds that had not ended`;
const BUSY_TIMEOUT_MS = 5000;
const CACHE_KIB = 16 * 1024;

const TABLES = jobTables({ text: 'TEXT', number: 'INTEGER', bytes: 'BLOB', end: ' STRICT, WITHOUT ROWID' });
/** Each is one step from the version before. */
const MIGRATIONS: readonly string[] = [
  TABLES.join(';\n'),
  violationTables({ text: 'TEXT', number: 'INTEGER', end: ' STRICT, WITHOUT ROWID' }).join(';\n'),
  violationEvents({ text: 'TEXT', eventId: "body ->> '$.eventId'", kept: 'VIRTUAL' }).join(';\n'),
  laneTables({ text: 'TEXT', number: 'INTEGER', end: ' STRICT, WITHOUT ROWID' }).join(';\n'),
  JOB_INDEXES.join(';\n'),
  heardColumns({ text: 'TEXT', number: 'INTEGER' }).join(';\n'),
];

/**
 * What waits since a moment that is still to come was stored by a clock that has been set back since: it waits for as long as it
 * was to, from now on.
 */
const SET_BACK = `UPDATE jobs SET wake_ms = wake_ms - (coalesce(last_failed_ms, created_ms) - now_ms()),
    created_ms = min(created_ms, now_ms()), last_failed_ms = min(last_failed_ms, now_ms())
  WHERE state IN ('Later', 'Parked') AND coalesce(last_failed_ms, created_ms) > now_ms()`;

export class WorkDatabase implements JobDatabase<StatementSync>, Disposable {
  readonly statements: JobStatements<StatementSync>;
  /** A statement costs little where the database is in this process. */
  readonly lanesAtOnce = 1;
  readonly #db: DatabaseSync;
  #last: Promise<unknown> = Promise.resolve();

  /** Throws StartError. */
  constructor(directory: string, nowMs: () => number) {
    const path = join(directory, WORK_FILE);
    try {
      if (!existsSync(path)) createFile(directory, path);
      this.#db = new DatabaseSync(path);
      this.#db.exec(
        `PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
         PRAGMA secure_delete = ON; PRAGMA cache_size = ${-CACHE_KIB}`,
      );
      migrate(this.#db);
      this.#db.function('now_ms', () => Math.floor(nowMs()));
      this.statements = jobStatements(sqliteJobDialect((text) => this.#db.prepare(text)));
    } catch (error) {
      if (error instanceof StartError) throw error;
      const why = error instanceof Error ? error.message : String(error);
      const remedy = isDamage(error) ? `. ${REMEDY}` : '';
      throw new StartError(`cannot open ${path}: ${why}${remedy}`, { cause: error });
    }
  }

  /** One after the other: a connection has one transaction at a time. */
  inTransaction<T>(
    _: JobScope,
    work: (transaction: JobTransaction<StatementSync>) => Promise<T>,
  ): Promise<T> {
    const run = async () => {
      this.#db.exec('BEGIN IMMEDIATE');
      try {
        const result = await work(onStatements);
        this.#db.exec('COMMIT');
        return result;
      } catch (error) {
        if (this.#db.isTransaction) this.#db.exec('ROLLBACK');
        throw error;
      }
    };
    const done = this.#last.then(run, run);
    this.#last = done.catch(() => {});
    return done;
  }

  /** For a process that is alone: the holders of jobs have ended. */
  release(): void {
    this.#db.exec("UPDATE jobs SET state = 'Waiting' WHERE state = 'Held'");
    const { changes } = this.#db.prepare(SET_BACK).run();
    if (changes > 0) this.#db.exec('UPDATE lanes SET rests_until_ms = 0');
  }

  /** Runs in its own commit; an existing letter is marked as failed again. */
  addLetter(job: NewJob & Required<Pick<NewJob, 'dead' | 'uniqueKey'>>): void {
    const { add, failAgain } = this.statements;
    if (add.get(...valuesOf(job)) === undefined) failAgain.get(...valuesOfFailure(job));
  }

  /** Places a new follower at the ends of the logs, if it should begin there. Returns its position in each log. */
  begin(
    name: string,
    from: 'Beginning' | 'End',
    ends: ReadonlyMap<TenantId, number>,
  ): Promise<Map<TenantId, number>> {
    return this.inTransaction('All', async () => {
      const rows = this.#db.prepare('SELECT tenant_id, next_index FROM positions WHERE name = ?').all(name);
      const positions = new Map(rows.map((row) => [textIn(row, 'tenant_id'), numberOf(row, 'next_index')]));
      const set = this.#db.prepare(
        'INSERT OR REPLACE INTO positions (tenant_id, name, next_index) VALUES (?, ?, ?)',
      );
      const forget = this.#db.prepare('DELETE FROM windows WHERE tenant_id = ?');
      const isNew = positions.size === 0 && from === 'End';
      // A row without a tenant marks the follower as known, even if it found no log.
      if (positions.size === 0) set.run('', name, 0);
      for (const [tenant, end] of ends) {
        // In a log that was put back, the follower continues from its end.
        if (!isNew && (positions.get(tenant) ?? 0) <= end) continue;
        // What was counted in the entries that are gone counts no more.
        forget.run(tenant);
        set.run(tenant, name, end);
        positions.set(tenant, end);
      }
      return positions;
    });
  }

  async isDistributed(): Promise<boolean> {
    return false;
  }

  [Symbol.dispose](): void {
    this.#db.close();
  }
}

const onStatements: JobTransaction<StatementSync> = {
  query: async (statement, values) => statement.all(...values),
  change: async (statement, values) => Number(statement.run(...values).changes),
};

function migrate(db: DatabaseSync): void {
  const read = db.prepare(
    `SELECT user_version AS version, application_id AS application,
       (SELECT count(*) FROM sqlite_schema) AS tables FROM pragma_user_version, pragma_application_id`,
  );
  const path = db.location() ?? WORK_FILE;
  inTransaction(db, () => {
    const found = read.get();
    const version = numberOf(found, 'version');
    if (numberOf(found, 'tables') > 0 && numberOf(found, 'application') !== APPLICATION_ID)
      throw new StartError(`${path} is a database of another program`);
    if (version > MIGRATIONS.length)
      throw new StartError(
        `${path} has schema version ${version}; this program knows versions up to ${MIGRATIONS.length}: it was written by a newer one`,
      );
    if (version === MIGRATIONS.length) return;
    for (const migration of MIGRATIONS.slice(version)) db.exec(migration);
    db.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${MIGRATIONS.length}`);
  });
}
