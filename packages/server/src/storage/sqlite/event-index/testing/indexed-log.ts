// A log in a directory of its own with its views, in this process, compared with the plain definition of what is found.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { TenantId } from '@tallystick/contract';
import type { Found, Question } from '../../../../events/event-index.ts';
import type { QueriedEvent } from '../../../../query/queried-event.ts';
import { systemClock } from '../../../../runtime/clock.ts';
import { createUlids } from '../../../../runtime/ids.ts';
import { createSystemRandom } from '../../../../runtime/random.ts';
import { eventIn } from '../../../event-index/logged-event.ts';
import {
  draftOf,
  expectedOf,
  questionOf,
  requireSame,
  type Said,
} from '../../../event-index/testing/plain-definition.ts';
import type { Storage } from '../../../storage.ts';
import type { Job } from '../../../../work/jobs.ts';
import { openJournalForReading } from '../../connection/database.ts';
import { openSqliteStorage } from '../../sqlite-storage.ts';
import { IndexFollower } from '../follower.ts';
import { LetterBox } from '../letter-box.ts';
import { IndexReader } from '../index-reader.ts';
import { LoggedEvents } from '../logged-events.ts';
import type { StopFlag } from '../stop.ts';
import { openViews, openViewsForReading } from '../views-database.ts';

const NOW_MS = Date.UTC(2026, 5, 1);
const PORTION = 1000;
const random = createSystemRandom();
const nextId = createUlids(systemClock, random);

export interface LogOptions {
  readonly gatheredMax?: number;
}

export class IndexedLog implements AsyncDisposable {
  readonly directory: string;
  readonly #storage: Storage;
  readonly #options: LogOptions;
  readonly #journal: DatabaseSync;
  readonly #letters: LetterBox;
  #views: DatabaseSync;
  #reading: DatabaseSync;
  follower: IndexFollower;
  reader: IndexReader;

  private constructor(directory: string, storage: Storage, options: LogOptions) {
    this.#options = options;
    this.directory = directory;
    this.#storage = storage;
    this.#journal = openJournalForReading(directory);
    this.#letters = new LetterBox({ directory, nextId, nowMs: () => systemClock.now() });
    this.#views = openViews(directory, this.#journal).db;
    this.#reading = openViewsForReading(directory);
    this.follower = new IndexFollower(this.#journal, this.#views, this.#letters, PORTION);
    this.reader = this.#makeReader();
  }

  static async open(options: LogOptions = {}): Promise<IndexedLog> {
    const directory = mkdtempSync(join(tmpdir(), 'tallystick-index-'));
    const storage = await openSqliteStorage({
      directory,
      logOrigin: 'index.test',
      streams: { sealAfter: { ms: 86_400_000 }, sealAfterEvents: 1_000_000 },
      clock: systemClock,
      random,
      threads: false,
      exclusive: true,
      onFatal: (error) => {
        throw error;
      },
    });
    return new IndexedLog(directory, storage, options);
  }

  #makeReader(): IndexReader {
    const reading = { journal: this.#journal, views: this.#reading, logOrigin: 'index.test' };
    return new IndexReader({ ...reading, ...this.#options });
  }

  /** Closes the views and opens them again, as a restart does; says why they were thrown away, if they were. */
  reopen(): string | undefined {
    this.#reading.close();
    this.#views.close();
    const { db, discarded } = openViews(this.directory, this.#journal);
    this.#views = db;
    this.#reading = openViewsForReading(this.directory);
    this.follower = new IndexFollower(this.#journal, db, this.#letters, PORTION);
    this.reader = this.#makeReader();
    return discarded;
  }

  get views(): DatabaseSync {
    return this.#views;
  }

  async append(tenant: TenantId, said: readonly Said[]): Promise<void> {
    await this.#storage.tenants.ensure(tenant, NOW_MS);
    const drafts = said.map((each) => draftOf(each, nextId));
    await this.#storage.log.append([{ tenant, drafts, atomic: true }], { nowMs: NOW_MS, steadyNowMs: 0 });
  }

  /** Writes other words into the facts of an event, as nobody but a test may. */
  rewrite(sequence: number, from: string, to: string): void {
    using journal = new DatabaseSync(join(this.directory, 'journal.db'));
    journal
      .prepare(
        `UPDATE contents SET text1 = CAST(replace(CAST(text1 AS TEXT), ?, ?) AS BLOB)
         WHERE id = (SELECT id FROM entries WHERE leaf_index = ?)`,
      )
      .run(from, to, sequence - 1);
  }

  /** Saves a position of the log, and nothing else. */
  savePosition(sequence: number): void {
    const { id, leaf } = this.#journal
      .prepare('SELECT id, leaf FROM entries WHERE leaf_index = ?')
      .get(sequence - 1)!;
    const set = this.#views.prepare('UPDATE meta SET value = ? WHERE name = ?');
    set.run(id!, 'position');
    set.run(leaf!, 'leaf');
  }

  /** Until all is in. */
  follow(): void {
    while (this.follower.turn().isMore);
  }

  /** Makes the view of a tenant anew. */
  rebuild(tenant: TenantId): void {
    while (!this.follower.build(this.tenantNumber(tenant)).isDone);
  }

  /** Events that were set aside, newest first. */
  letters(tenant: TenantId): Promise<Job[]> {
    const wish = { way: 'Falling', beyond: undefined, limit: 10, isWaiting: true, isRetried: true } as const;
    return this.#storage.work.forTenant(tenant).letters(wish);
  }

  /** The tenant's number in the store. */
  tenantNumber(tenant: TenantId): number {
    const row = this.#journal.prepare('SELECT tenant FROM tenants WHERE tenant_id = ?').get(tenant);
    return Number(row?.['tenant']);
  }

  find(tenant: TenantId, asked: Partial<Question> = {}): Found {
    return this.reader.find(tenant, questionOf(asked), NOW_MS);
  }

  findUntil(tenant: TenantId, flag: StopFlag): Found {
    return this.reader.find(tenant, questionOf({}), NOW_MS, flag);
  }

  /** All events of a tenant as they are in the log. */
  logged(tenant: TenantId): QueriedEvent[] {
    const rows = new LoggedEvents(this.#journal).ofTenant(this.tenantNumber(tenant), 0, 1e9, 1e9);
    return rows.map((row) => eventIn(row)!);
  }

  /** What is found by the plain definition, in order. */
  expected(tenant: TenantId, asked: Partial<Question> = {}): QueriedEvent[] {
    return expectedOf(this.logged(tenant), asked);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#reading.close();
    this.#views.close();
    this.#journal.close();
    await this.#storage[Symbol.asyncDispose]();
    rmSync(this.directory, { recursive: true });
  }
}

/** What the index finds for a question is what the plain definition finds; throws where it is not. Gives how many. */
export function requireFound(
  log: IndexedLog,
  tenant: string,
  asked: Partial<Question>,
  gatheredMax = Infinity,
): number {
  return requireSame(log.expected(tenant, asked), log.find(tenant, asked), asked, gatheredMax);
}
