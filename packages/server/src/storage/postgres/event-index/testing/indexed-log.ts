// A database with logs and their index, compared with the plain definition of what is found. Each test takes tenants of its
// own: to make a database takes long.

import type { TenantId } from '@tallystick/contract';
import { Client } from 'pg';
import type { Found, Question } from '../../../../events/event-index.ts';
import type { QueriedEvent } from '../../../../query/queried-event.ts';
import { shownEvent } from '../../../../query/testing/shown-event.ts';
import { systemClock } from '../../../../runtime/clock.ts';
import { Deadline } from '../../../../runtime/deadline.ts';
import { createUlids } from '../../../../runtime/ids.ts';
import { createSystemRandom } from '../../../../runtime/random.ts';
import type { LogReader, LogWriter } from '../../../../streams/log.ts';
import { PATIENT_LIMITS, type Databases, openDatabases } from '../../../../testing/postgres-server.ts';
import { eventIn } from '../../../event-index/logged-event.ts';
import {
  draftOf,
  expectedOf,
  questionOf,
  requireSame,
  type Said,
} from '../../../event-index/testing/plain-definition.ts';
import { PoolCommitter } from '../../../pool/pool-commitments.ts';
import { Database, SCHEMA } from '../../connection/database.ts';
import { createLog } from '../../../../testing/postgres-log.ts';
import type { Job } from '../../../../work/jobs.ts';
import { createWorkStore } from '../../work/work.ts';
import { migrate } from '../../schema/migrate.ts';
import { createEventIndex, type EventIndexOptions, type PostgresEventIndex } from '../event-index.ts';
import { rowsBetween } from '../logged-events.ts';

export const NOW_MS = Date.UTC(2026, 5, 1);
const LOG_ORIGIN = 'index.test';
const random = createSystemRandom();
const nextId = createUlids(systemClock, random);

/** Each gets an id of its own. */
export function events(count: number, note = 'refund'): Said[] {
  return Array.from({ length: count }, (_, i) => {
    const { eventId: _id, ...said } = shownEvent({ context: {}, payload: { note, number: i } });
    return said;
  });
}

export class IndexedLogs implements AsyncDisposable {
  readonly url: string;
  readonly database: Database;
  /** What the follower tells times by. */
  readonly clock = { now: () => NOW_MS };
  readonly index: PostgresEventIndex;
  readonly #log: LogWriter & LogReader;
  readonly #server: AsyncDisposable | undefined;
  #tenants = 0;

  private constructor(url: string, server?: Databases) {
    this.#server = server;
    this.url = url;
    this.database = new Database({ url, connectionsMax: 10, ...PATIENT_LIMITS });
    this.#log = createLog({
      writing: this.database,
      reading: this.database,
      committer: new PoolCommitter(random),
      logOrigin: LOG_ORIGIN,
      streams: { sealAfter: { ms: 86_400_000 }, sealAfterEvents: 1_000_000 },
      clock: systemClock,
      random,
      nextId,
    });
    this.index = this.indexWith();
  }

  static async open(): Promise<IndexedLogs> {
    const server = await openDatabases();
    const url = await server.createDatabase();
    {
      await using owner = new Database({ url, connectionsMax: 1, ...PATIENT_LIMITS });
      await migrate(owner, 'postgres');
    }
    return new IndexedLogs(url, server);
  }

  /** Of a database that is there, with tables in which nothing is. */
  static at(url: string): IndexedLogs {
    return new IndexedLogs(url);
  }

  /** The same tables, looked at and followed by somebody else. */
  indexWith(options: Partial<EventIndexOptions> = {}): PostgresEventIndex {
    return createEventIndex({
      database: this.database,
      clock: this.clock,
      nextId,
      portion: 1000,
      ...options,
    });
  }

  /** One whose log is empty. */
  async newTenant(): Promise<TenantId> {
    return (await this.newTenants(1))[0]!;
  }

  async newTenants(count: number): Promise<TenantId[]> {
    const tenants = Array.from({ length: count }, () => `tenant-${++this.#tenants}`);
    await this.raw(
      `INSERT INTO tenants (tenant_id, fingerprint_key, created_at_ms)
       SELECT tenant, decode(repeat(md5(tenant), 2), 'hex'), 0 FROM unnest($1::text[]) AS tenant`,
      [tenants],
    );
    await this.raw('INSERT INTO heads (tenant_id) SELECT unnest($1::text[])', [tenants]);
    return tenants;
  }

  /** One with these events in its log, which are indexed. */
  async tenantWith(said: readonly Said[]): Promise<TenantId> {
    const tenant = await this.newTenant();
    await this.append(tenant, said);
    await this.follow();
    return tenant;
  }

  async append(tenant: TenantId, said: readonly Said[]): Promise<void> {
    const drafts = said.map((each) => draftOf(each, nextId));
    const [result] = await this.#log.append([{ tenant, drafts, atomic: true }], {
      nowMs: NOW_MS,
      steadyNowMs: 0,
    });
    if (result === undefined || 'fault' in result) throw new Error(`not appended: ${JSON.stringify(result)}`);
  }

  /** Until all is in. */
  async follow(index = this.index): Promise<void> {
    while ((await index.turn()).isMore);
  }

  /** Makes the view of a tenant anew. */
  async rebuild(tenant: TenantId, index = this.index): Promise<void> {
    while (!(await index.build(tenant)).isDone);
  }

  /** Events that were set aside, newest first. */
  letters(tenant: TenantId): Promise<Job[]> {
    const wish = { way: 'Falling', beyond: undefined, limit: 10, isWaiting: true, isRetried: true } as const;
    return createWorkStore(this.database).forTenant(tenant).letters(wish);
  }

  find(tenant: TenantId, asked: Partial<Question> = {}, index = this.index): Promise<Found> {
    return index.find(tenant, questionOf(asked), new Deadline());
  }

  /** All events of a tenant as they are in the log. */
  async logged(tenant: TenantId): Promise<QueriedEvent[]> {
    const { rows } = await this.database.inOneState({ role: 'Reader', tenants: [tenant] }, (transaction) =>
      rowsBetween(transaction, tenant, { fromIndex: 0, endIndex: 1e9, bytesMax: 1e9 }),
    );
    return rows.map((row) => eventIn(row)!);
  }

  /** What is found by the plain definition, in order. */
  async expected(tenant: TenantId, asked: Partial<Question> = {}): Promise<QueriedEvent[]> {
    return expectedOf(await this.logged(tenant), asked);
  }

  /** As the owner of all tables. */
  async raw(sql: string, values: unknown[] = []): Promise<Record<string, unknown>[]> {
    const client = new Client({ connectionString: this.url });
    await client.connect();
    try {
      await client.query(`SET search_path = ${SCHEMA}`);
      return (await client.query<Record<string, unknown>>(sql, values)).rows;
    } finally {
      await client.end();
    }
  }

  /** Writes other words into the facts of an event, as nobody but a test may. */
  async rewrite(tenant: TenantId, sequence: number, from: string, to: string): Promise<void> {
    await this.raw(
      `UPDATE contents SET text1 = convert_to(replace(convert_from(text1, 'UTF8'), $1, $2), 'UTF8')
       WHERE tenant_id = $3 AND leaf_index = $4`,
      [from, to, tenant, sequence - 1],
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.database[Symbol.asyncDispose]();
    await this.#server?.[Symbol.asyncDispose]();
  }
}

/** What the index finds for a question is what the plain definition finds; throws where it is not. Gives how many. */
export async function requireFound(
  logs: IndexedLogs,
  tenant: TenantId,
  asked: Partial<Question>,
  { index, gatheredMax }: { readonly index?: PostgresEventIndex; readonly gatheredMax?: number } = {},
): Promise<number> {
  const expected = await logs.expected(tenant, asked);
  return requireSame(expected, await logs.find(tenant, asked, index), asked, gatheredMax);
}
