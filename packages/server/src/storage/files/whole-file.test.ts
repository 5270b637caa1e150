import assert from 'node:assert/strict';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { failing } from '../../testing/failing-disk.ts';
import { addFile, removeDrafts, replaceFile } from './whole-file.ts';

function folder(): Disposable & { path: string; file: string } {
  const path = mkdtempSync(join(tmpdir(), 'tallystick-whole-file-'));
  return { path, file: join(path, 'file'), [Symbol.dispose]: () => rmSync(path, { recursive: true }) };
}

test('a file is added once, for its owner only, and never replaced', async () => {
  using directory = folder();
  assert.equal(await addFile(directory.file, 'one'), true);
  assert.equal(await addFile(directory.file, 'two'), false);
  assert.equal(readFileSync(directory.file, 'utf8'), 'one');
  assert.equal(statSync(directory.file).mode & 0o777, 0o600);
  assert.deepEqual(readdirSync(directory.path), ['file']);
});

test('of concurrent attempts one adds the complete file', async () => {
  using directory = folder();
  const contents = Array.from({ length: 10 }, (_, i) => `${i}`.repeat(10_000));
  const added = await Promise.all(contents.map((content) => addFile(directory.file, content)));
  assert.equal(added.filter(Boolean).length, 1);
  assert.equal(readFileSync(directory.file, 'utf8'), contents[added.indexOf(true)]);
  assert.deepEqual(readdirSync(directory.path), ['file']);
});

test('a file that cannot be synced is not put in place, and its draft is removed', async () => {
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

test('a draft that a kill left behind is removed once it is old, and nothing else', async () => {
  using directory = folder();
  const NOW_MS = Date.now();
  const old = new Date(NOW_MS - 11 * 60_000);
  const make = (name: string, files: readonly string[], at: Date) => {
    mkdirSync(join(directory.path, name));
    for (const file of files) writeFileSync(join(directory.path, name, file), 'a private key');
    utimesSync(join(directory.path, name), at, at);
  };
  make('0002.pem.draft-aB3xY9', ['draft'], old);
  make('0002.json.draft-000000', [], old);
  const kept = ['0002.plan.draft-young1', '0002.pem.draft-crowd1', 'drafts', 'x.draft-toolong'];
  make(kept[0]!, ['draft'], new Date(NOW_MS));
  make(kept[1]!, ['draft', 'something else'], old);
  make(kept[2]!, ['draft'], old);
  make(kept[3]!, ['draft'], old);
  writeFileSync(join(directory.path, '0001.pem.draft-afile1'), 'no folder');
  const elsewhere = mkdtempSync(join(directory.path, 'elsewhere-'));
  writeFileSync(join(elsewhere, 'draft'), 'of another');
  symlinkSync(elsewhere, join(directory.path, '0001.pem.draft-alink1'));
  const before = readdirSync(directory.path);
  await removeDrafts(directory.path, NOW_MS);
  const gone = ['0002.json.draft-000000', '0002.pem.draft-aB3xY9'];
  assert.deepEqual(
    readdirSync(directory.path),
    before.filter((name) => !gone.includes(name)),
  );
  assert.deepEqual(readdirSync(elsewhere), ['draft']);
  assert.deepEqual(readdirSync(join(directory.path, kept[1]!)), ['draft', 'something else']);
  await removeDrafts(join(directory.path, 'not-there'), NOW_MS);
});
