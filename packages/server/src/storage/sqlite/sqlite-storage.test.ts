import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { MessageChannel } from 'node:worker_threads';
import { CLASSIFICATIONS } from '@tallystick/contract';
import { decodeEntry, leafHash } from '@tallystick/evidence';
import { systemClock } from '../../runtime/clock.ts';
import { createSystemRandom } from '../../runtime/random.ts';
import { StartError } from '../../start-error.ts';
import { openRunningJournal } from '../../testing/running-journal.ts';
import { append, bytesOf, draftOf, now, NOW_MS, placedIn, request, STREAMS } from '../conformance/claims.ts';
import { encodePool } from '../pool/append-message.ts';
import { JOURNAL_FILE } from './connection/database.ts';
import { NOTHING_SEALED } from '../sealing/sealing.ts';
import { openSqliteStorage, type SqliteOptions } from './sqlite-storage.ts';
import { threadsBeside } from '../../runtime/thread.ts';

const startThread = threadsBeside(import.meta.resolve('./threads/log-threads.ts'));

const folder = mkdtempSync(join(tmpdir(), 'tallystick-storage-'));
after(() => rmSync(folder, { recursive: true }));
const freshDirectory = () => mkdtempSync(join(folder, 'data-'));
const open = (directory: string, threads: boolean, more: Partial<SqliteOptions> = {}) =>
  openSqliteStorage({
    directory,
    logOrigin: undefined,
    streams: STREAMS,
    clock: systemClock,
    random: createSystemRandom(),
    threads,
    exclusive: threads,
    onFatal: (error) => {
      throw error;
    },
    ...more,
  });

/** The indexes at which the chain of a log is broken. */
function breaks(directory: string): number[] {
  using db = openRunningJournal(directory);
  let previous: Uint8Array | undefined;
  return db
    .prepare('SELECT entry FROM entries ORDER BY leaf_index')
    .all()
    .flatMap(({ entry }, i) => {
      assert.ok(entry instanceof Uint8Array);
      const isBroken = previous !== undefined && !Buffer.from(previous).equals(decodeEntry(entry).previous);
      previous = leafHash(entry);
      return isBroken ? [i] : [];
    });
}

test('a second service on the same data directory is told that one is running', async () => {
  const directory = freshDirectory();
  {
    await using _ = await open(directory, true);
    await assert.rejects(open(directory, true), (error) => {
      assert.ok(error instanceof StartError);
      assert.equal(error.message, `another instance is running on the data directory ${directory}`);
      return true;
    });
  }
  await using storage = await open(directory, true);
  await storage.log.probe();
});

test('a service that stops leaves no side files', async () => {
  const directory = freshDirectory();
  for (let i = 0; i < 3; i++) {
    await using storage = await open(directory, true);
    await storage.tenants.ensure('acme', NOW_MS);
    const { eventId } = draftOf();
    await append(storage, request('acme', [draftOf({}, { eventId })]));
    assert.ok(await storage.log.forTenant('acme').event(eventId, CLASSIFICATIONS));
  }
  assert.deepEqual(readdirSync(directory).sort(), ['journal.db', 'lock.db', 'work.db']);
});

test('a damaged file of jobs is refused with what to do about it, and without it all events are there', async () => {
  const directory = freshDirectory();
  const { eventId } = draftOf();
  {
    await using storage = await open(directory, true);
    await storage.tenants.ensure('acme', NOW_MS);
    await append(storage, request('acme', [draftOf({}, { eventId })]));
  }
  const file = join(directory, 'work.db');
  writeFileSync(file, 'not a database, but a text of some length'.repeat(400));
  for (const threads of [true, false])
    await assert.rejects(open(directory, threads), (error) => {
      assert.ok(error instanceof StartError, String(error));
      assert.match(
        error.message,
        /work\.db: file is not a database\. It holds jobs and no events: move it away/,
      );
      return true;
    });
  rmSync(file);
  await using storage = await open(directory, true);
  assert.ok(await storage.log.forTenant('acme').event(eventId, CLASSIFICATIONS));
});

test('a job on its way that somebody has altered keeps no other job waiting', async () => {
  const directory = freshDirectory();
  await using storage = await open(directory, true);
  await storage.tenants.ensure('acme', NOW_MS);
  {
    using db = openRunningJournal(directory);
    const put = db.prepare('INSERT INTO outbox (tenant, job_id, job) SELECT tenant, ?, ? FROM tenants');
    put.run('one', 'no JSON');
    put.run('two', '{}');
  }
  const jobs = storage.work.forTenant('acme');
  const jobId = '01KE0000000000000000000001';
  assert.equal((await jobs.enqueue({ jobId, kind: 'Verification', body: '{}' })).status, 'Enqueued');
  assert.equal((await jobs.find(jobId))?.state, 'Waiting');
});

test('the command line writes beside the running service, to the same log, and the chain does not fork', async () => {
  const directory = freshDirectory();
  await using service = await open(directory, true);
  await using commandLine = await open(directory, false);
  await service.tenants.ensure('acme', NOW_MS);
  const indexes: number[] = [];
  const write = async (storage: typeof service, rounds: number) => {
    for (let i = 0; i < rounds; i++) {
      const placed = placedIn(await append(storage, request('acme', [draftOf(), draftOf()])));
      indexes.push(...placed.map(({ index }) => index));
    }
  };
  await Promise.all([write(service, 60), write(commandLine, 60)]);
  assert.deepEqual(
    indexes.sort((a, b) => a - b),
    Array.from({ length: 240 }, (_, i) => i),
  );
  assert.deepEqual(breaks(directory), []);
  assert.equal(service.logOrigin, commandLine.logOrigin);
});

test('only the service, under its lock, touches a journal of an older program', async () => {
  const directory = freshDirectory();
  await (await open(directory, true))[Symbol.asyncDispose]();
  {
    using db = openRunningJournal(directory);
    db.exec('PRAGMA user_version = 0');
  }
  await assert.rejects(open(directory, false), /has schema version 0; .*`tallystick migrate`/);
  // There is no older version yet that could be migrated.
  await assert.rejects(open(directory, true), /table meta already exists/);
});

test('entries can be neither changed nor deleted, nor the tenant of a log', async () => {
  const directory = freshDirectory();
  await using storage = await open(directory, false);
  await storage.tenants.ensure('acme', NOW_MS);
  await append(storage, request('acme', [draftOf()]));
  using db = openRunningJournal(directory);
  assert.throws(() => db.exec("UPDATE entries SET leaf = x'00'"), /entries do not change/);
  assert.throws(() => db.exec('DELETE FROM contents; DELETE FROM entries'), /entries stay for ever/);
  assert.throws(() => db.exec('DELETE FROM tenants'), /FOREIGN KEY constraint failed/);
});

test('only the tenant whose log refuses an entry fails', async () => {
  const directory = freshDirectory();
  await using storage = await open(directory, false);
  for (const tenant of ['acme', 'other']) await storage.tenants.ensure(tenant, NOW_MS);
  const taken = draftOf();
  await append(storage, request('acme', [taken]));
  const pool = [
    request('other', [draftOf()]),
    // An id that the service chose is not looked up: a duplicate is a fault, which the index reports.
    request('acme', [draftOf(), draftOf({}, { eventId: taken.eventId })]),
    request('other', [draftOf()]),
  ];
  const results = await storage.log.append(pool, now());
  assert.deepEqual(
    results.map(({ status }) => status),
    ['Done', 'Faulty', 'Done'],
  );
  assert.deepEqual(
    [...placedIn(results[0]), ...placedIn(results[2])].map(({ index }) => index),
    [0, 1],
  );
  const [next] = placedIn(await append(storage, request('acme', [draftOf()])));
  assert.equal(next!.index, 1);
});

for (const threads of [false, true]) {
  test(`a commit that fails rejects its pool, and the next one goes through a fresh connection (${threads ? 'threads' : 'in process'})`, async () => {
    const directory = freshDirectory();
    await using storage = await open(directory, threads);
    await storage.tenants.ensure('acme', NOW_MS);
    await append(storage, request('acme', [draftOf()]));
    const lost = draftOf();
    {
      using db = openRunningJournal(directory);
      db.exec('ALTER TABLE contents RENAME TO elsewhere');
      await assert.rejects(storage.log.append([request('acme', [lost])], now()), /contents/);
      // The schema is intact in every other respect, so the probe succeeds.
      await storage.log.probe().catch(() => {});
      db.exec('ALTER TABLE elsewhere RENAME TO contents');
    }
    await storage.log.probe();
    const [placed] = placedIn(await append(storage, request('acme', [draftOf()])));
    assert.equal(placed!.index, 1);
    assert.equal(await storage.log.forTenant('acme').event(lost.eventId, CLASSIFICATIONS), undefined);
    assert.deepEqual(breaks(directory), []);
  });
}

test('a lost journal does not come back empty', async () => {
  const directory = freshDirectory();
  await using storage = await open(directory, false);
  await storage.tenants.ensure('acme', NOW_MS);
  {
    using db = openRunningJournal(directory);
    db.exec('ALTER TABLE contents RENAME TO elsewhere');
  }
  await assert.rejects(storage.log.append([request('acme', [draftOf()])], now()), /contents/);
  for (const file of [JOURNAL_FILE, `${JOURNAL_FILE}-wal`, `${JOURNAL_FILE}-shm`])
    rmSync(join(directory, file), { force: true });
  await assert.rejects(storage.log.probe(), /journal\.db is not there any more/);
  await using _ = await open(directory, false);
  await assert.rejects(storage.log.probe(), /does not belong to tallystick\.local/);
});

test('large and small pools meet in one log, over both paths', async () => {
  const directory = freshDirectory();
  await using storage = await open(directory, true);
  await storage.tenants.ensure('acme', NOW_MS);
  const drafts = (count: number) => Array.from({ length: count }, () => draftOf());
  const broken = draftOf({}, { texts: bytesOf('{"action":"a.b"}', '{"payload":') });
  const sizes = [300, 1, 128, 127, 500, 3];
  const all = await Promise.all(
    sizes.map((count) =>
      storage.log.append(
        [request('acme', drafts(count)), request('acme', [broken]), request('nobody', drafts(1))],
        now(),
      ),
    ),
  );
  for (const [i, [sound, faulty, unknown]] of all.entries()) {
    assert.equal(placedIn(sound).length, sizes[i]);
    assert.deepEqual([faulty?.status, unknown?.status], ['Faulty', 'Faulty']);
  }
  assert.deepEqual(breaks(directory), []);
  using db = openRunningJournal(directory);
  assert.equal(db.prepare('SELECT count(*) AS n FROM entries').get()?.['n'], 1059);
});

test('a call that one thread forwards fails if the other one dies', async () => {
  const crashes: Error[] = [];
  const nowhere = { directory: join(folder, 'nowhere'), logOrigin: 'x', sealing: NOTHING_SEALED };
  const { port1, port2 } = new MessageChannel();
  await using writer = startThread('writer-thread', nowhere, (error) => crashes.push(error));
  const refused = assert.rejects(writer.opened, /is not there any more/);
  await using commitments = startThread('commitments-thread', { toWriter: port2 }, () => {}, [port2]);
  await commitments.opened;
  const pool = () => encodePool([request('acme', [draftOf()])], now());
  const early = commitments.ask({ pool: pool() }, [], writer);
  await refused;
  await assert.rejects(early, /is not there any more/);
  await assert.rejects(commitments.ask({ pool: pool() }, [], writer), /is not there any more/);
  port1.close();
});

test('a thread that cannot open tells the waiting caller only', async () => {
  const crashes: Error[] = [];
  const data = { directory: join(folder, 'nowhere'), logOrigin: 'x', sealing: NOTHING_SEALED };
  await using thread = startThread('writer-thread', data, (error) => crashes.push(error));
  await assert.rejects(thread.opened, /nowhere.* is not there any more/);
  await assert.rejects(thread.ask({ verb: 'Probe' }), /nowhere.* is not there any more/);
  assert.deepEqual(crashes, []);
});
