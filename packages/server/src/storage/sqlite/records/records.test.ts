import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { openPlainStore } from '../../../testing/plain-store.ts';
import { append, now, NOW_MS } from '../../conformance/claims.ts';
import { changeOf, nextVersion, recordOf } from '../../conformance/records.ts';
import { openJournal } from '../connection/database.ts';

const folder = mkdtempSync(join(tmpdir(), 'tallystick-records-'));
after(() => rmSync(folder, { recursive: true }));

test('changes of another process are seen, and so is the version of all records', async () => {
  const directory = mkdtempSync(join(folder, 'data-'));
  await using one = await openPlainStore(directory);
  await using two = await openPlainStore(directory);
  await one.tenants.ensure('acme', NOW_MS);
  const made = recordOf('acme', { lookup: new Uint8Array(32).fill(1) });
  const versions = [await two.records.version()];
  await append(one, changeOf([made]));
  versions.push(await two.records.version());
  assert.deepEqual(await two.records.byLookup('ApiKey', made.lookup!), [made]);
  const next = nextVersion(made, { state: 'Revoked' });
  await append(two, changeOf([next]));
  versions.push(await one.records.version());
  assert.deepEqual(await one.records.byId('ApiKey', made.id), [next]);
  assert.equal(await two.records.version(), versions.at(-1));
  assert.equal(new Set(versions).size, 3);
  assert.equal((await append(one, changeOf([next]))).status, 'Stale');
});

test('if a record cannot be written, its notice and its key are not stored either', async () => {
  const directory = mkdtempSync(join(folder, 'data-'));
  await using store = await openPlainStore(directory);
  await store.tenants.ensure('acme', NOW_MS);
  using db = openJournal(directory);
  db.exec("CREATE TRIGGER cut BEFORE INSERT ON records BEGIN SELECT RAISE(ABORT, 'cut short'); END");
  const change = changeOf([recordOf('acme')]);
  await assert.rejects(store.log.append([change], now()), /cut short/);
  db.exec('DROP TRIGGER cut');
  const counted = () =>
    db
      .prepare('SELECT (SELECT count(*) FROM entries) AS entries, (SELECT count(*) FROM records) AS records')
      .get();
  assert.deepEqual({ ...counted() }, { entries: 0, records: 0 });
  assert.equal((await append(store, change)).status, 'Done');
  assert.deepEqual({ ...counted() }, { entries: 1, records: 1 });
});
