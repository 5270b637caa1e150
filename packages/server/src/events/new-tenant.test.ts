// A list or a search that came before its tenant's first event was accepted, and is answered after that was indexed.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TenantId } from '@tallystick/contract';
import { createCursors } from '../gateway/cursors.ts';
import { systemClock } from '../runtime/clock.ts';
import { shownEvent } from '../query/testing/shown-event.ts';
import { TestIndex } from '../storage/event-index/testing/open-index.ts';
import { openSqliteIndex } from '../storage/sqlite/event-index/testing/index-backend.ts';
import { testCall } from '../testing/test-call.ts';
import type { Question } from './event-index.ts';
import { createList, type ListParts } from './list.ts';
import { createSearch } from './search.ts';

test('is answered as it was when it came: without events', async () => {
  await using backend = await openSqliteIndex();
  const log = new TestIndex(backend);
  await log.append('acme', [shownEvent()]);
  const index = {
    forTenant: (tenant: TenantId) => ({
      find: (question: Question) => log.find(tenant, question),
    }),
  };
  const unused = () => assert.fail('there is nothing to show');
  const parts = {
    index,
    cursors: createCursors({ keyOf: ({ fingerprintKey }) => fingerprintKey, clock: systemClock }),
    clock: systemClock,
    publishedOf: unused,
    sequencer: { append: unused },
    ids: { next: unused },
    telemetry: { info: unused, error: unused },
  } as unknown as ListParts;
  const call = testCall({ operation: 'events.list', tenantRecord: undefined });
  const list = await createList(parts).perform(call, {});
  assert.deepEqual([list.body.data, list.body.pagination.total], [[], 0]);
  const search = await createSearch(parts).perform(call, { search: { aggregations: ['byAction'] } });
  assert.deepEqual([search.body.results, search.body.totalCount], [[], 0]);
  assert.deepEqual(search.body.aggregations?.byAction, []);
});
