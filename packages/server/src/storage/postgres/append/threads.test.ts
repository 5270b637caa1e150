// Behaviour that is the same with and without threads: errors, the shares of a node, and a shutdown that answers every
// call.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Client } from 'pg';
import { AuditError } from '@tallystick/contract';
import { systemClock } from '../../../runtime/clock.ts';
import { createSystemRandom } from '../../../runtime/random.ts';
import { PATIENT_LIMITS, type PostgresServer, startPostgres } from '../../../testing/postgres-server.ts';
import { until } from '../../../testing/until.ts';
import type { OnLocked } from '../../../streams/log.ts';
import {
  append,
  draftOf,
  NOW_MS,
  now,
  openWith,
  placedIn,
  request,
  STREAMS,
} from '../../conformance/claims.ts';
import type { Storage } from '../../storage.ts';
import { Database, SCHEMA } from '../connection/database.ts';
import { migrate } from '../schema/migrate.ts';
import { openPostgresStorage, type PostgresOptions } from '../postgres-storage.ts';

let server: PostgresServer;
before(async () => {
  server = await startPostgres();
});
after(() => server?.[Symbol.asyncDispose]());

async function migratedOn(place: PostgresServer): Promise<string> {
  const url = await place.createDatabase();
  await using owner = new Database({ url, connectionsMax: 1, ...PATIENT_LIMITS });
  await migrate(owner, 'postgres');
  return url;
}

function open(url: string, more: Partial<PostgresOptions> = {}): Promise<Storage> {
  return openPostgresStorage({
    url,
    logOrigin: 'audit.example.com',
    streams: STREAMS,
    clock: systemClock,
    random: createSystemRandom(),
    mayMigrate: false,
    threads: { onFatal: assert.fail, onIndexTrouble: assert.fail },
    ...more,
  });
}

const EVENT = {
  timestamp: '2026-01-02T03:04:05Z',
  actor: { actorType: 'System', serviceId: 'billing' },
  resource: { resourceType: 'Invoice', resourceId: '7' },
  classification: 'Internal',
  submittedBy: 'key:1',
};

test('an unavailable database gives the same error everywhere', async () => {
  const own = await startPostgres();
  try {
    await using storage = await open(await migratedOn(own));
    await storage.log.probe();
    await storage.index.turn();
    await own.kill();
    const isUnavailable = (error: unknown) =>
      error instanceof AuditError && error.code === 'SERVICE_UNAVAILABLE' && error.cause instanceof Error;
    await assert.rejects(storage.log.probe(), isUnavailable);
    await assert.rejects(storage.index.turn(), isUnavailable);
    await own.start();
    await until(async () =>
      storage.log.probe().then(
        () => true,
        () => false,
      ),
    );
    await storage.index.turn();
  } finally {
    await own[Symbol.asyncDispose]();
  }
});

test('the thread follows the logs that its node holds, from when it holds them until it leaves', async () => {
  const url = await migratedOn(server);
  const node = { name: 'one', version: '1.0.0', leaseMs: 240_000 };
  await using storage = await open(url, { node });
  await storage.tenants.ensure('acme', NOW_MS);
  const segment = () => Array.from({ length: 2048 }, () => draftOf(EVENT));
  await append(storage, request('acme', segment()));
  assert.equal((await storage.index.turn()).taken, 0);
  await storage.nodes!.beat({ refused: new Map(), isAble: true });
  assert.equal((await storage.index.turn()).taken, segment().length);
  await append(storage, request('acme', segment()));
  await storage.nodes!.leave();
  assert.equal((await storage.index.turn()).taken, 0);
});

test('in a pool with a locked log, the others are answered at once', async () => {
  const url = await migratedOn(server);
  await using storage = await openWith({ open: () => open(url) } as never, 'acme', 'beta');
  const holder = new Client({ connectionString: url });
  await holder.connect();
  await holder.query(`BEGIN; SELECT 1 FROM ${SCHEMA}.heads WHERE tenant_id = 'acme' FOR UPDATE`);
  const { promise: told, resolve: onLocked } = Promise.withResolvers<Parameters<OnLocked>[0]>();
  const requests = [request('acme', [draftOf(EVENT)]), request('beta', [draftOf(EVENT), draftOf(EVENT)])];
  const appended = storage.log.append(requests, now(), onLocked);
  const decided = await told;
  await holder.query('ROLLBACK');
  await holder.end();
  const [acme, beta] = await appended;
  assert.deepEqual([...decided], [[1, beta]]);
  assert.deepEqual([acme!.status, placedIn(beta).length], ['Done', 2]);
});

test('calls before the shutdown are answered, later ones are not', async () => {
  const url = await migratedOn(server);
  const storage = await openWith({ open: () => open(url) } as never, 'acme');
  const appending = Array.from({ length: 5 }, () =>
    storage.log.append([request('acme', [draftOf(EVENT), draftOf(EVENT)])], now()),
  );
  const turning = storage.index.turn();
  await storage[Symbol.asyncDispose]();
  assert.deepEqual(
    (await Promise.all(appending)).flat().map(({ status }) => status),
    Array.from({ length: 5 }, () => 'Done'),
  );
  await turning;
  await assert.rejects(storage.log.probe(), /writer-thread has stopped/);
  await assert.rejects(storage.index.turn(), /The index of events is being closed/);
});
