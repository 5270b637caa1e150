// Searches on a Citus cluster find what the plain definition finds, of the first docs of a view and of those behind them.

import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import * as fc from 'fast-check';
import type { Aggregation } from '@tallystick/contract';
import { question, said } from '../../packages/server/src/storage/event-index/testing/any-question.ts';
import { FIRST_DOCS } from '../../packages/server/src/storage/postgres/event-index/first-docs.ts';
import {
  IndexedLogs,
  requireFound,
} from '../../packages/server/src/storage/postgres/event-index/testing/indexed-log.ts';
import { CLUSTER_URL, emptyCluster, prepareCluster } from './cluster.ts';

const AGGREGATIONS: readonly Aggregation[] = ['byAction', 'byActor', 'byOutcome', 'byDay'];

before(prepareCluster);

for (const [where, count] of [
  ['the first docs', 30],
  ['and the docs behind them', FIRST_DOCS + 30],
] as const)
  test(`finds what the plain definition finds, in any order, with counts: ${where}`, async () => {
    await emptyCluster();
    await using logs = IndexedLogs.at(CLUSTER_URL);
    const some = fc.sample(said, 30);
    const tenant = await logs.tenantWith(Array.from({ length: count }, (_, i) => some[i % some.length]!));
    const walking = { index: logs.indexWith({ gatheredMax: 3 }), gatheredMax: 3 };
    for (const asked of fc.sample(question, 40)) {
      await requireFound(logs, tenant, asked);
      await requireFound(logs, tenant, asked, walking);
      const { total, aggregations } = await logs.find(tenant, { ...asked, aggregations: AGGREGATIONS });
      const byAction = aggregations!.byAction!.reduce((sum, { count: found }) => sum + found, 0);
      assert.equal(byAction, total);
    }
    const relevant = await logs.find(tenant, { order: 'Relevance', rowsMax: 5 });
    assert.equal(relevant.events.length, 5);
  });
