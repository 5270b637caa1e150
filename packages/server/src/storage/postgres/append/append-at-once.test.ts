// Appends to cached heads while others write to the same logs.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { TenantId } from '@tallystick/contract';
import { Client } from 'pg';
import { createFakeClock } from '../../../testing/fake-clock.ts';
import type { AppendRequest, LogWriter } from '../../../streams/log.ts';
import { fingerprint, once } from '../../conformance/claims.ts';
import { decodePool, encodePool } from '../../pool/append-message.ts';
import { KnownDecisions } from './decisions.ts';
import { AppendAtOnce } from './append-at-once.ts';
import { Database, SCHEMA } from '../connection/database.ts';
import { TestTables } from '../testing/test-tables.ts';
import { Heads } from './heads.ts';
import type { Pipeline } from '../connection/pipeline.ts';
import { PLANNED_FOR_MANY, WRITE_AT_ONCE, WRITE_MANY_AT_ONCE } from './pool-statements.ts';
import { committer, newWriter as writerOn, NOW, requestOf, WRITING } from '../testing/plain-writer.ts';

let logs: TestTables;
before(async () => {
  logs = await TestTables.open();
});
after(() => logs?.[Symbol.asyncDispose]());

const newWriter = (database = logs.database) => writerOn(database);

async function append(writer: LogWriter, ...requests: AppendRequest[]): Promise<number[]> {
  const answers = await writer.append(requests, NOW);
  return answers.flatMap((answer) => {
    if (answer.status !== 'Done') throw new Error(`not appended: ${JSON.stringify(answer)}`);
    return answer.outcomes.map((outcome) => ('index' in outcome ? outcome.index : -1));
  });
}

/** As careful clients send one: with an id and a key. */
function carefulRequest(tenant: TenantId, key: string): AppendRequest {
  const { drafts, ...request } = requestOf(tenant);
  const sent = drafts.map((draft) => ({ ...draft, sentFingerprint: fingerprint(1) }));
  return { ...request, drafts: sent, once: once(key, { expiresAtMs: NOW.steadyNowMs + 60_000 }) };
}

async function entriesOf(tenant: TenantId): Promise<number> {
  const [row] = await logs.raw(
    'SELECT count(*)::integer AS count, max(leaf_index)::integer + 1 AS next FROM entries WHERE tenant_id = $1',
    [tenant],
  );
  assert.equal(row?.['count'], row?.['next'] ?? 0);
  return Number(row?.['count']);
}

test('once a head is known, events are stored without a lock before, with ids and keys or without', async () => {
  const tenant = await logs.newTenant();
  await using database = new Database({ url: logs.url, connectionsMax: 1 });
  const writer = newWriter(database);
  for (let i = 0; i < 2; i++) await append(writer, requestOf(tenant));
  for (let i = 0; i < 2; i++) await append(writer, carefulRequest(tenant, `key-${i}`));
  // Each connection counts how often it has run its prepared statements.
  const { rows } = await database.plainly((client) =>
    client.query<{ times: number }>(
      'SELECT (generic_plans + custom_plans)::integer AS times FROM pg_prepared_statements WHERE name = $1',
      [WRITE_AT_ONCE.name],
    ),
  );
  assert.deepEqual(rows, [{ times: 3 }]);
});

test('a pool of many tenants is planned for many, also behind pools of few', async () => {
  const tenants = await logs.newTenants(50);
  await using database = new Database({ url: logs.url, connectionsMax: 1 });
  const writer = newWriter(database);
  // Often enough that the database keeps one plan.
  for (let i = 0; i < 12; i++) await append(writer, requestOf(tenants[0]!));
  for (let i = 0; i < 8; i++) await append(writer, ...tenants.map((tenant) => requestOf(tenant)));
  const plan = await database.plainly(async (client) => {
    await client.query(`BEGIN; ${PLANNED_FOR_MANY}`);
    const none = Array.from({ length: 29 }, () => 'NULL').join();
    const { rows } = await client.query<Record<string, string>>(
      `EXPLAIN EXECUTE "${WRITE_MANY_AT_ONCE.name}" (${none})`,
    );
    await client.query('ROLLBACK');
    return rows.map((row) => row['QUERY PLAN']).join('\n');
  });
  assert.match(plan, /Hash Join/);
  // Ids and keys are looked up one by one, by their index.
  assert.equal(plan.match(/Nested Loop/g)?.length, 2, plan);
  for (const index of [/using entries_\d+_tenant_id_event_id_idx/, /using used_keys_pkey/])
    assert.match(plan, index);
});

test('pools keep the order in which they are handed over', async () => {
  const tenant = await logs.newTenant();
  const writer = newWriter();
  assert.deepEqual(await append(writer, requestOf(tenant)), [0]);
  const pools = Array.from({ length: 20 }, () => append(writer, requestOf(tenant, 3)));
  assert.deepEqual(
    (await Promise.all(pools)).flat(),
    Array.from({ length: 60 }, (_, i) => 1 + i),
  );
});

test('a log that another node has extended is continued from its new end', async () => {
  const tenant = await logs.newTenant();
  const [one, other] = [newWriter(), newWriter()];
  const places: number[] = [];
  for (const writer of [one, other, one, one, other, other, one])
    places.push(...(await append(writer, requestOf(tenant, 2))));
  assert.deepEqual(
    places,
    Array.from({ length: 14 }, (_, i) => i),
  );
});

test('two concurrent writers to the same logs use each index once', async () => {
  const tenants = [await logs.newTenant(), await logs.newTenant(), await logs.newTenant()];
  const writers = [newWriter(), newWriter()];
  const writing = writers.map(async (writer) => {
    for (let i = 0; i < 20; i++)
      await Promise.all([
        append(writer, ...tenants.map((tenant) => requestOf(tenant))),
        append(writer, requestOf(tenants[i % 3]!, 2)),
      ]);
  });
  await Promise.all(writing);
  let entries = 0;
  for (const tenant of tenants) entries += await entriesOf(tenant);
  assert.equal(entries, 2 * 20 * (3 + 2));
});

test('what is sent again while the first is under way is recognised, and other logs are not delayed', async () => {
  const [tenant, beside] = [await logs.newTenant(), await logs.newTenant()];
  const writer = newWriter();
  await append(writer, requestOf(tenant), requestOf(beside));
  const first = carefulRequest(tenant, 'k');
  const byId = { ...first, once: undefined };
  const other = {
    ...byId,
    drafts: byId.drafts.map((draft) => ({ ...draft, sentFingerprint: fingerprint(2) })),
  };
  const underOtherKey = { ...first, once: once('k2', { expiresAtMs: NOW.steadyNowMs + 60_000 }) };
  const pools = [
    [first],
    [first, requestOf(beside)],
    [byId],
    [other],
    [underOtherKey],
    [underOtherKey, first],
  ];
  const answers = await Promise.all(pools.map((pool) => writer.append(pool, NOW)));
  const said = answers.map((results) =>
    results.map((result) => (result.status === 'Done' ? result.outcomes[0]!.status : result.status)),
  );
  assert.deepEqual(said, [
    ['Appended'],
    ['Repeated', 'Appended'],
    ['Duplicate'],
    ['Conflict'],
    ['Duplicate'],
    ['Repeated', 'Repeated'],
  ]);
  assert.deepEqual([await entriesOf(tenant), await entriesOf(beside)], [2, 2]);
});

test('of the same requests to two nodes at once, one stores and the other finds it', async () => {
  const tenants = [await logs.newTenant(), await logs.newTenant()];
  const writers = [newWriter(), newWriter()];
  for (let i = 0; i < 15; i++) {
    const pool = tenants.map((tenant) => carefulRequest(tenant, `key-${i}`));
    const answers = await Promise.all(writers.map((writer) => writer.append(pool, NOW)));
    for (const place of tenants.keys()) {
      const said = answers.map((results) => results[place]!.status).sort();
      assert.deepEqual(said, ['Done', 'Repeated']);
    }
  }
  for (const tenant of tenants) assert.equal(await entriesOf(tenant), 15);
});

test('a key that has expired and is still stored is used again', async () => {
  const tenant = await logs.newTenant();
  const writer = newWriter();
  await append(writer, requestOf(tenant));
  await append(writer, carefulRequest(tenant, 'k'));
  const later = { ...NOW, steadyNowMs: NOW.steadyNowMs + 60_000 };
  const wanted = { ...carefulRequest(tenant, 'k'), once: once('k', { expiresAtMs: later.steadyNowMs + 1 }) };
  const [used, again] = [await writer.append([wanted], later), await writer.append([wanted], later)];
  assert.deepEqual([used[0]?.status, again[0]?.status], ['Done', 'Repeated']);
});

test('a log that was missed is left to those who lock it, for a second', async () => {
  const clock = createFakeClock(0);
  const heads = new Heads('index.test');
  const pipeline = { commit: async () => [] } as unknown as Pipeline;
  const atOnce = new AppendAtOnce({
    pipeline,
    heads,
    decisions: new KnownDecisions(),
    months: { hasAll: () => true },
    clock,
    writing: WRITING,
  });
  const { requests } = decodePool(encodePool([requestOf('acme')], NOW));
  const open = [{ request: requests[0]!, place: 0, firstRow: 0 }];
  const isSent = () => {
    const previous = new Uint8Array(32);
    const head = {
      tenantId: 'acme',
      logFirstIndex: 0,
      nextIndex: 0,
      previous,
      receivedAtMs: 0,
      stream: undefined,
    };
    heads.remember([{ head, from: { nextIndex: 0, leaf: undefined } }]);
    return atOnce.send(open, { commitments: committer.make(requests), now: NOW }) !== undefined;
  };
  assert.equal(isSent(), true);
  atOnce.missed(['acme']);
  assert.equal(isSent(), false);
  await clock.advance(1001);
  assert.equal(isSent(), true);
});

test('only the locked log of a pool waits', async () => {
  const [held, free] = [await logs.newTenant(), await logs.newTenant()];
  const writer = newWriter();
  await append(writer, requestOf(held), requestOf(free));
  const holder = new Client({ connectionString: logs.url });
  await holder.connect();
  try {
    await holder.query('BEGIN');
    await holder.query(`SELECT 1 FROM ${SCHEMA}.heads WHERE tenant_id = $1 FOR UPDATE`, [held]);
    let decided: readonly number[] = [];
    const waiting = writer.append([requestOf(held), requestOf(free)], NOW, (those) => {
      decided = [...those.keys()];
      void holder.query('ROLLBACK');
    });
    assert.deepEqual(
      (await waiting).map(({ status }) => status),
      ['Done', 'Done'],
    );
    assert.deepEqual(decided, [1]);
  } finally {
    await holder.end();
  }
  assert.deepEqual([await entriesOf(held), await entriesOf(free)], [2, 2]);
});

test('stored requests are answered even if the rest of the pool fails', async () => {
  const [moved, free] = [await logs.newTenant(), await logs.newTenant()];
  const writer = newWriter();
  await append(writer, requestOf(moved), requestOf(free));
  await append(newWriter(), requestOf(moved));
  await logs.raw('REVOKE SELECT ON epochs FROM tallystick_writer');
  const [ofMoved, ofFree] = await writer.append([requestOf(moved), requestOf(free)], NOW);
  await logs.raw('GRANT SELECT ON epochs TO tallystick_writer');
  assert.equal(ofFree?.status, 'Done');
  assert.equal(ofMoved?.status, 'Faulty');
  assert.equal((ofMoved as { error: { code?: string } }).error.code, 'SERVICE_UNAVAILABLE');
  assert.deepEqual([await entriesOf(moved), await entriesOf(free)], [2, 2]);
});

test('a continuous writer does not lock others out of a log', async () => {
  const tenant = await logs.newTenant();
  // Both use connections that commit as slowly as with a synchronous standby.
  const url = new URL(logs.url);
  url.searchParams.set('options', '-c commit_delay=60000 -c commit_siblings=0');
  await using one = new Database({ url: url.href, connectionsMax: 3 });
  await using two = new Database({ url: url.href, connectionsMax: 3 });
  const [busy, other] = [newWriter(one), newWriter(two)];
  const over = new AbortController();
  const keepBusy = async () => {
    while (!over.signal.aborted) await append(busy, requestOf(tenant));
  };
  const writing = [keepBusy(), keepBusy(), keepBusy()];
  const tookMs: number[] = [];
  for (let i = 0; i < 8; i++) {
    const began = performance.now();
    await append(other, requestOf(tenant));
    tookMs.push(performance.now() - began);
  }
  over.abort();
  await Promise.all(writing);
  await entriesOf(tenant);
  assert.ok(Math.max(...tookMs) < 3000, `each took ${tookMs.map(Math.round).join(', ')} ms`);
});
