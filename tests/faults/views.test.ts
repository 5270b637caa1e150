// P9: what lists and searches show is the log, whatever happens to the process that indexes it. Killed at random moments
// while events arrive, and while the views are made anew: afterwards every event is found, once, and no other.

import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { event } from './client.ts';
import { eventsOf } from './read-log.ts';
import { KEY, type Service, startService, temporaryFolder } from './running.ts';
import { SIZE } from './size.ts';

const TENANT = 'acme';
const ROUNDS = SIZE.isLong ? 40 : 4;
const BATCH = 200;
const HEADERS = { 'X-API-Key': KEY, 'X-Tenant-Id': TENANT, 'Content-Type': 'application/json' };
/** However slow the machine is. */
const PATIENCE_MS = 120_000;

async function ask(service: Service, path: string, body?: object): Promise<Response> {
  const way = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
  return fetch(`${service.url}/api/v1/${path}`, { headers: HEADERS, ...way });
}

/** Sends until the service is gone. */
async function sendUntilKilled(service: Service, round: number): Promise<void> {
  for (let i = 0; ; i++) {
    const events = Array.from({ length: BATCH }, (_, k) => event(`r${round}-${i}-${k}`));
    try {
      await (await ask(service, 'audit-events/batch', { events })).arrayBuffer();
    } catch {
      return;
    }
  }
}

async function untilCaughtUp(service: Service): Promise<void> {
  const deadline = Date.now() + PATIENCE_MS;
  for (;;) {
    const response = await ask(service, 'audit-events?limit=1');
    if (response.headers.get('x-projection-lag-ms') === '0') return;
    assert.ok(Date.now() < deadline, 'the views do not come after the log');
    await pause(50);
  }
}

/** The ids of all pages, and what was counted. */
async function listed(service: Service): Promise<{ ids: string[]; counted: number }> {
  const ids: string[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const path = `audit-events?limit=1000&kind=Event,Notice&sort=timestamp${cursor === '' ? '' : `&cursor=${cursor}`}`;
    const page = (await (await ask(service, path)).json()) as Page;
    ids.push(...page.data.map(({ eventId }) => eventId));
    ({ cursor } = page.pagination);
  }
  const search = { filters: { kinds: ['Event', 'Notice'] }, aggregations: ['byAction'] };
  const { aggregations } = (await (await ask(service, 'audit-events/search', search)).json()) as Searched;
  return { ids, counted: aggregations.byAction.reduce((sum, { count }) => sum + count, 0) };
}

interface Page {
  readonly data: readonly { readonly eventId: string }[];
  readonly pagination: { readonly cursor: string | null };
}

interface Searched {
  readonly aggregations: { readonly byAction: readonly { readonly count: number }[] };
}

async function assertWhole(service: Service, dataDirectory: string): Promise<number> {
  await untilCaughtUp(service);
  const { ids, counted } = await listed(service);
  const inLog = eventsOf(dataDirectory, TENANT).map(({ eventId }) => eventId);
  assert.deepEqual(ids.toSorted(), inLog.toSorted());
  assert.equal(counted, inLog.length);
  return inLog.length;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

test(`views show the log after ${ROUNDS} kills at random moments, and again once they are thrown away`, async (t) => {
  using folder = temporaryFolder();
  const dataDirectory = join(folder.path, 'data');
  for (let round = 0; round < ROUNDS; round++) {
    await using service = await startService({ dataDirectory });
    // Every other time the views are being made anew, too; or still are, from the time before.
    const { status } =
      round % 2 === 1 ? await ask(service, 'admin/projections/rebuild', {}) : { status: 202 };
    assert.ok([202, 409].includes(status), `${status}`);
    const sending = sendUntilKilled(service, round);
    await pause(200 + Math.random() * 1500);
    service.kill('SIGKILL');
    await Promise.all([service.ended, sending]);
  }
  {
    await using service = await startService({ dataDirectory });
    t.diagnostic(`${await assertWhole(service, dataDirectory)} events, ${ROUNDS} kills`);
    service.kill('SIGTERM');
    await service.ended;
  }
  for (const name of ['views.db', 'views.db-wal', 'views.db-shm'])
    rmSync(join(dataDirectory, name), { force: true });
  await using service = await startService({ dataDirectory });
  await assertWhole(service, dataDirectory);
});
