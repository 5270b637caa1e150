// Searches on a Citus cluster find what the plain definition finds, in segments and behind them.

import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import * as fc from 'fast-check';
import { question, said } from '../../packages/server/src/storage/event-index/testing/any-question.ts';
import { TestIndex } from '../../packages/server/src/storage/event-index/testing/open-index.ts';
import { indexAt } from '../../packages/server/src/storage/postgres/event-index/testing/index-backend.ts';
import { CLUSTER_URL, emptyCluster, prepareCluster } from './cluster.ts';

before(prepareCluster);

test('finds what the plain definition finds, in any order, in segments and behind them', async () => {
  await emptyCluster();
  await using backend = await indexAt(CLUSTER_URL);
  const [index, walking] = [new TestIndex(backend), new TestIndex(backend, { gatheredMax: 2, totalMax: 3 })];
  await index.append('acme', fc.sample(said, 40));
  await index.follow();
  await index.append('acme', fc.sample(said, 8));
  for (const asked of fc.sample(question, 40)) {
    await index.requireFound('acme', asked);
    await walking.requireFound('acme', asked, 3);
  }
  assert.ok((await index.segmentsOf('acme')).length > 1);
  const relevant = await index.find('acme', { order: 'Relevance', rowsMax: 5 });
  assert.equal(relevant.events.length, 5);
});
