import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { WriteStream } from 'node:tty';
import * as fc from 'fast-check';
import { widthOf } from './fit-text.ts';
import { progressLine, startProgress } from './progress.ts';

/** A stream that keeps what was written, and time that passes when it is told to. */
function terminal({ isTTY = true, columns = 100 } = {}) {
  const written: string[] = [];
  const to = { isTTY, columns, write: (text: string) => written.push(text) > 0 } as unknown as WriteStream;
  let ms = 0;
  return { to, written, now: () => ms, pass: (more: number) => (ms += more) };
}

const HALF = { what: 'verifying data', done: 500_000, total: 1_000_000, perSecond: 31_250, unit: 'entries' };

test('a line says how much is done, how fast it goes and how long it takes', () => {
  assert.equal(
    progressLine(HALF, 100),
    'verifying data  ██████████░░░░░░░░░░  50 %  500,000 of 1,000,000 entries  31,250/s  16 s left',
  );
  const bytes = {
    ...HALF,
    done: 3 * 1_048_576,
    total: 4 * 1_048_576,
    perSecond: 1_048_576 / 2,
    unit: 'bytes',
  };
  assert.equal(
    progressLine(bytes, 100),
    'verifying data  ███████████████░░░░░  75 %  3.0 of 4.0 MB  0.5 MB/s  2 s left',
  );
});

test('where the total is not known, nothing is made up', () => {
  assert.equal(progressLine({ ...HALF, total: undefined }, 100), 'verifying data  500,000 entries  31,250/s');
  assert.equal(
    progressLine({ ...HALF, perSecond: 0 }, 100),
    'verifying data  ██████████░░░░░░░░░░  50 %  500,000 of 1,000,000 entries',
  );
  // What was counted before may have grown meanwhile.
  assert.match(progressLine({ ...HALF, done: 1_000_001 }, 100), / 100 % /);
});

test('where there is no total, a share tells how far it is', () => {
  const { to, written, now, pass } = terminal();
  const progress = startProgress('exporting', 'events', { to, now });
  for (let i = 1; i <= 10; i++) {
    pass(1000);
    progress.show(i * 200, undefined, i / 40);
  }
  const bar = `█████${'░'.repeat(15)}`;
  assert.equal(written.at(-1), `\rexporting  ${bar}  25 %  2,000 events  200/s  30 s left\u001b[K`);
});

test('on a narrow terminal the least important goes first, and the line always fits', () => {
  const rest = '50 %  500,000 of 1,000,000 entries  31,250/s  16 s left';
  assert.equal(progressLine(HALF, 84), `verifying data  █████░░░░░  ${rest}`);
  assert.equal(progressLine(HALF, 80), `verifying data  ███░░░  ${rest}`);
  assert.equal(progressLine(HALF, 75), `verifying data  ${rest}`);
  assert.equal(progressLine(HALF, 60), 'verifying data  50 %  31,250/s  16 s left');
  assert.equal(progressLine(HALF, 28), 'verifying data  50 %');
  const long = { ...HALF, what: `verifying ${'x'.repeat(80)}` };
  assert.equal(progressLine(long, 60), `verifying ${'x'.repeat(21)}…  50 %  31,250/s  16 s left`);
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 150 }),
      fc.string({ unit: 'grapheme', maxLength: 80 }),
      fc.nat(2 ** 50),
      fc.option(fc.integer({ min: 1, max: 2 ** 50 }), { nil: undefined }),
      (columns, what, done, total) => {
        const line = progressLine({ what, done, total, perSecond: done / 7, unit: 'bytes' }, columns);
        assert.ok(widthOf(line) < columns, `${columns}: ${line}`);
      },
    ),
    { seed: 7, numRuns: 500 },
  );
});

test('the line is drawn at a modest pace, in place, and removed at the end', () => {
  const { to, written, now, pass } = terminal();
  const progress = startProgress('copying', 'rows', { total: 10_000, to, now });
  for (let i = 0; i < 1000; i++) {
    pass(10);
    progress.add(10);
  }
  progress[Symbol.dispose]();
  progress[Symbol.dispose]();
  assert.ok(written.length > 20 && written.length < 60, `${written.length} times in ten seconds`);
  const bar = `█${'░'.repeat(19)}`;
  assert.equal(written[0], `\rcopying  ${bar}  5 %  500 of 10,000 rows  1,000/s  10 s left\u001b[K`);
  assert.ok(written.slice(0, -1).every((text) => text.startsWith('\rcopying')));
  assert.equal(written.at(-1), '\r\u001b[K');
});

test('the rate is that of the last seconds', () => {
  const { to, written, now, pass } = terminal();
  const progress = startProgress('copying', 'rows', { total: 1_000_000, to, now });
  // What an earlier run has done already is found at once.
  progress.add(500_000);
  for (let i = 0; i < 300; i++) {
    pass(100);
    progress.add(10);
  }
  assert.match(written.at(-1)!, / 100\/s {2}1 h 23 min left/);
});

test('work that is done at once draws nothing, and neither does a pipe', () => {
  const quick = terminal();
  const progress = startProgress('copying', 'rows', { total: 1000, to: quick.to, now: quick.now });
  quick.pass(400);
  progress.add(1000);
  progress[Symbol.dispose]();
  assert.deepEqual(quick.written, []);
  const pipe = terminal({ isTTY: false });
  const piped = startProgress('copying', 'rows', { total: 1000, to: pipe.to, now: pipe.now });
  pipe.pass(60_000);
  piped.add(1);
  piped[Symbol.dispose]();
  assert.deepEqual(pipe.written, []);
});

test('a terminal that does not tell its width is taken for one of 80 columns', () => {
  const { to, written, now, pass } = terminal({ columns: 0 });
  const progress = startProgress('x'.repeat(200), 'rows', { total: 1000, to, now });
  pass(1000);
  progress.add(500);
  const line = written[0]!.slice(1, -3);
  assert.ok(widthOf(line) > 60 && widthOf(line) < 80, line);
});
