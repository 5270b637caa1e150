// How nodes divide the logs, and what a lease guarantees.

import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { Client } from 'pg';
import type { News, NodeWord } from '../../../nodes/nodes.ts';
import { systemClock } from '../../../runtime/clock.ts';
import { createSystemRandom } from '../../../runtime/random.ts';
import { raw } from '../../../testing/postgres-nodes.ts';
import { type Databases, openDatabases } from '../../../testing/postgres-server.ts';
import { publishedOf } from '../../../testing/signing-nodes.ts';
import { until } from '../../../testing/until.ts';
import { append, draftOf, NOW_MS, request, STREAMS } from '../../conformance/claims.ts';
import type { Storage } from '../../storage.ts';
import { Database, SCHEMA } from '../connection/database.ts';
import { migrate } from '../schema/migrate.ts';
import { openPostgresStorage } from '../postgres-storage.ts';
import { SHARES } from '../schema/schema.ts';

const TENANTS = Array.from({ length: 40 }, (_, i) => `tenant-${i}`);
const NONE = new Map<string, string>();

let server: Databases;
let migrated: string;
let url: string;
before(async () => {
  server = await openDatabases();
  migrated = await server.createDatabase();
  await using owner = new Database({ url: migrated, connectionsMax: 1 });
  await migrate(owner, 'postgres');
});
beforeEach(async () => {
  url = await server.createDatabase(migrated);
});
after(() => server?.[Symbol.asyncDispose]());

function open(name: string): Promise<Storage> {
  return openPostgresStorage({
    url,
    logOrigin: 'audit.example.com',
    streams: STREAMS,
    clock: systemClock,
    random: createSystemRandom(),
    mayMigrate: false,
    // Enough for slow machines.
    node: { name, version: '1.0.0', leaseMs: 240_000 },
  });
}

async function fill(storage: Storage): Promise<void> {
  for (const tenant of TENANTS) {
    await storage.tenants.ensure(tenant, NOW_MS);
    await append(storage, request(tenant, [draftOf()]));
  }
}

const beat = (storage: Storage, word: Partial<NodeWord> = {}) =>
  storage.nodes!.beat({ refused: NONE, isAble: true, ...word });

async function sharesOf(...storages: Storage[]): Promise<number[]> {
  // One round to be known, one to give up shares, one to take them.
  for (let round = 0; round < 3; round++) for (const storage of storages) await beat(storage);
  const { nodes } = await beat(storages.at(-1)!);
  return nodes.map(({ shares }) => shares);
}

/** Makes a node appear silent for a whole lease. */
async function silence(name: string): Promise<void> {
  await raw(url, `UPDATE nodes SET seen_at = seen_at - interval '5 minutes' WHERE name = $1`, [name]);
  await raw(
    url,
    `UPDATE leases SET until = until - interval '5 minutes'
     WHERE instance IN (SELECT instance FROM nodes WHERE name = $1)`,
    [name],
  );
}

/** The logs that it would sign, after it has compared those taken over. */
async function grownIn({ tree }: Storage): Promise<string[]> {
  for (;;) {
    const growth = await tree.readGrowth();
    if (growth.taken === undefined) return growth.grown.map(({ tenant }) => tenant);
  }
}

test('shares are even among nodes, each share has one holder, and each log is in one', async () => {
  await using one = await open('one');
  assert.deepEqual(await sharesOf(one), [SHARES]);
  await fill(one);
  await using two = await open('two');
  assert.deepEqual(await sharesOf(one, two), [32, 32]);
  {
    await using three = await open('three');
    assert.equal(
      (await sharesOf(one, two, three)).reduce((sum, shares) => sum + shares),
      SHARES,
    );
    const [ones, twos, threes] = await Promise.all([one, two, three].map(grownIn));
    assert.ok([ones, twos, threes].every((tenants) => tenants!.length > 0));
    assert.deepEqual([...ones!, ...twos!, ...threes!].toSorted(), TENANTS.toSorted());
    await three.nodes!.leave();
  }
  assert.deepEqual(await sharesOf(one, two), [32, 32]);
});

test('a node that was killed before the clock of the database was set back is taken over', async () => {
  await using one = await open('one');
  await using two = await open('two');
  await beat(one, { refused: new Map([['tenant-1', 'it was changed.']]) });
  assert.deepEqual(await sharesOf(one, two), [32, 32]);
  await raw(url, `UPDATE nodes SET seen_at = seen_at + interval '1 hour' WHERE name = 'one'`, []);
  await raw(
    url,
    `UPDATE leases SET until = until + interval '1 hour' WHERE instance IN (SELECT instance FROM nodes WHERE name = 'one')`,
    [],
  );
  const { nodes, refusedElsewhere } = await beat(two);
  assert.deepEqual([...refusedElsewhere], []);
  assert.deepEqual(
    nodes.map(({ name, isGone, shares }) => [name, isGone, shares]),
    [['two', false, SHARES]],
  );
  // The remaining nodes notice it, and divide the shares again.
  assert.deepEqual(await sharesOf(one, two), [32, 32]);
});

test('a node that makes no checkpoints leaves its logs to others; if no node does, all of them try', async () => {
  await using one = await open('one');
  await using two = await open('two');
  assert.deepEqual(await sharesOf(one, two), [32, 32]);
  await beat(one, { isAble: false });
  const { nodes } = await beat(two);
  assert.deepEqual(
    nodes.map(({ name, isAble, shares }) => [name, isAble, shares]),
    [
      ['one', false, 0],
      ['two', true, SHARES],
    ],
  );
  const unable = { isAble: false };
  for (let round = 0; round < 2; round++) for (const node of [one, two]) await beat(node, unable);
  assert.deepEqual(
    (await beat(two, unable)).nodes.map(({ shares }) => shares),
    [32, 32],
  );
  assert.deepEqual(await sharesOf(one, two), [32, 32]);
});

test('a node that was killed and is there again is shown once', async () => {
  await using one = await open('one');
  await using killed = await open('two');
  await sharesOf(one, killed);
  await silence('two');
  const shown = async () =>
    (await beat(one)).nodes.map(({ name, isGone }) => `${name} ${isGone ? 'gone' : 'there'}`);
  assert.deepEqual(await shown(), ['one there', 'two gone']);
  await using again = await open('two');
  await beat(again);
  assert.deepEqual(await shown(), ['one there', 'two there']);
});

test('a node that is silent is taken over, with its findings about its logs', async () => {
  await using one = await open('one');
  await using two = await open('two');
  await sharesOf(one, two);
  await fill(one);
  const before = await grownIn(two);
  await silence('one');
  const { nodes, hasGained } = await beat(two);
  assert.equal(hasGained, true);
  assert.deepEqual(
    nodes.map(({ name, isGone, shares, isSelf }) => [name, isGone, shares, isSelf]),
    [
      ['one', true, 0, false],
      ['two', false, SHARES, true],
    ],
  );
  const { taken } = await two.tree.readGrowth();
  const taking = taken!.map(({ tenant }) => tenant);
  assert.deepEqual([...taking, ...before].toSorted(), TENANTS.toSorted());
  assert.equal((await beat(two)).hasGained, false);
});

test('work under a lease that another node has taken over is not written', async () => {
  await using one = await open('one');
  await using two = await open('two');
  await sharesOf(one);
  await fill(one);
  await grownIn(one);
  const growth = await one.tree.readGrowth();
  assert.equal(growth.grown.length, TENANTS.length);
  await silence('one');
  await beat(two);
  assert.deepEqual(await one.tree.publish(publishedOf(growth), NOW_MS), []);
  assert.equal((await raw(url, 'SELECT 1 FROM checkpoints')).length, 0);
  // Control: under the valid lease, everything is written.
  assert.equal((await grownIn(two)).length, TENANTS.length);
  const own = await two.tree.readGrowth();
  assert.equal((await two.tree.publish(publishedOf(own), NOW_MS)).length, TENANTS.length);
  assert.equal((await raw(url, 'SELECT 1 FROM checkpoints')).length, TENANTS.length);
});

test('a share with a write under way is not taken over', async () => {
  await using one = await open('one');
  await using two = await open('two');
  await sharesOf(one);
  await silence('one');
  const writing = new Client({ connectionString: url, options: `-c search_path=${SCHEMA}` });
  await writing.connect();
  try {
    await writing.query('BEGIN; SELECT 1 FROM leases WHERE share < 10 FOR KEY SHARE');
    await beat(two);
    assert.deepEqual(
      (await beat(two)).nodes.map(({ shares }) => shares),
      [0, SHARES - 10],
    );
    await writing.query('COMMIT');
  } finally {
    await writing.end();
  }
  assert.deepEqual(
    (await beat(two)).nodes.map(({ shares }) => shares),
    [0, SHARES],
  );
});

test('a node that cannot reach the database has no shares once its leases expire', async () => {
  let nowNs = 0;
  const clock = { ...systemClock, monotonicNs: () => nowNs };
  await using alone = await openPostgresStorage({
    url,
    logOrigin: 'audit.example.com',
    streams: STREAMS,
    clock,
    random: createSystemRandom(),
    node: { name: 'alone', version: '1.0.0', leaseMs: 240_000 },
  });
  await beat(alone);
  await fill(alone);
  assert.equal((await grownIn(alone)).length, TENANTS.length);
  nowNs += 240e9;
  assert.equal((await grownIn(alone)).length, 0);
  assert.equal((await alone.index.turn()).taken, 0);
});

test('a refusal of one node holds on all others, as long as it runs and a while longer', async () => {
  await using one = await open('one');
  await using two = await open('two');
  await beat(one, { refused: new Map([['tenant-1', 'it was changed.']]) });
  const refused = async () => [...(await beat(two)).refusedElsewhere];
  assert.deepEqual(await refused(), [['tenant-1', 'it was changed.']]);
  assert.deepEqual([...(await beat(one)).refusedElsewhere], []);
  await one.nodes!.leave();
  assert.deepEqual(await refused(), [['tenant-1', 'it was changed.']]);
  await silence('one');
  assert.deepEqual(await refused(), []);
});

test('nodes notify each other, but not themselves', async () => {
  await using one = await open('one');
  await using two = await open('two');
  const told: [string, News][] = [];
  one.nodes!.onTold((news) => told.push(['one', news]));
  two.nodes!.onTold((news) => told.push(['two', news]));
  // It takes a moment until they listen.
  await until(() => {
    one.nodes!.tell('Appended');
    two.nodes!.tell('Published');
    return told.some(([name]) => name === 'one') && told.some(([name]) => name === 'two');
  });
  assert.ok(told.every(([name, news]) => news === (name === 'one' ? 'Published' : 'Appended')));
});
