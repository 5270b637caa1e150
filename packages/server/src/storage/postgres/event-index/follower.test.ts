// How the views come after the log: what was in them is never lost, doubled or half there, however many follow at once.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Client } from 'pg';
import { parseQuery } from '../../../query/query-parser.ts';
import { SCHEMA } from '../connection/database.ts';
import { events, IndexedLogs, NOW_MS, requireFound } from './testing/indexed-log.ts';

const NO_TIME = 'no time at all';

let logs: IndexedLogs;
before(async () => {
  logs = await IndexedLogs.open();
});
after(() => logs?.[Symbol.asyncDispose]());

const asking = (text: string) => ({ query: parseQuery(text).query! });

async function countOf(table: string, tenant: string): Promise<number> {
  const [row] = await logs.raw(`SELECT count(*)::integer AS count FROM ${table} WHERE tenant_id = $1`, [
    tenant,
  ]);
  return Number(row?.['count']);
}

/** Somebody has locked the view of a tenant, as long as `work` takes. */
async function whileLocked(tenant: string, work: () => Promise<void>): Promise<void> {
  const client = new Client({ connectionString: logs.url });
  await client.connect();
  try {
    await client.query('BEGIN');
    await client.query(`SELECT 1 FROM ${SCHEMA}.views WHERE tenant_id = $1 FOR UPDATE`, [tenant]);
    await work();
    await client.query('ROLLBACK');
  } finally {
    await client.end();
  }
}

test('how far a view has come, and how long the oldest event waits that is not in it', async () => {
  const tenant = await logs.newTenant();
  const nothing = { generation: 1, indexedEvents: 0, isRebuilding: false, pendingEvents: 0, lagMs: 0 };
  assert.deepEqual(await logs.index.state(tenant), nothing);
  assert.deepEqual(await logs.index.state('nobody'), nothing);
  await logs.append(tenant, events(500));
  const later = logs.indexWith({ clock: { now: () => NOW_MS + 70 } });
  assert.deepEqual(await later.state(tenant), { ...nothing, pendingEvents: 500, lagMs: 70 });
  assert.deepEqual(await later.stateOfAll(), { isRebuilding: false, pendingEvents: 500, lagMs: 70 });
  assert.equal((await logs.find(tenant)).total, 0);
  await logs.follow();
  assert.deepEqual(await later.state(tenant), { ...nothing, indexedEvents: 500 });
  assert.deepEqual(await later.stateOfAll(), { isRebuilding: false, pendingEvents: 0, lagMs: 0 });
  assert.equal((await logs.find(tenant)).total, 500);
});

test('a turn that fails leaves nothing behind, and the next one takes the same events', async () => {
  const tenant = await logs.newTenant();
  await logs.append(tenant, events(500));
  // It comes behind the docs. What is no fault of an event sets none aside.
  await logs.raw('REVOKE INSERT ON view_counts FROM tallystick_projector');
  await assert.rejects(logs.follow(), /permission denied/);
  assert.deepEqual([(await logs.find(tenant)).total, await countOf('docs', tenant)], [0, 0]);
  await logs.raw('GRANT INSERT ON view_counts TO tallystick_projector');
  await logs.follow();
  assert.equal((await logs.find(tenant)).total, 500);
});

test('several followers at once take each event once', async () => {
  const tenants = [await logs.newTenant(), await logs.newTenant(), await logs.newTenant()];
  const nodes = Array.from({ length: 4 }, () => logs.indexWith({ portion: 30 }));
  const done = new AbortController();
  const following = nodes.map(async (node) => {
    while (!done.signal.aborted) await node.turn();
  });
  for (let i = 0; i < 6; i++)
    for (const [place, tenant] of tenants.entries()) await logs.append(tenant, events(20 + 15 * place));
  done.abort();
  await Promise.all(following);
  await logs.follow();
  for (const [place, tenant] of tenants.entries()) {
    const count = 6 * (20 + 15 * place);
    assert.equal(await requireFound(logs, tenant, { rowsMax: 1000 }), count);
    const { aggregations } = await logs.find(tenant, { aggregations: ['byAction', 'byDay'] });
    assert.deepEqual(
      aggregations?.byAction?.map((bucket) => bucket.count),
      [count],
    );
    assert.deepEqual(
      aggregations?.byDay?.map((bucket) => bucket.count),
      [count],
    );
  }
});

test('a view that somebody else adds to is passed by, without waiting', async () => {
  const tenant = await logs.tenantWith(events(1));
  await logs.append(tenant, events(2));
  await whileLocked(tenant, async () => {
    const other = await logs.newTenant();
    await logs.append(other, events(3));
    assert.equal((await logs.index.turn()).taken, 3);
    assert.equal((await logs.find(tenant)).total, 1);
  });
  await logs.follow();
  assert.equal((await logs.find(tenant)).total, 3);
});

test('portions are bounded in bytes, too', async () => {
  const tenant = await logs.newTenant();
  await logs.append(tenant, [...events(1), ...events(12, 'x'.repeat(900_000)), ...events(1)]);
  const { taken, isMore } = await logs.index.turn();
  assert.ok(taken >= 9 && taken <= 11, `${taken} were taken`);
  assert.equal(isMore, true);
  await logs.follow();
  assert.equal((await logs.find(tenant)).total, 14);
});

test('a view is made anew behind the one that answers, which then goes away without a trace', async () => {
  const tenant = await logs.tenantWith(events(2500));
  const other = await logs.tenantWith(events(10));
  assert.deepEqual(await logs.index.build('nobody'), { processedEvents: 0, totalEvents: 0, isDone: true });
  let turns = 0;
  const generations = new Set<number>();
  for (let isMore = true; isMore; turns++) {
    // Also what is appended meanwhile is there at once.
    if (turns === 1) await logs.append(tenant, events(3, 'meanwhile'));
    const { processedEvents, totalEvents, isDone } = await logs.index.build(tenant);
    assert.ok(processedEvents <= totalEvents);
    await logs.follow();
    const { total, state } = await logs.find(tenant, asking('refund'));
    assert.equal(total, 2500);
    assert.equal(state.isRebuilding, !isDone);
    generations.add(state.generation);
    isMore = !isDone;
  }
  assert.deepEqual([...generations], [1, 2]);
  assert.equal((await logs.find(tenant, asking('meanwhile'))).total, 3);
  assert.equal((await logs.find(other)).total, 10);
  const counts = await Promise.all(['views', 'docs'].map((table) => countOf(table, tenant)));
  assert.deepEqual(counts, [1, 2503]);
  for (const table of ['view_keys', 'view_counts']) {
    const old = await logs.raw(`SELECT 1 FROM ${table} WHERE tenant_id = $1 AND generation = 1`, [tenant]);
    assert.equal(old.length, 0, table);
  }
});

test('several who make one view anew at once make one view', async () => {
  const tenant = await logs.tenantWith(events(300));
  const nodes = [1, 2, 3].map(() => logs.indexWith({ portion: 50 }));
  await Promise.all(nodes.flatMap((index) => [index.build(tenant), index.turn()]));
  await logs.rebuild(tenant);
  await logs.follow();
  assert.deepEqual([(await logs.find(tenant)).total, (await logs.find(tenant)).state.generation], [300, 2]);
});

test('a view that is made anew is a later one, also where nothing was indexed before', async () => {
  const tenant = await logs.newTenant();
  await logs.append(tenant, events(1500));
  assert.equal((await logs.index.build(tenant)).isDone, false, 'there is nothing yet that answers');
  await logs.index.turn();
  await logs.rebuild(tenant);
  await logs.follow();
  assert.deepEqual([(await logs.find(tenant)).total, (await logs.find(tenant)).state.generation], [1500, 2]);
  await logs.rebuild(await logs.newTenant());
});

test('an event that cannot be indexed is set aside with the reason, and can be tried again', async () => {
  const tenant = await logs.newTenant();
  await logs.append(tenant, [...events(1), { ...events(1)[0]!, timestamp: NO_TIME }, ...events(1)]);
  const { setAside } = await logs.index.turn();
  const reason = 'the time no time at all cannot be told';
  assert.deepEqual(setAside, [{ tenantId: tenant, sequence: 2, reason }]);
  assert.equal((await logs.find(tenant)).total, 2);
  const [letter, ...others] = await logs.letters(tenant);
  assert.deepEqual([letter?.attempts, letter?.reason, letter?.body, others], [3, reason, '{"index":1}', []]);
  assert.equal(await logs.index.indexAgain(tenant, 1), reason);
  assert.match((await logs.index.indexAgain(tenant, 7)) ?? '', /no such event/);
  assert.deepEqual(await logs.letters('nobody'), []);
  // The event itself cannot change; here it does, to see that it would be found then.
  await logs.rewrite(tenant, 2, NO_TIME, '2026-01-02T03:04:05.000Z');
  assert.equal(await logs.index.indexAgain(tenant, 1), undefined);
  assert.equal(await requireFound(logs, tenant, {}), 3);
});

test('what the database refuses is set aside alone, and holds up no other', async () => {
  const tenant = await logs.newTenant();
  await logs.append(tenant, events(40));
  // No log has such a character, and no text of the database.
  await logs.rewrite(tenant, 17, '"action":"', '"action":"\\u0000');
  const { setAside } = await logs.index.turn();
  await logs.follow();
  const sequences = (await logs.letters(tenant)).length;
  assert.deepEqual([sequences, (await logs.find(tenant, { rowsMax: 100 })).total], [1, 39]);
  assert.ok(setAside.length <= 1);
});

test('what stands where a text or a time should is set aside, and holds up no other', async () => {
  const tenant = await logs.newTenant();
  const [said] = events(1);
  await logs.append(tenant, events(40));
  await logs.rewrite(tenant, 3, `"action":"${said!.action}"`, '"action":5');
  await logs.rewrite(tenant, 17, said!.timestamp, '+275760-09-13T00:00Z');
  await logs.rewrite(tenant, 30, said!.timestamp, '2026-01-02T03:04:05.1e20Z');
  await logs.follow();
  const letters = await logs.letters(tenant);
  assert.deepEqual([letters.length, (await logs.find(tenant, { rowsMax: 100 })).total], [3, 37]);
});

test('what is tried again while a view is made anew is in that one too, if it has passed the event', async () => {
  const tenant = await logs.tenantWith([{ ...events(1)[0]!, timestamp: NO_TIME }, ...events(1500)]);
  assert.equal((await logs.index.build(tenant)).isDone, false);
  await logs.rewrite(tenant, 1, NO_TIME, '2026-01-02T03:04:05.000Z');
  assert.equal(await logs.index.indexAgain(tenant, 0), undefined);
  assert.equal((await logs.find(tenant)).total, 1501);
  await logs.rebuild(tenant);
  assert.deepEqual([(await logs.find(tenant)).total, (await logs.find(tenant)).state.generation], [1501, 2]);
});

test('what only the view that is being made lacks is tried again there', async () => {
  const tenant = await logs.tenantWith(events(1500));
  const { timestamp } = events(1)[0]!;
  await logs.rewrite(tenant, 1, timestamp, NO_TIME);
  assert.equal((await logs.index.build(tenant)).isDone, false);
  await logs.rewrite(tenant, 1, NO_TIME, timestamp);
  assert.equal((await logs.letters(tenant)).length, 1);
  assert.equal(await logs.index.indexAgain(tenant, 0), undefined);
  await logs.rebuild(tenant);
  assert.deepEqual([(await logs.find(tenant)).total, (await logs.find(tenant)).state.generation], [1500, 2]);
});

test('control: a position that is saved without its events loses them, and the comparison sees it', async () => {
  const tenant = await logs.tenantWith(events(3));
  assert.equal(await requireFound(logs, tenant, {}), 3);
  await logs.append(tenant, events(2, 'lost'));
  // As a follower would leave it that was killed between a commit of its position and one of its events.
  await logs.raw('UPDATE views SET next_index = 5 WHERE tenant_id = $1', [tenant]);
  await logs.follow();
  await assert.rejects(requireFound(logs, tenant, {}), /found 3,2,1 \(3\), not 5,4,3,2,1/);
});

test('no word of content that is Confidential or Secret stands in the index', async () => {
  const secret = { ...events(1, 'xyzzyplugh')[0]!, classification: 'Secret' as const };
  const confidential = { ...events(1, 'quuxcorge')[0]!, classification: 'Confidential' as const };
  const tenant = await logs.tenantWith([secret, confidential, ...events(1, 'graultgarply')]);
  for (const word of ['xyzzyplugh', 'quuxcorge', 'graultgarply'])
    assert.equal((await logs.find(tenant, asking(word))).total, 1, word);
  const rows = await logs.raw('SELECT docs::text AS doc FROM docs WHERE tenant_id = $1', [tenant]);
  const text = rows.map(({ doc }) => String(doc)).join();
  assert.ok(text.includes('graultgarply'));
  assert.ok(!text.includes('xyzzy') && !text.includes('quux'));
});

test('a tenant finds nothing of another, whatever it asks', async () => {
  const here = await logs.tenantWith(events(3, 'only here'));
  const there = await logs.tenantWith(events(2, 'only there'));
  assert.equal((await logs.find(here, asking('only'))).total, 3);
  assert.equal((await logs.find(there, asking('only'))).total, 2);
  assert.equal((await logs.find(here, asking('there'))).total, 0);
  assert.equal((await logs.find('nobody', asking('only'))).total, 0);
});
