// What differs between a service on PostgreSQL and one on the embedded store.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { EVENT } from '../testing/bound-operations.ts';
import { believeClearance, eventCaller } from '../testing/event-caller.ts';
import { finderOf } from '../testing/found-events.ts';
import { type Databases, openDatabases } from '../testing/postgres-server.ts';
import { startTestApp } from '../testing/test-app.ts';

let server: Databases;
before(async () => {
  server = await openDatabases();
});
after(() => server?.[Symbol.asyncDispose]());

/** A longer lexeme than a tsvector takes. */
const LARGE = { actor: { actorType: 'User', userId: '🦉'.repeat(512) } };

async function scoresOn(settings: Readonly<Record<string, string>>): Promise<unknown[]> {
  await using app = await startTestApp(settings, { authenticate: believeClearance });
  const events = [{ payload: { note: 'zebra' } }, {}, {}, LARGE];
  for (const event of events)
    assert.equal((await eventCaller(app).ingest({ ...EVENT, ...event })).code, '201');
  await finderOf(app).caughtUp();
  return (await finderOf(app).search({ query: 'zebra' })).body.results.map(({ score }) => score);
}

test('an event that is too large for the index does not change the scores of others', async () => {
  assert.deepEqual(await scoresOn({ Storage__Url: await server.createDatabase() }), await scoresOn({}));
});

test('a second service with another data directory is refused before anything is signed, too', async () => {
  const settings = { Storage__Url: await server.createDatabase() };
  await using first = await startTestApp(settings, { authenticate: believeClearance });
  assert.equal((await fetch(`${first.url}/health/ready`)).status, 200);
  // It has signing keys of its own: both would sign the same logs, each by its own.
  const second = await startTestApp(settings, { authenticate: believeClearance }).catch(() => undefined);
  await second?.[Symbol.asyncDispose]();
  assert.equal(second, undefined);
});
