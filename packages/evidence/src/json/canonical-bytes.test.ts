// canonicalBytes by example: what it takes, what it leaves to others, and how long it may take.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { textOf, utf8 } from '../bytes.ts';
import { processorMs } from '../testing/processor-time.ts';
import { canonicalBytes, type CanonicalText } from './canonical-bytes.ts';
import { CANONICAL_DEPTH_MAX, canonicalJson } from './canonical-json.ts';
import { parseJson } from './parse-json.ts';
import { scanJson } from './strict-json.ts';

const LIMITS = { depthMax: 34, outlineLevels: 3 };
const MEGABYTE = 1024 * 1024;

const canonical = (text: string): string | undefined => {
  const result = canonicalBytes(utf8(text), LIMITS);
  return result === undefined ? undefined : textOf(result.bytes);
};
const nested = (levels: number): string => `${'['.repeat(levels)}${']'.repeat(levels)}`;

describe('canonicalBytes, what it takes', () => {
  const taken: readonly [text: string, expected: string][] = [
    [' \t\r\n{ "a" : [ 1 , true , null , false , "x" ] } \n', '{"a":[1,true,null,false,"x"]}'],
    ['[ ]', '[]'],
    ['{\n}', '{}'],
    ['[{},[],[[]],{"a":{}}]', '[{},[],[[]],{"a":{}}]'],
    ['""', '""'],
    [' 7 ', '7'],
    ['{"b":1,"a":2}', '{"a":2,"b":1}'],
    ['{"c":{"z":[{"y":1,"x":2}],"a":0},"b":1}', '{"b":1,"c":{"a":0,"z":[{"x":2,"y":1}]}}'],
    ['{"aaaab":1,"aaaa":2,"aaa":3,"":4,"aaaaa":5}', '{"":4,"aaa":3,"aaaa":2,"aaaaa":5,"aaaab":1}'],
    ['{"a!":1,"a\u007f":2,"aé":3,"a":4}', '{"a":4,"a!":1,"a\u007f":2,"aé":3}'],
    ['{"__proto__":1,"10":2,"9":3}', '{"10":2,"9":3,"__proto__":1}'],
    [
      '["\\"\\\\\\b\\f\\n\\r\\t", "späť € 😀 \u2028 \ufeff\u007f"]',
      '["\\"\\\\\\b\\f\\n\\r\\t","späť € 😀 \u2028 \ufeff\u007f"]',
    ],
    ['"\\\\u0061\\\\/"', '"\\\\u0061\\\\/"'],
    [
      '"\\u0061\\/\\u00e9\\u20AC\\ud83d\\uDE00\\u000a\\u001F\\u0022\\u005c\\u007f"',
      '"a/é€😀\\n\\u001f\\"\\\\\u007f"',
    ],
    [
      '{"\\u0062":1,"a":2,"\\"":3,"\\\\":4,"\\n":5,"\\u001f":6,"!":7,"[":8,"]":9}',
      '{"\\n":5,"\\u001f":6,"!":7,"\\"":3,"[":8,"\\\\":4,"]":9,"a":2,"b":1}',
    ],
  ];
  for (const [text, expected] of taken) {
    it(`writes ${JSON.stringify(text)} in canonical form`, () => assert.equal(canonical(text), expected));
  }

  it('puts characters above U+FFFF before those from U+E000 on, as UTF-16 has them', () => {
    const characters = ['\ud7ff', '\u{10000}', '\u{1f600}', '\u{10ffff}', '\ue000', '\ufb00', '\uffff'];
    for (const [before, behind] of [
      ['', ''],
      ['k', ''],
      ['', 'x'],
      ['keys', 'é'],
    ]) {
      const members = characters.map((character) => `"${before}${character}${behind}":0`);
      const expected = `{${members.join(',')}}`;
      assert.equal(expected, canonicalJson(parseJson(expected)));
      assert.equal(canonical(expected), expected);
      assert.equal(canonical(`{${members.toReversed().join(',')}}`), expected);
    }
  });

  const numbers = [
    '0',
    '-0',
    '0.0',
    '-0.0e5',
    '0e999',
    '-1',
    '1.0',
    '1e3',
    '10.50',
    '1E+2',
    '0.1',
    '-0.5',
    '0.000001',
    '0.0000001',
    '0.0000010',
    '1e20',
    '1e21',
    '-1e-7',
    '123e-2',
    '1.7976931348623157e308',
    '5e-324',
    '9007199254740991',
    '-9007199254740991',
    '9007199254740992.0',
    '123456789012345',
    '1234567890123456',
    '12345678901234.5',
    '0.30000000000000004',
    '0.1000000000000000000',
    `1${'0'.repeat(30)}e-30`,
  ];
  for (const number of numbers) {
    it(`writes ${number} as ECMAScript does`, () => {
      assert.equal(canonical(number), String(Number(number)));
      assert.equal(
        canonical(`{"b":[${number}, ${number}],"a":${number}}`)?.startsWith(`{"a":${Number(number)},`),
        true,
      );
    });
  }

  it('makes room for texts that are longer in canonical form', () => {
    const count = 20_000;
    const text = `{"b":[${'1e20,'.repeat(count)}0],"a":[${'1e20,'.repeat(count)}0]}`;
    assert.equal(canonical(text), canonicalJson(parseJson(text)));
  });
});

describe('canonicalBytes, what it leaves to others', () => {
  const left = [
    '',
    ' ',
    '{',
    '[',
    '"',
    '"a',
    '{"a"',
    '{"a":',
    '{"a":1',
    '{"a":1,',
    '[1',
    '[1,',
    '[1,]',
    '{"a":1,}',
    '{,}',
    '[,1]',
    '{"a" 1}',
    '{a:1}',
    '[1 2]',
    '{"a":1]',
    '[1}',
    '{} {}',
    '1 2',
    ',',
    '1,',
    ':',
    ']',
    '}',
    'nul',
    'nulL',
    'truE',
    'falsy',
    'NaN',
    '-Infinity',
    '01',
    '-',
    '-a',
    '+1',
    '.5',
    '1.',
    '1.e3',
    '1e',
    '1e+',
    '0x10',
    '\ufeff1',
    '1\0',
    '\0',
    '"\0"',
    '"\n"',
    "'a'",
    '"\\x"',
    '"\\',
    '"\\"',
    '9007199254740992',
    '9007199254740993',
    '-9007199254740993',
    '1E400',
    '1e-400',
    '0.10000000000000000001',
    '100000000000000000000',
    '"\\u0000"',
    '"\\ud800"',
    '{"a":1,"a":1}',
    '{"a":1,"b":2,"a":3}',
    '{"b":1,"a":2,"b":3}',
    '{"":1,"":2}',
    '{"aaaab":1,"c":0,"aaaab":2}',
    '[{"é":1,"a":2,"é":3}]',
  ];
  for (const text of left) {
    it(`gives nothing for ${JSON.stringify(text)}`, () => assert.equal(canonical(text), undefined));
  }

  it('gives nothing for bytes that are not UTF-8, in values and in keys', () => {
    const wrong = [
      '80',
      'bf',
      'c0af',
      'c1bf',
      'c3',
      'e0809f',
      'e282',
      'eda080',
      'edbfbf',
      'f08080af',
      'f48fbf',
      'f4908080',
      'f5808080',
      'ff',
    ];
    for (const hex of wrong) {
      for (const around of ['5b2261??225d', '7b2261??223a317d', '22??', '2261626364??6566676822']) {
        const bytes = Uint8Array.from(Buffer.from(around.replace('??', hex), 'hex'));
        assert.equal(canonicalBytes(bytes, LIMITS), undefined, hex);
      }
    }
  });

  it('gives nothing for a control character that is not escaped, wherever in a word it stands', () => {
    for (let code = 0; code < 0x20; code++) {
      for (let before = 0; before < 5; before++) {
        const string = `"${'x'.repeat(before)}${String.fromCharCode(code)}yyyyyyyy"`;
        assert.equal(canonical(string), undefined);
        assert.equal(canonical(`{${string}:1}`), undefined);
      }
    }
  });

  it('finds a quote, backslash or character of any value next to any other', () => {
    for (let first = 0; first < 0x100; first++) {
      for (let second = 0; second < 0x100; second++) {
        const bytes = Uint8Array.from([0x22, first, second, 0x61, 0x22]);
        const { syntax } = scanJson(bytes);
        assert.equal(canonicalBytes(bytes, LIMITS) !== undefined, syntax === undefined, `${first} ${second}`);
      }
    }
  });

  it('knows UTF-8 as scanJson does, for every first and second byte', () => {
    for (let first = 0x80; first < 0x100; first++) {
      for (let second = 0x70; second < 0xd0; second++) {
        for (const rest of [[], [0x80], [0xbf, 0xbf], [0x80, 0x80, 0x80]]) {
          const bytes = Uint8Array.of(0x22, first, second, ...rest, 0x22);
          const isSound = scanJson(bytes).syntax === undefined;
          assert.equal(canonicalBytes(bytes, LIMITS) !== undefined, isSound, String(bytes));
        }
      }
    }
  });

  it('takes nesting up to the limit, and never more than canonicalJson does', () => {
    for (const depthMax of [0, 1, 2, 34, CANONICAL_DEPTH_MAX, 1000, 2.5, -1, Number.NaN]) {
      const most = Math.max(0, Math.trunc(Math.min(depthMax, CANONICAL_DEPTH_MAX)) || 0);
      const limits = { depthMax, outlineLevels: 1 };
      if (most > 0) assert.notEqual(canonicalBytes(utf8(nested(most)), limits), undefined);
      assert.equal(canonicalBytes(utf8(nested(most + 1)), limits), undefined);
      assert.equal(
        canonicalBytes(utf8(`${'{"a":'.repeat(most + 1)}1${'}'.repeat(most + 1)}`), limits),
        undefined,
      );
      assert.notEqual(canonicalBytes(utf8('1'), limits), undefined);
    }
    assert.equal(canonical('['.repeat(MEGABYTE)), undefined);
  });

  it('gives nothing for more members or outlined items than it keeps account of, and takes others after that', () => {
    const items = `[${'0,'.repeat(400_000)}0]`;
    // Twice, since the second call finds other buffers than the first.
    for (let call = 0; call < 2; call++) {
      const isTaken = canonicalBytes(utf8(items), { depthMax: 34, outlineLevels: 1 }) !== undefined;
      assert.equal(isTaken, false);
    }
    assert.equal(canonicalBytes(utf8(items), { depthMax: 34, outlineLevels: 0 })?.bytes.length, items.length);
    assert.equal(canonical('{"b":1,"a":2}'), '{"a":2,"b":1}');
  });
});

describe('canonicalBytes, where it is lenient', () => {
  const lenient = (text: string, outlineLevels = 2, closedKeys: string[] = []) =>
    canonicalBytes(utf8(text), {
      depthMax: 34,
      outlineLevels,
      isLenient: true,
      closedKeys: closedKeys.map(utf8),
    });
  const members = Array.from({ length: 140_000 }, (_, i) => `"${(140_000 - i).toString(36)}": 0`);

  it('leaves the members of an object in their order that are too many, and puts all others in order', () => {
    const text = `{"b":{"y":1,"x":{${members.join(',')}},"w":2},"a":{"d":1,"c":2}}`;
    const result = lenient(text)!;
    assert.equal(result.isCanonical, false);
    const crowd = members.join(',').replaceAll(' ', '');
    assert.ok(textOf(result.bytes) === `{"a":{"c":2,"d":1},"b":{"w":2,"x":{${crowd}},"y":1}}`);
    assert.ok(canonicalBytes(utf8(text), { depthMax: 34, outlineLevels: 2 }) === undefined);
  });

  it('has room for the members of each value, however large the outline is', () => {
    const text = `{"b":[${'0,'.repeat(200_000)}0],"c":{${members.slice(0, 60_000).join(',')}}}`;
    assert.equal(lenient(text, 2, ['c'])?.isCanonical, true);
  });

  it('does not outline what stands in members with the keys that it is given', () => {
    const { outline } = lenient('{"a":{"x":{"y":1}},"b":{"x":[1]}}', 2, ['a', 'x'])!;
    const inside = (key: string) => {
      const node = outline.member(outline.root, utf8(key))!;
      return outline.end(node) > outline.first(node);
    };
    assert.deepEqual([inside('a'), inside('b')], [false, true]);
  });
});

describe('canonicalBytes, what it hands out', () => {
  it('is not changed by the next call, nor by what becomes of the input', () => {
    const input = utf8('{"b":[1,2],"a":"x"}');
    const { bytes, outline } = canonicalBytes(input, LIMITS)!;
    input.fill(0x20);
    canonicalBytes(utf8('{"zzz":[3,4,{"y":1,"x":2}]}'), LIMITS);
    assert.equal(textOf(bytes), '{"a":"x","b":[1,2]}');
    assert.equal(textOf(outline.value(outline.member(outline.root, utf8('b'))!)), '[1,2]');
  });

  it('does not depend on where in its buffer the input stands', () => {
    const around = utf8('[[{"b":1,"a":2}]]');
    assert.equal(textOf(canonicalBytes(around.subarray(2, -2), LIMITS)!.bytes), '{"a":2,"b":1}');
    assert.equal(textOf(canonicalBytes(Buffer.from('[1, 2]'), LIMITS)!.bytes), '[1,2]');
  });
});

/** Several times what a slow machine needs; quadratic time would take minutes. */
const BODY_MS_MAX = 5000;

describe(`canonicalBytes, large texts within ${BODY_MS_MAX} ms`, () => {
  const members = (count: number): string[] =>
    Array.from({ length: count }, (_, i) => `"k${(i * 7919) % count}":${i}`);
  const deep = (levels: number, inner: string): string =>
    levels === 0 ? inner : `{"b":${deep(levels - 1, inner)},"a":0}`;
  const bodies: readonly [name: string, body: () => string][] = [
    ['of one object with 50,000 keys in no order', () => `{${members(50_000).join(',')}}`],
    [
      'of 50,000 long keys that begin alike',
      () =>
        `{${members(50_000)
          .map((member) => `"${'x'.repeat(100)}${member.slice(1)}`)
          .join(',')}}`,
    ],
    ['of 33 unordered objects around one string of a megabyte', () => deep(33, `"${'x'.repeat(MEGABYTE)}"`)],
    [
      'of 34 levels, most of them unordered objects, again and again',
      () => `[${Array.from({ length: 5000 }, () => deep(32, '{"b":1,"a":2}')).join(',')}]`,
    ],
    ['of numbers that are longer in canonical form', () => `[${'1e20,'.repeat(500_000)}0]`],
    ['of closed brackets', () => `[${'[[]],'.repeat(500_000)}0]`],
    ['of white space', () => `${' '.repeat(5 * MEGABYTE)}0`],
  ];
  for (const [name, body] of bodies) {
    it(`writes one ${name}`, () => {
      const text = body();
      let result: CanonicalText | undefined;
      const ms = processorMs(() => {
        result = canonicalBytes(utf8(text), { depthMax: 34, outlineLevels: 0 });
      });
      assert.ok(ms < BODY_MS_MAX, `took ${ms} ms`);
      assert.ok(result !== undefined);
      // Not assert.equal: to show the difference of such texts takes minutes.
      assert.ok(textOf(result.bytes) === canonicalJson(parseJson(text)), 'differs from canonicalJson');
    });
  }
});
