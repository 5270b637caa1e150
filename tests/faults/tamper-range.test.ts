// What `streams.verify` says of a part of a log: the same as the verification of the whole store says of that part.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { after, before, describe, it } from 'node:test';
import { toHex } from '@tallystick/evidence';
import type { SigningKeys } from '../../packages/server/src/keys/signing-keys.ts';
import { loadSigningKeys } from '../../packages/server/src/storage/keys/signing-key-files.ts';
import type { TrustedKey } from '../../packages/server/src/storage/fsck/notes.ts';
import { checkRange } from '../../packages/server/src/storage/sqlite/fsck/range.ts';
import { TreeTables } from '../../packages/server/src/storage/sqlite/tree/tree-tables.ts';
import type { RangeVerdict } from '../../packages/server/src/streams/tree.ts';
import { copyInMemory, LOG_ORIGIN, type MadeStore, makeStore, makeTiledStore } from './tamper/made-store.ts';
import { idAt, unguarded } from './tamper/named-change.ts';

describe('a range of a log', { concurrency: 1 }, () => {
  const stores: MadeStore[] = [];
  let db: DatabaseSync;
  let tiled: DatabaseSync;
  let keys: SigningKeys;

  before(async () => {
    stores.push(await makeStore(), await makeTiledStore());
    keys = (await loadSigningKeys(stores[0]!.directory))!;
    [db, tiled] = stores.map(({ directory }) => copyInMemory(join(directory, 'journal.db'))) as [
      DatabaseSync,
      DatabaseSync,
    ];
  });
  after(() => {
    for (const store of stores) store[Symbol.dispose]();
  });

  function check(on: DatabaseSync, tenant: string, fromIndex: number, endIndex: number): RangeVerdict {
    const steps = checkRange(on, LOG_ORIGIN, { tenant, fromIndex, endIndex });
    let checked = 0;
    for (let step = steps.next(); ; step = steps.next()) {
      if (step.done === true) return step.value;
      assert.ok(step.value >= checked, 'progress goes on');
      checked = step.value;
    }
  }

  /** What is found in a range after somebody has done something. */
  function faultAfter(sql: string, tenant: string, from: number, end: number, on = db): unknown[] {
    on.exec('BEGIN');
    try {
      unguarded(sql)(on);
      const { fault } = check(on, tenant, from, end);
      return [fault?.reason, fault?.index];
    } finally {
      on.exec('ROLLBACK');
    }
  }

  it('verifies any part of the log against the newest checkpoint', () => {
    const log = new TreeTables(db, LOG_ORIGIN).log('acme')!;
    const root = toHex(new TreeTables(db, LOG_ORIGIN).root(log, 138));
    for (const [from, end] of [
      [0, 138],
      [0, 1],
      [137, 138],
      [42, 75],
      [9, 17],
      [7, 7],
    ] as const) {
      const { fault, checkedEvents, treeSize, rootHash, expiredEvents } = check(db, 'acme', from, end);
      assert.deepEqual([fault, checkedEvents], [undefined, end - from], `${from} to ${end}`);
      if (end > from) assert.deepEqual([treeSize, toHex(rootHash)], [138, root]);
      assert.equal(expiredEvents, from <= 9 && end >= 17 ? 6 : 0);
    }
  });

  it('verifies what is not signed yet by its chain', () => {
    const { fault, checkedEvents, treeSize } = check(db, 'globex', 31, 62);
    assert.deepEqual([fault, checkedEvents, treeSize], [undefined, 31, 57]);
    assert.equal(check(db, 'globex', 58, 62).fault, undefined);
    assert.deepEqual(
      faultAfter(`UPDATE contents SET seeds = zeroblob(32) WHERE id = ${idAt(2, 60)}`, 'globex', 58, 62),
      ['LEAF_MISMATCH', 60],
    );
  });

  it('verifies a log that went on after a restore, under its own origin', () => {
    assert.deepEqual(
      [check(tiled, 'acme', 0, 261).fault, check(tiled, 'acme', 0, 261).treeSize],
      [undefined, 261],
    );
    const { fault, checkedEvents, treeSize } = check(tiled, 'acme', 261, 265);
    assert.deepEqual([fault, checkedEvents, treeSize], [undefined, 4, 4]);
    const over = check(tiled, 'acme', 250, 265);
    assert.deepEqual([over.fault, over.checkedEvents], [undefined, 15], 'from one log into the next');
    const sql = `UPDATE contents SET text2 = '{}' WHERE id = ${idAt(1, 263)}`;
    assert.equal(faultAfter(sql.replace("'{}'", "x'7b7d'"), 'acme', 261, 265, tiled)[1], 263);
  });

  it('names what was changed in it, and takes no notice of what was changed elsewhere', () => {
    const changed = `UPDATE contents SET text1 = (SELECT text1 FROM contents WHERE id = ${idAt(1, 51)}) WHERE id = ${idAt(1, 55)}`;
    assert.deepEqual(faultAfter(changed, 'acme', 42, 75), ['LEAF_MISMATCH', 55]);
    assert.deepEqual(faultAfter(changed, 'acme', 0, 42), [undefined, undefined]);
    const leaf = `UPDATE entries SET leaf = zeroblob(32) WHERE id = ${idAt(1, 50)}`;
    assert.deepEqual(faultAfter(leaf, 'acme', 42, 75), ['LEAF_MISMATCH', 50]);
    assert.deepEqual(faultAfter(leaf, 'acme', 0, 42), ['ROOT_MISMATCH', 0]);
  });

  it('finds entries that are missing at its beginning, in it and at its end', () => {
    const lost = (index: number) => `DELETE FROM entries WHERE id = ${idAt(1, index)}`;
    assert.deepEqual(faultAfter(lost(42), 'acme', 42, 75), ['INDEX_MISMATCH', 42]);
    assert.deepEqual(faultAfter(lost(50), 'acme', 42, 75), ['INDEX_MISMATCH', 50]);
    assert.deepEqual(faultAfter(lost(74), 'acme', 42, 75), ['TRUNCATED', 74]);
  });

  it('finds content that is gone, unless a notice says so that was signed', () => {
    assert.deepEqual(faultAfter(`DELETE FROM contents WHERE id = ${idAt(1, 20)}`, 'acme', 0, 42), [
      'GAP_UNEXPLAINED',
      20,
    ]);
    assert.deepEqual(faultAfter('DELETE FROM checkpoints WHERE tenant = 1 AND size > 72', 'acme', 0, 42), [
      'GAP_UNEXPLAINED',
      10,
    ]);
  });

  it('is compared with a checkpoint that is signed, where the keys are given', () => {
    const request = { tenant: 'acme', fromIndex: 0, endIndex: 42 };
    const verdictBy = (keys: readonly TrustedKey[]): RangeVerdict => {
      const steps = checkRange(db, LOG_ORIGIN, request, keys);
      for (let step = steps.next(); ; step = steps.next()) if (step.done === true) return step.value;
    };
    const trusted = keys.map(({ publicKey }) => ({ publicKey, isGiven: false }));
    assert.equal(verdictBy(trusted).fault, undefined);
    assert.equal(
      verdictBy([{ publicKey: new Uint8Array(32).fill(9), isGiven: false }]).fault?.reason,
      'KEY_UNKNOWN',
    );
  });

  it('has no word for a tenant that is not there', () => {
    assert.equal(check(db, 'nobody', 0, 5).fault?.reason, 'TRUNCATED');
  });
});
