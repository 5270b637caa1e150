import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { systemClock } from '../../../runtime/clock.ts';
import { createSystemRandom } from '../../../runtime/random.ts';
import type { AppendRequest } from '../../../streams/log.ts';
import { draftOf, nextId, now, NOW_MS, placedIn, request, STREAMS } from '../../conformance/claims.ts';
import { decodePool, encodePool } from '../../pool/append-message.ts';
import { openJournal } from '../connection/database.ts';
import { Journal } from './journal.ts';
import { LogTables } from '../log/log-tables.ts';
import { PoolCommitter } from '../../pool/pool-commitments.ts';
import { addTenants } from '../records/tenants.ts';

const folder = mkdtempSync(join(tmpdir(), 'tallystick-streams-'));
after(() => rmSync(folder, { recursive: true }));
const LATER = now(NOW_MS + 86_400_000);

/** Two tenants with a sealed stream of three events and an open one of one event each. */
function build() {
  const db = openJournal(mkdtempSync(join(folder, 'data-')));
  const tenants = ['acme', 'other'].map((tenantId) => ({ tenantId, fingerprintKey: new Uint8Array(32) }));
  addTenants(db, tenants, NOW_MS);
  const random = createSystemRandom();
  const committer = new PoolCommitter(random);
  const streams = { ...STREAMS, sealAfterEvents: 3 };
  const open = () =>
    new Journal(db, { logOrigin: 'x', streams, nextId, random, committer, clock: systemClock });
  let journal = open();
  const append = (requests: readonly AppendRequest[], at = now()) => {
    const pool = decodePool(encodePool(requests, at));
    return journal.append(pool, committer.make(pool.requests));
  };
  append(['acme', 'other'].map((tenant) => request(tenant, drafts(4))));
  return {
    db,
    append,
    tables: new LogTables(db, 'x'),
    sealAged: () => journal.sealAged(LATER),
    seal: (streamId: string) => journal.seal({ tenant: 'acme', streamId }, now()),
    /** Drops all heads, as a restart does. */
    restart: () => void (journal = open()),
    bounds: (tenant: string) =>
      new LogTables(db, 'x')
        .streams(tenant, { after: undefined }, 100)
        .map(({ firstIndex, endIndex }) => [firstIndex, endIndex]),
  };
}

const drafts = (count: number) => Array.from({ length: count }, () => draftOf());
const OF_ACME = "tenant = (SELECT tenant FROM tenants WHERE tenant_id = 'acme')";
const BOUNDS = [
  [0, 4],
  [4, 5],
];

test('a log whose streams do not match its seals is not continued, the others are', () => {
  const stream = (index: number) =>
    `INSERT INTO streams SELECT tenant, ${index}, '${nextId()}', 1, NULL FROM tenants WHERE tenant_id = 'acme'`;
  const faults: [sql: string, message: RegExp][] = [
    [`DELETE FROM streams WHERE ${OF_ACME}`, /entries and no stream/],
    [stream(5), /follows upon one that is not sealed/],
    [stream(6), /where the log is not/],
    [`UPDATE streams SET first_index = 3 WHERE first_index = 4 AND ${OF_ACME}`, /is not sealed/],
    [
      `DROP TRIGGER entries_do_not_change;
       UPDATE entries SET entry = zeroblob(116) WHERE leaf_index = 4 AND ${OF_ACME};`,
      /entry 4 is not what was hashed/,
    ],
  ];
  for (const [sql, message] of faults) {
    const { db, append, restart } = build();
    db.exec(sql);
    restart();
    const [acme, other] = append([request('acme', drafts(1)), request('other', drafts(1))]);
    assert.match(String(acme?.status === 'Faulty' && acme.error), message);
    assert.equal(placedIn(other)[0]!.index, 5);
    assert.equal(db.prepare(`SELECT count(*) AS n FROM entries WHERE ${OF_ACME}`).get()?.['n'], 5);
  }
});

test('a log that refuses its seal blocks neither the sealing of others nor the sealer', () => {
  const { db, restart, sealAged, bounds } = build();
  db.exec(`DROP TRIGGER entries_do_not_change;
    UPDATE entries SET leaf = zeroblob(32) WHERE leaf_index = 4 AND ${OF_ACME}`);
  restart();
  for (let i = 0; i < 3; i++) assert.equal(sealAged(), false);
  assert.deepEqual(bounds('acme'), BOUNDS);
  assert.deepEqual(bounds('other'), [
    [0, 4],
    [4, 6],
    [6, 6],
  ]);
});

test('a commit that fails leaves neither events nor seals nor streams', () => {
  const { db, append, seal, sealAged, tables, bounds } = build();
  const { streamId } = tables.streams('acme', { before: undefined }, 1)[0]!;
  db.exec(`CREATE TRIGGER refuse BEFORE INSERT ON streams WHEN (SELECT ${OF_ACME.replace('tenant', 'NEW.tenant')})
    BEGIN SELECT RAISE(ABORT, 'no more streams'); END`);
  const [acme, other] = append([request('acme', drafts(5)), request('other', drafts(2))]);
  assert.match(String(acme?.status === 'Faulty' && acme.error), /acme refused .* no more streams/);
  assert.deepEqual(
    placedIn(other).map(({ index }) => index),
    [5, 6],
  );
  assert.throws(() => seal(streamId), /no more streams/);
  assert.equal(sealAged(), false);
  assert.deepEqual(bounds('acme'), BOUNDS);
  db.exec('DROP TRIGGER refuse; PRAGMA max_page_count = 1');
  const large = draftOf({ payload: { note: 'n'.repeat(100_000) } });
  assert.throws(() => append([request('acme', [...drafts(3), large])]), /full/);
  assert.deepEqual(bounds('acme'), BOUNDS);
  db.exec('PRAGMA max_page_count = 1000000');
  const [placed] = append([request('acme', drafts(3))]);
  assert.deepEqual(
    placedIn(placed).map(({ index }) => index),
    [5, 6, 8],
  );
  assert.deepEqual(bounds('acme'), [
    [0, 4],
    [4, 8],
    [8, 9],
  ]);
});
