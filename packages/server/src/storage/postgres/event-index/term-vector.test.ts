// What is written is what the database reads, whatever letters there are.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { shownEvent } from '../../../query/testing/shown-event.ts';
import { documentOf } from '../../event-index/document.ts';
import { ViewTerms } from '../../event-index/terms.ts';
import { BETWEEN_VECTORS, termVectorOf } from './term-vector.ts';

const terms = new ViewTerms(5, new Uint8Array(32));

test('a letter that is none of ASCII is in quotes, and nothing looks like the end of a vector', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', minLength: 1 }), (text) => {
      const resource = { resourceType: text, resourceId: text, resourceName: text };
      const event = shownEvent({ resource, context: { [text]: text }, payload: {} });
      const vector = termVectorOf(documentOf(event, terms), terms.prefix).text;
      assert.ok(!vector.includes(BETWEEN_VECTORS));
      const rest = vector.replaceAll(/'[^']*'/g, '');
      assert.match(rest, /^[a-z0-9_: ]*$/);
    }),
  );
});

test('places go on through gaps and columns, and the last one is told from the next', () => {
  const event = shownEvent({ context: {}, payload: { note: 'refund for ana' } });
  const { text, isLarge } = termVectorOf(documentOf(event, terms), terms.prefix);
  assert.equal(isLarge, false);
  const placeOf = (word: string) => Number(new RegExp(`i5_${word}:(\\d+) `).exec(text)?.[1]);
  assert.deepEqual([placeOf('for') - placeOf('refund'), placeOf('ana') - placeOf('for')], [1, 1]);
});

test('more places than a vector has, or a word that is too long for it, make a large doc', () => {
  const many = shownEvent({
    context: {},
    payload: Object.fromEntries(Array.from({ length: 9000 }, (_, i) => [`k${i}`, i])),
  });
  const long = shownEvent({
    context: {},
    payload: {},
    actor: { actorType: 'User', userId: '字'.repeat(700) },
  });
  for (const event of [many, long])
    assert.deepEqual(termVectorOf(documentOf(event, terms), terms.prefix), { text: "'l5_'", isLarge: true });
});
