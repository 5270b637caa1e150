// Partitions of past months: an empty one is dropped and one with rows never is, for any owner of the tables.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { placeAt } from '../../../testing/postgres-claims.ts';
import { prepareLogs, raw } from '../../../testing/postgres-nodes.ts';
import { type Databases, openDatabases } from '../../../testing/postgres-server.ts';
import { append, draftOf, now, NOW_MS, request } from '../../conformance/claims.ts';
import { contentMonthOf } from '../../rows/content-month.ts';

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
