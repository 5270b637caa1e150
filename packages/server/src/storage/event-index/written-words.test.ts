import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import type { QueriedEvent } from '../../query/queried-event.ts';
import { tokensOf } from '../../query/tokens.ts';
import { TermText } from './term-text.ts';
import { GAP, ViewTerms } from './terms.ts';
import { writeWithin, writeWords, type WrittenTexts } from './written-words.ts';

const SEED = 20261116;
const anyText = fc.oneof(
  fc.string(),
  fc.string({ unit: 'grapheme' }),
  fc.constantFrom('Refund of R-42', 'x'.repeat(200), '東京都', 'Straße 5', 'a\u0301b', 'İstanbul', ''),
);

test('the words of a text in ASCII are those that any text is cut into', () => {
  const written = new TermText();
  fc.assert(
    fc.property(anyText, (text) => {
      const words = written.addWords('3f_', text);
      const isAscii = [...text].every((character) => character < '\u0080');
      assert.equal(words !== undefined, isAscii);
      const tokens = isAscii ? tokensOf(text) : [];
      assert.equal(words ?? 0, tokens.length);
      assert.equal(written.take(), tokens.map((token) => `3f_${token}`).join(' '));
    }),
    { seed: SEED, numRuns: 2000 },
  );
});

test('what is added to a text is in it, with one space between, however long it is', () => {
  const written = new TermText();
  fc.assert(
    fc.property(fc.array(fc.tuple(anyText, fc.nat(3000))), (terms) => {
      const texts = terms.map(([term, times]) => `${term}_`.repeat(1 + (times % 50)));
      for (const [i, text] of texts.entries()) {
        if (i % 2 === 0) written.add(text);
        else written.addBehind('3f_', text);
      }
      const expected = texts.map((text, i) => (i % 2 === 0 ? text : `3f_${text}`));
      assert.equal(written.take(), expected.join(' '));
      assert.equal(written.take(), '');
    }),
    { seed: SEED, numRuns: 300 },
  );
});

/** What is written: there is a gap between two values, or there are some, which is the same. */
function written(write: typeof writeWords, event: QueriedEvent): Record<string, string[]> {
  const texts: WrittenTexts = { facets: new TermText(), facts: new TermText(), content: new TermText() };
  write(event, new ViewTerms(5, new Uint8Array(32)), texts);
  return Object.fromEntries(
    Object.entries(texts).map(([name, text]) => [
      name,
      withoutIdleGaps((text as TermText).take().split(' ')),
    ]),
  );
}

function withoutIdleGaps(terms: readonly string[]): string[] {
  const last = terms.findLastIndex((term) => term !== GAP);
  return terms.filter((term, i) => i <= last && (term !== GAP || (i > 0 && terms[i - 1] !== GAP)));
}

test('an event of few words is written as one is whose limits are looked at', () => {
  const event = fc.record({
    kind: fc.constantFrom('Event' as const, 'Notice' as const),
    classification: fc.constantFrom('Public' as const, 'Internal' as const, 'Confidential' as const),
    action: anyText,
    actor: fc.record({ actorType: anyText, userId: anyText, userName: anyText }),
    resource: fc.record({ resourceType: anyText, resourceName: anyText }, { requiredKeys: [] }),
    context: fc.dictionary(anyText, anyText),
    payload: fc.option(fc.dictionary(anyText, fc.jsonValue()), { nil: undefined }),
  });
  fc.assert(
    fc.property(event, (each) => {
      const queried = each as unknown as QueriedEvent;
      assert.deepEqual(written(writeWords, queried), written(writeWithin, queried));
    }),
    { seed: SEED, numRuns: 1000 },
  );
});

test('an event of many words is written within the limits', () => {
  const payload = { note: 'again '.repeat(300), other: 'last' };
  const event = { kind: 'Event', classification: 'Internal', action: 'A', actor: {}, resource: {}, payload };
  const { content } = written(writeWords, event as unknown as QueriedEvent);
  assert.equal(content!.filter((term) => term === '5_again').length, 255);
  assert.ok(content!.includes('5_last'));
});
