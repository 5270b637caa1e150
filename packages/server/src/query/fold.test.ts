import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { runs } from '../../../evidence/src/testing/size.ts';
import { foldText } from './fold.ts';
import { tokensOf } from './tokens.ts';

const anyText = fc.string({ unit: 'binary', maxLength: 40 });

test('what people take for the same letters folds to the same text', () => {
  const table: [text: string, folded: string][] = [
    ['Delete.Invoice', 'delete.invoice'],
    ['Müller', 'muller'],
    ['CAFÉ', 'cafe'],
    ['Straße STRASSE', 'strasse strasse'],
    ['GROẞ', 'gross'],
    ['Łódź', 'lodz'],
    ['Ærø', 'aero'],
    ['Œuvre', 'oeuvre'],
    ['Þór', 'thor'],
    ['Đoković', 'dokovic'],
    // The last sigma of a word is written otherwise; all four forms of the Turkish i are one.
    ['ΟΔΥΣΣΕΥΣ οδυσσεύς', 'οδυσσευσ οδυσσευσ'],
    ['IİıI', 'iiii'],
    // Compatibility forms: full width, ligature, superscript, mathematical.
    ['Ｉｎｖ ﬁ ² 𝐀', 'inv fi 2 a'],
    ['Ёлка', 'елка'],
    ['שָׁלוֹם', 'שלום'],
    // A soft hyphen and a zero-width space are not seen, so they hide nothing.
    ['con\u00adtract ad\u200bmin', 'contract admin'],
    ['\u1112\u1161\u11ab', '한'],
    ['', ''],
  ];
  for (const [text, folded] of table) assert.equal(foldText(text), folded);
});

test('every character folds once and for all, composed or not, and its token is its own', () => {
  const wrong: string[] = [];
  for (let point = 0; point < 0x30000; point++) {
    const character = String.fromCodePoint(point);
    const folded = foldText(character);
    const tokens = tokensOf(character).join(' ');
    const isSound =
      foldText(folded) === folded &&
      foldText(character.normalize('NFD')) === folded &&
      tokensOf(folded).join(' ') === tokens &&
      tokensOf(tokens).join(' ') === tokens;
    if (!isSound) wrong.push(point.toString(16));
  }
  assert.deepEqual(wrong, []);
});

test('folding a folded text changes nothing (seed 20260103)', () => {
  fc.assert(
    fc.property(anyText, (text) => assert.equal(foldText(foldText(text)), foldText(text))),
    { seed: 20_260_103, numRuns: runs(2000) },
  );
});

test('the composed and the decomposed form of a text fold alike (seed 20260104)', () => {
  fc.assert(
    fc.property(anyText, (text) =>
      assert.equal(foldText(text.normalize('NFC')), foldText(text.normalize('NFD'))),
    ),
    { seed: 20_260_104, numRuns: runs(2000) },
  );
});
