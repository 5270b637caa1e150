import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AnchoredHead } from '../../streams/anchor/anchor.ts';
import { anchorFileOf, isAnchorFile } from './files.ts';
import { type FileHistory, findForks, mergeHistories } from './merge.ts';

const ORIGIN = 'audit.example.com/t/acme';

function head(size: number, fill = size, origin = ORIGIN): AnchoredHead {
  return { origin, size, root: new Uint8Array(32).fill(fill) };
}

function file(path: string, ...heads: AnchoredHead[]): FileHistory {
  return { path, history: Map.groupBy(heads, ({ origin }) => origin) };
}

test('files of nodes are distinguished from drafts, locks and other files in the directory', () => {
  for (const node of ['a', 'node-1', 'audit.example.com', 'A_b.c-d', 'x'.repeat(64)]) {
    assert.equal(anchorFileOf(node), `anchor-${node}`);
    assert.ok(isAnchorFile(anchorFileOf(node)), node);
  }
  assert.ok(isAnchorFile('anchor'));
  const others = [
    'anchor-',
    'anchor--a',
    'anchors',
    'anchor.draft-AAAAAA',
    'lock-a.db',
    '.nfs01',
    'anchor-a~',
  ];
  for (const name of others) assert.ok(!isAnchorFile(name), name);
  for (const node of ['', '../a', '-a', 'a b', 'x'.repeat(65)]) assert.throws(() => anchorFileOf(node), node);
});

test('heads of all files are merged in order, each once', () => {
  const files = [
    file('a', head(1), head(5), head(2, 2, 'b')),
    file('b', head(3), head(5), head(9)),
    file('c', head(1), head(7, 7, 'c')),
  ];
  assert.deepEqual(
    mergeHistories(files),
    new Map([
      [ORIGIN, [head(1), head(3), head(5), head(9)]],
      ['b', [head(2, 2, 'b')]],
      ['c', [head(7, 7, 'c')]],
    ]),
  );
  assert.deepEqual(findForks(files), new Map());
});

test('two roots of one size are a fork, and both are kept', () => {
  const files = [
    file('a', head(1), head(5), head(8)),
    file('b', head(5, 55), head(8)),
    file('c', head(5, 55)),
  ];
  assert.deepEqual(mergeHistories(files).get(ORIGIN), [head(1), head(5), head(5, 55), head(8)]);
  const [fork, ...more] = findForks(files);
  assert.deepEqual(more, []);
  const [origin, message] = fork!;
  assert.equal(origin, ORIGIN);
  assert.match(message, /acme .* 5 entries .* root (05)+ in a and root (37)+ in b/);
});

test('new heads are compared with the newest known head of each file', () => {
  const known = [
    { path: 'a', heads: new Map([[ORIGIN, head(5)]]) },
    { path: 'b', heads: new Map([[ORIGIN, head(7)]]) },
  ];
  assert.deepEqual(findForks([file('c', head(5), head(6), head(7))], known), new Map());
  assert.deepEqual(findForks([file('c', head(1, 1, 'other'))], known), new Map());
  for (const size of [5, 7]) {
    const forks = findForks([file('c', head(6), head(size, 99))], known);
    assert.match(forks.get(ORIGIN)!, new RegExp(`with ${size} entries it has`));
  }
});
