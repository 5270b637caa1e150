// Partitions of contents: few, whatever expires when, and made without others waiting for it. Of those of past months an empty one
// is dropped and one with rows never is, for any owner of the tables.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { Client } from 'pg';
import { placeAt } from '../../../testing/postgres-claims.ts';
import { prepareLogs, raw } from '../../../testing/postgres-nodes.ts';
import { type Databases, openDatabases } from '../../../testing/postgres-server.ts';
import { append, draftOf, now, NOW_MS, request } from '../../conformance/claims.ts';
import { contentMonthOf } from '../../rows/content-month.ts';
import { MIGRATION_LOCK } from './content-partitions.ts';

let server: Databases;
before(async () => {
  server = await openDatabases();
});
after(() => server?.[Symbol.asyncDispose]());

const MONTH_MS = 31 * 86_400_000;
const MONTH = contentMonthOf(NOW_MS);

const partsOf = async (url: string) =>
  (
    await raw(
      url,
      `SELECT inhrelid::regclass::text AS name FROM pg_inherits WHERE inhparent = 'tallystick.contents'::regclass`,
    )
  ).map(({ name }) => String(name).replace('tallystick.', ''));

/** Not even a superuser's, whom no row security stops. */
async function giveToPlainOwner(url: string): Promise<void> {
  const owner = `plain_${new URL(url).pathname.slice(1)}`;
  await raw(url, `CREATE ROLE ${owner} NOSUPERUSER NOBYPASSRLS`);
  await raw(url, `GRANT USAGE, CREATE ON SCHEMA tallystick TO ${owner}`);
  for (const table of ['contents', ...(await partsOf(url))])
    await raw(url, `ALTER TABLE tallystick.${table} OWNER TO ${owner}`);
  await raw(url, `ALTER FUNCTION tallystick.drop_content_month(integer) OWNER TO ${owner}`);
}

for (const owner of ['superuser', 'plain owner'])
  test(`empty partitions of past months are dropped, and none with a row, by the function of a ${owner}`, async () => {
    const url = await server.createDatabase();
    await prepareLogs(url, ['acme', 'other']);
    await using place = placeAt(url);
    await using storage = await place.open();
    for (const tenant of ['acme', 'other']) {
      const texts = Array.from({ length: 300 }, (_, i) =>
        draftOf({ payload: { note: 'x'.repeat(2000), i } }),
      );
      await append(storage, request(tenant, [...texts, draftOf({}, { retention: 'P90D' })]), now());
    }
    if (owner !== 'superuser') await giveToPlainOwner(url);
    const size = async () =>
      Number(
        (
          await raw(
            url,
            `SELECT sum(pg_total_relation_size(inhrelid)) AS size FROM pg_inherits WHERE inhparent = 'tallystick.contents'::regclass`,
          )
        )[0]!['size'],
      );
    const sizeBefore = await size();
    const reclaimSpace = (ms: number) => storage.removal.reclaimSpace(ms);
    const deleteOf = (tenant: string) =>
      raw(url, `DELETE FROM tallystick.contents WHERE tenant_id = $1 AND content_month = $2`, [
        tenant,
        MONTH,
      ]);
    const later = NOW_MS + 2 * MONTH_MS;
    assert.equal(await reclaimSpace(later), false);
    await deleteOf('acme');
    assert.equal(await reclaimSpace(later), false, 'the rows of the other tenant are there');
    assert.equal((await place.rows('other')).length, 301);
    await deleteOf('other');
    assert.equal(await reclaimSpace(NOW_MS), false, 'the month is not past');
    assert.equal(await reclaimSpace(later), true);
    assert.equal(await reclaimSpace(later), false);
    const left = await partsOf(url);
    assert.ok(!left.includes(`contents_${MONTH}`) && left.includes('contents_0'), left.join());
    assert.equal(left.length, 2, 'that of the later month stays');
    assert.ok((await size()) < sizeBefore / 4, `${sizeBefore} bytes before, ${await size()} afterwards`);
    const [forced] = await raw(
      url,
      `SELECT bool_and(relforcerowsecurity) AS all FROM pg_class WHERE relname LIKE 'contents%' AND relkind IN ('r', 'p')`,
    );
    assert.equal(forced?.['all'], true);
    // The log goes on, also in the month that was dropped.
    if (owner === 'superuser') await append(storage, request('acme', [draftOf()]), now());
  });

test('there are some fifty partitions, whatever tenants want, also beside those of single months', async () => {
  const url = await server.createDatabase();
  await prepareLogs(url, ['acme']);
  const ensure = (months: string) =>
    raw(url, `SELECT tallystick.ensure_content_month(m) FROM ${months} AS m`);
  const today = contentMonthOf(Date.now());
  // As an older version made them.
  for (const month of [today + 100, today + 1000])
    await raw(
      url,
      `CREATE TABLE tallystick.contents_${month} PARTITION OF tallystick.contents FOR VALUES FROM (${month}) TO (${month + 1})`,
    );
  await using place = placeAt(url);
  await using storage = await place.open();
  const drafts = Array.from({ length: 1000 }, (_, i) => draftOf({}, { retention: `P${i + 1}M` }));
  const done = await append(storage, request('acme', drafts), now(Date.now()));
  assert.equal(done.status, 'Done');
  await ensure(`generate_series(${today}, 120000, 1499)`);
  await ensure(`generate_series(${today}, ${today + 300}, 5)`);
  const names = await partsOf(url);
  assert.ok(names.length < 60, `${names.length}: ${names.join()}`);
  const [found] = await raw(
    url,
    `SELECT count(*)::integer AS rows, count(DISTINCT content_month)::integer AS months FROM tallystick.contents WHERE content_month > ${today}`,
  );
  assert.deepEqual(found, { rows: 1000, months: 1000 });
  await assert.rejects(ensure('unnest(ARRAY[120001])'), /there is no month 120001/);
});

test('nobody else waits while partitions are made', async () => {
  const url = await server.createDatabase();
  await prepareLogs(url, ['acme', 'other']);
  await using place = placeAt(url);
  await using storage = await place.open();
  await append(storage, request('other', [draftOf()]), now(Date.now()));
  await using maker = await lockHeld(url);
  let isMade = false;
  const waiting = append(
    storage,
    request('acme', [draftOf({}, { retention: 'P50Y' })]),
    now(Date.now()),
  ).finally(() => (isMade = true));
  await maker.waitedFor();
  const beside = await append(storage, request('other', [draftOf()]), now(Date.now()));
  assert.deepEqual([beside.status, isMade], ['Done', false]);
  await maker.release();
  assert.equal((await waiting).status, 'Done');
});

/** Held by a migration, and by the process that makes a partition. */
async function lockHeld(url: string) {
  const holder = new Client({ connectionString: url });
  await holder.connect();
  await holder.query(`SELECT pg_advisory_lock(${MIGRATION_LOCK})`);
  return {
    async waitedFor() {
      const waiting = `SELECT 1 FROM pg_locks JOIN pg_database AS d ON d.oid = database
        WHERE locktype = 'advisory' AND NOT granted AND datname = current_database()`;
      while ((await holder.query(waiting)).rowCount === 0) await pause(20);
    },
    release: () => holder.query(`SELECT pg_advisory_unlock(${MIGRATION_LOCK})`),
    [Symbol.asyncDispose]: () => holder.end(),
  };
}
