import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { runs } from '../../../evidence/src/testing/size.ts';
import { FRAGMENT_LENGTH, FRAGMENTS_MAX, fragmentsOf, type TextSpan } from './fragments.ts';

const spansOf = (text: string, word: string): TextSpan[] =>
  [...text.matchAll(new RegExp(word, 'gu'))].map(({ index }) => ({ start: index, end: index + word.length }));
const filler = 'lorem ipsum dolor sit amet '.repeat(20).trim();

test('a short text is shown whole', () => {
  const text = 'a refund, and another refund';
  assert.deepEqual(fragmentsOf(text, spansOf(text, 'refund')), ['a «refund», and another «refund»']);
});

test('a long text is cut between words around what was found', () => {
  const text = `${filler} refund ${filler}`;
  assert.deepEqual(fragmentsOf(text, spansOf(text, 'refund')), [
    '… sit amet lorem ipsum dolor sit amet «refund» lorem ipsum dolor sit amet lorem ipsum dolor sit amet lorem ipsum dolor sit …',
  ]);
  const first = `refund ${filler}`;
  assert.match(fragmentsOf(first, spansOf(first, 'refund'))[0]!, /^«refund» lorem .* …$/);
  const last = `${filler} refund`;
  assert.match(fragmentsOf(last, spansOf(last, 'refund'))[0]!, /^… .* «refund»$/);
});

test('a fragment that reaches the end of the text leaves nothing out', () => {
  const text = `head ${'x'.repeat(39)} refund ${'y'.repeat(69)} end`;
  assert.equal(text.length, 'head '.length + FRAGMENT_LENGTH);
  assert.deepEqual(fragmentsOf(text, spansOf(text, 'refund')), [
    `… ${'x'.repeat(39)} «refund» ${'y'.repeat(69)} end`,
  ]);
});

test('where no space is near, the cut falls between any two characters', () => {
  const text = `${'x'.repeat(200)}.refund.${'y'.repeat(200)}`;
  const [fragment] = fragmentsOf(text, spansOf(text, 'refund'));
  assert.equal(fragment, `… ${'x'.repeat(39)}.«refund».${'y'.repeat(73)} …`);
});

test('what is near shares a fragment; what is far has its own, three at most', () => {
  const text = `one two ${filler} one ${filler} two ${filler} one ${filler} one`;
  const fragments = fragmentsOf(text, [...spansOf(text, 'one'), ...spansOf(text, 'two')]);
  assert.equal(fragments.length, FRAGMENTS_MAX);
  assert.match(fragments[0]!, /^«one» «two» lorem/);
  assert.match(fragments[1]!, /^… .*«one».* …$/);
  assert.match(fragments[2]!, /^… .*«two».* …$/);
});

test('something found that is very long is cut, too, and no character is torn', () => {
  const [fragment] = fragmentsOf('𠮷'.repeat(500), [{ start: 0, end: 1000 }]);
  assert.equal(fragment, `«${'𠮷'.repeat(FRAGMENT_LENGTH / 2)}» …`);
  const [odd] = fragmentsOf(`x${'𠮷'.repeat(500)}`, [{ start: 0, end: 1001 }]);
  assert.ok(odd!.isWellFormed());
});

test('fragments are pieces of the text, in order, of bounded length, each with a mark (seed 20260114)', () => {
  const text = fc.string({
    unit: fc.constantFrom('a', 'bc', ' ', '𠮷', 'lorem ipsum'),
    minLength: 1,
    maxLength: 400,
  });
  const spans = fc.array(fc.tuple(fc.nat(), fc.integer({ min: 1, max: 200 })), {
    minLength: 1,
    maxLength: 8,
  });
  fc.assert(
    fc.property(text, spans, (text, drawn) => {
      const border = (at: number) =>
        at > 0 && at < text.length && text.codePointAt(at - 1)! > 0xffff ? at - 1 : at;
      const found = drawn
        .map(([at, length]) => {
          const start = border(at % text.length);
          return { start, end: border(Math.min(text.length, start + Math.max(2, length))) };
        })
        .filter(({ start, end }) => end > start);
      fc.pre(found.length > 0);
      let at = 0;
      const fragments = fragmentsOf(text, found);
      assert.ok(fragments.length >= 1 && fragments.length <= FRAGMENTS_MAX);
      for (const fragment of fragments) {
        const piece = fragment.replace(/^… /, '').replace(/ …$/, '').replaceAll(/[«»]/g, '');
        assert.match(fragment, /«[^«»]+»/u);
        assert.ok(fragment.isWellFormed() && piece.length <= 2 * FRAGMENT_LENGTH);
        const foundAt = text.indexOf(piece, at);
        assert.ok(foundAt >= at, `${piece} stands in the text`);
        at = foundAt + piece.length;
      }
    }),
    { seed: 20_260_114, numRuns: runs(1000) },
  );
});
