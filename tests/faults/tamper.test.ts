// P6 and P7: `tallystick verify <data directory>` finds and locates every change in a store.

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { after, before, describe, it } from 'node:test';
import { EvidenceError } from '@tallystick/evidence';
import { checkStore } from '../../packages/server/src/check-store.ts';
import { PastHolds } from '../../packages/server/src/holds/past-holds.ts';
import { PastDecisions } from '../../packages/server/src/policies/past-decisions.ts';
import { PastPeriods } from '../../packages/server/src/policies/past-periods.ts';
import { loadSigningKeys } from '../../packages/server/src/storage/keys/signing-key-files.ts';
import { checkJournal, notEvidenceIn } from '../../packages/server/src/storage/sqlite/fsck/fsck.ts';
import { ALL_CHECKS, type Check } from '../../packages/server/src/storage/fsck/checks.ts';
import { EVIDENCE_COLUMNS, NOT_EVIDENCE } from '../../packages/server/src/storage/sqlite/fsck/columns.ts';
import { WalkResources } from '../../packages/server/src/storage/fsck/entries.ts';
import type { StoreFault } from '../../packages/server/src/storage/fsck/store-fault.ts';
import { newestIn } from '../../packages/server/src/storage/anchor/format.ts';
import { readAnchorHistoryAt, type Heads } from '../../packages/server/src/storage/fsck/memory.ts';
import type { TrustedKey } from '../../packages/server/src/storage/fsck/notes.ts';
import { columnsOf } from '../../packages/server/src/storage/sqlite/fsck/schema.ts';
import { SIZE } from './size.ts';
import { copyInMemory, type MadeStore, makeStore, makeTiledStore } from './tamper/made-store.ts';
import { type ByteChange, bytesOf, cellsOf, chanceFrom, change, WAYS } from './tamper/byte-changes.ts';
import { DERIVED_ROWS } from './tamper/derived-rows.ts';
import { FORGERIES } from './tamper/forgeries.ts';
import { LOSSES, MOVES } from './tamper/losses.ts';

const NAMED_CHANGES = [...LOSSES, ...MOVES, ...FORGERIES, ...DERIVED_ROWS];
const SEED = Number(process.env['SEED'] ?? 20260102);
const SAMPLE = 120;
const BITS = [0, 1, 2, 3, 4, 5, 6, 7];
const resources = new WalkResources(ALL_CHECKS);

const PAST = {
  newDecisions: () => ({ past: new PastDecisions(), periods: new PastPeriods() }),
  newHolds: () => new PastHolds(),
};

interface Bench {
  readonly store: MadeStore;
  readonly db: DatabaseSync;
  readonly heads: Heads;
  readonly keys: readonly TrustedKey[];
}

async function benchOf(store: MadeStore): Promise<Bench> {
  const own = (await loadSigningKeys(store.directory))!;
  return {
    store,
    db: copyInMemory(join(store.directory, 'journal.db')),
    heads: newestIn((await readAnchorHistoryAt(store.directory))!),
    keys: own.map(({ publicKey }) => ({ publicKey, isGiven: false })),
  };
}

interface Look {
  readonly without?: Check | readonly Check[] | undefined;
  /** Only what is stored of one tenant, and without what SQLite says of its pages: a part of the whole verification. */
  readonly tenant?: string | undefined;
}

function faultsIn({ db, heads, keys }: Bench, { without, tenant }: Look = {}): readonly StoreFault[] {
  const remembered = { anchor: { before: heads, behind: heads }, seen: [] };
  const checks = new Set([...ALL_CHECKS].filter((each) => ![without].flat().includes(each)));
  if (tenant !== undefined) for (const each of ['file', 'schema'] as const) checks.delete(each);
  const own = without === undefined ? { resources } : {};
  const steps = checkJournal(db, { keys, remembered, ...PAST, checks, tenant, ...own });
  for (let step = steps.next(); ; step = steps.next()) if (step.done === true) return step.value.faults;
}

async function headsOrFault(anchor: string): Promise<Heads | EvidenceError> {
  try {
    return newestIn((await readAnchorHistoryAt(anchor))!);
  } catch (error) {
    if (error instanceof EvidenceError) return error;
    throw error;
  }
}

/** Does something to the database, and takes it back afterwards. */
function tampered<T>(db: DatabaseSync, tamper: () => void, look: () => T): T {
  db.exec('BEGIN');
  try {
    tamper();
    return look();
  } finally {
    db.exec('ROLLBACK');
  }
}

/** Columns in which a change shows at exactly the entry that they belong to. */
const LOCATED = [
  'entry',
  'leaf',
  'root1',
  'root2',
  'classification',
  'text1',
  'text2',
  'seeds',
  'expires_at_ms',
  'decision',
  'tenant',
];

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

function changesOf(db: DatabaseSync, only?: readonly string[]): ByteChange[] {
  const chance = chanceFrom(SEED);
  return cellsOf(db, only).flatMap((cell) =>
    Array.from(bytesOf(cell).subarray(0, cell.evidenceBytes), (_, byte) => byte).flatMap((byte) =>
      (chance(10) === 0 ? WAYS : WAYS.slice(0, 1)).map((way) => ({ cell, byte, way })),
    ),
  );
}

/** Some of each column, so that the small ones are not left out. */
function sampleOf(changes: readonly ByteChange[]): ByteChange[] {
  const chance = chanceFrom(SEED + 1);
  const byColumn = Map.groupBy(changes, ({ cell }) => `${cell.table}.${cell.column}`);
  const each = Math.ceil(SAMPLE / byColumn.size);
  return [...byColumn.values()].flatMap((all) =>
    all.length <= each ? all : Array.from({ length: each }, () => all[chance(all.length)]!),
  );
}

/** A hundred thousand times over, it is enough to look at the tenant that the entry or content belongs to. */
function lookFor({ cell }: ByteChange): Look {
  const isOfOneTenant = cell.table === 'contents' || (cell.table === 'entries' && cell.column !== 'tenant');
  return SIZE.isLong && isOfOneTenant ? { tenant: cell.tenant } : {};
}

function tryAll(bench: Bench, changes: readonly ByteChange[]): { tried: number; impossible: number } {
  const chance = chanceFrom(SEED + 2);
  let impossible = 0;
  for (const each of changes) {
    const bit = chance(8);
    let isPossible = false;
    const faults = tampered(
      bench.db,
      // Where another row has the key that one bit gives, another bit is changed.
      () => (isPossible = BITS.some((other) => change(bench.db, each, bit ^ other))),
      () => (isPossible ? faultsIn(bench, lookFor(each)) : []),
    );
    if (isPossible) requireFound(each, faults);
    else impossible++;
  }
  return { tried: changes.length, impossible };
}

describe('tampering with a store', { concurrency: 1 }, () => {
  const stores: MadeStore[] = [];
  let bench: Bench;
  let tiled: Bench;

  before(async () => {
    stores.push(await makeStore(), await makeTiledStore());
    bench = await benchOf(stores[0]!);
    tiled = await benchOf(stores[1]!);
  });
  after(() => {
    for (const store of stores) store[Symbol.dispose]();
  });

  it('is not found where there is none', async () => {
    for (const { store } of [bench, tiled]) {
      const report = await checkStore(store.directory, { keys: [], seen: [] });
      assert.deepEqual(report.faults, []);
      assert.equal(report.verified, true);
    }
    assert.deepEqual(faultsIn(bench), []);
    assert.deepEqual(faultsIn(tiled), []);
  });

  it('every table and column of the schema is evidence, or is named with the reason why it is not', () => {
    const named = Object.keys(NOT_EVIDENCE);
    const homeless = columnsOf(bench.db).filter((name) => {
      const [table, column] = name.split('.') as [string, string];
      return (
        EVIDENCE_COLUMNS[table]?.[column] === undefined && !named.includes(table) && !named.includes(name)
      );
    });
    assert.deepEqual(homeless, []);
    assert.deepEqual(Object.keys(notEvidenceIn(bench.db)).toSorted(), named.toSorted());
  });

  it('of any byte of any column of evidence is found and located', (test) => {
    const all = changesOf(bench.db);
    const { tried, impossible } = tryAll(bench, SIZE.isLong ? all : sampleOf(all));
    test.diagnostic(
      `${tried} of ${all.length} changes, ${impossible} impossible, seed ${SEED}: all others found`,
    );
    assert.ok(impossible < tried / 20, `${impossible} of ${tried} could not be tried`);
  });

  it('of any byte of the hashes of tiles and of the epochs is found', (test) => {
    const all = changesOf(tiled.db, ['tile_hashes', 'epochs', 'streams', 'checkpoints', 'meta', 'tenants']);
    const { tried, impossible } = tryAll(tiled, SIZE.isLong ? all : sampleOf(all));
    test.diagnostic(
      `${tried} of ${all.length} changes, ${impossible} impossible, seed ${SEED}: all others found`,
    );
  });

  it('of any byte of the anchor is found', async (test) => {
    const chance = chanceFrom(SEED + 3);
    const changed = join(bench.store.directory, 'changed-anchor');
    const whole = readFileSync(join(bench.store.directory, 'anchor'));
    const places = Array.from(whole, (_, at) => at).filter(() => SIZE.isLong || chance(12) === 0);
    for (const at of places) {
      const bytes = Buffer.from(whole);
      bytes[at] = bytes[at]! ^ (1 << chance(8));
      writeFileSync(changed, bytes);
      const heads = await headsOrFault(changed);
      const faults = heads instanceof EvidenceError ? [heads] : faultsIn({ ...bench, heads });
      assert.ok(faults.length > 0, `byte ${at} of the anchor`);
    }
    test.diagnostic(`${places.length} of ${whole.length} bytes`);
  });

  for (const { title, on = 'plain', tamper, expected } of NAMED_CHANGES) {
    it(`finds ${title}`, () => {
      const own = on === 'tiled' ? tiled : bench;
      const faults = tampered(
        own.db,
        () => tamper(own.db),
        () => faultsIn(own),
      );
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

  it('goes on with the other tenants after a fault', () => {
    const tamper = () =>
      bench.db.exec('UPDATE streams SET created_at_ms = created_at_ms + 1 WHERE first_index = 0');
    const faults = tampered(bench.db, tamper, () => faultsIn(bench));
    assert.deepEqual(
      faults.map(({ tenant, index }) => [tenant, index]),
      [
        ['acme', 0],
        ['globex', 0],
      ],
    );
  });

  it('is missed by a verification without the check that is there for it', () => {
    const controls = NAMED_CHANGES.filter(({ control }) => control !== undefined);
    assert.ok(controls.length >= 5, `${controls.length} controls`);
    for (const { title, on = 'plain', tamper, control } of controls) {
      const own = on === 'tiled' ? tiled : bench;
      const look = () => faultsIn(own, { without: control });
      assert.deepEqual(
        tampered(own.db, () => tamper(own.db), look),
        [],
        `${title} is found without ${String(control)}`,
      );
    }
  });
});
