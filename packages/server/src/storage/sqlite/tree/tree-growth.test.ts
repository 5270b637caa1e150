import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import { systemClock } from '../../../runtime/clock.ts';
import { createSystemRandom } from '../../../runtime/random.ts';
import { NOW_MS } from '../../conformance/claims.ts';
import { fillLog } from '../../../testing/plain-store.ts';
import { noteOf } from '../../conformance/tree.ts';
import type { Storage } from '../../storage.ts';
import { JOURNAL_FILE } from '../connection/database.ts';
import { openSqliteStorage } from '../sqlite-storage.ts';

const folder = mkdtempSync(join(tmpdir(), 'tallystick-growth-'));
after(() => rmSync(folder, { recursive: true }));

const open = (directory: string) =>
  openSqliteStorage({
    directory,
    logOrigin: 'audit.example.com',
    streams: { sealAfter: { ms: 1e12 }, sealAfterEvents: 1e9 },
    clock: systemClock,
    random: createSystemRandom(),
    threads: false,
    exclusive: false,
    onFatal: assert.fail,
  });

async function publishAll(storage: Storage): Promise<void> {
  const { grown } = await storage.tree.readGrowth();
  const logs = grown.map(({ tenant, epoch, heads, tileHashes }) => ({
    tenant,
    epoch,
    checkpoints: heads.map((head) => ({ size: head.size, note: noteOf(head) })),
    tileHashes,
  }));
  await storage.tree.publish(logs, NOW_MS);
}

/** Bypasses the triggers, as an intruder with the file can. */
function change(directory: string, sql: string): void {
  using db = new DatabaseSync(join(directory, JOURNAL_FILE));
  db.exec(`DROP TRIGGER entries_do_not_change; DROP TRIGGER entries_stay; ${sql}`);
}

const OF_ACME = `tenant = (SELECT tenant FROM tenants WHERE tenant_id = 'acme')`;

test('a fault of one log is reported for that log, and the others are read', async () => {
  const changes = {
    'the last entry under a full tile is gone': `DELETE FROM entries WHERE ${OF_ACME} AND leaf_index = 255`,
    'an entry in the middle is gone': `DELETE FROM entries WHERE ${OF_ACME} AND leaf_index = 300`,
    'a hash of a tile is gone': `DELETE FROM tile_hashes WHERE ${OF_ACME}`,
    'an entry has another length': `UPDATE entries SET entry = x'00' WHERE ${OF_ACME} AND leaf_index = 300`,
    'the note cannot be read': `UPDATE checkpoints SET note = 'x' WHERE ${OF_ACME}`,
  };
  for (const [what, sql] of Object.entries(changes)) {
    const directory = mkdtempSync(join(folder, 'data-'));
    {
      await using storage = await open(directory);
      for (const tenant of ['acme', 'other']) await fillLog(storage, tenant, 256);
      await publishAll(storage);
      for (const tenant of ['acme', 'other']) await fillLog(storage, tenant, 100);
    }
    change(directory, sql);
    await using storage = await open(directory);
    await storage.tree.standings();
    const { grown, faults, hasMore } = await storage.tree.readGrowth();
    assert.deepEqual(
      [
        grown.map(({ tenant, heads }) => [tenant, heads.at(-1)!.size]),
        faults.map(({ tenant }) => tenant),
        hasMore,
      ],
      [[['other', 356]], ['acme'], false],
      what,
    );
    await fillLog(storage, 'other', 1);
    assert.equal((await storage.tree.readGrowth()).grown[0]!.heads.at(-1)!.size, 357, what);
  }
});

test('many logs that are behind are read in one turn, together with new entries', async () => {
  const directory = mkdtempSync(join(folder, 'data-'));
  const tenants = Array.from({ length: 300 }, (_, i) => `tenant-${i}`);
  {
    await using storage = await open(directory);
    for (const tenant of tenants) await fillLog(storage, tenant, 1);
  }
  await using storage = await open(directory);
  await storage.tree.standings();
  await fillLog(storage, 'fresh', 1);
  const { grown, hasMore } = await storage.tree.readGrowth();
  assert.deepEqual([grown.length, hasMore], [301, false]);
});
