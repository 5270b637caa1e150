import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Action, asJson, EventId, isDateTime, PATTERN_OF_FORMAT } from '@tallystick/contract';
import * as fc from 'fast-check';
import { runs } from '../../../evidence/src/testing/size.ts';
import { bytePattern } from './byte-pattern.ts';

const PATTERNS = [
  asJson(Action).pattern!,
  asJson(EventId).pattern!,
  ...Object.values(PATTERN_OF_FORMAT).map(String),
  '^a*(?:b|cd?)+$',
  '^(a|ab)(c|bcd)?x{0,2}$',
  '^$',
];

test('says what the engine says of texts without escapes, near a match and far from it', () => {
  for (const pattern of PATTERNS) {
    const matches = bytePattern(pattern);
    const expected = new RegExp(pattern, 'u');
    const near = fc
      .tuple(fc.stringMatching(expected), fc.nat(), fc.string({ unit: 'grapheme-ascii', maxLength: 2 }))
      .map(
        ([text, at, odd]) => text.slice(0, at % (text.length + 1)) + odd + text.slice(at % (text.length + 1)),
      );
    const texts = fc.oneof(fc.stringMatching(expected), near, fc.string({ unit: 'grapheme-ascii' }));
    fc.assert(
      fc.property(texts, (text) => {
        const bytes = Buffer.from(`"${text}"`);
        const isEscaped = /["\\]/.test(text);
        assert.equal(
          matches(bytes, 1, bytes.length - 1),
          !isEscaped && expected.test(text),
          `${pattern} ${text}`,
        );
      }),
      { numRuns: 300, seed: 20260117 },
    );
  }
});

test('no character past ASCII matches any pattern: it is left undecided', () => {
  assert.equal(bytePattern('^[^x]+$')(Buffer.from('é'), 0, 2), false);
});

test('refuses a pattern that it cannot take apart', () => {
  for (const pattern of ['a$', '^a', '^a.b$', '^(?=a)b$', '^\\w$', '^(a$', '^a)$', '^a{2$', '^a{300}$'])
    assert.throws(() => bytePattern(pattern), /no table can be made/, pattern);
});

test('what the pattern of date-times matches is one', () => {
  fc.assert(
    fc.property(fc.stringMatching(new RegExp(PATTERN_OF_FORMAT['date-time']!)), (text) => isDateTime(text)),
    { numRuns: runs(1000), seed: 20260117 },
  );
});
