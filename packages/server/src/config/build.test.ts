import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { readBuild } from './build.ts';

test('the version is that of the package, and a working copy knows no commit', () => {
  const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  const { version } = JSON.parse(manifest) as { version: string };
  assert.deepEqual(readBuild(), { version, commit: undefined });
});

test('the commit is the one that the package says, and only a text', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tallystick-build-'));
  const file = join(folder, 'package.json');
  const commitIn = (gitHead: unknown) => {
    writeFileSync(file, JSON.stringify({ version: '1.2.3', gitHead }));
    return readBuild(pathToFileURL(file)).commit;
  };
  assert.deepEqual(
    [commitIn('b0c3ef7'), commitIn(5), commitIn(undefined)],
    ['b0c3ef7', undefined, undefined],
  );
  rmSync(folder, { recursive: true });
});
