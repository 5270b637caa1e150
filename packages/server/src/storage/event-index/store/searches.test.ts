// What searches remember of a tenant, and for how many of them.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MemoryLog, MemorySegmentStore, TENANT } from '../testing/memory-index.ts';
import { notes } from '../testing/noted-events.ts';
import { questionOf } from '../testing/plain-definition.ts';
import { eventsOf } from '../testing/searched-events.ts';
import { Searches } from './searches.ts';

const never = { throwIfPassed() {} };

test('a tenant that is searched again is not asked for what is known of it, until many others were', async () => {
  const events = eventsOf(notes(3));
  const store = (await MemorySegmentStore.of(events)).asPort();
  const log = new MemoryLog(events).asPort();
  const asked: string[] = [];
  const searches = new Searches(store, {
    ...log,
    secrets(tenant) {
      asked.push(tenant);
      return log.secrets(tenant);
    },
  });
  const search = (tenant: string) => searches.find(tenant, questionOf({ rowsMax: 1 }), 0, never);
  for (let i = 0; i < 3; i++) assert.equal((await search(TENANT)).found.total, 3);
  assert.deepEqual(asked, [TENANT]);
  // The segment is of somebody else, which is found out once they are known.
  for (let i = 0; i < 1000; i++) await assert.rejects(search(`other${i}`), /damaged/);
  await search('other999').catch(() => {});
  assert.equal(asked.length, 1001, 'the last of them is still known');
  await search(TENANT);
  assert.equal(asked.length, 1002, 'the first one is not');
});
