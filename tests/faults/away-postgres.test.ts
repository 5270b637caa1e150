// A PostgreSQL that stands still, or has no connection left for us: every request is answered in bounded time, by 503 with
// Retry-After; the service says that it is not ready, acknowledges nothing that is not stored, and goes on by itself.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, test, type TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { Client as Connection } from 'pg';
import { freePort } from '../../packages/server/src/testing/free-port.ts';
import { type PostgresServer, startPostgres } from '../../packages/server/src/testing/postgres-server.ts';
import { type Ask, Client, event, type Reply } from './client.ts';
import { requireKept } from './kill-rounds.ts';
import { LastingLoad, requireRetryAfter } from './lasting-load.ts';
import { readPostgresLog } from './read-postgres-log.ts';
import { type Service, startService, temporaryFolder } from './running.ts';
import { SIZE } from './size.ts';

const STOPPED_MS = SIZE.isLong ? 30_000 : 0;
/** To wait for a connection, for an answer, and for the end of what was begun; and what a slow machine needs besides. */
const ANSWERED_MS_MAX = 60_000;
const CONNECTIONS = 8;

let server: PostgresServer;
before(async () => {
  server = await startPostgres();
});
after(() => server?.[Symbol.asyncDispose]());

/** One of each kind that cannot be answered without the database. */
function kindsOf(eventId: string): readonly Ask[] {
  const get = (path: string): Ask => ({ method: 'GET', path: `/api/v1${path}` });
  const post = (path: string, body: object): Ask => ({ path: `/api/v1${path}`, body });
  return [
    { key: 'refused', body: event('refused') },
    post('/audit-events/batch', { events: [event('refused-batch')] }),
    post('/audit-events/search', { query: 'approve' }),
    get('/audit-events?limit=1'),
    get('/audit-events?q=approve'),
    get(`/audit-events/${eventId}`),
    get(`/audit-events/${eventId}/proof`),
    get('/event-streams'),
    post('/admin/api-keys', { name: 'refused', roles: ['Viewer'] }),
    post('/admin/projections/rebuild', {}),
    get('/admin/dead-letter-queue'),
    get('/admin/metrics'),
  ];
}

/** What is asked of the index has the time limit of its request, which is longer. */
function isOfIndex({ path = '' }: Ask): boolean {
  return /search|audit-events\?|projections|dead-letter/.test(path);
}

interface Running extends AsyncDisposable {
  readonly service: Service;
  readonly client: Client;
  readonly load: LastingLoad;
  readonly url: string;
  /** Of an event that is stored. */
  readonly eventId: string;
}

async function run(url: string, script?: string): Promise<Running> {
  await using parts = new AsyncDisposableStack();
  const folder = parts.use(temporaryFolder());
  const start = { dataDirectory: join(folder.path, 'data'), env: { Storage__Url: url } };
  const service = parts.use(await startService(script === undefined ? start : { ...start, script }));
  const client = parts.use(new Client(service.url));
  const load = parts.use(new LastingLoad({ urls: () => [service.url], connections: CONNECTIONS }));
  await load.untilMore(20);
  const [eventId] = load.book.acknowledged.keys();
  const opened = parts.move();
  const dispose = () => opened.disposeAsync();
  return { service, client, load, url, eventId: eventId!, [Symbol.asyncDispose]: dispose };
}

async function isReady(client: Client): Promise<boolean> {
  return (await client.ask({ method: 'GET', path: '/health/ready' })).status === 200;
}

/** All at once; gives how long the slowest of them took. */
async function requireRefused({ client }: Running, kinds: readonly Ask[]): Promise<number> {
  const beganAt = performance.now();
  const times = await Promise.all(
    kinds.map(async (kind): Promise<[Ask, Reply, number]> => {
      const reply = await client.ask(kind);
      return [kind, reply, performance.now() - beganAt];
    }),
  );
  for (const [{ path }, reply, ms] of times) {
    assert.equal(reply.status, 503, `${path} ${JSON.stringify(reply.body)}`);
    requireRetryAfter(reply);
    assert.ok(ms < ANSWERED_MS_MAX, `${path} took ${ms} ms`);
  }
  return Math.max(...times.map(([, , ms]) => ms));
}

/** It is ready, takes events, and has what it has acknowledged, once. */
async function requireRecovered(running: Running): Promise<void> {
  const { client, load, url } = running;
  await load.until(() => isReady(client), 'ready again');
  await load.untilMore(20);
  const book = await load.finish();
  requireKept(await readPostgresLog(url), book);
  assert.ok(load.slowestMs < ANSWERED_MS_MAX, load.figures());
}

async function requireStandstillEndured(t: TestContext): Promise<void> {
  // Others use the server of this file meanwhile.
  await using frozen = await startPostgres();
  await using running = await run(await frozen.createDatabase());
  const { client, load } = running;
  await frozen.freeze();
  const stoppedAt = performance.now();
  let slowestMs: number;
  try {
    const refused = requireRefused(running, kindsOf(running.eventId));
    await load.until(async () => !(await isReady(client)), 'not ready');
    slowestMs = await refused;
    await pause(Math.max(0, STOPPED_MS - (performance.now() - stoppedAt)));
    assert.equal(await isReady(client), false);
  } finally {
    await frozen.thaw();
  }
  const stoppedMs = performance.now() - stoppedAt;
  await requireRecovered(running);
  t.diagnostic(
    `stopped for ${Math.round(stoppedMs)} ms, refused after ${Math.round(slowestMs)} ms; ${load.figures()}`,
  );
}

/** Takes what connections there are, until it is told to stop; ours are ended, so that others can have them. */
class Crowd implements AsyncDisposable {
  readonly #url: string;
  readonly #connections: Connection[] = [];

  constructor(url: string) {
    this.#url = url;
  }

  /** Until nobody of the service has one; gives how many there were. */
  async takeAll(): Promise<number> {
    for (;;) {
      if (await this.#take()) continue;
      const { rowCount } = await this.#connections[0]!.query(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'tallystick'",
      );
      if (rowCount === 0) return this.#connections.length;
    }
  }

  async #take(): Promise<boolean> {
    const connection = new Connection({ connectionString: this.#url });
    connection.on('error', () => {});
    try {
      await connection.connect();
      this.#connections.push(connection);
      return true;
    } catch {
      return false;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#connections.splice(0).map((connection) => connection.end()));
  }
}

const NARROW = { max_connections: '24', superuser_reserved_connections: '0', reserved_connections: '0' };

test('a database whose connections others have: 503 for every request, and then it goes on', async (t) => {
  await using narrow = await startPostgres(NARROW);
  const url = await narrow.createDatabase();
  await using running = await run(url);
  const { client, load } = running;
  await using crowd = new Crowd(narrow.url());
  const taken = await crowd.takeAll();
  const slowestMs = await requireRefused(running, kindsOf(running.eventId));
  await load.until(async () => !(await isReady(client)), 'not ready');
  await crowd[Symbol.asyncDispose]();
  await requireRecovered(running);
  t.diagnostic(`${taken} taken, refused after ${Math.round(slowestMs)} ms; ${load.figures()}`);
});

test('a start while others have all connections: 503 for every request, and it serves once there is room', async () => {
  await using narrow = await startPostgres(NARROW);
  const url = await narrow.createDatabase();
  using folder = temporaryFolder();
  await using crowd = new Crowd(narrow.url());
  await crowd.takeAll();
  const port = await freePort();
  using client = new Client(`http://127.0.0.1:${port}`);
  const env = { Storage__Url: url, Server__Port: String(port) };
  const starting = startService({ dataDirectory: join(folder.path, 'data'), env });
  starting.catch(() => {});
  const refusedOf = async () => {
    const reply = await client.ask({ body: event('early') }).catch(() => undefined);
    if (reply !== undefined) assert.equal(reply.status, 503);
    return reply;
  };
  let refused = await refusedOf();
  while (refused === undefined) refused = await Promise.race([refusedOf(), starting.then(() => undefined)]);
  requireRetryAfter(refused);
  assert.equal(await isReady(client), false);
  // It has knocked by now, and more than once.
  await pause(1500);
  assert.equal(await isReady(client), false);
  await crowd[Symbol.asyncDispose]();
  await using _ = await starting;
  assert.equal((await client.ask({ body: event('late') })).status, 201);
});

const LOCK_ATTEMPTS_MAX = 10;
/** So that the holders of our connections keep them. */
const LOCK = `BEGIN; LOCK TABLE tallystick.entries, tallystick.heads, tallystick.streams, tallystick.index_manifests,
  tallystick.records, tallystick.tenants, tallystick.jobs, tallystick.positions IN ACCESS EXCLUSIVE MODE`;

/** The service takes these tables in an order of its own: of two that wait for each other the database sends one away. */
async function lockAll(holder: Connection, lock = LOCK): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await holder.query(lock);
      return;
    } catch (error) {
      const isSentAway = error instanceof Error && 'code' in error && error.code === '40P01';
      if (!isSentAway || attempt === LOCK_ATTEMPTS_MAX) throw error;
      await holder.query('ROLLBACK');
    }
  }
}

async function requireBusyEndured(t: TestContext): Promise<void> {
  const url = await server.createDatabase();
  await using running = await run(url);
  const { client, load } = running;
  const holder = new Connection({ connectionString: url });
  holder.on('error', () => {});
  await holder.connect();
  await lockAll(holder);
  // More of each kind than there are connections.
  const kinds = kindsOf(running.eventId).filter((kind) => !isOfIndex(kind));
  const some = SIZE.isLong ? kinds : kinds.slice(0, 3);
  const slowestMs = await requireRefused(running, [...some, ...some, ...some, ...some]);
  await load.until(async () => !(await isReady(client)), 'not ready');
  await holder.query('ROLLBACK');
  await holder.end();
  await requireRecovered(running);
  t.diagnostic(`refused after ${Math.round(slowestMs)} ms; ${load.figures()}`);
}

// Both wait for time limits of the service, most of the time.
describe('503 for every request, and then it goes on', { concurrency: true }, () => {
  test('a database that stands still, in bounded time', requireStandstillEndured);
  test('all connections of the service are busy', requireBusyEndured);
});

test('control: a service that acknowledges from memory does so while the log cannot be written, and this sees it', async () => {
  const script = join(import.meta.dirname, 'processes/answers-early.ts');
  const url = await server.createDatabase();
  await using running = await run(url, script);
  await running.load.finish();
  const holder = new Connection({ connectionString: url });
  holder.on('error', () => {});
  await holder.connect();
  await lockAll(holder, 'BEGIN; LOCK TABLE tallystick.entries, tallystick.heads IN ACCESS EXCLUSIVE MODE');
  await assert.rejects(requireRefused(running, [{ body: event('early') }]), /201/);
  await holder.end();
});
