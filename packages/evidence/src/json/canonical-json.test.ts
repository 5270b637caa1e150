// Canonical JSON by example and by property: the form, what has none, and who may claim to have it.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { CANONICAL_DEPTH_MAX, canonicalJson, isCanonicalJson } from './canonical-json.ts';
import { refusal } from '../testing/refusal.ts';
import { runs } from '../testing/size.ts';

const SEED = 8785;

function nested(levels: number): unknown {
  let value: unknown = [];
  for (let level = 1; level < levels; level++) value = level % 2 === 0 ? [value] : { a: value };
  return value;
}

describe('canonicalJson', () => {
  it('sorts keys by UTF-16 code units, at every level', () => {
    const value = { b: 1, a: { ﬀ: 1, '😀': 2, é: 3, '10': 4, '9': 5, A: 6, '': 7 } };
    assert.equal(canonicalJson(value), '{"a":{"":7,"10":4,"9":5,"A":6,"é":3,"😀":2,"ﬀ":1},"b":1}');
  });

  it('sorts the keys of large objects too', () => {
    const keys = Array.from({ length: 100 }, (_, i) => `k${(i * 37) % 100}`);
    const value = Object.fromEntries(keys.map((key) => [key, 0]));
    assert.equal(
      canonicalJson(value),
      `{${keys
        .sort()
        .map((key) => `"${key}":0`)
        .join(',')}}`,
    );
  });

  it('writes numbers as ECMAScript does, and minus zero as zero', () => {
    const numbers: readonly [number, string][] = [
      [0, '0'],
      [-0, '0'],
      [-1, '-1'],
      [1250.5, '1250.5'],
      [1e21, '1e+21'],
      [1e20, '100000000000000000000'],
      [1e-7, '1e-7'],
      [0.000001, '0.000001'],
      [Number.MAX_VALUE, '1.7976931348623157e+308'],
      [Number.MIN_VALUE, '5e-324'],
      [9007199254740991, '9007199254740991'],
    ];
    for (const [number, text] of numbers) assert.equal(canonicalJson(number), text);
  });

  it('escapes what must be escaped, in the shortest way, and nothing else', () => {
    assert.equal(canonicalJson('\b\t\n\f\r"\\/'), '"\\b\\t\\n\\f\\r\\"\\\\/"');
    assert.equal(canonicalJson('\u0000\u000b\u001f\u007f'), '"\\u0000\\u000b\\u001f\u007f"');
    for (let code = 0; code < 0x80; code++) {
      const character = String.fromCharCode(code);
      assert.equal(canonicalJson(character), JSON.stringify(character));
      assert.equal(canonicalJson(character.repeat(100)), JSON.stringify(character.repeat(100)));
    }
    assert.equal(canonicalJson('späť € 😀 \u2028 \ufeff'), '"späť € 😀 \u2028 \ufeff"');
    const long = 'a long text that stands for itself, '.repeat(3);
    assert.equal(canonicalJson(long), `"${long}"`);
    assert.equal(canonicalJson(`${long}\n`), `"${long}\\n"`);
    assert.equal(canonicalJson({ '"': 0 }), '{"\\"":0}');
  });

  it('writes literals and empty containers', () => {
    assert.equal(canonicalJson([null, true, false, {}, [], [[]]]), '[null,true,false,{},[],[[]]]');
  });

  it('takes __proto__ as a key and objects without prototype', () => {
    assert.equal(canonicalJson(JSON.parse('{"__proto__":{"b":1},"a":2}')), '{"__proto__":{"b":1},"a":2}');
    assert.equal(canonicalJson(Object.assign(Object.create(null), { b: 1, a: 2 })), '{"a":2,"b":1}');
  });

  it('looks at own enumerable string keys only', () => {
    const value = Object.defineProperty({ a: 1, [Symbol('s')]: 2 }, 'hidden', { value: 3 });
    assert.equal(canonicalJson(value), '{"a":1}');
  });

  const refused: readonly [name: string, value: unknown][] = [
    ['NaN', Number.NaN],
    ['Infinity', -Infinity],
    ['a lone high surrogate', 'a\ud800'],
    ['a lone low surrogate', '\udc00a'],
    ['a lone surrogate in a long string', `${'x'.repeat(100)}\ud800`],
    ['a lone surrogate in a key', { '\ud800': 1 }],
    ['undefined', undefined],
    ['undefined in an object', { a: undefined }],
    ['a hole in an array', Array(1)],
    ['a function', () => 1],
    ['a symbol', Symbol('s')],
    ['a bigint', 1n],
    ['a Date', new Date(0)],
    ['a Map', new Map()],
    ['a boxed string', Object('a')],
    ['bytes', Uint8Array.of(1)],
    [
      'an instance of a class',
      new (class Point {
        readonly x = 1;
      })(),
    ],
    [
      'an accessor that throws',
      Object.defineProperty({}, 'a', { enumerable: true, get: () => assert.fail() }),
    ],
    ['a revoked proxy', revokedProxy()],
  ];
  for (const [name, value] of refused) {
    it(`refuses ${name}`, () => {
      assert.throws(() => canonicalJson(value), refusal('MALFORMED'));
      assert.throws(() => canonicalJson({ inside: [value] }), refusal('MALFORMED'));
    });
  }

  it('never calls toJSON', () => {
    assert.throws(() => canonicalJson({ toJSON: () => 'other' }), refusal('MALFORMED'));
    assert.equal(canonicalJson({ toJSON: 1 }), '{"toJSON":1}');
  });

  it(`takes ${CANONICAL_DEPTH_MAX} levels and refuses one more, a cycle and a bomb`, () => {
    assert.equal(isCanonicalJson(canonicalJson(nested(CANONICAL_DEPTH_MAX))), true);
    const cycle: unknown[] = [];
    cycle.push(cycle);
    for (const value of [nested(CANONICAL_DEPTH_MAX + 1), cycle, nested(100_000)]) {
      assert.throws(() => canonicalJson(value), refusal('MALFORMED'));
    }
  });
});

describe('isCanonicalJson', () => {
  const canonical = [
    '""',
    '"a"',
    '"😀"',
    '"\\n"',
    '"\\u0000"',
    '0',
    '-1',
    '1250.5',
    '1e+21',
    '5e-324',
    'true',
    'null',
  ];
  for (const text of [...canonical, '[]', '{}', '[1,"a",{"a":null,"b":[]}]', '{"é":1,"😀":2}']) {
    it(`takes ${text}`, () => assert.equal(isCanonicalJson(text), true));
  }

  const numbers = [
    '-0',
    '1.0',
    '1e21',
    '1E+21',
    '01',
    '+1',
    '-',
    '.5',
    '0x10',
    '1_0',
    '1 ',
    '9007199254740993',
    '-Infinity',
  ];
  const strings = [
    '"',
    '"a',
    '"\\u0061"',
    '"\\/"',
    '"\\u000A"',
    '"\n"',
    '"a"b"',
    '"\ud800"',
    '"\\ud800"',
    "'a'",
  ];
  const containers = [
    '[1, 2]',
    '[1,]',
    '{"b":1,"a":2}',
    '{"a":1,"a":1}',
    '{"a":1.0}',
    '[',
    '{a:1}',
    '["\ud800"]',
  ];
  for (const text of [
    ...numbers,
    ...strings,
    ...containers,
    '',
    ' ',
    'nul',
    'NaN',
    'undefined',
    ' null',
    '\ufeff1',
  ]) {
    it(`refuses ${JSON.stringify(text)}`, () => assert.equal(isCanonicalJson(text), false));
  }

  it('refuses what is nested too deep, and a bomb, without throwing', () => {
    for (const levels of [CANONICAL_DEPTH_MAX + 1, 1_000_000]) {
      assert.equal(isCanonicalJson(`${'['.repeat(levels)}${']'.repeat(levels)}`), false);
    }
  });

  it('takes a string of twenty million characters', () => {
    assert.equal(isCanonicalJson(`"${'x'.repeat(20_000_000)}"`), true);
  });
});

describe(`canonical JSON of generated values (seed ${SEED})`, () => {
  const jsonValue = fc.jsonValue({ stringUnit: 'binary', maxDepth: 5 });

  it('is a fixed point: parsing it and writing it again changes nothing', () => {
    fc.assert(
      fc.property(jsonValue, (value) => {
        const text = canonicalJson(value);
        assert.equal(canonicalJson(JSON.parse(text)), text);
        assert.equal(isCanonicalJson(text), true);
        assert.deepEqual(JSON.parse(text), JSON.parse(JSON.stringify(value)));
      }),
      { seed: SEED, numRuns: runs(3000) },
    );
  });

  it('does not depend on the order of keys', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string({ unit: 'binary' }), fc.integer(), { maxKeys: 40 }), (object) => {
        const reversed = Object.fromEntries(Object.entries(object).toReversed());
        assert.equal(canonicalJson(reversed), canonicalJson(object));
      }),
      { seed: SEED, numRuns: runs(2000) },
    );
  });

  it('is claimed by no text that differs from it', () => {
    const loose = fc
      .tuple(jsonValue, fc.constantFrom(undefined, 1))
      .map(([value, space]) => JSON.stringify(value, null, space));
    fc.assert(
      fc.property(loose, (text) => {
        assert.equal(isCanonicalJson(text), text === canonicalJson(JSON.parse(text)));
      }),
      { seed: SEED, numRuns: runs(3000) },
    );
  });

  it('never throws for any text', () => {
    const pieces = [
      '"',
      '\\',
      '\\u0061',
      '[',
      ']',
      '{',
      '}',
      ':',
      ',',
      '0',
      '-',
      '.5',
      'e+9',
      'null',
      '\0',
      '\ud800',
      '😀',
    ];
    const piece = fc.constantFrom(...pieces);
    fc.assert(
      fc.property(fc.string({ unit: piece }), (text) => {
        assert.equal(typeof isCanonicalJson(text), 'boolean');
      }),
      { seed: SEED, numRuns: runs(5000) },
    );
  });
});

function revokedProxy(): unknown {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}
