import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { utf8 } from '../bytes.ts';
import { endOfValue, NO_END } from './end-of-value.ts';
import { runs } from '../testing/size.ts';

const SEED = 20_261_117;
const isValue = (text: string) => endOfValue(utf8(text), 0) === utf8(text).length;

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

test('a value ends where its text does, with anything behind it', () => {
  const value = fc.jsonValue({ maxDepth: 4, stringUnit: 'binary' });
  fc.assert(
    fc.property(value, fc.constantFrom('', ',', '}', ']', ' '), (one, behind) => {
      const text = JSON.stringify(one);
      assert.equal(endOfValue(utf8(`[${text}${behind}`), 1), utf8(text).length + 1, text);
    }),
    { seed: SEED, numRuns: runs(2000) },
  );
});

test('a text without white space is a value exactly if JSON.parse takes it', () => {
  const piece = fc.constantFrom(
    ...'[]{},:"\\-+.01eE9u/nax\u0001é',
    'true',
    'null',
    '"a"',
    '{"a":',
    '\\u00e9',
    '[]',
  );
  let taken = 0;
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
      const text = pieces.join('');
      taken += parses(text) ? 1 : 0;
      assert.equal(isValue(text), parses(text), text);
    }),
    { seed: SEED, numRuns: runs(50_000) },
  );
  assert.ok(taken > runs(1000), `${taken} texts were JSON`);
});

test('a changed text is a value exactly if JSON.parse takes it', () => {
  const change = fc.tuple(fc.nat(), fc.constantFrom(...'[]{},:"\\-.0eux'));
  fc.assert(
    fc.property(
      fc.jsonValue({ maxDepth: 3 }),
      fc.array(change, { minLength: 1, maxLength: 2 }),
      (one, changes) => {
        const characters = JSON.stringify(one).split('');
        for (const [place, character] of changes) characters[place % characters.length] = character;
        const text = characters.join('');
        assert.equal(isValue(text), parses(text), text);
      },
    ),
    { seed: SEED, numRuns: runs(10_000) },
  );
});

test('64 containers may stand inside one another, and no more', () => {
  for (const [open, close] of [
    ['[', ']'],
    ['{"a":', '}'],
  ] as const) {
    const nested = (levels: number) => `${open.repeat(levels)}0${close.repeat(levels)}`;
    assert.ok(isValue(nested(64)));
    assert.equal(endOfValue(utf8(nested(65)), 0), NO_END);
  }
  assert.equal(endOfValue(utf8(`${'['.repeat(65)}${']'.repeat(65)}`), 0), NO_END);
});
