import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import { createFakeClock } from '../../../testing/fake-clock.ts';
import { createSystemRandom } from '../../../runtime/random.ts';
import { draftOf, nextId, now, NOW_MS, request, STREAMS } from '../../conformance/claims.ts';
import { encodePool } from '../../pool/append-message.ts';
import { JOURNAL_FILE, openJournal } from '../connection/database.ts';
import { JournalOwner } from './journal-owner.ts';
import { settleInstallation } from '../connection/meta.ts';
import { PoolCommitter } from '../../pool/pool-commitments.ts';

const folder = mkdtempSync(join(tmpdir(), 'tallystick-owner-'));
after(() => rmSync(folder, { recursive: true }));

function build() {
  const directory = mkdtempSync(join(folder, 'data-'));
  {
    using db = openJournal(directory);
    settleInstallation(db, { logOrigin: 'x', nextId });
  }
  const clock = createFakeClock();
  const random = createSystemRandom();
  const committer = new PoolCommitter(random);
  const parts = { streams: STREAMS, clock, nextId, random, committer };
  const owner = new JournalOwner({ directory, logOrigin: 'x', ...parts });
  owner.addTenants([{ tenantId: 'acme', fingerprintKey: new Uint8Array(32) }], NOW_MS);
  const path = join(directory, JOURNAL_FILE);
  const append = async (count: number) => {
    const drafts = Array.from({ length: count }, () => draftOf({ payload: { note: 'n'.repeat(2000) } }));
    owner.append(encodePool([request('acme', drafts)], now()));
    await new Promise((resolve) => setImmediate(resolve));
  };
  const size = (file: string) => statSync(file).size;
  return { clock, owner, append, databaseBytes: () => size(path), walBytes: () => size(`${path}-wal`), path };
}

test('the write-ahead log is folded after an idle time, not before', async () => {
  const { clock, owner, append, databaseBytes } = build();
  using _ = owner;
  await clock.advance(1000);
  const before = databaseBytes();
  await append(100);
  await clock.advance(40);
  await append(100);
  await clock.advance(40);
  assert.equal(databaseBytes(), before, 'there is always something to do');
  await clock.advance(60);
  assert.ok(databaseBytes() > before + 400_000, `${databaseBytes()} bytes`);
  assert.equal(clock.pending(), 0);
});

test('under load it is folded when it has reached its size, so the file stays small', async () => {
  const { owner, append, walBytes } = build();
  using _ = owner;
  let largest = 0;
  for (let i = 0; i < 60; i++) {
    await append(500);
    largest = Math.max(largest, walBytes());
  }
  assert.ok(largest > 10e6 && largest < 30e6, `${largest} bytes`);
});

test('a long reader does not stop the writer', async () => {
  const { owner, append, path } = build();
  using _ = owner;
  await append(10);
  using reader = new DatabaseSync(path, { readOnly: true });
  reader.exec('BEGIN');
  const count = () => reader.prepare('SELECT count(*) AS n FROM entries').get()?.['n'];
  assert.equal(count(), 10);
  for (let i = 0; i < 60; i++) await append(500);
  assert.equal(count(), 10, 'it sees what it saw');
  reader.exec('COMMIT');
  assert.equal(count(), 30_010);
});
