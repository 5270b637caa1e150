import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { escaped, TermMemory, ViewTerms } from './terms.ts';

test('what is escaped is one term, tells texts apart, and begins as they do', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'grapheme' }), (a, b) => {
      assert.match(escaped(a), /^[a-z0-9_\u0080-\uffff]*$/);
      assert.equal(escaped(a) === escaped(b), a === b);
      assert.equal(escaped(a + b), escaped(a) + escaped(b));
    }),
  );
});

test('a keyed term is an HMAC under a key of the tenant and the class, and shows nothing else', () => {
  const secret = new Uint8Array(32).fill(7);
  const terms = new ViewTerms(5, secret);
  const key = createHmac('sha256', secret).update('index of Secret').digest();
  const mac = createHmac('sha256', key).update('refund').digest('hex').slice(0, 20);
  assert.equal(terms.keyed('Secret', 'refund'), `5_k${mac}`);
  assert.notEqual(terms.keyed('Confidential', 'refund'), terms.keyed('Secret', 'refund'));
  assert.notEqual(new ViewTerms(5, new Uint8Array(32)).keyed('Secret', 'refund'), `5_k${mac}`);
});

test('what is remembered of all views together has an end', () => {
  const memory = new TermMemory();
  const views = Array.from({ length: 100 }, (_, view) => new ViewTerms(view, new Uint8Array(32), memory));
  const word = 'x'.repeat(1000);
  let made = 0;
  for (; !memory.isFull && made < 200_000; made++) views[made % 100]!.keyed('Secret', `${word}${made}`);
  assert.ok(made > 10_000 && made < 100_000, `${made}`);
});

test('nor can there be ever more views of which little is remembered', () => {
  const memory = new TermMemory();
  const views: ViewTerms[] = [];
  while (!memory.isFull && views.length < 200_000)
    views.push(new ViewTerms(views.length, new Uint8Array(32), memory));
  assert.ok(views.length > 10_000 && views.length < 100_000, `${views.length}`);
});
