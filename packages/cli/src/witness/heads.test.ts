import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { witnessFolder } from '../testing/running-witness.ts';
import { type Head, HEADS_FILE, HeadsBroken, openHeads } from './heads.ts';

const head = (size: number, root = size): Head => ({
  origin: 'log.example',
  size,
  root: new Uint8Array(32).fill(root),
  note: `note of ${size}`,
});

test('stores a head only if the latest is still the one that was looked at', () => {
  using folder = witnessFolder();
  using heads = openHeads(folder.path);
  assert.equal(heads.latest('log.example'), undefined);
  assert.equal(heads.advance(head(1), head(2)), false, 'there is none yet');
  assert.equal(heads.advance(undefined, head(2)), true);
  assert.equal(heads.advance(undefined, head(3)), false, 'there is one by now');
  assert.equal(heads.advance(head(1), head(3)), false, 'another size');
  assert.equal(heads.advance(head(2, 9), head(3)), false, 'another root');
  assert.equal(heads.advance(head(2), head(3)), true);
  const { origin, size, root, note } = heads.latest('log.example')!;
  assert.deepEqual({ origin, size, root: new Uint8Array(root), note }, head(3));
  assert.equal(heads.count(), 1);
});

test('two that have the file open at once do not both win', () => {
  using folder = witnessFolder();
  using one = openHeads(folder.path);
  using two = openHeads(folder.path);
  assert.equal(one.advance(undefined, head(1)), true);
  const seen = [one.latest('log.example'), two.latest('log.example')];
  assert.equal(one.advance(seen[0], head(5)), true);
  assert.equal(two.advance(seen[1], head(4)), false);
  assert.equal(two.latest('log.example')!.size, 5);
});

test('the database itself refuses to go back, to fork and to forget', () => {
  using folder = witnessFolder();
  {
    using heads = openHeads(folder.path);
    heads.advance(undefined, head(5));
    assert.equal(heads.advance(head(5), { ...head(5), note: 'cosigned again' }), true);
  }
  for (const wrong of [head(4), head(5, 1)]) {
    using heads = openHeads(folder.path);
    assert.throws(() => heads.advance(head(5), wrong), HeadsBroken);
    assert.throws(
      () => heads.advance(head(5), head(6)),
      HeadsBroken,
      'what broke once is not believed again',
    );
    assert.equal(heads.latest('log.example')!.size, 5);
  }
  using db = new DatabaseSync(join(folder.path, HEADS_FILE));
  assert.throws(() => db.exec('DELETE FROM head'), /never forgotten/);
  assert.throws(() => db.exec('UPDATE head SET size = 1'), /only grows/);
  assert.throws(() => db.exec("UPDATE head SET origin = 'another'"), /only grows/);
});

test('a file of something else is left alone', () => {
  using folder = witnessFolder();
  {
    using db = new DatabaseSync(join(folder.path, HEADS_FILE));
    db.exec('CREATE TABLE diary (day TEXT); PRAGMA user_version = 1');
  }
  assert.throws(() => openHeads(folder.path), /is not the file of a witness of this version/);
});
