import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { ApiKeyRecord } from '../../access/api-keys.ts';
import { createFakeClock } from '../../runtime/fake-clock.ts';
import { createSystemRandom } from '../../runtime/random.ts';
import { createAccessStores } from './access-stores.ts';
import { type AccessWrite, createAccessReader, createAccessTables } from './access.ts';
import { openJournal, openJournalForReading } from './database.ts';

const random = createSystemRandom();
const NOW_MS = 1_800_000_000_000;

function setUp() {
  const directory = mkdtempSync(join(tmpdir(), 'tallystick-access-'));
  const writer = openJournal(directory);
  const tables = createAccessTables(writer);
  const reading = openJournalForReading(directory);
  const clock = createFakeClock();
  const reader = createAccessReader(reading, clock);
  const sent: AccessWrite[] = [];
  const write = async (change: AccessWrite) => {
    sent.push(change);
    await Promise.resolve();
    return tables.write(change);
  };
  return {
    writer,
    tables,
    reader,
    clock,
    sent,
    ...createAccessStores(reader, write, random),
    [Symbol.dispose]() {
      reading.close();
      writer.close();
      rmSync(directory, { recursive: true });
    },
  };
}

const record = (n: number, facts: Partial<ApiKeyRecord> = {}): ApiKeyRecord => ({
  keyId: `01KE00000000000000000000${String(n).padStart(2, '0')}`,
  tenantId: 'acme',
  name: 'ci',
  roles: ['Operator', 'Auditor'],
  scopes: ['audit:write'],
  clearance: 'Confidential',
  createdAtMs: NOW_MS,
  createdBy: 'system',
  expiresAtMs: NOW_MS + 1000,
  revokedAtMs: undefined,
  replaces: undefined,
  ...facts,
});
const hash = (n: number) => new Uint8Array(32).fill(n);

test('a key comes back as it was made, by hash, by id and in lists', async () => {
  using store = setUp();
  const plain = { roles: [], scopes: [], clearance: undefined, expiresAtMs: undefined };
  const [first, second] = [record(1), record(2, { tenantId: '*', ...plain })];
  assert.equal(await store.keys.create(second, hash(2)), true);
  assert.equal(await store.keys.create(first, hash(1)), true);
  assert.deepEqual(await store.keys.findByHash(hash(1)), first);
  assert.deepEqual(await store.keys.find(second.keyId), second);
  assert.equal(await store.keys.findByHash(hash(9)), undefined);
  assert.equal(await store.keys.find('01KE0000000000000000000099'), undefined);
  assert.deepEqual(await store.keys.list(), [first, second]);
  assert.deepEqual(await store.keys.list('*'), [second]);
});

test('the same key is not made twice', async () => {
  using store = setUp();
  assert.equal(await store.keys.create(record(1), hash(1)), true);
  assert.equal(await store.keys.create(record(2), hash(1)), false);
  assert.deepEqual(await store.keys.list(), [record(1)]);
  assert.equal(await store.keys.createFirst(record(3), hash(3)), false);
  assert.equal(await store.keys.createFirst(record(4, { tenantId: '*' }), hash(4)), true);
  assert.equal(await store.keys.createFirst(record(5, { tenantId: '*' }), hash(5)), false);
});

test('what another connection changes is seen after milliseconds, and what it does not is read once', async () => {
  using store = setUp();
  const nextRequest = () => store.clock.advance(5);
  store.tables.write({ verb: 'CreateKey', record: record(1), hash: hash(1) });
  const before = await store.keys.findByHash(hash(1));
  assert.equal(before?.revokedAtMs, undefined);
  assert.equal(await store.keys.findByHash(hash(1)), before);
  store.writer.exec("INSERT INTO meta (name, value) VALUES ('other', 1)");
  await nextRequest();
  assert.equal(await store.keys.findByHash(hash(1)), before);
  assert.equal(store.tables.write({ verb: 'RevokeKey', keyId: record(1).keyId, atMs: NOW_MS + 5 }), true);
  await nextRequest();
  assert.equal((await store.keys.findByHash(hash(1)))?.revokedAtMs, NOW_MS + 5);
  assert.equal(store.tables.write({ verb: 'RevokeKey', keyId: record(1).keyId, atMs: NOW_MS + 9 }), false);
  assert.equal((await store.keys.findByHash(hash(1)))?.revokedAtMs, NOW_MS + 5);
});

test('a change through the store is seen at once', async () => {
  using store = setUp();
  await store.keys.create(record(1), hash(1));
  assert.equal((await store.keys.findByHash(hash(1)))?.revokedAtMs, undefined);
  await store.keys.revoke(record(1).keyId, NOW_MS + 5);
  assert.equal((await store.keys.findByHash(hash(1)))?.revokedAtMs, NOW_MS + 5);
});

test('a rotated key works until the grace period ends, or its own end if that is sooner', async () => {
  using store = setUp();
  const forever = { expiresAtMs: undefined };
  await store.keys.create(record(1), hash(1));
  await store.keys.create(record(2, forever), hash(2));
  const next = (n: number, of: number) => record(n, { ...forever, replaces: record(of).keyId });
  assert.equal(await store.keys.rotate(next(3, 1), hash(3), NOW_MS + 5000), true);
  assert.equal(await store.keys.rotate(next(4, 2), hash(4), NOW_MS + 5000), true);
  assert.equal((await store.keys.findByHash(hash(1)))?.expiresAtMs, NOW_MS + 1000);
  assert.equal((await store.keys.findByHash(hash(2)))?.expiresAtMs, NOW_MS + 5000);
  assert.deepEqual(await store.keys.findByHash(hash(3)), next(3, 1));
});

test('a key that is unknown, over, or rotated before is not rotated, and nothing changes', async () => {
  using store = setUp();
  await store.keys.create(record(1, { expiresAtMs: NOW_MS }), hash(1));
  await store.keys.create(record(2, { revokedAtMs: 1 }), hash(2));
  await store.keys.create(record(3), hash(3));
  await store.keys.rotate(record(4, { replaces: record(3).keyId }), hash(4), NOW_MS + 500);
  const before = await store.keys.list();
  for (const n of [1, 2, 3, 9]) {
    const next = record(5, { replaces: record(n).keyId });
    assert.equal(await store.keys.rotate(next, hash(5), NOW_MS), false, `key ${n}`);
  }
  assert.deepEqual(await store.keys.list(), before);
});

test('a tenant comes into being once, with a secret key of its own', async () => {
  using store = setUp();
  assert.equal(await store.tenants.find('acme'), undefined);
  const made = await store.tenants.ensure('acme', NOW_MS);
  const { fingerprintKey, ...facts } = made;
  assert.deepEqual(facts, {
    tenantId: 'acme',
    tier: 'Standard',
    region: undefined,
    status: 'Active',
    defaultClassification: 'Internal',
    defaultRetention: 'P7Y',
  });
  assert.equal(fingerprintKey.length, 32);
  assert.equal(await store.tenants.ensure('acme', NOW_MS + 1), made);
  assert.notDeepEqual((await store.tenants.ensure('other', NOW_MS)).fingerprintKey, fingerprintKey);
  assert.equal(await store.tenants.find('Acme'), undefined);
});

test('tenants that are asked for at the same time share a commit', async () => {
  using store = setUp();
  const ids = Array.from({ length: 50 }, (_, i) => `t${i % 25}`);
  const made = await Promise.all(ids.map((id) => store.tenants.ensure(id, NOW_MS)));
  assert.deepEqual(
    made.map(({ tenantId }) => tenantId),
    ids,
  );
  assert.equal(store.sent.length, 1);
  await Promise.all(['a', 'b'].map((id) => store.tenants.ensure(id, NOW_MS)));
  assert.equal(store.sent.length, 2);
});

test('whoever makes the tenant first wins, also against another process', async () => {
  using store = setUp();
  const [mine, theirs] = [random.bytes(32), random.bytes(32)];
  store.tables.write({
    verb: 'EnsureTenants',
    tenants: [{ tenantId: 'acme', fingerprintKey: theirs }],
    nowMs: 1,
  });
  const again = {
    verb: 'EnsureTenants',
    tenants: [{ tenantId: 'acme', fingerprintKey: mine }],
    nowMs: 2,
  } as const;
  assert.equal(store.tables.write(again), false);
  assert.deepEqual((await store.tenants.ensure('acme', 3)).fingerprintKey, theirs);
});

test('a commit that fails fails those that waited for it, and not those after', async () => {
  using store = setUp();
  store.writer.exec(
    "CREATE TEMP TRIGGER no BEFORE INSERT ON tenants BEGIN SELECT RAISE(ABORT, 'disk full'); END",
  );
  const asked = ['a', 'b'].map((id) => store.tenants.ensure(id, NOW_MS));
  for (const each of asked) await assert.rejects(each, { code: 'SERVICE_UNAVAILABLE' });
  store.writer.exec('DROP TRIGGER no');
  assert.equal((await store.tenants.ensure('a', NOW_MS)).tenantId, 'a');
});
