// A list or a search that came before its tenant's first event was accepted, and is answered after that was indexed.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TenantId } from '@tallystick/contract';
import { createCursors } from '../gateway/cursors.ts';
import { systemClock } from '../runtime/clock.ts';
import { shownEvent } from '../query/testing/shown-event.ts';
import { IndexedLog } from '../storage/sqlite/event-index/testing/indexed-log.ts';
import { testCall } from '../testing/test-call.ts';
import type { Question } from './event-index.ts';
import { createList, type ListParts } from './list.ts';
import { createSearch } from './search.ts';

test('is answered as it was when it came: without events', async () => {
  await using log = await IndexedLog.open();
  await log.append('acme', [shownEvent()]);
  log.follow();
  const index = {
    forTenant: (tenant: TenantId) => ({
      find: async (question: Question) => log.reader.find(tenant, question, 0),
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
