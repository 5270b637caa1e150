// P1 and P4: after a kill of the process at any moment, every acknowledged event is there, the sequence has no gap,
// the chain no fork, and an unanswered request can be repeated with its key and is stored once (P3).

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { ACKNOWLEDGED_MIN, killRounds, lostOf, repeatUnanswered, requireKept } from './kill-rounds.ts';
import { readLog } from './read-log.ts';
import { startService, temporaryFolder } from './running.ts';
import { SIZE } from './size.ts';

test(`no acknowledged event is lost by ${SIZE.kills} kills at random moments, and nothing is stored twice`, async (t) => {
  using folder = temporaryFolder();
  const dataDirectory = join(folder.path, 'data');
  const book = await killRounds({ dataDirectory }, SIZE.kills);
  {
    await using service = await startService({ dataDirectory });
    await repeatUnanswered(service, book);
  }
  requireKept(readLog(dataDirectory), book);
  assert.ok(book.acknowledged.size > ACKNOWLEDGED_MIN * SIZE.kills, `only ${book.acknowledged.size}`);
  t.diagnostic(`${SIZE.kills} kills, ${book.acknowledged.size} acknowledged, 0 lost, 0 twice`);
});

test('control: a service that answers before the commit loses acknowledged events, and this test sees it', async () => {
  const script = join(import.meta.dirname, 'processes/answers-early.ts');
  let lostCount = 0;
  for (let attempt = 0; attempt < 5 && lostCount === 0; attempt++) {
    using folder = temporaryFolder();
    const dataDirectory = join(folder.path, 'data');
    const book = await killRounds({ dataDirectory, script }, 1);
    lostCount = lostOf(readLog(dataDirectory), book).length;
  }
  assert.ok(lostCount > 0);
});
