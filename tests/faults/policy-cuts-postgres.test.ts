// P21 for changes of policies on PostgreSQL, cut in the commit, behind it before the answer, and before other nodes have learned of
// it. A cut before the append asks nothing of the database: policy-cuts.test.ts has it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client as Database } from 'pg';
import type { AuditEvent, Policy } from '@tallystick/contract';
import { until } from '../../packages/server/src/testing/until.ts';
import { BACKENDS } from './backends.ts';
import { Client, event } from './client.ts';
import { creationOf, Place, requireWhole, requireWholeCommits } from './policies/cut-changes.ts';
import { requireExactViolations } from './policies/requirements.ts';
import { startService } from './running.ts';
import { SIZE } from './size.ts';

/** Of five; the others are made by the same statements. */
const CHANGES = SIZE.isLong ? 5 : 2;
/** How soon a change holds at the other nodes. */
const KNOWN_MS = 1000;

test('a change of a policy that is cut behind its commit is there, and is answered as it was made', () =>
  requireWhole(BACKENDS.PostgreSQL, 'Behind', CHANGES));

test('a change of a policy that is cut in its commit is there as a whole, or not at all', async (t) => {
  t.diagnostic(await requireWholeCommits(BACKENDS.PostgreSQL, SIZE.isLong));
});

test('a change that a node does not live to tell of holds at the other node within a second, and is answered there', async () => {
  await using place = new Place(await BACKENDS.PostgreSQL());
  await using other = await startService({
    ...place.backend.start,
    env: { ...place.backend.start.env, Node__Name: 'other' },
  });
  await place.start({ Node__Name: 'one' });
  using client = new Client(other.url);
  const classified = async () => {
    const sent = await client.ask({ body: { ...event('x'), action: 'Watch.Plain' } });
    const path = `/api/v1/audit-events/${(sent.body as AuditEvent).eventId}`;
    return ((await client.ask({ method: 'GET', path })).body as AuditEvent).classification;
  };
  assert.equal(await classified(), 'Internal');
  const rule = { conditions: { action: 'Watch.*' }, effect: { classification: 'Confidential' } };
  const changes = [
    creationOf('watch'),
    { ...creationOf('raise'), body: { name: 'Raise', policyType: 'Classification', rules: [rule] } },
  ];
  for (const change of changes) {
    await place.askCut(change, 'Behind');
    await new Promise((resolve) => setTimeout(resolve, KNOWN_MS));
    const again = await client.ask(change);
    assert.equal(again.status, 200);
    const { policyId } = again.body as Policy;
    assert.ok((await place.versions()).some((version) => version.policyId === policyId));
    await place.start({ Node__Name: 'one' });
  }
  assert.equal((await place.versions()).length, changes.length);
  assert.equal(await classified(), 'Confidential');
  await client.ask({ tenant: 'globex', body: event('x') });
  assert.ok((await requireExactViolations(other, place.backend)) > 2);
});

test('a change that a killed node has left to the database is made once, whoever asks for it again meanwhile', async () => {
  await using place = new Place(await BACKENDS.PostgreSQL());
  const { start } = place.backend;
  const creation = creationOf('watch');
  await using other = await startService({ ...start, env: { ...start.env, Node__Name: 'other' } });
  const one = await place.start({ Node__Name: 'one' });
  using client = new Client(other.url);
  assert.equal((await client.ask({ body: event('x') })).status, 201);
  const database = new Database({ connectionString: start.env['Storage__Url'] });
  await database.connect();
  try {
    const waiting = async () => {
      const { rows } = await database.query('SELECT 1 FROM pg_locks WHERE NOT granted');
      return rows.length > 0;
    };
    // It lets them read, and write all but the record.
    await database.query('BEGIN; LOCK TABLE tallystick.records IN SHARE ROW EXCLUSIVE MODE');
    const asked = place.ask(creation).catch(() => undefined);
    await until(waiting);
    one.kill('SIGKILL');
    await Promise.all([one.ended, asked]);
    const again = client.ask(creation);
    await new Promise((resolve) => setTimeout(resolve, 300));
    await database.query('COMMIT');
    const { status, body } = await again;
    assert.ok(status === 200 || status === 201, `${status} ${JSON.stringify(body)}`);
    const { policyId } = body as Policy;
    await until(async () => !(await waiting()));
    assert.deepEqual(
      (await place.versions()).map((version) => version.policyId),
      [policyId],
    );
    assert.equal((await client.ask(creation)).status, 200);
  } finally {
    await database.end();
  }
});
