import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { runs } from '../../../evidence/src/testing/size.ts';
import { foldText } from './fold.ts';
import { eachToken, phraseOf, TOKEN_BYTES_MAX, tokensOf } from './tokens.ts';

const anyText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 60 }),
  fc.string({ unit: fc.constantFrom(...'aB9.é-½ﬁß東京タ한\u1112\u1161\u11ab\u0301ไทย '), maxLength: 60 }),
);
const placesIn = (text: string) => {
  const places: [token: string, start: number, end: number][] = [];
  eachToken(text, (token, start, end) => places.push([token, start, end]) > 0);
  return places;
};

test('a text is cut into its words', () => {
  const table: [text: string, tokens: string[]][] = [
    ['', []],
    [' .,-_! ', []],
    ['Delete.Invoice', ['delete', 'invoice']],
    ['ana@acme.test', ['ana', 'acme', 'test']],
    ['INV-42_b/c', ['inv', '42', 'b', 'c']],
    ["don't", ['don', 't']],
    ['1,000.50', ['1', '000', '50']],
    ['Größe: ½ m²', ['grosse', '1', '2', 'm2']],
    ['cafe\u0301s', ['cafes']],
    ['a–b «c» d…e', ['a', 'b', 'c', 'd', 'e']],
    ['ad\u200bmin', ['admin']],
    ['a\u007fb', ['a', 'b']],
    ['a\u0080b', ['a', 'b']],
    ['a\u00a0b', ['a', 'b']],
    // Devanagari: marks are part of the word, although they do not count.
    ['हिन्दी', ['हनद']],
    ['👍 ok', ['ok']],
  ];
  for (const [text, tokens] of table) assert.deepEqual(tokensOf(text), tokens, text);
});

test('scripts without spaces between words are cut into pairs of characters', () => {
  const table: [text: string, tokens: string[]][] = [
    ['東京都', ['東京', '京都']],
    ['都', ['都']],
    ['東京。大阪', ['東京', '大阪']],
    ['東京2024年', ['東京', '2024', '年']],
    ['ACME株式会社', ['acme', '株式', '式会', '会社']],
    ['タワー', ['タワ', 'ワー']],
    ['ﾀﾜｰ', ['タワ', 'ワー']],
    ['𠮷野家', ['𠮷野', '野家']],
    ['한국어', ['한국', '국어']],
    ['한국어'.normalize('NFD'), ['한국', '국어']],
    ['ไทย', ['ไท', 'ทย']],
  ];
  for (const [text, tokens] of table) assert.deepEqual(tokensOf(text), tokens, text);
});

test('a word is cut after 64 bytes, at the border of a character', () => {
  assert.deepEqual(tokensOf('f'.repeat(64)), ['f'.repeat(64)]);
  assert.deepEqual(tokensOf('F'.repeat(65)), ['f'.repeat(64)]);
  assert.deepEqual(tokensOf(`a${'д'.repeat(40)}`), [`a${'д'.repeat(31)}`]);
  assert.deepEqual(tokensOf(`abc${'𐐨'.repeat(20)}`), [`abc${'𐐨'.repeat(15)}`]);
});

test('the visitor can end the visit, wherever the token stands', () => {
  for (const text of ['a b c', 'ä b c', 'äb–c', '東京都の']) {
    const seen: string[] = [];
    assert.equal(
      eachToken(text, (token) => seen.push(token) < 2),
      false,
    );
    assert.equal(seen.length, 2, text);
  }
  assert.equal(
    eachToken('a b', () => true),
    true,
  );
});

test('tokens have their places in the text as it is', () => {
  assert.deepEqual(placesIn('An INV-42, cafe\u0301!'), [
    ['an', 0, 2],
    ['inv', 3, 6],
    ['42', 7, 9],
    ['cafe', 11, 16],
  ]);
  assert.deepEqual(placesIn('𠮷野家'), [
    ['𠮷野', 0, 3],
    ['野家', 2, 4],
  ]);
  assert.deepEqual(placesIn(`x ${'y'.repeat(70)}`)[1], ['y'.repeat(64), 2, 72]);
});

test('words are the runs of letters and digits of the folded text (seed 20260105)', () => {
  const spaced = fc.string({ unit: fc.constantFrom(...'aZ7.é-½ﬁßŁ\u0301\u200bжΣ ǆ…'), maxLength: 30 });
  fc.assert(
    fc.property(spaced, (text) =>
      assert.deepEqual(tokensOf(text), foldText(text).match(/[\p{L}\p{N}]+/gu) ?? []),
    ),
    { seed: 20_260_105, numRuns: runs(2000) },
  );
});

test('the composed and the decomposed form of a text have the same tokens (seed 20260106)', () => {
  fc.assert(
    fc.property(anyText, (text) =>
      assert.deepEqual(tokensOf(text.normalize('NFC')), tokensOf(text.normalize('NFD'))),
    ),
    { seed: 20_260_106, numRuns: runs(2000) },
  );
});

test('a token is never empty or over its limit, and is its own only token (seed 20260107)', () => {
  fc.assert(
    fc.property(anyText, (text) => {
      const tokens = tokensOf(text);
      assert.deepEqual(tokensOf(tokens.join(' ')), tokens);
      for (const token of tokens) {
        assert.deepEqual(tokensOf(token), [token]);
        assert.ok(Buffer.byteLength(token) <= TOKEN_BYTES_MAX);
      }
    }),
    { seed: 20_260_107, numRuns: runs(2000) },
  );
});

test('places are in order and point at text that has the token (seed 20260108)', () => {
  fc.assert(
    fc.property(anyText, (text) => {
      let last = 0;
      for (const [token, start, end] of placesIn(text)) {
        assert.ok(start >= last && end > start && end <= text.length);
        assert.ok(tokensOf(text.slice(start, end)).includes(token));
        last = start;
      }
    }),
    { seed: 20_260_108, numRuns: runs(2000) },
  );
});

test('a * behind a word that has already ended adds nothing', () => {
  assert.deepEqual(phraseOf('INV-4', true), { words: ['inv', '4'], prefix: true });
  assert.deepEqual(phraseOf('Delete.', true), { words: ['delete'], prefix: false });
  assert.deepEqual(phraseOf('cafe\u0301', true), { words: ['cafe'], prefix: true });
  assert.deepEqual(phraseOf('Delete', false), { words: ['delete'], prefix: false });
});
