// P9: for any log, any reader and any query the index finds the events that the plain definition finds, in the same order
// and number.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { question, said } from '../../packages/server/src/storage/event-index/testing/any-question.ts';
import {
  IndexedLogs,
  requireFound as requireFoundOnPostgres,
} from '../../packages/server/src/storage/postgres/event-index/testing/indexed-log.ts';
import {
  IndexedLog,
  requireFound,
} from '../../packages/server/src/storage/sqlite/event-index/testing/indexed-log.ts';
import { SIZE } from './size.ts';

const QUESTIONS = 50;
const LOGS = SIZE.isLong ? 250 : 4;

test(`${LOGS} logs, ${QUESTIONS} questions each: the index finds what the plain definition finds`, async (t) => {
  let found = 0;
  for (let i = 0; i < LOGS; i++) {
    // Every other one has more matches than are gathered, so that the order is walked.
    const gatheredMax = i % 2 === 0 ? 10_000 : 4;
    await using log = await IndexedLog.open({ gatheredMax });
    const events = fc.sample(said, 5 + (i % 60));
    // In portions, with a restart in between, and made anew for some.
    for (let at = 0; at < events.length; at += 20) {
      await log.append('acme', events.slice(at, at + 20));
      if (at % 40 === 0) log.follow();
      if (i % 5 === 0) log.reopen();
    }
    log.follow();
    if (i % 3 === 0) log.rebuild('acme');
    for (const asked of fc.sample(question, QUESTIONS))
      found += requireFound(log, 'acme', asked, gatheredMax) > 0 ? 1 : 0;
  }
  t.diagnostic(`${LOGS * QUESTIONS} questions, ${found} of them found something`);
  assert.ok(found > LOGS);
});

test(`${LOGS} logs on PostgreSQL, ${QUESTIONS} questions each: the same`, async (t) => {
  let found = 0;
  await using logs = await IndexedLogs.open();
  const nodes = [10_000, 4].map((gatheredMax) => ({
    gatheredMax,
    index: logs.indexWith({ gatheredMax, portion: 7 }),
  }));
  for (let i = 0; i < LOGS; i++) {
    const tenant = await logs.newTenant();
    const events = fc.sample(said, 5 + (i % 60));
    // In portions, by several nodes at once, and made anew for some.
    for (let at = 0; at < events.length; at += 20) {
      await logs.append(tenant, events.slice(at, at + 20));
      if (at % 40 === 0) await Promise.all(nodes.map(({ index }) => index.turn()));
    }
    await Promise.all(nodes.map(({ index }) => logs.follow(index)));
    await logs.follow();
    if (i % 3 === 0) await logs.rebuild(tenant);
    await logs.follow();
    // Every other one has more matches than are gathered, so that the order is walked.
    for (const asked of fc.sample(question, QUESTIONS))
      found += (await requireFoundOnPostgres(logs, tenant, asked, nodes[i % 2])) > 0 ? 1 : 0;
  }
  t.diagnostic(`${LOGS * QUESTIONS} questions, ${found} of them found something`);
  assert.ok(found > LOGS);
});
