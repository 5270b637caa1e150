import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createFakeClock } from '../runtime/fake-clock.ts';
import { createUlids } from '../runtime/ids.ts';
import { createSystemRandom } from '../runtime/random.ts';
import { createAccessStores } from '../storage/sqlite/access-stores.ts';
import { createAccessReader, createAccessTables } from '../storage/sqlite/access.ts';
import { openJournal } from '../storage/sqlite/database.ts';
import { hashOfKey, keyIdIn, verifyKey } from './api-keys.ts';
import { settleFirstKey } from './first-key.ts';
import { createKeyChanges } from './key-changes.ts';

function setUp() {
  const directory = mkdtempSync(join(tmpdir(), 'tallystick-first-key-'));
  const db = openJournal(directory);
  const tables = createAccessTables(db);
  const clock = createFakeClock();
  const random = createSystemRandom();
  const write: Parameters<typeof createAccessStores>[1] = (change) => Promise.resolve(tables.write(change));
  const { keys } = createAccessStores(createAccessReader(db, clock), write, random);
  return {
    keys,
    clock,
    parts: { keys, clock, random, nextId: createUlids(clock, random) },
    [Symbol.dispose]() {
      db.close();
      rmSync(directory, { recursive: true });
    },
  };
}

const [FIRST, SECOND] = ['correct-horse-battery-1', 'correct-horse-battery-2'];

test('the first start makes one platform Admin key, the second none', async () => {
  using store = setUp();
  const made = await settleFirstKey(undefined, store.parts);
  assert.ok(made.outcome === 'Made');
  const record = await verifyKey(made.key, store.keys, store.clock.now());
  assert.equal(keyIdIn(made.key), record.keyId);
  assert.deepEqual([record.tenantId, record.roles, record.expiresAtMs], ['*', ['Admin'], undefined]);
  assert.deepEqual(await settleFirstKey(undefined, store.parts), { outcome: 'NotNeeded' });
  assert.equal((await store.keys.list()).length, 1);
});

test('the key of the setting is a platform Admin key, made once', async () => {
  using store = setUp();
  for (let start = 0; start < 2; start++) {
    assert.deepEqual(await settleFirstKey(FIRST, store.parts), { outcome: 'Given' });
  }
  const { roles, tenantId } = await verifyKey(FIRST, store.keys, store.clock.now());
  assert.deepEqual([roles, tenantId, (await store.keys.list()).length], [['Admin'], '*', 1]);
});

test('another value of the setting takes the place of the earlier one, and of no other key', async () => {
  using store = setUp();
  const made = await settleFirstKey(undefined, store.parts);
  assert.ok(made.outcome === 'Made');
  await settleFirstKey(FIRST, store.parts);
  await settleFirstKey(SECOND, store.parts);
  const nowMs = store.clock.now();
  await assert.rejects(verifyKey(FIRST, store.keys, nowMs), { code: 'API_KEY_REVOKED' });
  await verifyKey(SECOND, store.keys, nowMs);
  await verifyKey(made.key, store.keys, nowMs);
});

test('a revoked key does not come back by the setting', async () => {
  using store = setUp();
  await settleFirstKey(FIRST, store.parts);
  const { keyId } = (await store.keys.findByHash(hashOfKey(FIRST)))!;
  await store.keys.revoke(keyId, store.clock.now());
  assert.deepEqual(await settleFirstKey(FIRST, store.parts), { outcome: 'GivenButUseless', keyId });
  await assert.rejects(verifyKey(FIRST, store.keys, store.clock.now()), { code: 'API_KEY_REVOKED' });
});

test('what took the place of the key of the setting by rotation works on, whatever the setting says', async () => {
  using store = setUp();
  await settleFirstKey(FIRST, store.parts);
  const old = (await store.keys.findByHash(hashOfKey(FIRST)))!;
  const changes = createKeyChanges({
    ...store.parts,
    provide: () => assert.fail('a platform key has no tenant'),
    append: () => assert.fail('a platform key has no log'),
  });
  const cause = { by: `key:${old.keyId}`, requestId: 'r-1', correlationId: 'c-1' };
  const { key } = await changes.rotate(old, 0, cause);
  const { keyId } = old;
  assert.deepEqual(await settleFirstKey(FIRST, store.parts), { outcome: 'GivenButUseless', keyId });
  await verifyKey(key, store.keys, store.clock.now());
  for (const given of [key, SECOND]) {
    assert.deepEqual(await settleFirstKey(given, store.parts), { outcome: 'Given' });
    await verifyKey(key, store.keys, store.clock.now());
  }
});

test('a key that somebody else made under the name of the setting is not its own', async () => {
  using store = setUp();
  await settleFirstKey(FIRST, store.parts);
  const first = (await store.keys.findByHash(hashOfKey(FIRST)))!;
  const other = { ...first, keyId: store.parts.nextId(), createdBy: `key:${first.keyId}` };
  await store.keys.create(other, hashOfKey('a-key-of-somebody-else'));
  await settleFirstKey(SECOND, store.parts);
  await verifyKey('a-key-of-somebody-else', store.keys, store.clock.now());
});
