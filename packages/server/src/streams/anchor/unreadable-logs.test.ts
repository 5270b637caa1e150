// Logs whose rows were changed so that they are unreadable or no chain: none of them continues, and none affects
// another log.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { AuditError } from '@tallystick/contract';
import { KINDS } from '@tallystick/evidence';
import { openRecovery } from '../../operate/recover.ts';
import { openOwnAnchor } from '../../storage/anchor/file-anchor.ts';
import { JOURNAL_FILE } from '../../storage/sqlite/connection/database.ts';
import { EVENT } from '../../testing/bound-operations.ts';
import { believeClearance, eventCaller } from '../../testing/event-caller.ts';
import { nextId, openSignedLogs, SIGNED_ORIGIN } from '../../testing/signed-log.ts';
import { startTestApp } from '../../testing/test-app.ts';
import { draftNotice } from '../append/notice.ts';

const ORIGIN = `${SIGNED_ORIGIN}/t/acme`;
const OF_ACME = "tenant = (SELECT tenant FROM tenants WHERE tenant_id = 'acme')";

/** Two logs: acme has three signed entries and two that are at most anchored; other is intact. */
async function openStore(statements: readonly string[], isAllAnchored = false) {
  const logs = await openSignedLogs('acme', 'other');
  for (const count of [2, 1]) {
    for (const tenant of ['acme', 'other']) await logs.fill(tenant, count);
    await logs.publish();
  }
  const heads = await logs.storage.tree.standings();
  await logs.fill('acme', 2);
  await using anchor = await openOwnAnchor(logs.directory);
  await anchor.append(heads.map(({ origin, checkpoint }) => ({ origin, ...checkpoint! })));
  const grown = (await logs.storage.tree.readGrowth()).grown.flatMap((log) => log.heads.slice(-1));
  if (isAllAnchored) await anchor.append(grown);
  await anchor.append([{ origin: ORIGIN, size: 9, root: new Uint8Array(32).fill(7) }]);
  await logs.storage[Symbol.asyncDispose]();
  using db = new DatabaseSync(join(logs.directory, JOURNAL_FILE));
  db.exec('DROP TRIGGER entries_do_not_change; DROP TRIGGER entries_stay');
  for (const statement of statements) db.exec(statement);
  return logs;
}

const OF_SIZE = (size: number) => `WHERE ${OF_ACME} AND size = ${size}`;
const OTHERS = `(SELECT note FROM checkpoints WHERE NOT ${OF_ACME} AND size = 3)`;
const LARGEST = '9223372036854775807';
const UNREADABLE = {
  'an index': `UPDATE entries SET leaf_index = ${LARGEST} WHERE ${OF_ACME} AND leaf_index = 4`,
  'the size of a checkpoint': `UPDATE checkpoints SET size = ${LARGEST} ${OF_SIZE(3)}`,
  'the size of a checkpoint, by a little': `UPDATE checkpoints SET size = 4 ${OF_SIZE(3)}`,
  'the time of a checkpoint': `UPDATE checkpoints SET published_at_ms = ${LARGEST} ${OF_SIZE(3)}`,
  'a checkpoint that is none': `UPDATE checkpoints SET note = 'none' ${OF_SIZE(3)}`,
  "another log's checkpoint": `UPDATE checkpoints SET note = ${OTHERS} ${OF_SIZE(3)}`,
  'an epoch that nobody has begun': `INSERT INTO epochs SELECT tenant, 1, 5, 'x' FROM tenants WHERE ${OF_ACME}`,
  'an epoch in the middle': `INSERT INTO epochs SELECT tenant, 1, 2, 'x' FROM tenants WHERE ${OF_ACME}`,
  'the place of an epoch': `INSERT INTO epochs SELECT tenant, 1, -${LARGEST}, 'x' FROM tenants WHERE ${OF_ACME}`,
};

for (const [what, statement] of Object.entries(UNREADABLE)) {
  test(`an unreadable log is refused, and others are not affected: ${what}`, async () => {
    await using logs = await openStore([statement]);
    await using recovery = await openRecovery(logs.config);
    assert.deepEqual([[...recovery.damaged.keys()], recovery.disagreements], [['acme'], []]);
  });
}

/** With threads, as in production. */
for (const [what, statement] of Object.entries({
  'a number that is too large': UNREADABLE['the time of a checkpoint'],
  'an entry is gone': `DELETE FROM entries WHERE ${OF_ACME} AND leaf_index = 1`,
})) {
  test(`the service starts although a log cannot be read, refuses it, and serves others: ${what}`, async () => {
    await using logs = await openStore([statement]);
    const settings = { Storage__DataDirectory: logs.directory, Log__Origin: SIGNED_ORIGIN };
    await using app = await startTestApp(settings, { authenticate: believeClearance });
    assert.equal((await eventCaller(app, 'acme').ingest(EVENT)).code, '503 SERVICE_UNAVAILABLE');
    assert.equal((await eventCaller(app, 'other').ingest(EVENT)).code, '201');
  });
}

test('a log that has become unreadable does not affect the others of its pool', async () => {
  await using logs = await openSignedLogs('acme', 'other');
  for (const tenant of ['acme', 'other']) await logs.fill(tenant, 2);
  using db = new DatabaseSync(join(logs.directory, JOURNAL_FILE));
  db.exec('DROP TRIGGER entries_do_not_change');
  db.exec(`UPDATE entries SET leaf_index = ${LARGEST} WHERE ${OF_ACME} AND leaf_index = 1`);
  const nowMs = Date.now();
  const resource = { resourceType: 'Event', resourceId: nextId() };
  const payload = { act: 'SecretEventsRead', requestId: nextId(), subjectIds: [], count: 0 };
  const correlationId = randomUUID();
  const facts = { kind: KINDS.administration, action: 'Read.SecretEvent', resource, payload, correlationId };
  const requests = ['acme', 'other'].map((tenant) => {
    return { tenant, drafts: [draftNotice(facts, { eventId: nextId(), nowMs })], atomic: true };
  });
  const results = await logs.storage.log.append(requests, { nowMs, steadyNowMs: nowMs });
  assert.deepEqual(
    results.map(({ status }) => status),
    ['Faulty', 'Done'],
  );
  const { faults } = await logs.storage.tree.readGrowth();
  assert.deepEqual(
    faults.map(({ tenant }) => tenant),
    ['acme'],
  );
  db.exec(`INSERT INTO entries (tenant, leaf_index, classification, entry, leaf, root1, root2)
    SELECT tenant, ${LARGEST} - 1, 1, randomblob(116), leaf, root1, root2 FROM entries WHERE ${OF_ACME} LIMIT 1`);
  await logs.fill('other', 1);
  const { grown } = await logs.storage.tree.readGrowth();
  assert.deepEqual(
    grown.map(({ tenant, heads }) => [tenant, heads.at(-1)!.size]),
    [['other', 4]],
  );
});

test("a checkpoint of another log is not shown as one of a tenant's own", async () => {
  await using logs = await openSignedLogs('acme', 'other');
  for (const tenant of ['acme', 'other']) await logs.fill(tenant, 3);
  await logs.publish();
  using db = new DatabaseSync(join(logs.directory, JOURNAL_FILE));
  db.exec(`UPDATE checkpoints SET note = ${OTHERS} ${OF_SIZE(3)}`);
  const tree = (await logs.storage.tree.forTenant('acme').tree())!;
  for (const read of [() => tree.latest(), () => tree.checkpoint(3)])
    await assert.rejects(
      read,
      /the checkpoint that is stored for size 3 of \S+acme belongs to another log or size/,
    );
});

const AT = (index: number) => `WHERE ${OF_ACME} AND leaf_index = ${index}`;
const STAY_BEHIND: Record<string, readonly [says: RegExp, statement: string]> = {
  'a leaf that nobody has signed': [
    /its entry 3 is missing, or not what was hashed/,
    `UPDATE entries SET leaf = zeroblob(32) ${AT(3)}`,
  ],
  'an entry that nobody has signed is gone': [
    /its entry 3 is missing, or not what was hashed/,
    `DELETE FROM entries ${AT(3)}`,
  ],
  'an older checkpoint that is none': [
    /the checkpoint that is stored for size 2 of \S+acme belongs to another log or size/,
    `UPDATE checkpoints SET note = 'none' ${OF_SIZE(2)}`,
  ],
  "another log's older checkpoint": [
    /the checkpoint that is stored for size 2 of \S+acme belongs to another log or size/,
    `UPDATE checkpoints SET note = ${OTHERS} ${OF_SIZE(2)}`,
  ],
};

for (const [what, [says, statement]] of Object.entries(STAY_BEHIND)) {
  test(`no epoch is begun behind entries that are no chain, or beside checkpoints of others: ${what}`, async () => {
    await using logs = await openStore([statement]);
    await using recovery = await openRecovery(logs.config);
    const [acme, ...more] = recovery.disagreements;
    assert.deepEqual([acme?.tenant, more], ['acme', []]);
    await assert.rejects(recovery.begin(acme!), (error) => {
      assert.ok(error instanceof AuditError && error.cause instanceof Error, String(error));
      assert.match(`${error.message} ${error.cause.message}`, /^The log of acme could not go on/);
      assert.match(error.cause.message, says);
      return true;
    });
  });
}

test('unreadable content does not prevent the comparison of an ended log', async () => {
  await using logs = await openStore([], true);
  {
    await using recovery = await openRecovery(logs.config);
    await recovery.begin(recovery.disagreements[0]!);
  }
  using db = new DatabaseSync(join(logs.directory, JOURNAL_FILE));
  db.exec("UPDATE contents SET text1 = x'ff' WHERE id = 1");
  {
    await using anchor = await openOwnAnchor(logs.directory);
    // Signed, anchored, and lost before it was stored.
    const root = new Uint8Array(32).fill(9);
    await anchor.append([{ origin: `${ORIGIN}/1`, size: 4, root }]);
  }
  await using recovery = await openRecovery(logs.config);
  assert.deepEqual([recovery.disagreements.map(({ kind }) => kind), recovery.damaged.size], [['Behind'], 0]);
});
