import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { StartError } from '../../start-error.ts';
import { storageCheck, openDataDirectory } from './data-directory.ts';

const folder = mkdtempSync(join(tmpdir(), 'tallystick-data-'));
after(() => rmSync(folder, { recursive: true }));

test('the data directory is created for its owner only, and reopened unchanged', async () => {
  const directory = join(folder, 'deep', 'data');
  await openDataDirectory(directory);
  await openDataDirectory(directory);
  assert.equal(statSync(directory).mode & 0o777, 0o700);
});

test('a place that cannot be a directory gives a one-line error', async () => {
  const file = join(folder, 'file');
  writeFileSync(file, '');
  for (const directory of [file, join(file, 'below')]) {
    await assert.rejects(openDataDirectory(directory), (error) => {
      assert.ok(error instanceof StartError);
      assert.match(
        error.message,
        /^cannot use the data directory .*file.* \((EEXIST|ENOTDIR)\); see Storage__DataDirectory$/,
      );
      return true;
    });
  }
});

test('a place whose parent accepts no directory is refused, not retried forever', async () => {
  await assert.rejects(
    openDataDirectory('/proc/tallystick/data'),
    /^StartError: cannot use the data directory/,
  );
});

test('the storage check notices that the directory has gone', async () => {
  const directory = join(folder, 'gone');
  await openDataDirectory(directory);
  const check = storageCheck(directory);
  assert.equal((await check.run()).status, 'Healthy');
  rmSync(directory, { recursive: true });
  await assert.rejects(check.run(), { code: 'ENOENT' });
  writeFileSync(directory, '');
  await assert.rejects(check.run(), { code: 'ENOTDIR' });
});
