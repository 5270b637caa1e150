// P1 and P3 on PostgreSQL: after a kill of the service at any moment, every acknowledged event is there, the sequence has no
// gap, the chain no fork, and an unanswered request can be repeated with its key and is stored once. Kills of the database
// itself are in storage/postgres/append/kills.test.ts.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { openDatabases } from '../../packages/server/src/testing/postgres-server.ts';
import { ACKNOWLEDGED_MIN, killRounds, repeatUnanswered, requireKept } from './kill-rounds.ts';
import { readPostgresLog } from './read-postgres-log.ts';
import { startService, temporaryFolder } from './running.ts';
import { SIZE } from './size.ts';

const KILLS = Math.ceil(SIZE.kills / 2);

test(`no acknowledged event is lost by ${KILLS} kills of a service on PostgreSQL, and nothing is stored twice`, async (t) => {
  await using server = await openDatabases();
  const url = await server.createDatabase();
  using folder = temporaryFolder();
  const start = { dataDirectory: join(folder.path, 'data'), env: { Storage__Url: url } };
  const book = await killRounds(start, KILLS);
  {
    await using service = await startService(start);
    await repeatUnanswered(service, book);
  }
  requireKept(await readPostgresLog(url), book);
  assert.ok(book.acknowledged.size > ACKNOWLEDGED_MIN * KILLS, `only ${book.acknowledged.size}`);
  t.diagnostic(`${KILLS} kills, ${book.acknowledged.size} acknowledged, 0 lost, 0 twice`);
});
