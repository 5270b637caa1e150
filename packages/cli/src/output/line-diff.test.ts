import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { runs } from '../../../evidence/src/testing/size.ts';
import { diffHunks, diffLines } from './line-diff.ts';

const marked = (from: string, to: string) =>
  diffLines(from.split(''), to.split(''))
    .map(({ kind, text }) => `${{ Same: ' ', Removed: '-', Added: '+' }[kind]}${text}`)
    .join('');

test('what goes stands before what comes, between the lines that stay', () => {
  assert.equal(marked('abc', 'abc'), ' a b c');
  assert.equal(marked('abc', 'axc'), ' a-b+x c');
  assert.equal(marked('', 'ab'), '+a+b');
  assert.equal(marked('ab', ''), '-a-b');
  assert.equal(marked('abcabba', 'cbabac').replaceAll(/[ +-]/g, ''), 'abcbabbac');
});

/** How many lines two texts have in common at most, by the textbook. */
function commonLines(from: readonly string[], to: readonly string[]): number {
  let row = to.map(() => 0);
  for (const line of from) {
    const above = row;
    row = [];
    for (const [i, other] of to.entries())
      row.push(line === other ? 1 + (above[i - 1] ?? 0) : Math.max(above[i]!, row[i - 1] ?? 0));
  }
  return row.at(-1) ?? 0;
}

test('it leads from one text to the other, by as few lines as possible', () => {
  const text = fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 14 });
  fc.assert(
    fc.property(text, text, (from, to) => {
      const lines = diffLines(from, to);
      const without = (left: string) =>
        lines.filter(({ kind }) => kind !== left).map(({ text: each }) => each);
      assert.deepEqual([without('Added'), without('Removed')], [from, to]);
      assert.equal(lines.filter(({ kind }) => kind === 'Same').length, commonLines(from, to));
    }),
    { seed: 3, numRuns: runs(3000) },
  );
});

test('texts that have too little in common are shown as a whole, the one after the other', () => {
  const from = Array.from({ length: 1500 }, (_, i) => `from ${i}`);
  const to = Array.from({ length: 1500 }, (_, i) => `to ${i}`);
  const lines = diffLines(['same', ...from], ['same', ...to]);
  assert.deepEqual(
    lines.filter(({ kind }) => kind !== 'Added').map(({ text }) => text),
    ['same', ...from],
  );
  assert.deepEqual(
    lines.filter(({ kind }) => kind !== 'Removed').map(({ text }) => text),
    ['same', ...to],
  );
});

test('a few changes in a long text are found at once', () => {
  const from = Array.from({ length: 50_000 }, (_, i) => `line ${i}`);
  const to = from.with(20_000, 'x').toSpliced(30_000, 2);
  const lines = diffLines(from, to);
  assert.equal(lines.filter(({ kind }) => kind !== 'Same').length, 4);
});

test('three lines stand around each change, and where they stand is said as diff -u does', () => {
  const from = Array.from({ length: 20 }, (_, i) => String(i + 1));
  const to = from.with(1, 'two').toSpliced(17, 0, 'new');
  assert.deepEqual(diffHunks(diffLines(from, to)), [
    '@@ -1,5 +1,5 @@',
    ' 1',
    '-2',
    '+two',
    ' 3',
    ' 4',
    ' 5',
    '@@ -15,6 +15,7 @@',
    ' 15',
    ' 16',
    ' 17',
    '+new',
    ' 18',
    ' 19',
    ' 20',
  ]);
  assert.deepEqual(diffHunks(diffLines([], ['a'])), ['@@ -0,0 +1,1 @@', '+a']);
  assert.deepEqual(diffHunks(diffLines(['a'], [])), ['@@ -1,1 +0,0 @@', '-a']);
  assert.deepEqual(diffHunks(diffLines(from, from)), []);
});
