// Two tenants alike but for what a reader of Internal clearance may not know: Secret events, and the content of
// Confidential ones. Both give that reader the same answer to every request; ids, times and places in the log are left
// out of the comparison.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EVENT } from '../testing/bound-operations.ts';
import { eventCaller } from '../testing/event-caller.ts';
import { startEventsApp } from '../testing/events-app.ts';
import { AGGREGATIONS, finderOf } from '../testing/found-events.ts';

const { app } = startEventsApp();

const at = (minute: number) => new Date(Date.UTC(2026, 0, 2, 3, minute)).toISOString();

function shared(i: number, withheld: string): object {
  const isClosed = i % 3 === 0;
  return {
    ...EVENT,
    timestamp: at(i),
    action: i % 2 === 0 ? 'Create.Invoice' : 'Delete.Invoice',
    actor: { actorType: 'User', userId: `u-${i % 4}`, userName: `Ana ${i % 4}` },
    classification: isClosed ? 'Confidential' : 'Internal',
    payload: isClosed
      ? { note: withheld, amount: withheld.length * 1000, [withheld]: true }
      : { note: 'open refund', amount: i },
  };
}

function secret(i: number): object {
  return {
    ...EVENT,
    timestamp: at(i),
    action: 'Hide.Treasure',
    actor: { actorType: 'User', userId: `u-${i % 2}`, userName: 'Mata Hari' },
    resource: { resourceType: 'Treasure', resourceId: `T-${i}`, resourceName: 'open chest' },
    classification: 'Secret',
    outcome: 'Denied',
    payload: { note: 'treasure refund refund', amount: 99_000 },
  };
}

const QUERIES = [
  'treasure',
  'refund',
  'open',
  'mata OR ana',
  '-treasure',
  'NOT refund',
  'NOT (gold OR silver)',
  'tre*',
  'g*',
  'payload.note:gold',
  'payload.note:g*',
  '-payload.note:gold',
  'payload.note:*',
  'NOT payload.note:*',
  'payload.gold:*',
  'NOT payload.gold:true',
  'payload.amount:>3000',
  'NOT payload.amount:>3000',
  'payload.amount:<=4000',
  'payload:gold OR payload:silver',
  'action:hide.*',
  '-action:hide.*',
  'resource:treasure',
  'classification:secret',
  'NOT classification:secret',
  'classification:confidential -payload:*',
  'actor:mata',
  'outcome:denied OR refund',
  'kind:*',
];

const APART =
  /"(cursor|previousCursor|nextCursor|next|previous)":"[^"]*"|[0-9A-HJKMNP-TV-Z]{26}|[0-9a-f]{8}-[0-9a-f-]{27}|\b[0-9a-f]{64}\b|"(receivedAt|expiresAt)":"[^"]*"|"status":"(Chained|Checkpointed)"|"(sequence|leafIndex|queryTimeMs|projectionLagMs)":\d+/g;

async function toldOf(tenant: string): Promise<string[]> {
  const finder = finderOf(app, tenant, 'Internal');
  await finder.caughtUp();
  const told: string[] = [];
  const tell = (asked: string, { code, body }: { code: string; body: unknown }) =>
    told.push(`${asked} ${code} ${JSON.stringify(body).replace(APART, '…').replaceAll(tenant, '…')}`);
  for (const query of QUERIES) {
    tell(query, await finder.list(`limit=3&q=${encodeURIComponent(query)}`));
    for (const field of ['relevance', 'action', 'timestamp'] as const) {
      tell(query, await finder.search({ query, sort: [{ field }], aggregations: AGGREGATIONS }));
    }
  }
  for (const filter of [
    'action=Hide.*',
    'resourceType=T*',
    'actorId=u-1',
    'classification=Secret',
    'outcome=Denied',
    'limit=1&sort=action',
    `startTime=${at(5)}`,
  ])
    tell(filter, await finder.list(filter));
  tell('all', await finder.search({ aggregations: AGGREGATIONS }));
  tell(
    'hour',
    await finder.search({
      filters: { timeRange: { from: at(3), to: at(9) } },
      aggregations: AGGREGATIONS,
    }),
  );
  return told;
}

test('nothing that is found, counted, scored, marked or named tells of what is withheld', async () => {
  const plain = eventCaller(app, 'plain');
  const full = eventCaller(app, 'full');
  for (let i = 0; i < 12; i++) {
    assert.equal((await plain.ingest(shared(i, 'silver'))).code, '201');
    assert.equal((await full.ingest(shared(i, 'gold'))).code, '201');
    for (let k = 0; k < i % 3; k++) assert.equal((await full.ingest(secret(i + k))).code, '201');
  }
  assert.deepEqual(await toldOf('full'), await toldOf('plain'));
});
