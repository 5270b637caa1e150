import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { StoredEvent, TenantLog } from '../streams/log.ts';
import { EventReads } from './event-reads.ts';

/** Logs that have every event but those that are missing, and what was read of them. */
function logs(missing: readonly number[] = [], unreadable: readonly number[] = []) {
  const asked: string[] = [];
  const forTenant = (tenant: string) => {
    const events: TenantLog['events'] = async (from, end, limit) => {
      asked.push(`${tenant} ${from}-${end}`);
      const indexes = Array.from({ length: Math.min(limit, end - from) }, (_, i) => from + i);
      if (indexes.some((index) => unreadable.includes(index))) throw new Error('it cannot be read');
      // Of an event only the index is looked at.
      return indexes.filter((index) => !missing.includes(index)).map((index) => ({ index }) as StoredEvent);
    };
    return { events } as TenantLog;
  };
  const reads = new EventReads({ forTenant });
  const at = async (tenant: string, index: number) => (await reads.at(tenant, index))?.index;
  return { asked, at };
}

test('what is asked for at the same time and is close together is one read, of one tenant', async () => {
  const { asked, at } = logs();
  const found = await Promise.all([
    at('acme', 12),
    at('acme', 10),
    at('other', 11),
    at('acme', 10),
    at('acme', 40),
  ]);
  assert.deepEqual(found, [12, 10, 11, 10, 40]);
  assert.deepEqual(asked.toSorted(), ['acme 10-13', 'acme 40-41', 'other 11-12']);
  assert.equal(await at('acme', 10), 10);
  assert.equal(asked.length, 4);
});

test('no read is of more than a hundred events', async () => {
  const { asked, at } = logs();
  const indexes = Array.from({ length: 250 }, (_, i) => i);
  assert.deepEqual(await Promise.all(indexes.map((index) => at('acme', index))), indexes);
  assert.deepEqual(asked, ['acme 0-100', 'acme 100-200', 'acme 200-250']);
});

test('an event that is gone, or cannot be read, is that to its own delivery alone', async () => {
  const { at } = logs([2], [3]);
  const found = await Promise.allSettled([1, 2, 3, 4].map((index) => at('acme', index)));
  assert.deepEqual(
    found.map((each) => (each.status === 'fulfilled' ? each.value : each.status)),
    [1, undefined, 'rejected', 4],
  );
});
