// A search whose time is over ends in the database, and one tenant does not keep the others waiting.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { Client } from 'pg';
import { parseQuery } from '../../../query/query-parser.ts';
import { shownEvent } from '../../../query/testing/shown-event.ts';
import { Deadline } from '../../../runtime/deadline.ts';
import { questionOf } from '../../event-index/testing/plain-definition.ts';
import { PATIENT_LIMITS } from '../../../testing/postgres-server.ts';
import { Database, SCHEMA } from '../connection/database.ts';
import { provision } from '../schema/provision.ts';
import { DATABASE_ROLES } from '../schema/rights.ts';
import type { PostgresEventIndex } from './event-index.ts';
import { STATE } from './index-reader.ts';
import { SearchSlots } from './search-slots.ts';
import { isBehindFirst } from './first-docs.ts';
import { IndexedLogs } from './testing/indexed-log.ts';

let logs: IndexedLogs;
before(async () => {
  logs = await IndexedLogs.open();
});
after(() => logs?.[Symbol.asyncDispose]());

const refund = () => {
  const { eventId: _, ...said } = shownEvent({ context: {}, payload: { note: 'refund' } });
  return said;
};

const RUNNING = `SELECT 1 FROM pg_stat_activity
  WHERE application_name = 'tallystick' AND state = 'active' AND pid <> pg_backend_pid()`;

async function until(isSo: () => Promise<boolean>): Promise<void> {
  for (const end = Date.now() + 120_000; !(await isSo()); await wait(10))
    assert.ok(Date.now() < end, 'too late');
}

async function requireStopped(index: PostgresEventIndex): Promise<void> {
  const tenant = await logs.tenantWith([refund()]);
  const lock = new Client({ connectionString: logs.url });
  await lock.connect();
  await lock.query(`BEGIN; LOCK TABLE ${SCHEMA}.docs IN ACCESS EXCLUSIVE MODE`);
  const deadline = new Deadline();
  const question = questionOf({ query: parseQuery('refund').query! });
  const search = index.find(tenant, question, deadline);
  const failed = assert.rejects(search, /its time is over/);
  await until(async () => (await logs.raw(RUNNING)).length > 0);
  deadline.pass(new Error('its time is over'));
  await failed;
  // Though the lock is still held.
  await until(async () => (await logs.raw(RUNNING)).length === 0);
  await lock.query('ROLLBACK');
  await lock.end();
  assert.equal((await index.find(tenant, question, new Deadline())).total, 1);
}

test('a search that has to wait in the database stops when its time is over, and the connection is used again', () =>
  requireStopped(logs.index));

test('so does one of a user of its own, whom nobody else may stop', async () => {
  const as = (user: string) => logs.url.replace('postgres@', `${user}@`);
  const urls = { url: as('serving'), indexUrl: as('indexing') };
  for (const user of ['serving', 'indexing']) await logs.raw(`CREATE ROLE ${user} LOGIN`);
  await provision({ ...urls, ownerUrl: logs.url });
  await using database = new Database({ ...urls, connectionsMax: 2, ...PATIENT_LIMITS });
  await requireStopped(logs.indexWith({ database }));
});

test('a search whose time is over before it begins does not begin', async () => {
  const deadline = new Deadline();
  deadline.pass(new Error('its time is over'));
  await assert.rejects(logs.index.find('anybody', questionOf({}), deadline), /its time is over/);
});

test('one tenant never has all searches; who waits is let in in order, or goes when its time is over', async () => {
  const slots = new SearchSlots(3);
  const done: string[] = [];
  const ends: Record<string, () => void> = {};
  const run = (tenant: string, name: string, deadline = new Deadline()) =>
    slots.run(tenant, deadline, async () => {
      await new Promise<void>((resolve) => (ends[name] = resolve));
      done.push(name);
    });
  const late = new Deadline();
  const all = [run('a', 'a1'), run('a', 'a2'), run('a', 'a3')];
  const given = assert.rejects(run('a', 'a4', late), /over/);
  all.push(run('b', 'b1'), run('b', 'b2'));
  const running = () => Object.keys(ends);
  assert.deepEqual(running(), ['a1', 'a2', 'b1']);
  late.pass(new Error('its time is over'));
  await given;
  ends['a1']!();
  await until(async () => running().includes('a3'));
  assert.ok(!running().includes('b2'));
  ends['b1']!();
  await until(async () => running().includes('b2'));
  for (const name of ['a2', 'a3', 'b2']) ends[name]!();
  await Promise.all(all);
  assert.deepEqual(done, ['a1', 'b1', 'a2', 'a3', 'b2']);
});

test('how a tenant is indexed is told without going through its log', async () => {
  const tenant = await logs.tenantWith(Array.from({ length: 500 }, refund));
  await logs.raw('ANALYZE');
  const client = new Client({ connectionString: logs.url });
  await client.connect();
  await client.query(
    `BEGIN; SET LOCAL search_path = ${SCHEMA}; SET LOCAL ROLE ${DATABASE_ROLES.Reader}; SET LOCAL enable_seqscan = off`,
  );
  await client.query(`PREPARE state (text) AS ${STATE.text}`);
  const { rows } = await client.query<Record<string, string>>(`EXPLAIN EXECUTE state ('${tenant}')`);
  await client.end();
  assert.match(
    rows.map((row) => row['QUERY PLAN']).join('\n'),
    /Index Cond: .*leaf_index = views.next_index/,
  );
});

test('words are looked up in the index of terms; control: with the security of rows they would not be', async () => {
  const planFor = async (role: string) => {
    const client = new Client({ connectionString: logs.url });
    await client.connect();
    await client.query(`BEGIN; SET LOCAL search_path = ${SCHEMA}; SET LOCAL ROLE ${role}; SET LOCAL enable_seqscan = off;
      SET LOCAL enable_indexscan = off; SET LOCAL app.tenants = 'acme'`);
    const { rows } = await client.query<Record<string, string>>(
      `EXPLAIN SELECT leaf_index FROM docs WHERE terms @@ '''wx_refund''' AND ${isBehindFirst()}`,
    );
    await client.end();
    return rows.map((row) => row['QUERY PLAN']).join('\n');
  };
  assert.match(await planFor(DATABASE_ROLES.Searcher), /Index Scan on docs_\d+_terms_idx/);
  assert.doesNotMatch(await planFor(DATABASE_ROLES.Reader), /terms_idx/);
});
