// P16: the primary of a PostgreSQL with a synchronous standby is lost in the middle of the load, the standby is promoted and
// the address leads to it. The service goes on by itself; nothing acknowledged is lost, nothing is stored twice, there is
// one history, and every checkpoint ever seen is of it.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { promote, startPostgresPair } from '../../packages/server/src/testing/postgres-standby.ts';
import { Relay } from '../../packages/server/src/testing/relay.ts';
import { lostOf, requireKept } from './kill-rounds.ts';
import { LastingLoad } from './lasting-load.ts';
import type { EventInLog } from './read-log.ts';
import { readPostgresLog } from './read-postgres-log.ts';
import { treeRootOf } from './recompute.ts';

import { KEY, startService, temporaryFolder } from './running.ts';
import { SIZE } from './size.ts';

const ROUNDS = SIZE.isLong ? 20 : 1;
const ACKNOWLEDGED_MIN = 200;
const TENANT = 'acme';

/** Undefined while there is none to be had. */
async function checkpointOf(url: string): Promise<string | undefined> {
  const headers = { 'X-API-Key': KEY, 'X-Tenant-Id': TENANT };
  const response = await fetch(`${url}/api/v1/log/t/${TENANT}/checkpoint`, { headers });
  const text = await response.text();
  return response.status === 200 ? text : undefined;
}

function requireOfHistory(note: string, events: readonly EventInLog[]): void {
  const [, size, root] = note.split('\n');
  const leaves = events.slice(0, Number(size)).map(({ row }) => row.leaf);
  assert.equal(leaves.length, Number(size), 'a checkpoint is of more than there is');
  assert.equal(treeRootOf(leaves).toString('base64'), root, `the root at ${size}`);
}

async function failOver(): Promise<string> {
  await using pair = await startPostgresPair({ isSynchronous: true });
  const { primary, standby } = pair;
  await using address = await Relay.open(primary.port);
  using folder = temporaryFolder();
  const at = new URL(pair.url);
  at.port = String(address.port);
  const env = { Storage__Url: at.href, Log__CheckpointInterval: 'PT0.1S' };
  await using service = await startService({ dataDirectory: join(folder.path, 'data'), env });
  await using load = new LastingLoad({ urls: () => [service.url] });
  const checkpoints: string[] = [];
  const untilCheckpoint = () =>
    load.until(async () => {
      const found = await checkpointOf(service.url);
      if (found === undefined || checkpoints.includes(found)) return false;
      return checkpoints.push(found) > 0;
    }, 'a checkpoint');
  await load.untilMore(ACKNOWLEDGED_MIN);
  await untilCheckpoint();
  await pause(Math.random() * 400);
  await primary.kill();
  // For a while there is a standby only, to which the address leads already.
  address.leadTo(standby.port);
  await load.until(() => load.refusals > 0, 'the loss is noticed');
  await promote(standby);
  await load.untilMore(ACKNOWLEDGED_MIN);
  await untilCheckpoint();
  const book = await load.finish();
  await untilCheckpoint();
  const promoted = new URL(pair.url);
  promoted.port = String(standby.port);
  const log = await readPostgresLog(promoted.href);
  requireKept(log, book);
  for (const checkpoint of checkpoints) requireOfHistory(checkpoint, log.get(TENANT)!);
  return load.figures();
}

test(`nothing acknowledged is lost by ${ROUNDS} failover(s) to a synchronous standby, and there is one history`, async (t) => {
  for (let round = 0; round < ROUNDS; round++) t.diagnostic(await failOver());
});

test('control: a standby that nobody waits for is behind, and this sees what is lost', async () => {
  let replication: Relay | undefined;
  const reachedAt = async (port: number) => (replication = await Relay.open(port));
  await using pair = await startPostgresPair({ isSynchronous: false, reachedAt });
  await using _ = replication;
  const { primary, standby, url } = pair;
  using folder = temporaryFolder();
  const env = { Storage__Url: url };
  await using service = await startService({ dataDirectory: join(folder.path, 'data'), env });
  await using load = new LastingLoad({ urls: () => [service.url] });
  await load.untilMore(ACKNOWLEDGED_MIN);
  replication!.hold();
  await load.untilMore(ACKNOWLEDGED_MIN);
  await primary.kill();
  const book = { ...load.book, acknowledged: new Map(load.book.acknowledged) };
  replication!.cut();
  await promote(standby);
  const promoted = new URL(url);
  promoted.port = String(standby.port);
  assert.ok(lostOf(await readPostgresLog(promoted.href), book).length > 0);
});
