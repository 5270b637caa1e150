// Logs that are behind by little are taken together, and what became of each is as if it had been taken by itself.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { TenantId } from '@tallystick/contract';
import { PATIENT_LIMITS } from '../../../testing/postgres-server.ts';
import { Database } from '../connection/database.ts';
import { HeldShares } from '../nodes/held-shares.ts';
import { SHARES } from '../schema/schema.ts';
import { events, IndexedLogs, requireFound } from './testing/indexed-log.ts';

const NO_TIME = 'no time at all';

let logs: IndexedLogs;
before(async () => {
  logs = await IndexedLogs.open();
});
after(() => logs?.[Symbol.asyncDispose]());

/** Some with an event each, which are not indexed. */
async function smallLogs(count: number): Promise<TenantId[]> {
  const tenants = await logs.newTenants(count);
  await Promise.all(tenants.map((tenant) => logs.append(tenant, events(1))));
  return tenants;
}

/** How many transactions have written what is in these views. */
async function transactionsOf(tenants: readonly TenantId[]): Promise<number> {
  const [row] = await logs.raw(
    'SELECT count(DISTINCT xmin::text)::integer AS count FROM docs WHERE tenant_id = ANY($1)',
    [tenants],
  );
  return Number(row?.['count']);
}

async function viewsOf(tenants: readonly TenantId[], column: string): Promise<number[]> {
  const rows = await logs.raw(
    `SELECT coalesce(${column}, 0)::integer AS value FROM unnest($1::text[]) WITH ORDINALITY AS asked (tenant_id, place)
     LEFT JOIN views ON views.tenant_id = asked.tenant_id ORDER BY place`,
    [tenants],
  );
  return rows.map(({ value }) => Number(value));
}

/** What is found, and what is counted, is what is in the log. */
async function requireIndexed(tenant: TenantId, count: number): Promise<void> {
  assert.equal(await requireFound(logs, tenant, { rowsMax: 1000 }), count);
  const { aggregations } = await logs.find(tenant, { aggregations: ['byAction', 'byActor', 'byDay'] });
  const { byAction = [], byActor = [], byDay = [] } = aggregations ?? {};
  for (const buckets of [byAction, byActor, byDay])
    assert.equal(
      buckets.reduce((sum, bucket) => sum + bucket.count, 0),
      count,
    );
}

test('many small logs are taken in one transaction, and those that have more in one each', async () => {
  const small = await smallLogs(120);
  const large = await logs.newTenants(2);
  for (const tenant of large) await logs.append(tenant, events(201));
  const { taken, isMore } = await logs.index.turn();
  assert.deepEqual([taken, isMore], [120 + 402, false]);
  assert.equal(await transactionsOf(small), 1);
  assert.equal(await transactionsOf([...small, ...large]), 3);
  // Of some there is more now, and of others nothing.
  for (const [i, tenant] of small.slice(0, 10).entries()) await logs.append(tenant, events(i + 1));
  assert.equal((await logs.index.turn()).taken, 55);
  assert.equal(await transactionsOf(small), 2);
  for (const [i, tenant] of small.slice(0, 12).entries()) await requireIndexed(tenant, i < 10 ? i + 2 : 1);
});

test('not more events are taken together than a portion has', async () => {
  const tenants = await smallLogs(25);
  const { taken, isMore } = await logs.indexWith({ portion: 10 }).turn();
  assert.deepEqual([taken, isMore], [25, false]);
  assert.equal(await transactionsOf(tenants), 3);
});

test('what is taken together is bounded in bytes, and the rest comes after it', async () => {
  const tenants = await logs.newTenants(4);
  for (const tenant of tenants) await logs.append(tenant, [...events(2, 'x'.repeat(900_000)), ...events(1)]);
  const { taken, isMore } = await logs.index.turn();
  assert.ok(taken >= 5 && taken <= 8, `${taken} were taken`);
  assert.equal(isMore, true);
  await logs.follow();
  for (const tenant of tenants) await requireIndexed(tenant, 3);
});

test('several followers at once take each event of many small logs once', async () => {
  const tenants = await logs.newTenants(40);
  const nodes = [logs.indexWith(), logs.indexWith({ portion: 15 }), logs.indexWith()];
  const done = new AbortController();
  const following = nodes.map(async (node) => {
    while (!done.signal.aborted) await node.turn();
  });
  for (let i = 0; i < 4; i++)
    await Promise.all(tenants.map((tenant, place) => logs.append(tenant, events(1 + (place % 3)))));
  done.abort();
  await Promise.all(following);
  await logs.follow();
  for (const [place, tenant] of tenants.entries()) await requireIndexed(tenant, 4 * (1 + (place % 3)));
});

test('an event that cannot be indexed is set aside alone among many logs', async () => {
  const tenants = await smallLogs(30);
  const [bad, other] = [tenants[7]!, tenants[20]!];
  await logs.append(bad, [{ ...events(1)[0]!, timestamp: NO_TIME }, ...events(1)]);
  await logs.append(other, [{ ...events(1)[0]!, timestamp: NO_TIME }]);
  const { taken, setAside } = await logs.index.turn();
  assert.equal(taken, 33);
  const reason = 'the time no time at all cannot be told';
  assert.deepEqual(
    setAside.toSorted((a, b) => (a.tenantId < b.tenantId ? -1 : 1)),
    [bad, other].toSorted().map((tenantId) => ({ tenantId, sequence: 2, reason })),
  );
  assert.equal(await transactionsOf(tenants), 1);
  for (const tenant of tenants) {
    assert.equal((await logs.find(tenant)).total, tenant === bad ? 2 : 1);
    assert.equal((await logs.letters(tenant)).length, tenant === bad || tenant === other ? 1 : 0);
  }
});

test('what the database refuses of one log is set aside alone, and holds up no other log', async () => {
  const tenants = await smallLogs(30);
  const bad = tenants[11]!;
  await logs.append(bad, events(3));
  // No log has such a character, and no text of the database.
  await logs.rewrite(bad, 2, '"action":"', '"action":"\\u0000');
  await logs.follow();
  const letters = await logs.letters(bad);
  assert.equal(letters.length, 1);
  for (const tenant of tenants) {
    assert.equal((await logs.find(tenant)).total, tenant === bad ? 3 : 1);
    assert.equal((await logs.letters(tenant)).length, tenant === bad ? 1 : 0);
  }
  assert.deepEqual(new Set(await viewsOf(tenants, 'next_index')), new Set([1, 4]));
});

test('docs with more terms than can be held are counted for the view that they are in', async () => {
  const tenants = await smallLogs(3);
  const actor = { actorType: 'User' as const, userId: '\u{1F600}'.repeat(512) };
  await logs.append(
    tenants[1]!,
    events(2).map((said) => ({ ...said, actor })),
  );
  await logs.index.turn();
  assert.deepEqual(await viewsOf(tenants, 'large_docs'), [0, 2, 0]);
  await requireIndexed(tenants[1]!, 3);
});

test('logs of a share that is lost are left out, and not kept from who has it now', async () => {
  const tenants = await smallLogs(60);
  const held = HeldShares.none(() => 0);
  held.set(new Map(Array.from({ length: SHARES }, (_, share) => [share, 0])), 1);
  const index = logs.indexWith({ held });
  const shares = await logs.raw('SELECT tenant_id, share FROM heads WHERE tenant_id = ANY($1)', [tenants]);
  const shareOf = new Map(shares.map((row) => [row['tenant_id'], Number(row['share'])]));
  const lost = shareOf.get(tenants[0]!)!;
  // Somebody has taken it over, and this one does not know it.
  await logs.raw('UPDATE leases SET token = 1 WHERE share = $1', [lost]);
  try {
    const { taken } = await index.turn();
    const expected = tenants.map((tenant) => (shareOf.get(tenant) === lost ? 0 : 1));
    assert.deepEqual(await viewsOf(tenants, 'next_index'), expected);
    assert.equal(taken, expected.filter((count) => count === 1).length);
    held.set(new Map([[lost, 1]]), 1);
    assert.equal((await index.turn()).taken, tenants.length - taken);
  } finally {
    await logs.raw('UPDATE leases SET token = 0');
  }
  for (const tenant of tenants.slice(0, 5)) await requireIndexed(tenant, 1);
});

test('where tables are distributed each log is taken by itself', async () => {
  const tenants = await smallLogs(12);
  await using database = new Database({
    url: logs.url,
    connectionsMax: 2,
    isDistributed: true,
    ...PATIENT_LIMITS,
  });
  assert.equal((await logs.indexWith({ database }).turn()).taken, 12);
  assert.equal(await transactionsOf(tenants), 12);
});
