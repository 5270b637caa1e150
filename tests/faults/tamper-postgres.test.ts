// P6 and P7 on PostgreSQL: `tallystick verify` finds and locates every change that a superuser makes in a database;
// it reads in a role that may do nothing else.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { checkDatabase } from '../../packages/server/src/check-store.ts';
import type { StoreFault } from '../../packages/server/src/storage/fsck/store-fault.ts';
import { raw } from '../../packages/server/src/testing/postgres-nodes.ts';
import { type Databases, openDatabases } from '../../packages/server/src/testing/postgres-server.ts';
import { SIZE } from './size.ts';
import { type ByteChange, bytesOf, chanceFrom, WAYS } from './tamper/byte-changes.ts';
import { fillStore, fillTiledStore } from './tamper/made-store.ts';
import { cellsOf, change } from './tamper/postgres/byte-changes.ts';
import { type MadeDatabase, makeDatabase, openMaker } from './tamper/postgres/made-database.ts';
import { NAMED_CHANGES } from './tamper/postgres/named-changes.ts';
import { TamperedDatabase } from './tamper/postgres/tampered-database.ts';

const SEED = Number(process.env['SEED'] ?? 20260102);
/** Every byte, one by one, is changed in the embedded store, by the same judge; here some of every column. */
const SAMPLE = SIZE.isLong ? 6000 : 40;
const BITS = [0, 1, 2, 3, 4, 5, 6, 7];

/** Columns in which a change shows at exactly the entry that they belong to. */
const LOCATED = ['entry', 'leaf', 'root1', 'root2', 'classification', 'text1', 'text2', 'seeds', 'tenant_id'];

function requireFound({ cell, byte, way }: ByteChange, faults: readonly StoreFault[]): void {
  const what = `${cell.table}.${cell.column} [${cell.key.map(String).join(', ')}] byte ${byte}, ${way}`;
  assert.ok(faults.length > 0, `${what}: not found`);
  if (cell.index === undefined || !LOCATED.includes(cell.column)) return;
  // A row of an unknown tenant is of none that could be named.
  const isLocated = faults.some(
    ({ tenant = cell.tenant, index }) => tenant === cell.tenant && index === cell.index,
  );
  assert.ok(isLocated, `${what}: found elsewhere, ${JSON.stringify(faults)}`);
}

/** Some of each column, so that the small ones are not left out. */
async function sampleOf(database: TamperedDatabase, only?: readonly string[]): Promise<ByteChange[]> {
  const chance = chanceFrom(SEED);
  const all = (await cellsOf(database.say, only)).flatMap((cell) =>
    Array.from(bytesOf(cell).subarray(0, cell.evidenceBytes), (_, byte): ByteChange => {
      const way = chance(10) === 0 ? WAYS[1 + chance(2)]! : WAYS[0]!;
      return { cell, byte, way };
    }),
  );
  const byColumn = Map.groupBy(all, ({ cell }) => `${cell.table}.${cell.column}`);
  const each = Math.ceil(SAMPLE / byColumn.size);
  return [...byColumn.values()].flatMap((column) =>
    column.length <= each ? column : Array.from({ length: each }, () => column[chance(column.length)]!),
  );
}

async function tryAll(database: TamperedDatabase, changes: readonly ByteChange[]): Promise<string> {
  const chance = chanceFrom(SEED + 2);
  let impossible = 0;
  for (const each of changes) {
    const bit = chance(8);
    const faults = await database.faults(async (say) => {
      // Where the database does not hold what one bit gives, another one is changed.
      for (const other of BITS) if (await change(say, each, bit ^ other)) return true;
      return false;
    });
    if (faults === undefined) impossible++;
    else requireFound(each, faults);
  }
  assert.ok(impossible < changes.length / 5, `${impossible} of ${changes.length} could not be tried`);
  return `${changes.length} changes, ${impossible} impossible, seed ${SEED}: all others found`;
}

describe('tampering with a database', { concurrency: 1 }, () => {
  let server: Databases;
  const made: MadeDatabase[] = [];
  let plain: TamperedDatabase;
  let tiled: TamperedDatabase;

  before(async () => {
    server = await openDatabases();
    made.push(await makeDatabase(server, fillStore), await makeDatabase(server, fillTiledStore));
    plain = await TamperedDatabase.open(made[0]!);
    tiled = await TamperedDatabase.open(made[1]!);
  });
  after(async () => {
    for (const each of [plain, tiled]) await each?.[Symbol.asyncDispose]();
    for (const each of made) each[Symbol.dispose]();
    await server?.[Symbol.asyncDispose]();
  });

  const verify = (url: string, directory: string, seen: readonly string[] = []) =>
    checkDatabase(url, { directory, setting: 'Storage__Url', keys: [], seen });

  it('is not found where there is none', async () => {
    for (const database of [plain, tiled]) {
      const { url, directory } = database.made;
      const report = await verify(url, directory);
      assert.deepEqual(report.faults, []);
      assert.equal(report.verified, true);
      assert.deepEqual(await database.faults(async () => {}), []);
    }
    const { totals } = await verify(plain.made.url, plain.made.directory);
    assert.deepEqual([totals.tenants, totals.deleted, totals.entries], [2, 6, 200]);
  });

  it('of any byte of any column of evidence is found and located', async (test) => {
    test.diagnostic(await tryAll(plain, await sampleOf(plain)));
  });

  it('of any byte of the hashes of tiles and of the epochs is found', async (test) => {
    const changes = await sampleOf(tiled, ['tile_hashes', 'epochs', 'streams', 'checkpoints', 'heads']);
    test.diagnostic(await tryAll(tiled, changes));
  });

  for (const { title, on = 'plain', tamper, expected } of NAMED_CHANGES) {
    it(`finds ${title}`, async () => {
      const faults = (await (on === 'tiled' ? tiled : plain).faults(tamper))!;
      const [tenant, reason, index] = expected;
      const isFound = faults.some(
        (fault) =>
          fault.tenant === tenant &&
          fault.reason === reason &&
          (index === undefined || fault.index === index),
      );
      assert.ok(isFound, `${JSON.stringify(expected)} is not among ${JSON.stringify(faults)}`);
    });
  }

  it('goes on with the other tenants after a fault', async () => {
    const faults = await plain.faults(
      async (say) =>
        void (await say('UPDATE streams SET created_at_ms = created_at_ms + 1 WHERE first_index = 0')),
    );
    assert.deepEqual(
      faults!.map(({ tenant, index }) => [tenant, index]),
      [
        ['acme', 0],
        ['globex', 0],
      ],
    );
  });

  it('is missed by a verification without the check that is there for it', async () => {
    const all = NAMED_CHANGES.filter(({ control }) => control !== undefined);
    // In short, one for each check: most have the code that checks the embedded store, where every change is tried without them.
    const controls = SIZE.isLong
      ? all
      : [...new Map(all.map((each) => [String(each.control), each])).values()];
    assert.ok(controls.length >= 10, `${controls.length} controls`);
    for (const { title, on = 'plain', tamper, control } of controls) {
      const faults = await (on === 'tiled' ? tiled : plain).faults(tamper, { without: control });
      assert.deepEqual(faults, [], `${title} is found without ${String(control)}`);
    }
  });

  it('by putting back an older copy is a rollback, and what goes on from there a fork', async () => {
    const { earlier, directory } = plain.made;
    const [row] = await raw(
      plain.made.url,
      "SELECT note FROM checkpoints WHERE tenant_id = 'acme' AND size = 138",
    );
    const seen = [String(row!['note'])];
    const behind = await verify(earlier, directory, seen);
    assert.deepEqual(
      behind.faults.map(({ tenant, reason }) => [tenant, reason]),
      [
        ['acme', 'ROLLBACK'],
        ['globex', 'ROLLBACK'],
      ],
    );
    const copy = await server.createDatabase(earlier);
    {
      // One who goes on without the anchor, with the keys.
      await using maker = await openMaker(directory, copy);
      await maker.events('acme', 100, 'Deny.Everything');
      await maker.events('globex', 40, 'Deny.Everything');
      await maker.publish({ anchored: false });
    }
    const forked = await verify(copy, directory, seen);
    assert.deepEqual(
      forked.faults.map(({ tenant, reason }) => [tenant, reason]),
      [
        ['acme', 'FORK'],
        ['globex', 'FORK'],
      ],
    );
    assert.ok(readFileSync(join(directory, 'anchor')).length > 0);
  });
});
