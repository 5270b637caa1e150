// Other people's vectors for JSON: RFC 8785 with a hundred thousand numbers, JSONTestSuite, naughty strings.

import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { basename } from 'node:path';
import { describe, it } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { textOf, toHex, utf8 } from '../bytes.ts';
import { canonicalJson, isCanonicalJson } from './canonical-json.ts';
import { scanJson } from './strict-json.ts';
import { skipWithout, vectorBytes, vectorPaths, vectorText } from '../testing/public-vectors.ts';

const JCS = 'jcs/testdata';
const NUMBERS = 'jcs/numbers-100000.csv.gz';
const NUMBERS_SHA256 = '22776e6d4b49fa294a0d0f349268e5c28808fe7e0cb2bcbe28f63894e494d4c7';
const SUITE = 'json-test-suite/test_parsing';
const NAUGHTY = 'naughty-strings/blns.json';

describe('RFC 8785 vectors', () => {
  it('have the canonical text that they say, to the byte', { skip: skipWithout(JCS) }, () => {
    const inputs = vectorPaths(`${JCS}/input`, '.json');
    assert.equal(inputs.length, 6);
    for (const input of inputs) {
      const text = canonicalJson(JSON.parse(vectorText(input)));
      assert.equal(text, vectorText(input.replace('input', 'output')), input);
      const hex = vectorText(input.replace('input', 'outhex').replace('.json', '.txt')).replaceAll(/\s/g, '');
      assert.equal(toHex(utf8(text)), hex, input);
      assert.equal(isCanonicalJson(text), true, input);
    }
  });

  it('have the text of each of the 100,000 numbers', { skip: skipWithout(NUMBERS) }, () => {
    const text = gunzipSync(vectorBytes(NUMBERS)).toString('ascii');
    assert.equal(hash('sha256', text), NUMBERS_SHA256);
    const lines = text.trimEnd().split('\n');
    assert.equal(lines.length, 100_000);
    const view = new DataView(new ArrayBuffer(8));
    for (const line of lines) {
      const [hex = '', expected = ''] = line.split(',');
      view.setBigUint64(0, BigInt(`0x${hex}`));
      const number = view.getFloat64(0);
      assert.equal(canonicalJson(number), expected, line);
      assert.equal(isCanonicalJson(expected), true, line);
      const { syntax, violations } = scanJson(utf8(expected));
      assert.equal(syntax, undefined, line);
      const isUnsafe = /^-?[0-9]+$/.test(expected) && !Number.isSafeInteger(number);
      assert.equal(violations.length, isUnsafe ? 1 : 0, line);
    }
  });
});

/** Sound JSON that an event may not be. */
const NOT_FOR_EVENTS: Record<string, RegExp> = {
  'y_object_duplicated_key.json': /^is given more than once/,
  'y_object_duplicated_key_and_value.json': /^is given more than once/,
  'y_object_escaped_null_in_key.json': /^has U\+0000 in its key/,
  'y_string_null_escape.json': /^has U\+0000 in it$/,
};

describe('JSONTestSuite', { skip: skipWithout(SUITE) }, () => {
  const filesOf = (group: 'y' | 'n' | 'i', count: number) => {
    const paths = vectorPaths(SUITE, '.json').filter((path) => basename(path).startsWith(`${group}_`));
    assert.equal(paths.length, count);
    return paths.map((path) => ({ name: basename(path), bytes: vectorBytes(path) }));
  };

  it('has no sound text that is refused but for the listed reasons', () => {
    for (const { name, bytes } of filesOf('y', 95)) {
      const { syntax, violations } = scanJson(bytes);
      assert.equal(syntax, undefined, name);
      const reason = NOT_FOR_EVENTS[name];
      assert.equal(violations.length, reason === undefined ? 0 : 1, name);
      if (reason !== undefined) assert.match(violations[0]!.issue, reason, name);
    }
  });

  it('has no broken text that is taken', () => {
    for (const { name, bytes } of filesOf('n', 188)) assert.notEqual(scanJson(bytes).syntax, undefined, name);
  });

  it('has no doubtful text that is taken, or called JSON when JSON.parse refuses it', () => {
    for (const { name, bytes } of filesOf('i', 35)) {
      const { syntax, violations } = scanJson(bytes);
      assert.equal(syntax === undefined, parses(bytes), name);
      assert.ok(syntax !== undefined || violations.length > 0, name);
    }
  });
});

describe('naughty strings', () => {
  it('go through canonical text and scan unchanged', { skip: skipWithout(NAUGHTY) }, () => {
    const strings: string[] = JSON.parse(vectorText(NAUGHTY));
    assert.ok(strings.length > 500);
    for (const string of strings) {
      const text = canonicalJson({ [string]: [string] });
      assert.deepEqual(JSON.parse(text), { [string]: [string] });
      assert.equal(isCanonicalJson(text), true, text);
      assert.deepEqual(scanJson(utf8(text)), { violations: [], unlisted: 0 }, text);
    }
  });
});

function parses(bytes: Uint8Array): boolean {
  try {
    JSON.parse(textOf(bytes));
    return true;
  } catch {
    return false;
  }
}
