import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { runs } from '../../../evidence/src/testing/size.ts';
import { processorMs } from '../testing/processor-time.ts';
import { formatQuery } from '../testing/format-query.ts';
import { parseQuery, QUERY_DEPTH_MAX, QUERY_TERMS_MAX } from './query-parser.ts';

const STAR = '* is for the end of a word, or alone for any value of a field';
const STEP = 'a path goes on with .key, ."any key", [0] or [*], not';
const NUL = 'U+0000 stands in no event';
const QUOTES = 'to look for the words, put them in quotes';

test('a text that is no query has a fault at its column', () => {
  const table: [written: string, column: number, issue: string][] = [
    // Signs that lack a term.
    ['OR a', 1, 'there is no term before OR'],
    ['AND a', 1, 'there is no term before AND'],
    ['a OR', 3, 'there is no term after OR'],
    ['a OR OR b', 3, 'there is no term after OR'],
    ['a AND', 3, 'there is no term after AND'],
    ['a AND OR b', 3, 'there is no term after AND'],
    ['a AND AND b', 3, 'there is no term after AND'],
    ['a NOT', 3, 'there is no term after NOT'],
    ['(NOT )', 2, 'there is no term after NOT'],
    ['NOT AND a', 1, 'there is no term after NOT'],
    ['a - b', 3, 'there is no term right after -'],
    ['-', 1, 'there is no term right after -'],
    ['(-)', 2, 'there is no term right after -'],
    // Parentheses and quotes.
    ['a (b', 3, 'this parenthesis is not closed'],
    ['a)', 2, 'this parenthesis was not opened'],
    [')', 1, 'this parenthesis was not opened'],
    ['a ()', 3, 'there is no term after ('],
    ['(a OR )', 4, 'there is no term after OR'],
    ['a "b c', 3, 'this quote is not closed'],
    ['"b \\"', 1, 'this quote is not closed'],
    ['a ""', 3, 'there is nothing between these quotes'],
    ['action:""*', 8, 'there is nothing between these quotes'],
    // Stars.
    ['a *', 3, STAR],
    ['a*b', 2, STAR],
    ['*b', 1, STAR],
    ['b**', 2, STAR],
    ['action:*.Invoice', 8, STAR],
    ['payload.a:>*', 12, STAR],
    // Terms without a word.
    ['a & b', 3, '"&" has no letter or digit to look for'],
    ['"👍"', 1, '"👍" has no letter or digit to look for'],
    ['userName:@', 10, '"@" has no letter or digit to look for'],
    ['payload.a:"-"', 11, '"-" has no letter or digit to look for'],
    // Fields and their values.
    ['a action:', 10, 'there is no value right after "action:"'],
    ['action: x', 8, 'there is no value right after "action:"'],
    ['(action:)', 9, 'there is no value right after "action:"'],
    ['action:()', 8, 'there is no term after ('],
    ['payload.a:> 5', 11, 'there is no value right after >'],
    ['payload.a:>(5)', 11, 'there is no value right after >'],
    ['a outcome:Sucess', 11, '"Sucess" is no outcome; there are Success, Failure, Denied'],
    ['outcome:X*', 9, '"X" is no outcome; there are Success, Failure, Denied'],
    ['actor:>5', 7, 'actor has no >; timestamp, receivedAt and what is below context and payload have'],
    ['payload:>5', 9, '> needs a path, like payload.amount:>5'],
    ['payload.a:>ten', 12, '"ten" is no number, which > needs'],
    ['payload.a:<=1*', 13, '"1*" is no number, which <= needs'],
    ['payload.a:>1e999', 12, '"1e999" is no number, which > needs'],
    ['payload.a:>007', 12, '"007" is no number, which > needs'],
    ['timestamp:yesterday', 11, '"yesterday" is no time; timestamp takes 2026-01-02 or 2026-01-02T03:04:05Z'],
    [
      'receivedAt:>2026-02-30',
      13,
      '"2026-02-30" is no time; receivedAt takes 2026-01-02 or 2026-01-02T03:04:05Z',
    ],
    ['timestamp:2026-01*', 11, '"2026-01*" is no time; timestamp takes 2026-01-02 or 2026-01-02T03:04:05Z'],
    ['action:(a OR outcome:Denied)', 14, `these parentheses hold values of one field; ${QUOTES}`],
    ['payload.a:(payload.b:1)', 12, `these parentheses hold values of one field; ${QUOTES}`],
    ['action:\u200b*', 8, '"\u200b" has no character to look for'],
    // Paths.
    ['payload.:x', 8, `${STEP} "."`],
    ['a payload..b:x', 10, `${STEP} "..b"`],
    ['payload.a[x]:x', 10, `${STEP} "[x]"`],
    ['payload.a[-1]:x', 10, `${STEP} "[-1]"`],
    ['payload.a]:x', 10, `${STEP} "]"`],
    ['payload.*:x', 8, `${STEP} ".*"`],
    ['payload."a b:x', 9, 'this quote is not closed'],
    ['payload."a"b:x', 12, `${STEP} "b"`],
    // Fields that lack their colon.
    ['a payload.amount>1000', 17, `a field has a colon before >; ${QUOTES}`],
    ['action=Delete.Invoice', 7, `a field has a colon instead of =; ${QUOTES}`],
    // What no event has, wherever it stands.
    ['a\0b', 2, NUL],
    ['"a b \0"', 6, NUL],
    ['payload."a\0":x', 11, NUL],
    ['action:a\0* (', 9, NUL],
    ['a OR \0', 6, NUL],
  ];
  for (const [written, column, issue] of table) {
    const fault = { position: column - 1, issue: `column ${column}: ${issue}` };
    assert.deepEqual(parseQuery(written), { fault }, written);
  }
});

test('an unknown field is named, with all that there are', () => {
  const { fault } = parseQuery('refund http://acme.test');
  assert.equal(fault?.position, 7);
  assert.match(
    fault.issue,
    /^column 8: there is no field "http"; there are action, actor, actor\.actorType, /,
  );
  assert.match(fault.issue, /, receivedAt, context\.<path> and payload\.<path>; to look for the words, put/);
  assert.match(parseQuery(`${'x'.repeat(50)}:1`).fault!.issue, /no field "x{40}…";/);
  for (const unknown of ['payloads.a:1', 'actor.name:x', ':x', 'constructor:x', '__proto__:x']) {
    assert.match(parseQuery(unknown).fault?.issue ?? '', /column 1: there is no field/, unknown);
  }
});

test('a query has at most 64 terms, and at most 32 levels of parentheses and negations', () => {
  assert.deepEqual(parseQuery('a '.repeat(QUERY_TERMS_MAX + 1)).fault, {
    position: 128,
    issue: 'column 129: there are more than 64 terms',
  });
  assert.match(parseQuery(`action:(${'a '.repeat(65)})`).fault!.issue, /there are more than 64 terms/);
  const tooDeep = { position: 32, issue: 'column 33: parentheses and negations are over 32 deep' };
  for (const sign of ['(', '-']) {
    assert.deepEqual(parseQuery(`${sign.repeat(QUERY_DEPTH_MAX + 1)}a`).fault, tooDeep);
    // However long the text is, the stack is not.
    assert.deepEqual(parseQuery(sign.repeat(100_000)).fault, tooDeep);
  }
  assert.match(parseQuery('NOT '.repeat(100_000)).fault!.issue, /over 32 deep/);
});

const SIGNS = [
  ' ',
  '(',
  ')',
  '"',
  '-',
  '*',
  ':',
  '.',
  '[',
  ']',
  '\\',
  '>',
  '<=',
  '=',
  'a',
  '0',
  'é',
  '\ud800',
  '東',
];
const PARTS = [
  ' OR ',
  ' AND ',
  'NOT ',
  'action:',
  'payload.',
  'payload."',
  'timestamp:',
  '2026-01-02',
  '[*]',
  '"x"',
];
const signs = fc.constantFrom(...SIGNS, ...PARTS);
const anything = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.array(signs, { maxLength: 30 }).map((parts) => parts.join('')),
);

test('every text is a query or has a fault in it, and a query can be written again (seed 20260110)', () => {
  fc.assert(
    fc.property(anything, (written) => {
      const { query, fault } = parseQuery(written);
      if (fault === undefined) {
        assert.deepEqual(parseQuery(formatQuery(query)), { query });
        return;
      }
      assert.ok(fault.position >= 0 && fault.position <= written.length);
      assert.ok(fault.issue.startsWith(`column ${fault.position + 1}: `));
    }),
    { seed: 20_260_110, numRuns: runs(5000) },
  );
});

test('a long text takes no longer than its length allows', async () => {
  const long = [
    `payload${'."a"'.repeat(50_000)}:x`,
    `payload${'."a"'.repeat(50_000)}`,
    `payload."${'\\"'.repeat(100_000)}`,
    `${'a'.repeat(200_000)}*`,
    `"${'é'.repeat(200_000)}"`,
    ' '.repeat(200_000),
    'x:'.repeat(100_000),
  ];
  const ms = await processorMs(() => long.forEach((written) => parseQuery(written)));
  assert.ok(ms < 5000, `${ms} ms`);
});
