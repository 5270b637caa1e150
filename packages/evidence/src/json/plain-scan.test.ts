import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { utf8 } from '../bytes.ts';
import { canonicalJson } from './canonical-json.ts';
import { parseJson } from './parse-json.ts';
import { isPlainlyCanonical } from './plain-scan.ts';
import { runs } from '../testing/size.ts';

const SEED = 20260104;

/** The work that the scan saves: the text, read and written again. */
function isCanonical(text: string): boolean {
  try {
    return canonicalJson(parseJson(text)) === text;
  } catch {
    return false;
  }
}

function scan(text: string): boolean {
  return isPlainlyCanonical(utf8(text));
}

describe('the quick scan', () => {
  it('says yes to arrays and objects as events have them', () => {
    for (const text of [
      '[]',
      '{}',
      '[{"price":399.95,"quantity":2,"sku":"chair/oak","taxed":true},{"price":-0.5,"sku":null}]',
      '{"":1e+21,"a":[[],{}],"b":false,"ä":"€"}',
      '{"a":1,"ab":2,"b":3,"z":4,"ä":5,"€":6,"\uffff":7}',
      '{"a":1,"a !":2,"a!":"b c"}',
      '[1,2,-3,-0.5,0]',
      '["so many bytes before a number",1e+21,-0.0000012345678901234567]',
    ]) {
      assert.equal(scan(text), true, text);
      assert.equal(isCanonical(text), true, text);
    }
  });

  it('says no to what is no canonical text', () => {
    for (const text of [
      '',
      '[',
      '[1',
      '[1,]',
      '[,1]',
      '[1]]',
      '[1] ',
      '[ 1]',
      '[1.0]',
      '[01]',
      '[-0]',
      '[1e400]',
      '[-]',
      '[0x10]',
      '[Infinity]',
      '[-Infinity]',
      '[nul]',
      '[nulll]',
      '["a]',
      '["\n"]',
      '[fals]',
      '[t]',
      '[-]',
      '[.5]',
      '[1.]',
      '[1..5]',
      '[1/5]',
      '[-0.0]',
      '{"ab":1,"a":2}',
      '{"a!":1,"a":2}',
      '{"ä":1,"z":2}',
      '{"a"}',
      '{"a":1,}',
      '{"b":1,"a":2}',
      '{"a":1,"a":2}',
      '{a:1}',
      '{"a":1,"b"}',
      '{"a" :1}',
    ]) {
      assert.equal(scan(text), false, text);
    }
  });

  it(`says yes to no text that differs from what it means, written again (seed ${SEED})`, () => {
    const pieces = [
      '"',
      '"a"',
      '"b"',
      '[',
      ']',
      '{',
      '}',
      ':',
      ',',
      '0',
      '10',
      '-',
      '.5',
      'e+21',
      'null',
      ' ',
    ];
    const soup = fc.string({ unit: fc.constantFrom(...pieces), maxLength: 12 });
    const canonical = fc.jsonValue({ maxDepth: 4, stringUnit: 'binary' }).map(canonicalJson);
    const broken = fc
      .tuple(canonical, fc.nat(), fc.nat(2), fc.constantFrom(...pieces))
      .map(([text, at, length, piece]) => {
        const place = at % (text.length + 1);
        return text.slice(0, place) + piece + text.slice(place + length);
      });
    let yes = 0;
    fc.assert(
      fc.property(fc.oneof(soup, canonical, broken), (text) => {
        // A surrogate that is alone has no bytes.
        if (!text.isWellFormed() || !scan(text)) return;
        yes++;
        assert.equal(isCanonical(text), true);
      }),
      { seed: SEED, numRuns: runs(20_000) },
    );
    assert.ok(yes > runs(2000), `${yes} times yes`);
  });

  it(`says of a number with few digits what the engine says, by looking at them (seed ${SEED})`, () => {
    const digits = (maxLength: number) => fc.string({ unit: fc.constantFrom(...'0123456789'), maxLength });
    const numbers = fc
      .tuple(fc.constantFrom('', '-'), digits(18), fc.constantFrom('', '.', '.', '.'), digits(18))
      .map((parts) => `[${parts.join('')}]`);
    const small = digits(3).map((end) => `[0.0000${end}]`);
    const counts = { yes: 0, no: 0 };
    fc.assert(
      fc.property(fc.oneof(numbers, small), (text) => {
        const isWritten = isCanonical(text);
        counts[isWritten ? 'yes' : 'no']++;
        assert.equal(scan(text), isWritten, text);
      }),
      { seed: SEED, numRuns: runs(20_000) },
    );
    assert.ok(Math.min(counts.yes, counts.no) > runs(2000), JSON.stringify(counts));
  });

  it('looks into sixteen arrays or objects inside one another, and no deeper', () => {
    const arrays = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
    const objects = (depth: number): string => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;
    for (const nested of [arrays, objects]) {
      assert.equal(scan(nested(16)), true, nested(16));
      assert.equal(scan(nested(17)), false, nested(17));
      assert.equal(isCanonical(nested(17)), true, nested(17));
    }
  });

  it('says no to what needs a closer look, however long it is', () => {
    for (const text of [`[${'1'.repeat(300_000)}]`, `["\\n"]`, '["😀"]', '['.repeat(17) + ']'.repeat(17)]) {
      assert.equal(scan(text), false, text.slice(0, 20));
    }
  });
});
