// P2 on PostgreSQL: the disk of the database is full, under its tables or under its write-ahead log. Nothing is acknowledged
// that is not stored, the answer is 503 with Retry-After, the service says that it is not ready, and it goes on by itself
// once there is room; behind a full write-ahead log, once the database is started again.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { appendFileSync, chmodSync, mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Client as Connection } from 'pg';
import { type PostgresServer, startPostgres } from '../../packages/server/src/testing/postgres-server.ts';
import { type Ask, Client, event } from './client.ts';
import { type Book, requireKept } from './kill-rounds.ts';
import { LastingLoad } from './lasting-load.ts';
import { readPostgresLog } from './read-postgres-log.ts';
import { startService, temporaryFolder } from './running.ts';

const NOBODY = 65534;
const LARGE_BYTES = 30_000;

/** A small file system of its own, which can be filled up and freed. */
class SmallDisk implements Disposable {
  readonly path: string;

  constructor(path: string, megabytes: number) {
    this.path = path;
    mkdirSync(path);
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}M,uid=${NOBODY},mode=0700`, 'tmpfs', path]);
  }

  /** To the last byte, even if others write there meanwhile. */
  fill(): void {
    try {
      for (;;) appendFileSync(join(this.path, 'ballast'), Buffer.alloc(64 * 1024));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
    }
  }

  free(): void {
    rmSync(join(this.path, 'ballast'), { force: true });
  }

  [Symbol.dispose](): void {
    execFileSync('umount', ['-l', this.path]);
  }
}

/** Only some may mount; then the test says so. */
function mayMount(): { skip: string | false } {
  using folder = temporaryFolder();
  try {
    using _ = new SmallDisk(join(folder.path, 'disk'), 1);
    return { skip: false };
  } catch {
    return { skip: 'a file system cannot be mounted here' };
  }
}

async function isReady(client: Client): Promise<boolean> {
  return (await client.ask({ method: 'GET', path: '/health/ready' })).status === 200;
}

/** A database all of whose tables are on this disk. */
async function databaseOn(server: PostgresServer, disk: SmallDisk): Promise<string> {
  const admin = new Connection({ connectionString: server.url() });
  await admin.connect();
  await admin.query(`CREATE TABLESPACE small LOCATION '${disk.path}'`);
  await admin.query('CREATE DATABASE full_up TABLESPACE small');
  await admin.end();
  return server.url('full_up');
}

/** So large, and so little to be compressed, that a disk is full soon. */
function largeAsk(book: Book): Ask {
  const marker = `large-${book.asked++}`;
  const filler = randomBytes(LARGE_BYTES).toString('base64');
  return { tenant: 'acme', key: marker, body: { ...event(marker), payload: { marker, filler } } };
}

interface Place extends AsyncDisposable {
  readonly server: PostgresServer;
  readonly disk: SmallDisk;
  readonly folder: string;
}

async function openPlace(megabytes: number, settings: Record<string, string> = {}): Promise<Place> {
  await using parts = new AsyncDisposableStack();
  const folder = parts.use(temporaryFolder());
  chmodSync(folder.path, 0o755);
  const disk = parts.use(new SmallDisk(join(folder.path, 'disk'), megabytes));
  const server = parts.use(await startPostgres(settings));
  const opened = parts.move();
  return { server, disk, folder: folder.path, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

/** Fills the disk in the middle of the load, and frees it; gives what the load has to tell. */
async function fillAndFree(
  { disk, folder }: Place,
  url: string,
  onFreed: () => Promise<void>,
): Promise<string> {
  const start = { dataDirectory: join(folder, 'data'), env: { Storage__Url: url } };
  await using service = await startService(start);
  using client = new Client(service.url);
  const asking = { urls: () => [service.url], connections: 8, next: largeAsk };
  await using load = new LastingLoad(asking);
  await load.untilMore(5);
  disk.fill();
  await load.until(() => load.refusals > 0, 'a refusal');
  await load.until(async () => !(await isReady(client)), 'not ready');
  disk.free();
  await onFreed();
  await load.until(() => isReady(client), 'ready again');
  await load.untilMore(5);
  const book = await load.finish();
  requireKept(await readPostgresLog(url), book);
  return load.figures();
}

test('no room for tables: 503 and not ready, then it goes on by itself', mayMount(), async (t) => {
  await using place = await openPlace(128);
  const url = await databaseOn(place.server, place.disk);
  t.diagnostic(await fillAndFree(place, url, () => Promise.resolve()));
});

test(
  'no room for the write-ahead log: 503 and not ready, and it goes on once the database does',
  mayMount(),
  async (t) => {
    await using place = await openPlace(256, { max_wal_size: '64MB', min_wal_size: '32MB' });
    const { server, disk } = place;
    const url = await server.createDatabase();
    await server.stop();
    const wal = join(server.dataDirectory, 'pg_wal');
    execFileSync('cp', ['-a', wal, join(disk.path, 'wal')]);
    rmSync(wal, { recursive: true });
    symlinkSync(join(disk.path, 'wal'), wal);
    await server.start();
    const startAgain = async () => {
      await server.kill();
      await server.start();
    };
    t.diagnostic(await fillAndFree(place, url, startAgain));
  },
);

test(
  'control: a service that acknowledges from memory loses what there was no room for, and this sees it',
  mayMount(),
  async () => {
    await using place = await openPlace(128);
    const { disk, folder } = place;
    const url = await databaseOn(place.server, disk);
    const script = join(import.meta.dirname, 'processes/answers-early.ts');
    const start = { dataDirectory: join(folder, 'data'), env: { Storage__Url: url }, script };
    await using service = await startService(start);
    await using load = new LastingLoad({ urls: () => [service.url], connections: 8, next: largeAsk });
    await load.untilMore(5);
    disk.fill();
    await load.untilMore(100);
    const book = await load.finish();
    disk.free();
    const log = await readPostgresLog(url);
    assert.throws(() => requireKept(log, book));
  },
);
