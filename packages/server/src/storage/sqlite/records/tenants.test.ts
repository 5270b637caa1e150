import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Calls } from '../../../runtime/calls.ts';
import { createSystemRandom } from '../../../runtime/random.ts';
import { openJournal, openJournalForReading } from '../connection/database.ts';
import type { JournalOwner } from '../append/journal-owner.ts';
import { addTenants, createTenantStore, type NewTenant } from './tenants.ts';

const random = createSystemRandom();
const NOW_MS = 1_800_000_000_000;

function setUp() {
  const directory = mkdtempSync(join(tmpdir(), 'tallystick-tenants-'));
  const db = openJournal(directory);
  const reading = openJournalForReading(directory);
  const commits: (readonly NewTenant[])[] = [];
  const owner = {
    async addTenants(tenants: readonly NewTenant[], nowMs: number) {
      commits.push(tenants);
      await Promise.resolve();
      addTenants(db, tenants, nowMs);
    },
  } as unknown as Calls<JournalOwner>;
  return {
    db,
    commits,
    tenants: createTenantStore(reading, owner, random),
    [Symbol.dispose]() {
      reading.close();
      db.close();
      rmSync(directory, { recursive: true });
    },
  };
}

test('tenants that are created concurrently share a commit, and existing ones need none', async () => {
  using store = setUp();
  const ids = Array.from({ length: 50 }, (_, i) => `t${i % 25}`);
  const made = await Promise.all(ids.map((id) => store.tenants.ensure(id, NOW_MS)));
  assert.deepEqual(
    made.map(({ tenantId }) => tenantId),
    ids,
  );
  assert.equal(store.commits.length, 1);
  await Promise.all(['a', 'b', 't1'].map((id) => store.tenants.ensure(id, NOW_MS)));
  await Promise.all(ids.map((id) => store.tenants.ensure(id, NOW_MS)));
  assert.deepEqual(
    store.commits.map((tenants) => tenants.length),
    [25, 2],
  );
});

test('the first to create a tenant wins, also against another process', async () => {
  using store = setUp();
  const [mine, theirs] = [random.bytes(32), random.bytes(32)];
  addTenants(store.db, [{ tenantId: 'acme', fingerprintKey: theirs }], 1);
  addTenants(store.db, [{ tenantId: 'acme', fingerprintKey: mine }], 2);
  const { fingerprintKey, createdAtMs } = await store.tenants.ensure('acme', 3);
  assert.deepEqual([fingerprintKey, createdAtMs], [theirs, 1]);
});

test('a failed commit fails the calls that waited for it, and no later ones', async () => {
  using store = setUp();
  store.db.exec(
    "CREATE TEMP TRIGGER no BEFORE INSERT ON tenants BEGIN SELECT RAISE(ABORT, 'disk full'); END",
  );
  const asked = ['a', 'b'].map((id) => store.tenants.ensure(id, NOW_MS));
  for (const each of asked) await assert.rejects(each, /disk full/);
  store.db.exec('DROP TRIGGER no');
  assert.equal((await store.tenants.ensure('a', NOW_MS)).tenantId, 'a');
});
