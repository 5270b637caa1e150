// P8 for reading: two services, alike but for tenants that are in one of them only and say the same words. Callers of
// the other tenants get the same answers from both. Only ids and times, which no two services share, are not compared.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EVENT } from '../testing/bound-operations.ts';
import { believeClearance, eventCaller } from '../testing/event-caller.ts';
import { finderOf } from '../testing/found-events.ts';
import { openDatabases } from '../testing/postgres-server.ts';
import { startTestApp, type TestApp } from '../testing/test-app.ts';

const NOTES = ['a refund for Ana', 'refund', 'nothing of that', 'the word refund, twice: refund', 'rare'];

function eventsOf(tenant: string, count: number): object[] {
  return Array.from({ length: count }, (_, i) => ({
    ...EVENT,
    timestamp: new Date(Date.UTC(2026, 0, 2, 3, i)).toISOString(),
    action: i % 3 === 0 ? 'Create.Invoice' : 'Delete.Invoice',
    actor: { actorType: 'User', userId: `u-${i % 4}`, userName: `${tenant} ${i % 4}` },
    classification: i % 5 === 0 ? 'Secret' : 'Internal',
    payload: { note: NOTES[i % NOTES.length], amount: i * 100 },
  }));
}

const QUERIES = [
  'refund',
  '"refund for"',
  're*',
  '-refund',
  'action:create.*',
  'payload.amount:>500',
  'actor:ana OR rare',
];

/** What acme is told, with something else between its steps. */
async function worldOf(app: TestApp, between: () => Promise<void>, count = 12): Promise<string[]> {
  await between();
  for (const event of eventsOf('acme', count)) {
    assert.equal((await eventCaller(app, 'acme').ingest(event)).code, '201');
    await between();
  }
  const told: string[] = [];
  for (const clearance of ['Secret', 'Internal'] as const) {
    const finder = finderOf(app, 'acme', clearance);
    await finder.caughtUp();
    for (const query of [
      '',
      'limit=3',
      'sort=action',
      'sort=-eventId&limit=2',
      ...QUERIES.map((q) => `q=${encodeURIComponent(q)}`),
    ]) {
      await between();
      const { code, body } = await finder.list(query);
      told.push(`${query} ${code} ${JSON.stringify(body)}`);
    }
    for (const query of QUERIES) {
      for (const sort of [[], [{ field: 'relevance' as const }]]) {
        await between();
        const request = {
          query,
          sort,
          aggregations: ['byAction' as const, 'byActor' as const, 'byDay' as const],
        };
        const { code, body } = await finder.search(request);
        told.push(
          `${query} ${code} ${JSON.stringify({ ...body, metadata: { ...body.metadata, queryTimeMs: 0, projectionLagMs: 0 } })}`,
        );
      }
    }
  }
  return told.map(comparable);
}

const UNSHARED =
  /"(cursor|previousCursor|nextCursor|next|previous)":"[^"]*"|[0-9A-HJKMNP-TV-Z]{26}|[0-9a-f]{8}-[0-9a-f-]{27}|\b[0-9a-f]{64}\b|"(receivedAt|expiresAt)":"[^"]*"|"status":"(Chained|Checkpointed)"/g;

function comparable(text: string): string {
  return text.replace(UNSHARED, '…');
}

/** On the backend of the test; `settings` are those of a store of its own each time. */
async function requireAlike(settings: () => Promise<Readonly<Record<string, string>>>): Promise<void> {
  const start = async () => startTestApp(await settings(), { authenticate: believeClearance });
  await using alone = await start();
  await using beside = await start();
  let rounds = 0;
  const anotherWorks = async () => {
    rounds += 1;
    const tenant = `other-${rounds % 3}`;
    await eventCaller(beside, tenant).ingestBatch({ events: eventsOf(tenant, 6) });
    if (rounds % 5 === 0)
      await finderOf(beside, tenant).search({ query: 'refund', aggregations: ['byActor'] });
  };
  const [one, other] = await Promise.all([
    worldOf(alone, () => Promise.resolve()),
    worldOf(beside, anotherWorks),
  ]);
  assert.deepEqual(other, one);
  // Control: one event more of its own, and the worlds are not the same.
  await eventCaller(alone, 'acme').ingest({ ...EVENT, payload: { note: 'refund' } });
  assert.notDeepEqual(
    await worldOf(alone, () => Promise.resolve(), 0),
    await worldOf(beside, () => Promise.resolve(), 0),
  );
  assert.ok(rounds > 50 && one.length > 40);
  assert.match(one.join(), /"score":\d/);
  assert.doesNotMatch(other.join(), /other-/);
}

test('what a tenant finds, counts and is scored by is the same whether or not others say the same words', () =>
  requireAlike(() => Promise.resolve({})));

test('so it is on PostgreSQL', async () => {
  await using server = await openDatabases();
  await requireAlike(async () => ({ Storage__Url: await server.createDatabase() }));
});
