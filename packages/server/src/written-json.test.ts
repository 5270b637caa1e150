import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { runs } from '../../evidence/src/testing/size.ts';
import { asWritten, writeJson } from './written-json.ts';

const SEED = 20_261_117;
/** The mark, spelt by a sender who knows it: as it stands, escaped, and with quotes and backslashes around it. */
const MARKS = [
  '"\\u0041"',
  '\\u0041',
  '"\\\\u0041"',
  '\\"\\u0041\\"',
  'A',
  '"A"',
  '\ud800"\\u0041"',
  '\u0000',
];
const spelt = fc
  .array(fc.constantFrom(...MARKS, '"', '\\', 'u0041'), { maxLength: 6 })
  .map((parts) => parts.join(''));
const anyKey = fc.oneof(spelt, fc.string());
const anyValue = fc.oneof(
  spelt,
  fc.string({ unit: 'binary' }),
  fc.jsonValue({ maxDepth: 2 }),
  fc.constant(undefined),
);
const anyObject = fc.dictionary(anyKey, fc.oneof(spelt, fc.jsonValue({ maxDepth: 2 })));

test('an object is written as its text, at any place and with anything around it', () => {
  const member = fc.oneof(
    anyObject.map((value) => ({ written: asWritten(JSON.stringify(value)), plain: value })),
    anyValue.map((value) => ({ written: value, plain: value })),
  );
  fc.assert(
    fc.property(fc.array(fc.dictionary(anyKey, member, { noNullPrototype: true })), (events) => {
      const as = (form: 'written' | 'plain') => ({
        data: events.map((event) =>
          Object.fromEntries(Object.entries(event).map(([key, each]) => [key, each[form]])),
        ),
        links: {},
      });
      assert.equal(writeJson(as('written')), JSON.stringify(as('plain')));
    }),
    { seed: SEED, numRuns: runs(1000) },
  );
});

test('its text is not touched: spelling and order of keys stay as they are', () => {
  const text = '{"10":1e2,"9":"\\u0041","":[ ]}';
  assert.equal(writeJson(asWritten(text)), text);
  assert.equal(writeJson([asWritten(text), 'A', { a: asWritten(text) }]), `[${text},"A",{"a":${text}}]`);
});

test('for any other code that stringifies it, it has its usual members', () => {
  assert.equal(JSON.stringify({ a: asWritten('{"b":[1e2]}') }), '{"a":{"b":[100]}}');
});

test('one that could not be written leaves nothing behind for the next', () => {
  const fails = { first: asWritten('{}'), second: 1n };
  assert.throws(() => writeJson(fails), TypeError);
  assert.equal(writeJson({ a: asWritten('{"b":1}') }), '{"a":{"b":1}}');
  assert.equal(JSON.stringify(asWritten('{"b":1}')), '{"b":1}');
});
