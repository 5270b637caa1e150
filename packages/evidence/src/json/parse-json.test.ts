import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { EvidenceError } from '../errors.ts';
import { parseJson } from './parse-json.ts';
import { runs } from '../testing/size.ts';

/** Keys that need escapes, and many that share their beginnings. */
const key = fc.string({ unit: fc.constantFrom('\\', '"', '\n', 'u', '0', 'a', 'é', '\u2028'), maxLength: 4 });
const value = fc.letrec((tie) => ({
  any: fc.oneof(
    { depthSize: 'small' },
    fc.string(),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.constantFrom(true, false, null),
    fc.array(tie('any'), { maxLength: 4 }),
    fc.dictionary(key, tie('any'), { maxKeys: 4, noNullPrototype: true }),
  ),
})).any;

describe('parseJson', () => {
  it('reads escaped keys as they are, independently of what was read before', () => {
    for (const [prime, text, expected] of [
      ['{"a":1,"\\\\":1}', '{"a":1,"\\"":1}', '"'],
      ['{"c":1,"\\\\":1,"z":1}', '{"c":1,"\\n":1,"z":1}', '\n'],
      ['{"amount":1,"gr\\\\u0":2}', '{"amount":1,"gr\\u00f6\\u00dfe":2}', 'größe'],
    ]) {
      JSON.parse(prime!);
      parseJson(prime!);
      assert.equal(Object.keys(parseJson(text!) as object)[1], expected);
    }
  });

  it('gives back what was written, among many texts of the same shapes', () => {
    fc.assert(
      fc.property(fc.array(value, { minLength: 1, maxLength: 5 }), (values) => {
        for (const one of values) {
          const text = JSON.stringify(one);
          assert.equal(JSON.stringify(parseJson(text)), text);
          assert.equal(JSON.stringify(parseJson(JSON.stringify(one, null, 1))), text);
        }
      }),
      { seed: 5, numRuns: runs(4000) },
    );
  });

  it('refuses what is not JSON, and only by EvidenceError', () => {
    const wrong = [
      '',
      '{',
      '{"\\n"}',
      '{"\\n":}',
      '{"\\n":1,}',
      '{"\\n":1}x',
      '{"\\n":1 2}',
      '{"\\n":01}',
      '{"\\x":1}',
      '{"\\n":1',
      '["\\n":1]',
      '{"\\n":tru}',
      '{"\\n":"\n"}',
      '{1:"\\n"}',
      `{"\\n":${'['.repeat(300)}${']'.repeat(300)}}`,
    ];
    for (const text of wrong) assert.throws(() => parseJson(text), EvidenceError, text.slice(0, 20));
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'{}[]",:\\n 01e-tu'), maxLength: 20 }), (text) => {
        let native: unknown;
        try {
          native = JSON.parse(text);
        } catch {
          assert.throws(() => parseJson(text), EvidenceError);
          return;
        }
        assert.equal(typeof parseJson(text), typeof native);
      }),
      { seed: 6, numRuns: runs(8000) },
    );
  });

  it('keeps __proto__ as a key', () => {
    const parsed = parseJson('{"__proto__":{"a":1},"\\n":2}') as object;
    assert.deepEqual(Object.keys(parsed), ['__proto__', '\n']);
    assert.equal(Object.getPrototypeOf(parsed), Object.prototype);
  });

  it('reads a string of ten million characters behind an escaped key', () => {
    const text = 'a'.repeat(10_400_000);
    assert.deepEqual(parseJson(`{"\\u0065vents":["${text}"]}`), { events: [text] });
  });

  it('takes linear time for many backslashes', () => {
    const text = `{"a":"${'\\\\'.repeat(2_000_000)}"}`;
    assert.ok(parseJson(text));
    const keys = `{"\\n":"${'\\n'.repeat(500_000)}"}`;
    assert.ok(parseJson(keys));
  });
});
