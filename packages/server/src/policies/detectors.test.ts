import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Detector, DETECTORS } from '@tallystick/contract';
import { processorMs } from '../testing/processor-time.ts';
import { detectedPaths, detects } from './detectors.ts';
import { DETECTOR_EXAMPLES } from './testing/detector-examples.ts';

for (const detector of DETECTORS) {
  test(`${detector} finds what looks like one, and nothing else`, () => {
    const { found, not } = DETECTOR_EXAMPLES[detector];
    for (const value of found) assert.ok(detects(detector, value), `misses ${value}`);
    for (const value of not) assert.ok(!detects(detector, value), `finds ${value}`);
  });
}

test('a number with check digits is not found when one of its digits is another', () => {
  const checked: [detector: Detector, numbers: string[]][] = [
    ['CardNumber', ['4111111111111111', '378282246310005']],
    ['Iban', ['DE89370400440532013000', 'NO9386011117947']],
    ['NationalId', ['184127645108946', '12345678Z', '529.982.247-25', '811218-9876', '111222333']],
  ];
  for (const [detector, numbers] of checked)
    for (const number of numbers)
      for (const [i, digit] of [...number].entries())
        for (const other of /\d/.test(digit) ? '0123456789'.replace(digit, '') : '') {
          const altered = number.slice(0, i) + other + number.slice(i + 1);
          assert.ok(!detects(detector, altered), altered);
        }
});

test('few of the numbers that are none are taken for one', () => {
  // Times in milliseconds, amounts, counters: at most as many as one check digit lets through.
  const taken = (detector: Detector, first: number, step: number) =>
    Array.from({ length: 2000 }, (_, i) => first + i * step).filter((each) => detects(detector, each)).length;
  assert.equal(taken('CardNumber', 1_760_000_000_000, 977), 0);
  assert.equal(taken('NationalId', 100_000_000, 977), 0);
  assert.equal(taken('NationalId', 1_760_000_000, 977), 0);
  assert.ok(taken('NationalId', 10_000_000_000, 9_777_777) < 100);
});

test('paths are told of all that is there, keys in quotes where they must be, and no more than asked for', () => {
  const value = {
    a: ['ana@acme.test', { 'b c': 'x eva@acme.test' }],
    d: null,
    e: 5,
    f: 'none',
    g: 'ana@acme.test',
  };
  const paths = ['payload.a[0]', 'payload.a[1]."b c"', 'payload.g'];
  assert.deepEqual(detectedPaths('EmailAddress', value, ['payload'], 10), paths);
  assert.deepEqual(detectedPaths('EmailAddress', value, ['payload'], 2), paths.slice(0, 2));
  assert.deepEqual(detectedPaths('EmailAddress', 'ana@acme.test', ['context', 'x', 3], 2), ['context.x[3]']);
  assert.deepEqual(detectedPaths('Iban', value, ['payload'], 10), []);
  assert.ok(detects('EmailAddress', value));
  assert.ok(!detects('Iban', value));
  for (const nothing of [undefined, null, true, {}, []]) assert.ok(!detects('EmailAddress', nothing));
});

/** Beginnings of what is looked for, repeated without an end, and long runs of what it is made of. */
const PIECES = [
  ...'aA1@.-:/ +_=é',
  'a@',
  'a.',
  '.@',
  '@a.',
  'a@a.',
  'a@a.aa@',
  '1 ',
  '1-',
  '1111 ',
  '4111 1111 1111 111',
  '411111111111111 ',
  'DE89',
  'DE89 ',
  'DE89 3704 ',
  'de',
  '1.',
  '1.1.1.',
  '1.1.1.1.',
  '::',
  '1:',
  'a:a',
  ':a.',
  'a::b1',
  'AB12',
  'AB 12 34 56 ',
  '123-45-',
  '12 345 678 90 ',
  'RSSMRA',
  'X123456',
  '811218-',
  'bsn',
  'bsn 12345678 ',
  'eyJ',
  'eyJ.',
  `${'eyJ'.repeat(6)}.`,
  '-----BEGIN ',
  '-----BEGIN A ',
  'Bearer ',
  'Bearer a',
  'bearer=',
  '://a:',
  '://a:b',
  'sk-',
  'sk-a',
  'whsec_',
  'SG.',
  'AKIA',
  'xoxb-',
  'aaaaaaaaaaaaaaa ',
  'hooks.slack.com/services/',
  '\ud83d',
];

test('the time for a text is linear in its length, whatever it is', async () => {
  const BYTES = 64 * 1024;
  // If the time were quadratic, one text would take many seconds.
  for (const detector of DETECTORS) {
    let slowest = 0;
    for (const piece of PIECES) {
      const text = piece.repeat(Math.ceil(BYTES / piece.length)).slice(0, BYTES);
      for (const each of [text, `x${text}:@`])
        slowest = Math.max(slowest, await processorMs(() => detects(detector, each)));
    }
    assert.ok(slowest < 500, `${detector} takes ${slowest} ms`);
  }
});
