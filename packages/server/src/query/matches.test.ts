import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { runs } from '../../../evidence/src/testing/size.ts';
import { matches } from './matches.ts';
import type { Query } from './query.ts';
import { assertFinds, finds } from './testing/assert-finds.ts';
import { anyEvent, anyQuery } from './testing/any-query.ts';
import { shownEvent, withheldEvent } from './testing/shown-event.ts';

test('words are found in action, actor, resource, context and payload, and nowhere else', () => {
  assertFinds(
    shownEvent(),
    [
      'delete',
      'INVOICE',
      'user',
      'u-1',
      'acme',
      'inv-42',
      'muller',
      'browser',
      '10.0.0.1',
      'refund',
      'true',
      'urgent',
    ],
    // Neither keys, nor other members, nor null.
    [
      'note',
      'ipAddress',
      'Internal',
      'Success',
      '7d3f0c52',
      '01KE0000000000000000000042',
      'key',
      'null',
      '2026-01-02',
    ],
  );
});

test('a number is found by its digits', () => {
  assertFinds(shownEvent(), ['1000.5', '1000', '30'], ['1000.50', '100', '3']);
});

test('a phrase is words side by side in one value, with any separator between them', () => {
  assertFinds(
    shownEvent(),
    ['"asked for"', '"ASKED... for"', '"for a refund"', 'for-a-refund', '"a 1"', '"delete invoice"'],
    ['"for asked"', '"asked refund"', '"urgent finance"', '"refund 1000"', '"invoice user"'],
  );
});

test('a * stands for the rest of a word, the last one of a phrase', () => {
  assertFinds(
    shownEvent(),
    ['refu*', 'refund*', '"asked fo"*', 'INV-4*', 'inv*', 'Delete.*', 'delete.inv*', '100*'],
    ['efund*', 'refunds*', '"ask for"*', 'IN-4*', 'Create.*'],
  );
});

test('empty is everything; AND, OR and NOT are what they say', () => {
  assertFinds(
    shownEvent(),
    [
      '',
      'refund delete',
      'nothing OR refund',
      '-nothing',
      'refund -nothing',
      '-(refund nothing)',
      '--refund',
    ],
    ['refund nothing', 'nothing OR never', '-refund', '-(refund OR nothing)', 'refund -delete'],
  );
  assertFinds(
    shownEvent(),
    ['refund never OR delete', 'delete OR refund never'],
    ['(delete OR refund) never'],
  );
});

test('content of Confidential and Secret events is found by words and phrases, not by beginnings', () => {
  for (const classification of ['Confidential', 'Secret'] as const) {
    assertFinds(
      shownEvent({ classification }),
      [
        'refund',
        '"asked for"',
        'payload.note:refund',
        'payload.amount:>1000',
        'payload.note:*',
        'del*',
        'actor:u*',
      ],
      [
        'refu*',
        'refund*',
        '"asked fo"*',
        'payload.note:refu*',
        'payload:refu*',
        'payload.amount:100*',
        'context:bro*',
      ],
    );
    assertFinds(shownEvent({ classification }), ['-refu*', 'refund.*'], []);
  }
  for (const classification of ['Public', 'Internal'] as const) {
    assertFinds(shownEvent({ classification }), ['refu*', 'payload.note:refu*'], []);
  }
});

test('what is withheld from the reader matches nothing, so its absence does', () => {
  assertFinds(
    withheldEvent(),
    [
      'delete',
      '-refund',
      '-payload.note:refund',
      '-payload:*',
      '-context:*',
      '-payload.amount:>1',
      'classification:Confidential',
    ],
    ['refund', 'payload.note:refund', 'payload:*', 'context:*', 'payload.amount:>1', 'payload.amount:<=1'],
  );
});

test('what is redacted matches nothing, not even the words that stand in its place', () => {
  const event = shownEvent({
    actor: { actorType: 'User', userId: '[REDACTED]', userName: '[REDACTED]' },
    payload: { iban: '[REDACTED]', note: 'paid' },
    redaction: { fields: ['actor.userId', 'actor.userName', 'payload.iban'], reason: 'AccessPolicy' },
  });
  assertFinds(
    event,
    ['paid', '-redacted', '-payload.iban:*', '-actor:*', 'payload.note:*'],
    ['redacted', 'payload.iban:redacted', 'userId:"[REDACTED]"', 'userId:*', 'userName:redacted'],
  );
});

const and = (...of: Query[]): Query => ({ kind: 'And', of });
const or = (...of: Query[]): Query => ({ kind: 'Or', of });
const not = (of: Query): Query => ({ kind: 'Not', of });

test('AND finds no more and OR no less than each side; NOT turns one into the other (seed 20260111)', () => {
  fc.assert(
    fc.property(anyQuery, anyQuery, anyEvent, (left, right, event) => {
      const found = (query: Query) => matches(query, event);
      assert.equal(found(and(left, right)), found(left) && found(right));
      assert.equal(found(or(left, right)), found(left) || found(right));
      assert.equal(found(not(and(left, right))), found(or(not(left), not(right))));
      assert.equal(found(not(or(left, right))), found(and(not(left), not(right))));
      assert.equal(found(not(not(left))), found(left));
    }),
    { seed: 20_260_111, numRuns: 500 },
  );
});

test('a longer phrase finds no more, and a beginning no less (seed 20260112)', () => {
  const words = fc.array(fc.constantFrom('a', 'b', 'ab', 'ba'), { minLength: 1, maxLength: 6 });
  const event = words.map((note) => shownEvent({ payload: { note: note.join(' ') } }));
  fc.assert(
    fc.property(words, event, ([first, ...rest], event) => {
      const phrase = [first, ...rest].join(' ');
      if (finds(`"${phrase}"`, event)) assert.ok(finds(`"${phrase}"*`, event) && finds(first!, event));
      if (finds(`"${phrase}"*`, event)) assert.ok(finds(rest.length > 0 ? first! : `${first}*`, event));
    }),
    { seed: 20_260_112, numRuns: runs(1000) },
  );
});
