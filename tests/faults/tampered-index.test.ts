// P9: who changes the index of events hides them from lists and searches, though all are in the log. `tallystick verify` makes
// the index again and finds every change of a block.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { checkDatabase, checkStore, type StoreFault } from '../../packages/server/src/check-store.ts';
import { systemClock } from '../../packages/server/src/runtime/clock.ts';
import { createSystemRandom } from '../../packages/server/src/runtime/random.ts';
import { SegmentMaker } from '../../packages/server/src/storage/event-index/store/segment-maker.ts';
import { Database } from '../../packages/server/src/storage/postgres/connection/database.ts';
import { makingOver } from '../../packages/server/src/storage/postgres/event-index/event-index.ts';
import { openJournalForReading } from '../../packages/server/src/storage/sqlite/connection/database.ts';
import { JournalEvents } from '../../packages/server/src/storage/sqlite/event-index/journal-events.ts';
import { SegmentTables } from '../../packages/server/src/storage/sqlite/event-index/segment-tables.ts';
import { openViews } from '../../packages/server/src/storage/sqlite/event-index/views-database.ts';
import { raw } from '../../packages/server/src/testing/postgres-nodes.ts';
import { openDatabases, PATIENT_LIMITS } from '../../packages/server/src/testing/postgres-server.ts';
import { fillStore, LOG_ORIGIN, makeStore, nextId } from './tamper/made-store.ts';
import { makeDatabase } from './tamper/postgres/made-database.ts';

const TENANTS = ['acme', 'globex'];
const random = createSystemRandom();

async function makeSegments(maker: SegmentMaker): Promise<void> {
  for (const tenant of TENANTS) maker.hint(tenant);
  await maker.turn();
  await maker.settle();
}

const flipped = (bytes: Buffer) => {
  bytes[bytes.length >> 1]! ^= 1;
  return bytes;
};
const cut = (bytes: Buffer) => bytes.subarray(0, bytes.length >> 1);

/** With another checksum, where it is in the clear; somebody who cannot open it can only spoil it. */
function altered(block: Uint8Array, how: (bytes: Buffer) => Buffer): Uint8Array {
  let raw: Buffer;
  try {
    raw = zstdDecompressSync(block);
  } catch {
    return how(Buffer.from(block));
  }
  return zstdCompressSync(how(raw));
}

interface TamperedIndex {
  readonly blocks: () => Promise<readonly { readonly id: string; readonly bytes: Uint8Array }[]>;
  readonly put: (id: string, bytes: Uint8Array) => Promise<unknown>;
  readonly verify: () => Promise<{ readonly faults: readonly StoreFault[]; readonly events: number }>;
}

async function requireEachFound({ blocks, put, verify }: TamperedIndex): Promise<void> {
  const untouched = await verify();
  assert.deepEqual(untouched.faults, []);
  assert.ok(untouched.events > 100, `${untouched.events} events were compared`);
  const all = await blocks();
  assert.ok(all.length > 20);
  for (const { id, bytes } of all) {
    for (const how of [flipped, cut]) {
      await put(id, altered(bytes, how));
      const { faults } = await verify();
      assert.deepEqual([faults.length, faults[0]?.reason], [1, 'INDEX_DIFFERS'], `block ${id}`);
      assert.ok(TENANTS.includes(faults[0]!.tenant!));
    }
    await put(id, bytes);
  }
  assert.deepEqual(await verify(), untouched);
}

test('every changed block of the index in a data directory is found', async () => {
  using store = await makeStore();
  const { directory } = store;
  {
    using journal = openJournalForReading(directory);
    using views = openViews(directory).db;
    const segments = new SegmentTables(views);
    const log = new JournalEvents(journal, LOG_ORIGIN, (tenant) => segments.indexedTo(tenant));
    const parts = { store: segments, log, clock: systemClock, random, onUnread() {} };
    await makeSegments(new SegmentMaker(parts));
  }
  using views = new DatabaseSync(join(directory, 'views.db'));
  await requireEachFound({
    blocks: async () =>
      views
        .prepare('SELECT id, bytes FROM blocks')
        .all()
        .map(({ id, bytes }) => ({ id: String(id), bytes: bytes as Uint8Array })),
    put: async (id, bytes) =>
      views.prepare('UPDATE blocks SET bytes = ? WHERE id = ?').run(bytes, Number(id)),
    async verify() {
      const { faults, index } = await checkStore(directory, { keys: [], seen: [] });
      return { faults, events: index.events };
    },
  });
});

test('every changed block of the index in a database is found', async () => {
  await using server = await openDatabases();
  using made = await makeDatabase(server, fillStore);
  const { url, directory } = made;
  {
    await using database = new Database({ url, connectionsMax: 2, ...PATIENT_LIMITS });
    await makeSegments(makingOver({ database, clock: systemClock, random, nextId }).maker);
  }
  const KEY = "tenant_id || ' ' || segment || ' ' || block";
  await requireEachFound({
    blocks: async () =>
      (await raw(url, `SELECT ${KEY} AS id, bytes FROM index_blocks`)).map((row) => ({
        id: String(row['id']),
        bytes: row['bytes'] as Uint8Array,
      })),
    put: (id, bytes) => {
      const hex = Buffer.from(bytes).toString('hex');
      return raw(url, `UPDATE index_blocks SET bytes = '\\x${hex}' WHERE ${KEY} = '${id}'`);
    },
    async verify() {
      const request = { keys: [], seen: [], directory, setting: 'the test' };
      const { faults, index } = await checkDatabase(url, request);
      return { faults, events: index.events };
    },
  });
});
