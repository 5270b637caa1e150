import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { readBuild } from './build.ts';

test('the version is that of the package', () => {
  const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  const { version } = JSON.parse(manifest) as { version: string };
  assert.equal(readBuild().version, version);
});

test('the commit is the one that the package says, and only a text', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tallystick-build-'));
  const file = join(folder, 'package.json');
  const commitIn = (gitHead: unknown) => {
    writeFileSync(file, JSON.stringify({ version: '1.2.3', gitHead }));
    return readBuild(pathToFileURL(file), pathToFileURL(`${folder}/.git/`)).commit;
  };
  assert.deepEqual(
    [commitIn('b0c3ef7'), commitIn(5), commitIn(undefined)],
    ['b0c3ef7', undefined, undefined],
  );
  rmSync(folder, { recursive: true });
});

test('of a working copy it is the commit that is checked out', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tallystick-build-'));
  const manifest = join(folder, 'package.json');
  writeFileSync(manifest, JSON.stringify({ version: '1.2.3' }));
  const [one, other] = ['a1'.repeat(20), 'b2'.repeat(20)];
  mkdirSync(join(folder, '.git/refs/heads'), { recursive: true });
  writeFileSync(join(folder, '.git/refs/heads/main'), `${one}\n`);
  const commitAt = (head: string) => {
    writeFileSync(join(folder, '.git/HEAD'), head);
    return readBuild(pathToFileURL(manifest), pathToFileURL(`${folder}/.git/`)).commit;
  };
  assert.deepEqual(
    ['ref: refs/heads/main\n', `${other}\n`, 'ref: refs/heads/gone\n', 'nonsense'].map(commitAt),
    [one, other, undefined, undefined],
  );
  rmSync(folder, { recursive: true });
});
