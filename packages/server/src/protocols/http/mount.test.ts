import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mountsByPath } from './mount.ts';

test('a path belongs to the longest prefix that it is or stands below, else to the mount without one', () => {
  const mountAt = mountsByPath(['/a', '', '/a/b', '/soap/v1'].map((prefix) => ({ prefix })));
  const table: [path: string, prefix: string][] = [
    ['/a', '/a'],
    ['/a/', '/a'],
    ['/a/c', '/a'],
    ['/a/b', '/a/b'],
    ['/a/b/c', '/a/b'],
    ['/a/bc', '/a'],
    ['/ab', ''],
    ['/A', ''],
    ['/%61', ''],
    ['//a', ''],
    ['/soap', ''],
    ['/soap/v1', '/soap/v1'],
    ['/', ''],
    ['*', ''],
    ['', ''],
  ];
  for (const [path, prefix] of table) assert.equal(mountAt(path).prefix, prefix, path);
});

test('no two mounts have the same paths, and no path is without a mount', () => {
  assert.throws(() => mountsByPath([{ prefix: '' }, { prefix: '/a' }, { prefix: '/a' }]), /one mount/);
  assert.throws(() => mountsByPath([{ prefix: '/a' }]), /one mount/);
});
