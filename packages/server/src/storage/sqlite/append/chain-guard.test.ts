import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import { decodeEntry, encodeEntry, leafHash } from '@tallystick/evidence';
import { systemClock } from '../../../runtime/clock.ts';
import { createSystemRandom } from '../../../runtime/random.ts';
import type { AppendRequest } from '../../../streams/log.ts';
import { draftOf, nextId, now, NOW_MS, placedIn, request, STREAMS } from '../../conformance/claims.ts';
import { decodePool, encodePool } from '../../pool/append-message.ts';
import { TenantFault } from '../../pool/tenant-fault.ts';
import { ChainGuard } from './chain-guard.ts';
import { openJournal } from '../connection/database.ts';
import { Journal } from './journal.ts';
import { PoolCommitter } from '../../pool/pool-commitments.ts';
import { addTenants } from '../records/tenants.ts';

const folder = mkdtempSync(join(tmpdir(), 'tallystick-chain-'));
after(() => rmSync(folder, { recursive: true }));

/** Two tenants with three alternating entries each, and the journal that wrote them. */
function build() {
  const db = openJournal(mkdtempSync(join(folder, 'data-')));
  const tenants = ['acme', 'other'].map((tenantId) => ({ tenantId, fingerprintKey: new Uint8Array(32) }));
  addTenants(db, tenants, NOW_MS);
  const random = createSystemRandom();
  const committer = new PoolCommitter(random);
  const journal = new Journal(db, {
    logOrigin: 'x',
    streams: STREAMS,
    nextId,
    random,
    committer,
    clock: systemClock,
  });
  const append = (...requests: AppendRequest[]) => {
    const pool = decodePool(encodePool(requests, now()));
    return journal.append(pool, committer.make(pool.requests));
  };
  for (let i = 0; i < 3; i++) append(request('acme', [draftOf()]), request('other', [draftOf()]));
  return { db, append };
}

/** Writes an entry that names `previous`, bypassing all guards. */
function insert(db: DatabaseSync, tenantId: string, index: number, previous: Uint8Array): void {
  const row = db
    .prepare(`SELECT * FROM entries JOIN tenants USING (tenant) WHERE tenant_id = ?`)
    .get(tenantId)!;
  const entry = encodeEntry({
    ...decodeEntry(row['entry'] as Uint8Array),
    index,
    eventId: nextId(),
    previous,
  });
  db.prepare(
    `INSERT INTO entries (tenant, leaf_index, classification, entry, leaf, root1, root2)
     SELECT tenant, ?, classification, ?, ?, root1, root2 FROM entries WHERE id = ?`,
  ).run(index, entry, leafHash(entry), row['id']!);
}

function leafOf(db: DatabaseSync, tenantId: string, index: number): Uint8Array {
  const sql = 'SELECT leaf FROM entries JOIN tenants USING (tenant) WHERE tenant_id = ? AND leaf_index = ?';
  return db.prepare(sql).get(tenantId, index)!['leaf'] as Uint8Array;
}

test('every entry that names the previous leaf passes, and any other is found at any position', () => {
  const { db } = build();
  const guard = new ChainGuard(db);
  guard.demandChain(1);
  insert(db, 'acme', 3, leafOf(db, 'acme', 2));
  guard.demandChain(7);
  guard.demandChain(1);
  const faults: [index: number, previous: Uint8Array, what: string][] = [
    [4, leafOf(db, 'acme', 2), 'of a stale head'],
    [4, leafOf(db, 'other', 2), 'of another tenant'],
    [4, new Uint8Array(32), 'of nothing'],
    [5, leafOf(db, 'acme', 3), 'with a gap before it'],
  ];
  for (const [index, previous, what] of faults) {
    db.exec('BEGIN');
    insert(db, 'acme', index, previous);
    const isFault = (error: unknown) => error instanceof TenantFault && error.tenant === 'acme';
    for (const firstId of [1, 8]) assert.throws(() => guard.demandChain(firstId), isFault, what);
    insert(db, 'other', 3, leafOf(db, 'other', 2));
    assert.throws(() => guard.demandChain(8), isFault, `${what}, with another behind it`);
    guard.demandChain(9);
    db.exec('ROLLBACK');
  }
  assert.throws(() => insert(db, 'acme', 3, leafOf(db, 'acme', 2)), /UNIQUE constraint failed/);
});

test('only the first entry of an epoch need not name the previous leaf', () => {
  const { db } = build();
  const guard = new ChainGuard(db);
  db.exec(`INSERT INTO epochs SELECT tenant, 1, 3, '' FROM tenants WHERE tenant_id = 'acme'`);
  const isFault = (tenant: string) => (error: unknown) =>
    error instanceof TenantFault && error.tenant === tenant;
  insert(db, 'acme', 3, new Uint8Array(32).fill(9));
  guard.demandChain(1);
  for (const [tenant, index] of [
    ['acme', 4],
    ['other', 3],
  ] as const) {
    db.exec('BEGIN');
    insert(db, tenant, index, new Uint8Array(32).fill(9));
    assert.throws(() => guard.demandChain(8), isFault(tenant));
    db.exec('ROLLBACK');
  }
  insert(db, 'acme', 4, leafOf(db, 'acme', 3));
  guard.demandChain(1);
});

test('a journal with a stale head commits nothing to that log, the others of the pool go through', () => {
  const { db, append } = build();
  const count = (tenantId: string) =>
    db
      .prepare('SELECT count(*) AS n FROM entries JOIN tenants USING (tenant) WHERE tenant_id = ?')
      .get(tenantId)!['n'];
  // Uses the journal's own connection, for which data_version does not change: from now on its head is stale.
  db.exec(`DROP TRIGGER entries_do_not_change;
    UPDATE entries SET leaf = zeroblob(32) WHERE leaf_index = 2
      AND tenant = (SELECT tenant FROM tenants WHERE tenant_id = 'acme')`);
  const pool = [
    request('acme', [draftOf()]),
    request('other', [draftOf(), draftOf()]),
    request('acme', [draftOf()]),
  ];
  const results = append(...pool);
  assert.deepEqual(
    results.map(({ status }) => status),
    ['Faulty', 'Done', 'Faulty'],
  );
  assert.match(
    String('error' in results[0]! && results[0].error),
    /acme refused .* entry 3 does not name the leaf/,
  );
  assert.deepEqual(
    placedIn(results[1]).map(({ index }) => index),
    [3, 4],
  );
  assert.deepEqual([count('acme'), count('other')], [3, 5]);
  // The head is read again and does not match its entry: nothing is appended to it, now or later.
  for (let i = 0; i < 2; i++) {
    const [again] = append(request('acme', [draftOf()]));
    assert.match(String(again && 'error' in again && again.error), /entry 2 is not what was hashed/);
  }
  assert.deepEqual([count('acme'), count('other')], [3, 5]);
});

test('an id whose entry was changed is refused for its tenant only', () => {
  const { db, append } = build();
  const draft = draftOf({}, { sentFingerprint: new Uint8Array(32) });
  append(request('acme', [draft]), request('other', [draft]));
  db.exec(`DROP TRIGGER entries_do_not_change;
    UPDATE entries SET entry = CAST(x'00' || substr(entry, 2) AS BLOB) WHERE leaf_index = 3
      AND tenant = (SELECT tenant FROM tenants WHERE tenant_id = 'acme')`);
  const results = append(request('acme', [draft]), request('other', [draft]));
  assert.deepEqual(
    results.map((result) => result.status),
    ['Faulty', 'Done'],
  );
  db.close();
});
