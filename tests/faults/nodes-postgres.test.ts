// P1, P3 and P4 with many nodes: services on one PostgreSQL, each in a process of its own, all of them asked to append to the
// same logs, and killed at random moments, now and then together with the database. The sequence has no gap, the chain no
// fork; nothing acknowledged is lost, and a request that is repeated with its key, at any node, is stored once.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { draftOf, now, request } from '../../packages/server/src/storage/conformance/claims.ts';
import { prepareLogs, raw, startLogNode } from '../../packages/server/src/testing/postgres-nodes.ts';
import { type PostgresServer, startPostgres } from '../../packages/server/src/testing/postgres-server.ts';
import { Client, event } from './client.ts';
import { requireKept } from './kill-rounds.ts';
import { LastingLoad } from './lasting-load.ts';
import { readPostgresLog } from './read-postgres-log.ts';
import { Nodes } from './running-nodes.ts';
import { temporaryFolder } from './running.ts';
import { SIZE } from './size.ts';

const NODES = SIZE.isLong ? 4 : 2;
const CONNECTIONS = 32 * NODES;
const RUN_MS = SIZE.isLong ? 300_000 : 0;
/** Each kill ends one node; every few kills it is the database instead. */
const KILLS_MIN = 4;
const DATABASE_EACH = 4;
/** Acknowledged between one kill and the next. */
const BETWEEN = 30;

async function whileKilled(server: PostgresServer, nodes: Nodes, load: LastingLoad): Promise<string> {
  const endAt = performance.now() + RUN_MS;
  let databaseKills = 0;
  let kills = 0;
  for (; kills < KILLS_MIN || performance.now() < endAt; kills++) {
    await load.untilMore(BETWEEN);
    await pause(Math.random() * 500);
    if (kills % DATABASE_EACH === DATABASE_EACH - 1) {
      databaseKills += 1;
      await server.kill();
      await server.start();
    } else {
      const name = `node-${kills % NODES}`;
      await nodes.kill(name);
      await nodes.start(name);
    }
  }
  await load.untilMore(BETWEEN);
  return `${kills - databaseKills} kills of nodes, ${databaseKills} of the database`;
}

test(`${NODES} nodes, ${CONNECTIONS} connections, and kills of nodes and of the database: one history, nothing lost`, async (t) => {
  await using server = await startPostgres({ max_connections: '300' });
  const url = await server.createDatabase();
  using folder = temporaryFolder();
  await using nodes = new Nodes(url, join(folder.path, 'data'));
  for (let i = 0; i < NODES; i++) await nodes.start(`node-${i}`);
  await using load = new LastingLoad({ urls: () => nodes.urls, connections: CONNECTIONS });
  const kills = await whileKilled(server, nodes, load);
  const book = await load.finish();
  requireKept(await readPostgresLog(url), book);
  t.diagnostic(`${kills}; ${load.figures()}; 0 lost, 0 twice`);
});

test(`${SIZE.parallelRepeats} identical requests at once over two nodes, for each of ${SIZE.keys} keys: one 201 and one event`, async () => {
  await using server = await startPostgres();
  const url = await server.createDatabase();
  using folder = temporaryFolder();
  await using nodes = new Nodes(url, join(folder.path, 'data'));
  const clients: Client[] = [];
  for (const name of ['one', 'other']) clients.push(new Client((await nodes.start(name)).url));
  for (let key = 0; key < SIZE.keys; key++) {
    const ask = { key: `key-${key}`, body: event(`marker-${key}`) };
    const asked = Array.from({ length: SIZE.parallelRepeats }, (_, i) => clients[i % 2]!.ask(ask));
    const replies = await Promise.all(asked);
    const statuses = replies.map(({ status }) => status);
    assert.equal(statuses.filter((status) => status === 201).length, 1, statuses.join(' '));
    assert.equal(statuses.filter((status) => status === 200).length, SIZE.parallelRepeats - 1);
    assert.equal(new Set(replies.map(({ body }) => (body as { eventId: string }).eventId)).size, 1);
  }
  for (const client of clients) client[Symbol.dispose]();
  const ids = (await readPostgresLog(url)).get('acme')!.filter(({ kind }) => kind === 1);
  assert.equal(ids.length, SIZE.keys);
});

/** Heads that cannot be locked and are moved from wherever they are, and entries of which there can be two at one place. */
const UNGUARDED = `
  ALTER TABLE heads RENAME TO guarded_heads;
  CREATE FUNCTION unguarded() RETURNS SETOF guarded_heads LANGUAGE sql SECURITY DEFINER AS
    'SELECT * FROM tallystick.guarded_heads';
  CREATE VIEW heads AS SELECT * FROM unguarded();
  CREATE FUNCTION move() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN
    UPDATE tallystick.guarded_heads SET next_index = NEW.next_index, leaf = NEW.leaf WHERE tenant_id = NEW.tenant_id;
    RETURN NEW;
  END $$;
  CREATE TRIGGER moved INSTEAD OF UPDATE ON heads FOR EACH ROW EXECUTE FUNCTION move();
  GRANT ALL ON heads TO PUBLIC;
  DROP INDEX entries_by_previous;
  ALTER TABLE entries DROP CONSTRAINT entries_pkey;
  ALTER TABLE contents DROP CONSTRAINT contents_pkey;
  ALTER TABLE streams DROP CONSTRAINT streams_pkey`;

/** Whether two nodes that append at once leave something else than one history. */
async function forks(url: string, rounds: number): Promise<boolean> {
  await using one = startLogNode(url);
  await using other = startLogNode(url);
  for (let round = 0; round < rounds; round++) {
    const appended = [one, other].map(({ log }) =>
      log.append([request('acme', [draftOf()])], now(Date.now())),
    );
    await Promise.allSettled(appended);
    const isWhole = await readPostgresLog(url).then(
      () => true,
      () => false,
    );
    if (!isWhole) return true;
  }
  return false;
}

test('control: without the lock, the condition on the head and the unique keys, two nodes fork a log, and this sees it', async () => {
  await using server = await startPostgres();
  for (const isGuarded of [false, true]) {
    const url = await server.createDatabase();
    await prepareLogs(url, ['acme']);
    await raw(url, `INSERT INTO meta (name, value) VALUES ('log_origin', 'audit.example.com')`);
    if (!isGuarded) await raw(url, UNGUARDED);
    assert.equal(await forks(url, isGuarded ? 10 : 200), !isGuarded);
  }
});
