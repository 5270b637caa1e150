import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openAccessStore, type AccessStore } from '../testing/access-store.ts';
import { hashOfKey, keyIdIn, verifyKey } from './api-keys.ts';
import { settleFirstKey } from './first-key.ts';

async function setUp(beside?: AccessStore) {
  const store = await openAccessStore(beside);
  const { keys, keyChanges: changes } = store.access;
  const { clock, random } = store;
  const hasLogged = async () => (await store.storage.log.forTenant('*').streamCount()) > 0;
  return { ...store, keys, changes, parts: { keys, changes, hasLogged, clock, random } };
}

const [FIRST, SECOND] = ['correct-horse-battery-1', 'correct-horse-battery-2'];
const cause = { by: 'key:01KE0000000000000000000042', requestId: 'r-1', correlationId: 'c-1' };

test('the first start makes one platform Admin key, the second none', async () => {
  await using store = await setUp();
  const made = await settleFirstKey(undefined, store.parts);
  assert.ok(made.outcome === 'Made');
  const record = await verifyKey(made.key, store.keys, store.clock.now());
  assert.equal(keyIdIn(made.key), record.keyId);
  assert.deepEqual([record.tenantId, record.roles, record.expiresAtMs], ['*', ['Admin'], undefined]);
  assert.deepEqual(await settleFirstKey(undefined, store.parts), { outcome: 'NotNeeded' });
  assert.equal((await store.keys.list()).length, 1);
});

test('the key of the setting is a platform Admin key, made once', async () => {
  await using store = await setUp();
  for (let start = 0; start < 2; start++) {
    assert.deepEqual(await settleFirstKey(FIRST, store.parts), { outcome: 'Given' });
  }
  const { roles, tenantId } = await verifyKey(FIRST, store.keys, store.clock.now());
  assert.deepEqual([roles, tenantId, (await store.keys.list()).length], [['Admin'], '*', 1]);
});

test('another value of the setting takes the place of the earlier one, and of no other key', async () => {
  await using store = await setUp();
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
  await using store = await setUp();
  await settleFirstKey(FIRST, store.parts);
  const given = (await store.keys.findByHash(hashOfKey(FIRST)))!;
  const { keyId } = given;
  await store.changes.revoke(given, cause);
  assert.deepEqual(await settleFirstKey(FIRST, store.parts), { outcome: 'GivenButUseless', keyId });
  await assert.rejects(verifyKey(FIRST, store.keys, store.clock.now()), { code: 'API_KEY_REVOKED' });
});

test('the successor of the key of the setting works for any value of the setting', async () => {
  await using store = await setUp();
  await settleFirstKey(FIRST, store.parts);
  const old = (await store.keys.findByHash(hashOfKey(FIRST)))!;
  const { key } = await store.changes.rotate(old, { graceMs: 0, isSameCaller: true }, cause);
  const { keyId } = old;
  assert.deepEqual(await settleFirstKey(FIRST, store.parts), { outcome: 'GivenButUseless', keyId });
  await verifyKey(key, store.keys, store.clock.now());
  for (const given of [key, SECOND]) {
    assert.deepEqual(await settleFirstKey(given, store.parts), { outcome: 'Given' });
    await verifyKey(key, store.keys, store.clock.now());
  }
});

test('a key that somebody else made under the name of the setting is not its own', async () => {
  await using store = await setUp();
  await settleFirstKey(FIRST, store.parts);
  const first = (await store.keys.findByHash(hashOfKey(FIRST)))!;
  const request = { ...first, uniqueName: undefined };
  await store.changes.create(request, cause, 'a-key-of-somebody-else');
  await settleFirstKey(SECOND, store.parts);
  await verifyKey('a-key-of-somebody-else', store.keys, store.clock.now());
});

test('of nodes that start for the first time at once, one makes the key, and the others know of it', async () => {
  await using one = await setUp();
  await using two = await setUp(one);
  const settled = await Promise.all(
    [one, two, one, two].map(({ parts }) => settleFirstKey(undefined, parts)),
  );
  const outcomes = settled.map(({ outcome }) => outcome);
  assert.deepEqual(outcomes.toSorted(), ['Made', 'NotNeeded', 'NotNeeded', 'NotNeeded']);
  assert.equal((await two.keys.list()).length, 1);
});

test('of nodes that start with the same setting at once, one makes its key', async () => {
  await using one = await setUp();
  await using two = await setUp(one);
  const settled = await Promise.all([one, two].map(({ parts }) => settleFirstKey(FIRST, parts)));
  assert.deepEqual(settled, [{ outcome: 'Given' }, { outcome: 'Given' }]);
  assert.equal((await two.keys.list()).length, 1);
});
