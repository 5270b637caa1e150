// What is written is what a tsvector is in its binary form, whatever letters there are.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import type { QueriedEvent } from '../../../query/queried-event.ts';
import { shownEvent } from '../../../query/testing/shown-event.ts';
import { documentOf } from '../../event-index/document.ts';
import { ViewTerms } from '../../event-index/terms.ts';
import { TermVectors } from './term-vector.ts';

const terms = new ViewTerms(5, new Uint8Array(32));

/** The places of each lexeme. */
type Vector = ReadonlyMap<string, readonly number[]>;

function vectorsOf(...events: readonly QueriedEvent[]): { vectors: Vector[]; areLarge: boolean[] } {
  const written = new TermVectors();
  const areLarge = events.map((event) => written.add(documentOf(event, terms), terms.prefix));
  return { vectors: vectorsIn(Buffer.from(written.take())), areLarge };
}

/** Throws unless the bytes are an array of tsvectors and nothing else. */
function vectorsIn(bytes: Buffer): Vector[] {
  let at = 0;
  const int16 = () => bytes.readInt16BE((at += 2) - 2);
  const int32 = () => bytes.readInt32BE((at += 4) - 4);
  assert.deepEqual([int32(), int32(), int32()], [1, 0, 3614]);
  const count = int32();
  assert.equal(int32(), 1);
  const vectors = Array.from({ length: count }, () => {
    const end = int32() + at;
    const lexemes = Array.from({ length: int32() }, (): [string, number[]] => {
      const lexeme = bytes.toString('utf8', at, bytes.indexOf(0, at));
      at = bytes.indexOf(0, at) + 1;
      return [lexeme, Array.from({ length: int16() }, int16)];
    });
    assert.equal(at, end);
    const vector = new Map(lexemes);
    assert.equal(vector.size, lexemes.length, 'a lexeme is there twice');
    return vector;
  });
  assert.equal(at, bytes.length);
  return vectors;
}

test('every term is there once, whatever letters it has, and in its column', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'grapheme', minLength: 1 }), { minLength: 1 }), (texts) => {
      const events = texts.map((text) => {
        const resource = { resourceType: text, resourceId: text, resourceName: text };
        return shownEvent({ resource, context: { [text]: text }, payload: {} });
      });
      const { vectors } = vectorsOf(...events);
      for (const [i, event] of events.entries()) {
        const { facets, facts, content } = documentOf(event, terms);
        const expected = Object.entries({ f: facets, w: facts, i: content }).flatMap(([letter, text]) =>
          text
            .split(' ')
            .filter((term) => term !== '' && term !== '_')
            .map((term) => letter + term),
        );
        assert.deepEqual(new Set(vectors[i]!.keys()), new Set(expected));
      }
    }),
  );
});

test('words have places, which go on through gaps and columns; what is asked for as a whole has none', () => {
  const event = shownEvent({
    resource: { resourceType: 'Invoice', resourceId: 'INV-1', resourceName: 'ana for ana' },
    context: {},
    payload: { note: 'refund for ana', amount: 7 },
  });
  const { vectors, areLarge } = vectorsOf(event);
  assert.deepEqual(areLarge, [false]);
  const placesOf = (lexeme: string) => vectors[0]!.get(lexeme)!;
  const [refund] = placesOf('i5_refund');
  assert.deepEqual(['i5_for', 'i5_ana'].map(placesOf), [[refund! + 1], [refund! + 2]]);
  const [first, last] = placesOf('f5__f_ana');
  assert.deepEqual([placesOf('f5__f_for'), last], [[first! + 1], first! + 2]);
  assert.deepEqual(['f5__y_invoice', 'f5__0f', 'i5__ppayload__amount', 'f5__x'].map(placesOf), [
    [],
    [],
    [],
    [],
  ]);
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
  const { vectors, areLarge } = vectorsOf(many, long);
  assert.deepEqual(areLarge, [true, true]);
  for (const vector of vectors) assert.deepEqual([...vector], [['l5_', []]]);
});
