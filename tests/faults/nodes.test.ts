// Several nodes on one PostgreSQL database, each a process of its own: they serve the same, what a killed one looked after is in
// other hands soon, and one after the other can be restarted without a request that fails.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { ServiceStatus } from '@tallystick/contract';
import { type PostgresServer, startPostgres } from '../../packages/server/src/testing/postgres-server.ts';
import { until } from '../../packages/server/src/testing/until.ts';
import { Balancer } from './balancer.ts';
import { Client, event } from './client.ts';
import { lostOf } from './kill-rounds.ts';
import { markersIn } from './read-log.ts';
import { readPostgresLog } from './read-postgres-log.ts';
import { type Service, startService, temporaryFolder } from './running.ts';
import { SIZE } from './size.ts';

const TENANTS = Array.from({ length: 24 }, (_, i) => `tenant-${i}`);
const SHARES = 64;

let server: PostgresServer;
before(async () => {
  server = await startPostgres();
});
after(() => server?.[Symbol.asyncDispose]());

function startNode(url: string, folder: string, name: string): Promise<Service> {
  const env = { Storage__Url: url, Node__Name: name, Log__CheckpointInterval: 'PT0.2S' };
  return startService({ dataDirectory: join(folder, 'data'), env });
}

async function nodesSeenBy(node: Service) {
  using client = new Client(node.url);
  const { body } = await client.ask({ method: 'GET', path: '/api/v1/status' });
  return (body as ServiceStatus).nodes ?? [];
}

/** Each looks after an even part, and everybody knows it. */
async function untilEven(...nodes: Service[]): Promise<void> {
  await until(async () => {
    const seen = (await nodesSeenBy(nodes[0]!)).filter(({ status }) => status === 'Serving');
    const shares = seen.reduce((sum, each) => sum + each.shares, 0);
    return seen.length === nodes.length && shares === SHARES && seen.every((each) => each.shares > 0);
  });
}

/** Sends an event for each tenant, and gives what is wanted to know whether all of them are signed and found. */
async function sendEach(client: Client): Promise<Map<string, string>> {
  const sent = new Map<string, string>();
  for (const tenant of TENANTS) {
    const { status, body } = await client.ask({ tenant, body: event(`${tenant} of ${sent.size}`) });
    assert.equal(status, 201);
    sent.set(tenant, (body as { eventId: string }).eventId);
  }
  return sent;
}

async function isSignedAndFound(client: Client, tenant: string, eventId: string): Promise<boolean> {
  const path = `/api/v1/audit-events`;
  const one = await client.ask({ method: 'GET', path: `${path}/${eventId}`, tenant });
  const list = await client.ask({ method: 'GET', path: `${path}?limit=100`, tenant });
  const { data } = list.body as { data: { eventId: string; integrity: { status: string } }[] };
  const { integrity } = one.body as (typeof data)[number];
  return integrity.status === 'Checkpointed' && data.some((event) => event.eventId === eventId);
}

async function untilSignedAndFound(client: Client, sent: ReadonlyMap<string, string>): Promise<void> {
  for (const [tenant, eventId] of sent) await until(() => isSignedAndFound(client, tenant, eventId));
}

test('what one node takes the other shows, proves and finds', async () => {
  using folder = temporaryFolder();
  const url = await server.createDatabase();
  await using one = await startNode(url, folder.path, 'one');
  await using two = await startNode(url, folder.path, 'two');
  await untilEven(one, two);
  assert.deepEqual(
    (await nodesSeenBy(two)).map(({ name, isSelf }) => [name, isSelf]),
    [
      ['one', false],
      ['two', true],
    ],
  );
  using ones = new Client(one.url);
  using twos = new Client(two.url);
  const sent = await sendEach(ones);
  // Any of them may sign the log: wait for a proof.
  for (const [tenant, eventId] of sent) {
    const path = `/api/v1/audit-events/${eventId}/proof`;
    for (const client of [ones, twos])
      assert.equal((await client.ask({ method: 'GET', path, tenant })).status, 200);
  }
  await untilSignedAndFound(twos, sent);
});

test('a node that is killed is replaced within ten seconds by the others', async (t) => {
  using folder = temporaryFolder();
  const url = await server.createDatabase();
  await using one = await startNode(url, folder.path, 'one');
  await using two = await startNode(url, folder.path, 'two');
  await untilEven(one, two);
  using client = new Client(two.url);
  one.kill('SIGKILL');
  await one.ended;
  const killedAt = Date.now();
  const sent = await sendEach(client);
  await untilSignedAndFound(client, sent);
  const tookMs = Date.now() - killedAt;
  t.diagnostic(`all of ${TENANTS.length} logs signed and found ${tookMs} ms after the kill`);
  assert.ok(!SIZE.isLong || tookMs < 10_000, `${tookMs} ms`);
  const seen = await nodesSeenBy(two);
  assert.deepEqual(
    seen.map(({ name, status, shares }) => [name, status, shares]),
    [
      ['one', 'Gone', 0],
      ['two', 'Serving', SHARES],
    ],
  );
  // Under the same name, and at once.
  await using again = await startNode(url, folder.path, 'one');
  await untilEven(again, two);
});

test('nodes are restarted one after the other, and no request fails', async (t) => {
  using folder = temporaryFolder();
  const url = await server.createDatabase();
  const nodes = [await startNode(url, folder.path, 'one'), await startNode(url, folder.path, 'two')];
  await using balancer = await Balancer.start(nodes.map((node) => node.url));
  try {
    const book = await balancer.load(async () => {
      for (const [i, name] of ['one', 'two'].entries()) {
        nodes[i]!.kill('SIGTERM');
        assert.equal(await nodes[i]!.ended, 0);
        const again = await startNode(url, folder.path, name);
        nodes[i] = again;
        await balancer.replace(i, again.url);
      }
    });
    assert.deepEqual(book.failures, []);
    assert.ok(book.acknowledged.size > 0);
    const log = await readPostgresLog(url);
    assert.deepEqual(lostOf(log, book), []);
    assert.deepEqual(
      [...markersIn(log)].filter(([, count]) => count !== 1),
      [],
    );
    t.diagnostic(`${book.acknowledged.size} events over two restarts, none failed`);
  } finally {
    for (const node of nodes) await node[Symbol.asyncDispose]();
  }
});
