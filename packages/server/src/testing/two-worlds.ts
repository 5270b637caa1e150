// P8 for reading: two services, alike but for tenants that are in one of them only and say the same words. Callers of
// the other tenants get the same answers from both. Only ids and times, which no two services share, are not compared.

import assert from 'node:assert/strict';
import type { Aggregation, Classification, OperationName } from '@tallystick/contract';
import { EVENT } from './bound-operations.ts';
import { believeClearance, eventCaller } from './event-caller.ts';
import { finderOf } from './found-events.ts';
import { startTestApp, type TestApp } from './test-app.ts';

/** Asks as acme with that clearance; gives all that was answered as a text. */
export type Voice = (name: OperationName, input: object, clearance: Classification) => Promise<string>;

export interface Worlds {
  /** Those of a store of its own each time. */
  readonly settings: () => Promise<Readonly<Record<string, string>>>;
  readonly voiceOf: (app: TestApp) => Promise<Voice>;
  readonly queries: readonly string[];
}

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

export const QUERIES = [
  'refund',
  '"refund for"',
  're*',
  '-refund',
  'action:create.*',
  'payload.amount:>500',
  'actor:ana OR rare',
];
const AGGREGATIONS: Aggregation[] = ['byAction', 'byActor', 'byDay'];

/** What acme is told, with something else between its steps. */
async function worldOf(
  app: TestApp,
  voice: Voice,
  queries: readonly string[],
  between: () => Promise<void>,
  count = 12,
): Promise<string[]> {
  await between();
  for (const event of eventsOf('acme', count)) {
    const told = await voice('events.ingest', { event }, 'Secret');
    assert.match(told, /"eventId"/);
    await between();
  }
  const told: string[] = [];
  const lists = [{}, { limit: 3 }, { sort: ['action'] }, { sort: ['-eventId'], limit: 2 }];
  for (const clearance of ['Secret', 'Internal'] as const) {
    await finderOf(app, 'acme', clearance).caughtUp();
    const ask = async (name: OperationName, input: object) => {
      await between();
      told.push(`${JSON.stringify(input)} ${await voice(name, input, clearance)}`);
    };
    for (const input of [...lists, ...queries.map((q) => ({ q }))]) await ask('events.list', input);
    for (const query of queries)
      for (const sort of [[], [{ field: 'relevance' }]])
        await ask('events.search', { search: { query, sort, aggregations: AGGREGATIONS } });
  }
  return told.map(comparable);
}

const UNSHARED =
  /"(cursor|previousCursor|nextCursor|next|previous)":"[^"]*"|[0-9A-HJKMNP-TV-Z]{26}|[0-9a-f]{8}-[0-9a-f-]{27}|\b[0-9a-f]{64}\b|"(receivedAt|expiresAt)":"[^"]*"|"(queryTimeMs|projectionLagMs)":[\d.]+|"status":"(Chained|Checkpointed)"/g;

function comparable(text: string): string {
  return text.replace(UNSHARED, '…');
}

export async function requireAlike({ settings, voiceOf, queries }: Worlds): Promise<void> {
  const start = async () => startTestApp(await settings(), { authenticate: believeClearance });
  await using alone = await start();
  await using beside = await start();
  const [aloneVoice, besideVoice] = [await voiceOf(alone), await voiceOf(beside)];
  let rounds = 0;
  const anotherWorks = async () => {
    rounds += 1;
    const tenant = `other-${rounds % 3}`;
    await eventCaller(beside, tenant).ingestBatch({ events: eventsOf(tenant, 6) });
    if (rounds % 5 === 0)
      await finderOf(beside, tenant).search({ query: 'refund', aggregations: ['byActor'] });
  };
  const nothing = () => Promise.resolve();
  const [one, other] = await Promise.all([
    worldOf(alone, aloneVoice, queries, nothing),
    worldOf(beside, besideVoice, queries, anotherWorks),
  ]);
  assert.deepEqual(other, one);
  // Control: one event more of its own, and the worlds are not the same.
  await eventCaller(alone, 'acme').ingest({ ...EVENT, payload: { note: 'refund' } });
  assert.notDeepEqual(
    await worldOf(alone, aloneVoice, queries, nothing, 0),
    await worldOf(beside, besideVoice, queries, nothing, 0),
  );
  // Of each clearance: four lists, and for each query a list and two searches.
  assert.equal(one.length, 2 * (4 + 3 * queries.length));
  assert.ok(rounds > one.length);
  assert.match(one.join(), /"score":\d/);
  assert.doesNotMatch(other.join(), /other-/);
}
