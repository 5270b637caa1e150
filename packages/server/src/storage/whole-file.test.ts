import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { failing } from '../testing/failing-disk.ts';
import { addFile, replaceFile } from './whole-file.ts';

function folder(): Disposable & { path: string; file: string } {
  const path = mkdtempSync(join(tmpdir(), 'tallystick-whole-file-'));
  return { path, file: join(path, 'file'), [Symbol.dispose]: () => rmSync(path, { recursive: true }) };
}

test('a file is added once, for its owner alone, and never replaced', async () => {
  using directory = folder();
  assert.equal(await addFile(directory.file, 'one'), true);
  assert.equal(await addFile(directory.file, 'two'), false);
  assert.equal(readFileSync(directory.file, 'utf8'), 'one');
  assert.equal(statSync(directory.file).mode & 0o777, 0o600);
  assert.deepEqual(readdirSync(directory.path), ['file']);
});

test('of many that add it at the same time one does, whole', async () => {
  using directory = folder();
  const contents = Array.from({ length: 10 }, (_, i) => `${i}`.repeat(10_000));
  const added = await Promise.all(contents.map((content) => addFile(directory.file, content)));
  assert.equal(added.filter(Boolean).length, 1);
  assert.equal(readFileSync(directory.file, 'utf8'), contents[added.indexOf(true)]);
  assert.deepEqual(readdirSync(directory.path), ['file']);
});

test('a file that cannot be synced does not come into its place, nor is its draft left', async () => {
  using directory = folder();
  for (const put of [addFile, replaceFile]) {
    using _ = await failing('sync', 'EIO');
    await assert.rejects(put(directory.file, 'one'), { code: 'EIO' });
    assert.deepEqual(readdirSync(directory.path), []);
  }
});

test('file and folder are synced, in this order', async () => {
  using directory = folder();
  writeFileSync(directory.file, 'old');
  {
    using _ = await failing('sync', 'EIO', 1);
    await assert.rejects(replaceFile(directory.file, 'new'), { code: 'EIO' });
  }
  assert.equal(readFileSync(directory.file, 'utf8'), 'old');
  {
    using _ = await failing('sync', 'EIO', 2);
    await assert.rejects(replaceFile(directory.file, 'new'), { code: 'EIO' });
  }
  assert.equal(readFileSync(directory.file, 'utf8'), 'new');
});
