// Subscriptions in the database of a stopped service: `tallystick verify` holds each against its notices, and opens the key of the
// secrets. The service does not believe one that somebody has altered.

import assert from 'node:assert/strict';
import { chmodSync, cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, test } from 'node:test';
import { checkStore } from '../check-store.ts';
import { SIGNING_KEYS_FOLDER } from '../storage/keys/signing-key-files.ts';
import { JOURNAL_FILE } from '../storage/sqlite/connection/database.ts';
import { WITH_PLATFORM_KEY } from '../testing/admin-caller.ts';
import { openRunningJournal } from '../testing/running-journal.ts';
import { subscribed, subscribing } from '../testing/subscribing.ts';
import { startTestApp } from '../testing/test-app.ts';

const SETTINGS = { ...WITH_PLATFORM_KEY, Webhooks__AllowPrivateTargets: 'true' };
const folder = mkdtempSync(join(tmpdir(), 'tallystick-subscriptions-'));
const directory = join(folder, 'data');
after(() => rmSync(folder, { recursive: true, force: true }));

before(async () => {
  await using app = await startTestApp({ ...SETTINGS, Storage__DataDirectory: directory });
  const ask = subscribing(() => app, 'acme');
  const { subscriptionId } = await subscribed(ask, { headers: { Authorization: 'Bearer a' } });
  await subscribed(ask, { name: 'other' });
  const gone = await subscribed(ask, { name: 'gone' });
  for (const [method, path, body] of [
    ['PATCH', `/${subscriptionId}`, { name: 'x' }],
    ['POST', `/${subscriptionId}/pause`, undefined],
    ['POST', `/${subscriptionId}/resume`, undefined],
    ['POST', `/${subscriptionId}/rotate-secret`, undefined],
    ['DELETE', `/${gone.subscriptionId}`, undefined],
  ] as const)
    assert.ok((await ask(method, path, body)).status < 300);
});

/** What `tallystick verify` finds in a copy after this change. */
async function faultsAfter(tamper: (db: DatabaseSync) => void): Promise<string[]> {
  const copy = mkdtempSync(join(folder, 'copy-'));
  cpSync(directory, copy, { recursive: true });
  // A copied folder has the mode of the process's umask.
  chmodSync(join(copy, SIGNING_KEYS_FOLDER), 0o700);
  {
    using db = new DatabaseSync(join(copy, JOURNAL_FILE));
    tamper(db);
  }
  const { faults } = await checkStore(copy, { keys: [], seen: [] });
  return faults.map(({ tenant, message }) => `${tenant} ${message}`);
}

test('a store with subscriptions of every kind is sound', async () => {
  assert.deepEqual(await faultsAfter(() => {}), []);
});

const TAMPERING: Readonly<Record<string, readonly [sql: string, finding: RegExp]>> = {
  'has another URL': [
    `UPDATE records SET body = replace(body, '127.0.0.1', '127.0.0.2') WHERE kind = 'Subscription' AND state = 'Active'`,
    /the record Subscription \w{26} is not what its newest notice/,
  ],
  'has the box of another': [
    `UPDATE records SET body = (SELECT body FROM records WHERE kind = 'Subscription' AND state = 'Active' ORDER BY id LIMIT 1)
     WHERE kind = 'Subscription' AND state = 'Active'`,
    /the record Subscription \w{26} is not what its newest notice/,
  ],
  'is gone': [`DELETE FROM records WHERE kind = 'Subscription' AND state = 'Deleted'`, /is gone/],
  'was inserted by hand': [
    `INSERT INTO records SELECT tenant, kind, '01KE0000000000000000000001', version, body, state, unique_name, lookup, salt, mac
     FROM records WHERE kind = 'Subscription' LIMIT 1`,
    /no notice tells of the record Subscription/,
  ],
  'lost its key': [
    `UPDATE tenant_keys SET sealed = zeroblob(72) WHERE purpose = 'Secret'`,
    /the key \w{26} is not of the month|is not what was stored|no key 0000/,
  ],
  'has a key that is said to be one of content': [
    `UPDATE tenant_keys SET purpose = 'Content' WHERE purpose = 'Secret'`,
    /is sealed with/,
  ],
};

for (const [what, [sql, finding]] of Object.entries(TAMPERING))
  test(`verify names a subscription that ${what}`, async () => {
    const faults = await faultsAfter((db) => assert.ok(Number(db.prepare(sql).run().changes) > 0));
    assert.match(faults.join('\n'), finding);
  });

test('a subscription that somebody has altered is neither shown nor changed, and reported', async () => {
  await using app = await startTestApp(SETTINGS);
  const ask = subscribing(() => app, 'acme');
  const { subscriptionId } = await subscribed(ask);
  {
    using db = openRunningJournal(app.dataDirectory);
    db.prepare(`UPDATE records SET body = replace(body, '127.0.0.1', '127.0.0.2') WHERE id = ?`).run(
      subscriptionId,
    );
    db.exec("UPDATE meta SET value = hex(randomblob(8)) WHERE name = 'records_version'");
  }
  const codes = [];
  for (const [method, path] of [
    ['GET', `/${subscriptionId}`],
    ['GET', ''],
    ['POST', `/${subscriptionId}/resume`],
    ['DELETE', `/${subscriptionId}`],
  ] as const)
    codes.push((await ask(method, path)).code);
  assert.deepEqual(codes, Array(4).fill('500 INTERNAL_ERROR'));
  assert.ok(
    app.lines.some((line) => JSON.stringify(line).includes(`Subscription ${subscriptionId} of acme`)),
  );
});
