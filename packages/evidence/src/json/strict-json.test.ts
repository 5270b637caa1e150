// scanJson by example: where syntax breaks, and what a JSON text may not be although JSON.parse reads it.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { utf8 } from '../bytes.ts';
import { scanJson } from './strict-json.ts';

const CLEAN = { violations: [], unlisted: 0 };

const pathsOf = (text: string): string[] => scanJson(utf8(text)).violations.map(({ path }) => path);
const issuesOf = (text: string): string[] => scanJson(utf8(text)).violations.map(({ issue }) => issue);

describe('scanJson, syntax', () => {
  it('takes every kind of value, with white space around it', () => {
    for (const text of ['{}', '[]', '""', '0', 'true', 'false', 'null', '{"a":[1,{"b":"c"}]}']) {
      assert.deepEqual(scanJson(utf8(text)), CLEAN, text);
      assert.deepEqual(scanJson(utf8(` \t\r\n${text} \n`)), CLEAN, text);
    }
  });

  const faults: readonly [text: string, offset: number, line: number, column: number, issue: string][] = [
    ['', 0, 1, 1, 'expected a value, found the end'],
    ['{"a":1,}', 7, 1, 8, "expected a key in double quotes, found '}'"],
    ['[1,]', 3, 1, 4, "expected a value, found ']'"],
    ['{"a" 1}', 5, 1, 6, "expected ':', found '1'"],
    ['[1 2]', 3, 1, 4, "expected ',' or ']', found '2'"],
    ['{"a":1]', 6, 1, 7, "expected ',' or '}', found ']'"],
    ['{} {}', 3, 1, 4, "expected the end, found '{'"],
    ['[01]', 2, 1, 3, "expected ',' or ']', found '1'"],
    ['[-]', 2, 1, 3, "expected a digit, found ']'"],
    ['[1.e3]', 3, 1, 4, "expected a digit, found 'e'"],
    ['[1e]', 3, 1, 4, "expected a digit, found ']'"],
    ['[NaN]', 1, 1, 2, "expected a value, found 'N'"],
    ['[nulL]', 4, 1, 5, "expected 'null', found 'L'"],
    ['{"a":\n "\t"}', 8, 2, 3, 'expected an escape for a control character, found byte 0x09'],
    ['["\\x"]', 3, 1, 4, "expected one of \"\\/bfnrtu, found 'x'"],
    ['["\\u00g0"]', 6, 1, 7, "expected a hexadecimal digit, found 'g'"],
    ['["späť €"\n,\n!]', 16, 3, 1, "expected a value, found '!'"],
    ['["abc', 5, 1, 6, 'expected a closing quote, found the end'],
    ['\ufeff{}', 0, 1, 1, 'expected a value, found a byte order mark'],
  ];
  for (const [text, offset, line, column, issue] of faults) {
    it(`names the first byte that does not fit in ${JSON.stringify(text)}`, () => {
      assert.deepEqual(scanJson(utf8(text)).syntax, { offset, line, column, issue });
    });
  }

  for (const hex of [
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
  ]) {
    it(`refuses the bytes ${hex}, which are not UTF-8`, () => {
      const bytes = Uint8Array.from(Buffer.from(`5b2261${hex}225d`, 'hex'));
      const { syntax } = scanJson(bytes);
      assert.equal(syntax?.offset, 3);
      assert.match(syntax.issue, /^expected valid UTF-8/);
    });
  }

  it('refuses every control character that is not escaped, in values and in keys', () => {
    for (let code = 0; code < 0x20; code++) {
      const character = String.fromCharCode(code);
      assert.equal(scanJson(utf8(`["${character}"]`)).syntax?.offset, 2);
      assert.equal(scanJson(utf8(`{"a${character}":1}`)).syntax?.offset, 3);
    }
  });

  it('takes the first and the last character of every length of UTF-8', () => {
    assert.deepEqual(
      scanJson(utf8('["\u0080\u07ff\u0800\ud7ff\ue000\uffff\u{10000}\u{10ffff}\u007f"]')),
      CLEAN,
    );
  });

  it('says nothing about meaning when the bytes are no JSON', () => {
    assert.deepEqual(scanJson(utf8('{"a":1e400,"a":2')).violations, []);
  });
});

describe('scanJson, keys', () => {
  it('finds a key that stands twice, however it is spelt', () => {
    assert.deepEqual(pathsOf('{"a":1,"b":2,"a":3}'), ['a']);
    assert.deepEqual(pathsOf('{"a":1,"\\u0061":2}'), ['a']);
    assert.deepEqual(pathsOf('{"\\u00e9":1,"b":2,"é":3}'), ['["é"]']);
    assert.deepEqual(pathsOf('{"\\ud83d\\ude00":1,"😀":2}'), ['["😀"]']);
    assert.deepEqual(pathsOf('{"":1,"":2}'), ['[""]']);
    assert.deepEqual(issuesOf('{"a":1,"a":3}'), [
      'is given more than once; an object may have each key once',
    ]);
  });

  it('takes the same key in different objects, and keys that only hash alike', () => {
    assert.deepEqual(scanJson(utf8('{"a":{"a":[{"a":1},{"a":2}]},"Aa":{"BB":1},"BB":2}')), CLEAN);
    assert.deepEqual(scanJson(utf8('{"":1,"ARbyguv":2}')), CLEAN);
  });

  it('knows the keys of an object again after the objects inside it', () => {
    assert.deepEqual(pathsOf('{"a":{"b":{"a":1}},"b":[{"a":2}],"a":3}'), ['a']);
  });

  it('knows them again at each of a hundred levels', () => {
    const levels = 100;
    const text = `${'{"a":0,"b":'.repeat(levels)}0${',"c":0,"a":0}'.repeat(levels)}`;
    const { violations } = scanJson(utf8(text), { depthMax: levels });
    const paths = Array.from({ length: levels }, (_, i) => `${'b.'.repeat(levels - 1 - i)}a`);
    assert.deepEqual(
      violations.map(({ path }) => path),
      paths,
    );
  });

  it('finds the one repeated key among a hundred thousand', () => {
    const keys = Array.from({ length: 100_000 }, (_, i) => `"k${i}":${i}`);
    assert.deepEqual(pathsOf(`{${keys.join(',')},"k4711":0}`), ['k4711']);
    assert.deepEqual(scanJson(utf8(`{${keys.join(',')}}`)), CLEAN);
  });

  it('treats __proto__ and the names of Object.prototype as data', () => {
    assert.deepEqual(scanJson(utf8('{"__proto__":{"a":1},"constructor":1,"toString":2}')), CLEAN);
    assert.deepEqual(pathsOf('{"__proto__":1,"__proto__":2}'), ['__proto__']);
  });
});

describe('scanJson, strings', () => {
  it('finds lone surrogates, in values and in keys', () => {
    assert.deepEqual(scanJson(utf8('{"a":"\\ud800","b":["\\udc00\\ud800"]}')).violations, [
      { path: 'a', issue: 'has a lone surrogate in it' },
      { path: 'b[0]', issue: 'has a lone surrogate in it' },
    ]);
    assert.deepEqual(scanJson(utf8('{"\\uD83D":1}')).violations, [
      { path: '["\\ud83d"]', issue: 'has a lone surrogate in its key' },
    ]);
    assert.deepEqual(issuesOf('["\\ud83d\\u0061"]').length, 1);
    assert.deepEqual(scanJson(utf8('["\\ud83d\\ude00"]')), CLEAN);
  });

  it('finds U+0000, in values and in keys', () => {
    assert.deepEqual(scanJson(utf8('{"a":"x\\u0000"}')).violations, [
      { path: 'a', issue: 'has U+0000 in it' },
    ]);
    assert.deepEqual(scanJson(utf8('{"\\u0000":1}')).violations, [
      { path: '["\\u0000"]', issue: 'has U+0000 in its key' },
    ]);
    assert.deepEqual(scanJson(utf8('["\\\\u0000","\\u0001"]')), CLEAN);
  });
});

describe('scanJson, numbers', () => {
  const exact = [
    '0',
    '-0',
    '0.0',
    '-0.0e5',
    '0e999',
    '1',
    '1.0',
    '1e2',
    '1E+2',
    '0.1',
    '1250.50',
    '9007199254740991',
  ];
  const exactToo = [
    '-9007199254740991',
    '9007199254740992.0',
    '1e21',
    '1.7976931348623157e308',
    '5e-324',
    '123e-2',
  ];
  const exactLong = [
    '0.30000000000000004',
    '0.1000000000000000000',
    `1${'0'.repeat(30)}e-30`,
    '0.000000000000000001',
  ];
  for (const literal of [...exact, ...exactToo, ...exactLong]) {
    it(`takes ${literal}`, () => assert.deepEqual(scanJson(utf8(literal)), CLEAN));
  }

  const integer = 'is an integer outside ±(2^53 - 1)';
  const range = 'is a number beyond the range of a double';
  const inexact: readonly [literal: string, issue: string][] = [
    ['9007199254740992', integer],
    ['-9007199254740993', integer],
    ['100000000000000000000', integer],
    ['1e400', range],
    ['-1.8e308', range],
    ['0.10000000000000000001', 'is a number that is not exact as a double, which would make it 0.1'],
    ['9007199254740993.0', 'is a number that is not exact as a double, which would make it 9007199254740992'],
    ['1e-400', 'is a number that is not exact as a double, which would make it 0'],
    ['4.9e-324', 'is a number that is not exact as a double, which would make it 5e-324'],
    ['1.0000000000000001', 'is a number that is not exact as a double, which would make it 1'],
  ];
  for (const [literal, issue] of inexact) {
    it(`refuses ${literal}`, () => {
      const { violations } = scanJson(utf8(`{"n":${literal}}`));
      assert.deepEqual(violations, [{ path: 'n', issue, value: literal }]);
    });
  }

  it('shows at most 200 characters of a number', () => {
    assert.equal(scanJson(utf8('1'.repeat(1000))).violations[0]?.value, '1'.repeat(200));
  });
});
