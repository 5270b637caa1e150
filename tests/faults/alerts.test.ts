// P21 for policies and alerts: the service is killed at random moments while events arrive and Alert policies are changed. In the
// end every change is there as a whole or not at all, and every rule has raised exactly what it should, once.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { startTestApp } from '../../packages/server/src/testing/test-app.ts';
import { AlertLoad, TENANTS } from './policies/alert-load.ts';
import {
  requireExactViolations,
  requireTold,
  requireVerified,
  requireWholePolicies,
} from './policies/requirements.ts';
import { type Backend, BACKENDS } from './backends.ts';
import { Client, event } from './client.ts';
import { KEY, type Service, startService } from './running.ts';
import { SIZE } from './size.ts';

const KILLS = SIZE.isLong ? 150 : 3;
/** Acknowledged between one kill and the next. */
const EVENTS_BETWEEN = 40;
const CHANGES_BETWEEN = 4;
/** Long enough for the follower to be killed at its work, too. */
const PAUSE_MS = 1200;

function inWork<T>({ start }: Backend, use: (database: DatabaseSync) => T): T {
  const database = new DatabaseSync(join(start.dataDirectory, 'work.db'));
  try {
    return use(database);
  } finally {
    database.close();
  }
}

/** The load, and how many violations were stored at each kill. */
async function whileKilled(backend: Backend): Promise<{ load: AlertLoad; counts: number[] }> {
  const counts: number[] = [];
  let service: Service | undefined = await startService(backend.start);
  await using load = new AlertLoad(() => (service === undefined ? [] : [service.url]));
  try {
    for (let kill = 0; kill < KILLS; kill++) {
      await load.untilMore(EVENTS_BETWEEN, CHANGES_BETWEEN);
      await pause(Math.random() * PAUSE_MS);
      const killed: Service = service;
      service = undefined;
      await killed[Symbol.asyncDispose]();
      const [row] = inWork(backend, (work) => work.prepare('SELECT count(*) AS count FROM violations').all());
      counts.push(Number(row?.['count']));
      service = await startService(backend.start);
    }
    await load.untilMore(EVENTS_BETWEEN, CHANGES_BETWEEN);
    await load.finish();
  } finally {
    await service?.[Symbol.asyncDispose]();
  }
  return { load, counts };
}

test(`${KILLS} kills while events arrive and policies are changed: every change is whole, every alert is raised once`, async (t) => {
  await using backend = await BACKENDS.SQLite();
  const { load, counts } = await whileKilled(backend);
  {
    await using service = await startService(backend.start);
    const count = await requireExactViolations(service, backend);
    const toldCount = await requireTold(service, load);
    const unacknowledged = await requireWholePolicies(service, backend, load);
    t.diagnostic(`${load.figures()}, ${unacknowledged} of those are there`);
    const grown = new Set(counts).size;
    t.diagnostic(`${count} violations; at ${grown} of ${KILLS} kills there were more than at the one before`);
    // On a slow machine hardly any event comes and goes between two changes.
    assert.ok((toldCount > 0 || !SIZE.isLong) && load.breaks > 0, load.figures());
    assert.ok(grown > 1, 'the follower works between the kills');
    service.kill('SIGTERM');
    await service.ended;
  }
  await requireVerified(backend);
});

/** As a store would be that keeps violations, windows and positions each for itself. */
const LOSSES = {
  'the position': "UPDATE positions SET next_index = 0 WHERE name = 'Alerts'",
  'a violation': 'DELETE FROM violations WHERE violation_id IN (SELECT violation_id FROM violations LIMIT 1)',
  'a window': 'DELETE FROM windows',
};

for (const [what, sql] of Object.entries(LOSSES))
  test(`control: a kill that loses ${what} alone is seen by this`, async () => {
    await using backend = await BACKENDS.SQLite();
    const settings = { TALLYSTICK_ADMIN_KEY: KEY, Storage__DataDirectory: backend.start.dataDirectory };
    const whileStarted = async (send: (client: Client) => Promise<void>) => {
      await using app = await startTestApp(settings);
      using client = new Client(app.url);
      await send(client);
      await requireExactViolations(app, backend);
    };
    const rules = [
      { conditions: { action: 'Watch.Plain' }, effect: {} },
      { conditions: { action: 'Watch.Plain' }, effect: { threshold: { count: 3, window: 'PT1H' } } },
    ];
    const post = async (client: Client, body: object, path?: string) => {
      for (const tenant of TENANTS) {
        const { status } = await client.ask({ tenant, body, ...(path !== undefined && { path }) });
        assert.equal(status, 201);
      }
    };
    const send = (client: Client) => post(client, { ...event('x'), action: 'Watch.Plain' });
    await whileStarted(async (client) => {
      await post(client, { name: 'Watch', policyType: 'Alert', rules }, '/api/v1/policies');
      await send(client);
      await send(client);
    });
    inWork(backend, (work) => work.exec(sql));
    await assert.rejects(whileStarted(send), assert.AssertionError);
  });
