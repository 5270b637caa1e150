// P9: for any log, any reader and any query the index finds the events that the plain definition finds, in the same order
// and number.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { question, said } from '../../packages/server/src/storage/event-index/testing/any-question.ts';
import {
  type IndexBackend,
  TestIndex,
} from '../../packages/server/src/storage/event-index/testing/open-index.ts';
import { openPostgresIndex } from '../../packages/server/src/storage/postgres/event-index/testing/index-backend.ts';
import { openSqliteIndex } from '../../packages/server/src/storage/sqlite/event-index/testing/index-backend.ts';
import { SIZE } from './size.ts';

const QUESTIONS = 50;
const LOGS = SIZE.isLong ? 250 : 4;

for (const [name, open] of [
  ['SQLite', openSqliteIndex],
  ['PostgreSQL', openPostgresIndex],
] as const)
  test(`${LOGS} logs on ${name}, ${QUESTIONS} questions each: the index finds what the plain definition finds`, async (t) => {
    let found = 0;
    await using backend: IndexBackend = await open();
    for (let i = 0; i < LOGS; i++) {
      const tenant = `tenant-${i}`;
      // Every other one has more matches than are gathered, so that the order is walked.
      const isWalked = i % 2 === 1;
      const index = new TestIndex(backend, isWalked ? { gatheredMax: 3, totalMax: 4 } : {});
      const events = fc.sample(said, 5 + (i % 60));
      // In portions, by several who make segments at once, and made again for some.
      for (let at = 0; at < events.length; at += 20) {
        await index.append(tenant, events.slice(at, at + 20));
        if (at % 40 === 0) await Promise.all([index.follow(), index.otherMaker().turn()]);
      }
      if (i % 3 === 0) await index.rebuild(tenant);
      for (const asked of fc.sample(question, QUESTIONS))
        found += (await index.requireFound(tenant, asked, isWalked ? 4 : Infinity)) > 0 ? 1 : 0;
    }
    t.diagnostic(`${LOGS * QUESTIONS} questions, ${found} of them found something`);
    assert.ok(found > LOGS);
  });
