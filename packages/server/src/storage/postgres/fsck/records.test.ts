// Findings of `tallystick verify` for records that were inserted, altered or removed in the database of a stopped
// service.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { checkDatabase } from '../../../check-store.ts';
import { adminCaller, WITH_PLATFORM_KEY } from '../../../testing/admin-caller.ts';
import { raw } from '../../../testing/postgres-nodes.ts';
import { type Databases, openDatabases } from '../../../testing/postgres-server.ts';
import { startTestApp } from '../../../testing/test-app.ts';

const KEYS = '/api/v1/admin/api-keys';
const HOLDS = '/api/v1/legal-holds';
const directory = mkdtempSync(join(tmpdir(), 'tallystick-fsck-records-'));

let server: Databases;
let url: string;
let keyId: string;
let holdId: string;
before(async () => {
  server = await openDatabases();
  url = await server.createDatabase();
  const settings = { Storage__Url: url, Storage__DataDirectory: join(directory, 'data') };
  await using app = await startTestApp({ ...settings, ...WITH_PLATFORM_KEY });
  const acme = adminCaller(app, 'acme');
  const made = await acme.post(KEYS, { name: 'ci', roles: ['Viewer'] });
  keyId = (JSON.parse(made.text) as { keyId: string }).keyId;
  await acme.post(KEYS, { name: 'other', roles: ['Viewer'] });
  await raw(url, 'CREATE TABLE public.older AS SELECT * FROM records WHERE id = $1', [keyId]);
  const headers = { 'X-API-Key': acme.key, 'X-Tenant-Id': 'acme' };
  const revoked = await fetch(`${app.url}${KEYS}/${keyId}`, { method: 'DELETE', headers });
  assert.equal(revoked.status, 204);
  const place = async (name: string) =>
    (JSON.parse((await acme.post(HOLDS, { name, reason: 'r' })).text) as { holdId: string }).holdId;
  holdId = await place('Case 7');
  await place('Case 8');
  await raw(url, 'INSERT INTO public.older SELECT * FROM records WHERE id = $1', [holdId]);
  await acme.post(`${HOLDS}/${holdId}/release`, { reason: 'Settled' });
});
after(async () => {
  await server?.[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true, force: true });
});

/** The faults of a copy after this change. */
async function faultsAfter(sql: string): Promise<string[]> {
  const copy = await server.createDatabase(url);
  if (sql !== '') await raw(copy, sql);
  const options = { keys: [], seen: [], directory: join(directory, 'data'), setting: 'Storage__Url' };
  const { faults } = await checkDatabase(copy, options);
  return faults.map(({ tenant, reason, message }) => `${tenant} ${reason} ${message}`);
}

test('a database as the service has left it is sound', async () => {
  assert.deepEqual(await faultsAfter(''), []);
});

test('a platform Admin that was inserted is found', async () => {
  const faults = await faultsAfter(
    `INSERT INTO records (tenant_id, kind, id, version, body, state, lookup, salt, mac)
     SELECT tenant_id, kind, '01KE0000000000000000000099', version, body, state, sha256('x'), salt, mac
     FROM records WHERE tenant_id = '*'`,
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
    ['lookup', 'NULL'],
    ['salt', 'mac'],
    ['kind', `'Tenant'`],
    ['id', `'01KE0000000000000000000099'`, /no notice tells of/],
    ['tenant_id', `'*'`, /no notice tells of|is gone/],
    ['tenant_id', `'nobody'`, /nobody/],
  ];
  for (const [column, value, expected = /LEAF_MISMATCH/] of alterations) {
    const faults = await faultsAfter(`UPDATE records SET ${column} = ${value} WHERE id = '${keyId}'`);
    assert.ok(faults.length > 0, `${column} = ${value}`);
    assert.match(faults.join('\n'), expected, `${column} = ${value}`);
  }
});

test('a record that was removed, and one that was put back to an older version, are found', async () => {
  const remove = `DELETE FROM records WHERE id = '${keyId}'`;
  const removed = await faultsAfter(remove);
  assert.equal(removed.length, 1);
  assert.match(
    removed[0]!,
    /^acme TRUNCATED the record ApiKey \S+ that the notice at index \d+ tells of is gone/,
  );
  const back = await faultsAfter(
    `${remove}; INSERT INTO records SELECT * FROM public.older WHERE id = '${keyId}'`,
  );
  assert.equal(back.length, 1);
  assert.match(back[0]!, /^acme LEAF_MISMATCH .* is not what its newest notice, at index \d+, commits to/);
});

test('a legal hold that was altered, removed, put back or inserted is found', async () => {
  const active = "kind = 'LegalHold' AND state = 'Active'";
  const older = `SELECT * FROM public.older WHERE id = '${holdId}'`;
  const changes: [sql: string, expected: RegExp][] = [
    [`DELETE FROM records WHERE ${active}`, /^acme TRUNCATED the record LegalHold \S+ .* is gone/],
    [
      `DELETE FROM records WHERE id = '${holdId}'; INSERT INTO records ${older}`,
      /^acme LEAF_MISMATCH .*LegalHold.* is not what its newest notice/,
    ],
    [
      `UPDATE records SET body = replace(body, 'Active', 'Released') WHERE ${active}`,
      /^acme LEAF_MISMATCH .*LegalHold/,
    ],
    [`UPDATE records SET state = 'Released' WHERE ${active}`, /^acme LEAF_MISMATCH .*LegalHold/],
    [
      `UPDATE public.older SET id = '01KE0000000000000000000099', unique_name = 'more' WHERE id = '${holdId}';
       INSERT INTO records ${older.replace(holdId, '01KE0000000000000000000099')}`,
      /^acme LEAF_MISMATCH no notice tells of the record LegalHold 01KE0000000000000000000099/,
    ],
    [`DELETE FROM past_records WHERE id = '${holdId}'`, /^acme TRUNCATED version 1 of the record LegalHold/],
  ];
  for (const [sql, expected] of changes) assert.match((await faultsAfter(sql)).join('\n'), expected, sql);
});
