// P15: SIGTERM under load. Every request that was taken gets its answer, no connection is reset under one, what was
// acknowledged is there, and the process is gone with exit code 0 within 30 seconds.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { acknowledgedIn, Client, event } from './client.ts';
import { readLog } from './read-log.ts';
import { startService, temporaryFolder } from './running.ts';
import { SIZE } from './size.ts';

const CLIENTS = 16;
const EXIT_MS_MAX = 30_000;

test(`${SIZE.drains} times: a stop under load answers everybody and loses nothing`, async (t) => {
  using folder = temporaryFolder();
  const dataDirectory = join(folder.path, 'data');
  const acknowledged: string[] = [];
  let slowestMs = 0;
  for (let round = 0; round < SIZE.drains; round++) {
    await using service = await startService({ dataDirectory });
    let isStopping = false;
    const failures: string[] = [];
    const one = async (number: number) => {
      using client = new Client(service.url, 1);
      for (let i = 0; ; i++) {
        try {
          const reply = await client.ask({ body: event(`${round}-${number}-${i}`) });
          assert.equal(reply.status, 201, JSON.stringify(reply.body));
          acknowledged.push(...acknowledgedIn(reply));
          // A client that is told to close asks again on a new connection, which nobody accepts any more.
          if (reply.headers['connection'] === 'close') return;
        } catch (error) {
          const { code } = error as { code?: string };
          if (!(isStopping && code === 'ECONNREFUSED')) failures.push(`${String(code)} ${String(error)}`);
          return;
        }
      }
    };
    const asking = Promise.all(Array.from({ length: CLIENTS }, (_, number) => one(number)));
    await new Promise((resolve) => setTimeout(resolve, 100 + Math.random() * 200));
    isStopping = true;
    const stoppedAt = performance.now();
    service.kill('SIGTERM');
    assert.equal(await service.ended, 0);
    slowestMs = Math.max(slowestMs, performance.now() - stoppedAt);
    await asking;
    assert.deepEqual(failures, []);
  }
  assert.ok(slowestMs < EXIT_MS_MAX, `${slowestMs} ms`);
  const found = new Set((readLog(dataDirectory).get('acme') ?? []).map(({ eventId }) => eventId));
  assert.deepEqual(
    acknowledged.filter((id) => !found.has(id)),
    [],
  );
  t.diagnostic(
    `${SIZE.drains} stops, ${acknowledged.length} acknowledged, slowest exit ${Math.round(slowestMs)} ms`,
  );
});
