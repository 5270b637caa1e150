// Findings of `tallystick verify` for records that were inserted, altered or removed in the database of a stopped
// service.

import assert from 'node:assert/strict';
import { chmodSync, cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, test } from 'node:test';
import { checkStore } from '../../../check-store.ts';
import { adminCaller, WITH_PLATFORM_KEY } from '../../../testing/admin-caller.ts';
import { openRunningJournal } from '../../../testing/running-journal.ts';
import { startTestApp } from '../../../testing/test-app.ts';
import { SIGNING_KEYS_FOLDER } from '../../keys/signing-key-files.ts';
import { JOURNAL_FILE } from '../connection/database.ts';

const KEYS = '/api/v1/admin/api-keys';
const HOLDS = '/api/v1/legal-holds';
const folder = mkdtempSync(join(tmpdir(), 'tallystick-fsck-records-'));
const directory = join(folder, 'data');
after(() => rmSync(folder, { recursive: true, force: true }));

let keyId: string;
/** The row of that key before it was revoked. */
let older: Record<string, string | number | Uint8Array | null>;

let holdId: string;
/** The row of that hold before it was released. */
let olderHold: typeof older;

// In one hook: the hooks of a file may run at the same time.
before(async () => {
  await makeKeys();
  await placeHolds();
});

async function makeKeys(): Promise<void> {
  await using app = await startTestApp({ Storage__DataDirectory: directory, ...WITH_PLATFORM_KEY });
  const acme = adminCaller(app, 'acme');
  const made = await acme.post(KEYS, { name: 'ci', roles: ['Viewer'] });
  keyId = (JSON.parse(made.text) as { keyId: string }).keyId;
  await acme.post(KEYS, { name: 'other', roles: ['Viewer'] });
  {
    using db = openRunningJournal(app.dataDirectory);
    older = { ...db.prepare('SELECT * FROM records WHERE id = ?').get(keyId) } as typeof older;
  }
  const headers = { 'X-API-Key': acme.key, 'X-Tenant-Id': 'acme' };
  const revoked = await fetch(`${app.url}${KEYS}/${keyId}`, { method: 'DELETE', headers });
  assert.equal(revoked.status, 204);
}

async function placeHolds(): Promise<void> {
  await using app = await startTestApp({ Storage__DataDirectory: directory, ...WITH_PLATFORM_KEY });
  const acme = adminCaller(app, 'acme');
  const place = async (name: string) => {
    const { text } = await acme.post(HOLDS, { name, reason: 'Court order' });
    return (JSON.parse(text) as { holdId: string }).holdId;
  };
  holdId = await place('Case 7');
  await place('Case 8');
  {
    using db = openRunningJournal(app.dataDirectory);
    olderHold = { ...db.prepare('SELECT * FROM records WHERE id = ?').get(holdId) } as typeof older;
  }
  await acme.post(`${HOLDS}/${holdId}/release`, { reason: 'Settled' });
}

let copies = 0;

/** The faults of a copy after this change. */
async function faultsAfter(tamper: (db: DatabaseSync) => void): Promise<string[]> {
  const copy = join(folder, `copy-${++copies}`);
  cpSync(directory, copy, { recursive: true });
  // A copied folder has the mode of the process's umask.
  chmodSync(join(copy, SIGNING_KEYS_FOLDER), 0o700);
  {
    using db = new DatabaseSync(join(copy, JOURNAL_FILE));
    tamper(db);
  }
  const { faults } = await checkStore(copy, { keys: [], seen: [] });
  return faults.map(({ tenant, reason, message }) => `${tenant} ${reason} ${message}`);
}

test('a store as the service has left it is sound', async () => {
  assert.deepEqual(await faultsAfter(() => {}), []);
});

test('a platform Admin that was inserted is found', async () => {
  const faults = await faultsAfter((db) =>
    db.exec(
      `INSERT INTO records (tenant, kind, id, version, body, state, lookup, salt, mac)
       SELECT tenant, kind, '01KE0000000000000000000099', version, body, state, zeroblob(32), salt, mac
       FROM records JOIN tenants USING (tenant) WHERE tenant_id = '*'`,
    ),
  );
  assert.equal(faults.length, 1);
  assert.match(
    faults[0]!,
    /^\* LEAF_MISMATCH no notice tells of the record ApiKey 01KE0000000000000000000099/,
  );
});

test('a record that was altered in any column is found', async () => {
  const alterations: [string, string, RegExp?][] = [
    ['body', `replace(body, 'Viewer', 'Admin')`],
    ['state', `'Active'`],
    ['version', 'version + 1'],
    ['unique_name', `'taken'`],
    ['lookup', 'zeroblob(32)'],
    ['lookup', 'NULL'],
    ['salt', 'zeroblob(16)'],
    ['kind', `'Tenant'`],
    ['kind', `'Other'`],
    ['id', `'01KE0000000000000000000099'`, /no notice tells of/],
    ['tenant', `(SELECT tenant FROM tenants WHERE tenant_id = '*')`, /no notice tells of|is gone/],
    ['tenant', '999', /not there/],
  ];
  for (const [column, value, expected = /LEAF_MISMATCH/] of alterations) {
    const faults = await faultsAfter((db) => {
      db.exec('PRAGMA foreign_keys = OFF');
      db.prepare(`UPDATE records SET ${column} = ${value} WHERE id = ?`).run(keyId);
    });
    assert.ok(faults.length > 0, `${column} = ${value}`);
    assert.match(faults.join('\n'), expected, `${column} = ${value}`);
  }
});

test('a record that was removed, and one that was put back to an older version, are found', async () => {
  const removed = await faultsAfter((db) => db.prepare('DELETE FROM records WHERE id = ?').run(keyId));
  assert.deepEqual(removed.length, 1);
  assert.match(
    removed[0]!,
    /^acme TRUNCATED the record ApiKey \S+ that the notice at index \d+ tells of is gone/,
  );
  const columns = Object.keys(older);
  const back = await faultsAfter((db) =>
    db
      .prepare(`INSERT OR REPLACE INTO records (${columns.join()}) VALUES (${columns.map(() => '?').join()})`)
      .run(...Object.values(older)),
  );
  assert.deepEqual(back.length, 1);
  assert.match(back[0]!, /^acme LEAF_MISMATCH .* is not what its newest notice, at index \d+, commits to/);
});

test('a store without its records is not sound', async () => {
  const faults = await faultsAfter((db) => db.exec('DELETE FROM records'));
  assert.deepEqual(faults.map((fault) => fault.split(' ').slice(0, 2).join(' ')).toSorted(), [
    '* TRUNCATED',
    'acme TRUNCATED',
  ]);
});

test('a legal hold that was altered, removed, put back or inserted is found', async () => {
  const columns = Object.keys(olderHold);
  const put = `(${columns.join()}) VALUES (${columns.map(() => '?').join()})`;
  const active = "kind = 'LegalHold' AND state = 'Active'";
  const changes: [(db: DatabaseSync) => void, RegExp][] = [
    [
      (db) => db.exec(`DELETE FROM records WHERE ${active}`),
      /^acme TRUNCATED the record LegalHold \S+ .* is gone/,
    ],
    [
      (db) => db.prepare(`INSERT OR REPLACE INTO records ${put}`).run(...Object.values(olderHold)),
      /^acme LEAF_MISMATCH .*LegalHold.* is not what its newest notice/,
    ],
    [
      (db) => db.exec(`UPDATE records SET body = replace(body, 'Active', 'Released') WHERE ${active}`),
      /^acme LEAF_MISMATCH .*LegalHold/,
    ],
    [
      (db) => db.exec(`UPDATE records SET state = 'Released' WHERE ${active}`),
      /^acme LEAF_MISMATCH .*LegalHold/,
    ],
    [
      (db) =>
        db
          .prepare(`INSERT INTO records ${put}`)
          .run(...Object.values({ ...olderHold, id: '01KE0000000000000000000099', unique_name: 'more' })),
      /^acme LEAF_MISMATCH no notice tells of the record LegalHold 01KE0000000000000000000099/,
    ],
    [
      (db) => db.prepare('DELETE FROM past_records WHERE id = ?').run(holdId),
      /^acme TRUNCATED version 1 of the record LegalHold/,
    ],
  ];
  for (const [change, expected] of changes) {
    const faults = await faultsAfter(change);
    assert.match(faults.join('\n'), expected, String(change));
  }
});
