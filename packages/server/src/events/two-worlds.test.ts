// What a tenant finds over REST, on each backend; the other protocols have theirs in tests/protocols.

import { test } from 'node:test';
import type { SearchRequest } from '@tallystick/contract';
import { eventCaller } from '../testing/event-caller.ts';
import { finderOf } from '../testing/found-events.ts';
import { openDatabases } from '../testing/postgres-server.ts';
import type { TestApp } from '../testing/test-app.ts';
import { QUERIES, requireAlike, type Voice, type Worlds } from '../testing/two-worlds.ts';

/** All that an answer says in its body, links too. */
function voiceOf(app: TestApp): Promise<Voice> {
  return Promise.resolve(async (name, input, clearance) => {
    const finder = finderOf(app, 'acme', clearance);
    const { event, search } = input as { event?: object; search?: SearchRequest };
    if (event !== undefined) return (await eventCaller(app, 'acme', clearance).ingest(event)).text;
    if (name === 'events.search') return (await finder.search(search)).text;
    const query = Object.entries(input).map(([key, value]) => [key, String(value)]);
    return (await finder.list(new URLSearchParams(query as [string, string][]).toString())).text;
  });
}

const on = (settings: Worlds['settings']) => requireAlike({ settings, voiceOf, queries: QUERIES });

test('what a tenant finds, counts and is scored by is the same whether or not others say the same words', () =>
  on(() => Promise.resolve({})));

test('so it is on PostgreSQL', async () => {
  await using server = await openDatabases();
  await on(async () => ({ Storage__Url: await server.createDatabase() }));
});
