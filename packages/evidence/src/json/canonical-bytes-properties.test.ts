// canonicalBytes against scanJson, parseJson and canonicalJson, which say what it must give and when it must not; on
// generated texts, broken bytes and other people's vectors. So for each text that is sound, and for each that is not
// what it gives where it is lenient.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { gunzipSync } from 'node:zlib';
import * as fc from 'fast-check';
import { textOf, utf8 } from '../bytes.ts';
import { canonicalBytes } from './canonical-bytes.ts';
import { DEPTH_MAX } from './canonical-buffers.ts';
import { canonicalJson } from './canonical-json.ts';
import type { JsonOutline } from './json-outline.ts';
import { parseJson } from './parse-json.ts';
import { scanJson } from './strict-json.ts';
import { jsonText, mutatedBytes, numberText } from '../testing/json-texts.ts';
import { skipWithout, vectorBytes, vectorPaths, vectorText } from '../testing/public-vectors.ts';
import { runs } from '../testing/size.ts';

const SEED = 8785;
const DEPTHS = [0, 1, 2, 3, 32];
const LEVELS = 3;

/** The canonical text; undefined when the bytes are no JSON text or one that an event may not be. */
function slowly(bytes: Uint8Array, depthMax: number): string | undefined {
  const { syntax, violations } = scanJson(bytes, { depthMax });
  return syntax !== undefined || violations.length > 0 ? undefined : canonicalJson(parseJson(textOf(bytes)));
}

/** A result must be right, and there must be one where it is promised. Returns whether it does. */
function agrees(bytes: Uint8Array, depthMax = 32, outlineLevels = LEVELS): boolean {
  agreesLeniently(bytes, depthMax, outlineLevels);
  const expected = slowly(bytes, depthMax);
  const result = canonicalBytes(bytes, { depthMax, outlineLevels });
  assert.equal(result && textOf(result.bytes), expected);
  if (result === undefined) return false;
  assert.deepEqual(result.bytes, utf8(expected!));
  assert.deepEqual(
    shapeOf(result.outline, result.outline.root),
    naiveShape(parseJson(expected!), outlineLevels),
  );
  return true;
}

/**
 * Any JSON text that is not nested too deep is written, and JSON.parse makes the same of it; what is wrong with it is
 * found as if it were alone.
 */
function agreesLeniently(bytes: Uint8Array, depthMax: number, outlineLevels: number): void {
  const scan = scanJson(bytes, { depthMax });
  const result = canonicalBytes(bytes, { depthMax, outlineLevels, isLenient: true });
  const isTooDeep = (scan.tooDeep ?? 0) > DEPTH_MAX;
  assert.equal(result === undefined, scan.syntax !== undefined || isTooDeep);
  if (result === undefined) return;
  assert.equal(result.isCanonical, scan.violations.length === 0);
  assert.deepEqual(scanJson(bytes, { depthMax, repeatedKeys: result.repeatedKeys }), scan);
  const text = textOf(result.bytes);
  const value = parseJson(text);
  const { violations } = scanJson(bytes);
  const hasOddOrder = violations.some(({ issue }) => issue.endsWith('surrogate in its key'));
  const hasOddNumber = violations.some((violation) => violation.value !== undefined);
  assert.equal(hasOddOrder || hasOddNumber ? compact(value) : text, compact(parseJson(textOf(bytes))));
  if (!hasOddOrder && !hasOddNumber)
    assert.deepEqual(shapeOf(result.outline, result.outline.root), naiveShape(value, outlineLevels));
}

/** As canonicalJson does it, but for half surrogates and numbers that are too large. */
function compact(value: unknown): string {
  if (typeof value === 'number' && !Number.isFinite(value)) return value < 0 ? '-1e999' : '1e999';
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(compact).join(',')}]`;
  const members = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${compact(member)}`).join(',')}}`;
}

type Shape = readonly [key: string | undefined, text: string, inside: Shape[]];

function shapeOf(outline: JsonOutline, node: number): Shape {
  const inside: Shape[] = [];
  for (let at = outline.first(node); at < outline.end(node); at = outline.next(at)) {
    assert.ok(outline.from(at) < outline.to(at) && outline.to(at) < outline.to(node));
    const key = outline.key(at);
    if (key === undefined) assert.equal(outline.keyFrom(at), 0);
    else {
      const spelt = utf8(JSON.stringify(key).slice(1, -1));
      assert.equal(outline.member(node, spelt), at);
      assert.equal(outline.keyFrom(at) + spelt.length + 2, outline.from(at));
    }
    inside.push(shapeOf(outline, at));
  }
  return [outline.key(node), textOf(outline.value(node)), inside];
}

function naiveShape(value: unknown, levels: number, key?: string): Shape {
  const inside: Shape[] = [];
  if (levels > 0 && Array.isArray(value)) {
    for (const item of value) inside.push(naiveShape(item, levels - 1));
  } else if (levels > 0 && typeof value === 'object' && value !== null) {
    const members: readonly [string, unknown][] = Object.entries(value);
    for (const [name, member] of members.toSorted(([a], [b]) => (a < b ? -1 : 1))) {
      inside.push(naiveShape(member, levels - 1, name));
    }
  }
  return [key, compact(value), inside];
}

/** Writes a value in one of its many spellings, chosen by the numbers that `pick` gives below its argument. */
function spelt(value: unknown, pick: (below: number) => number): string {
  const space = () => ['', '', '', '', ' ', '\n  ', '\t\r\n'][pick(7)]!;
  if (typeof value === 'number') return numberSpelt(value, pick);
  if (Array.isArray(value)) {
    return `[${value.map((item) => `${space()}${spelt(item, pick)}${space()}`).join(',') || space()}]`;
  }
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members: [string, unknown][] = Object.entries(value);
  for (let i = members.length - 1; i > 0; i--) {
    const other = pick(i + 1);
    [members[i], members[other]] = [members[other]!, members[i]!];
  }
  const texts = members.map(
    ([key, member]) =>
      `${space()}${JSON.stringify(key)}${space()}:${space()}${spelt(member, pick)}${space()}`,
  );
  return `{${texts.join(',') || space()}}`;
}

function numberSpelt(value: number, pick: (below: number) => number): string {
  const plain = Object.is(value, -0) ? '-0' : String(value);
  if (plain.includes('e')) return pick(2) === 0 ? plain : plain.replace('e', 'E').replace('+', '');
  const zeros = '0'.repeat(pick(4));
  const fraction = plain.includes('.') ? zeros : zeros && `.${zeros}`;
  return `${plain}${fraction}${['', '', 'e0', 'E+00', 'e-0'][pick(5)]}`;
}

const key = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 6 }),
  fc.string({
    unit: fc.constantFrom('a', 'b', '!', '\u007f', 'é', '\ud7ff', '\ue000', '\uffff', '\u{10000}'),
    maxLength: 6,
  }),
);
const value = fc.letrec((tie) => ({
  any: fc.oneof(
    { depthSize: 'small' },
    fc.string({ unit: 'binary' }),
    fc.string(),
    fc.constantFrom(true, false, null, 0, -0, 10.5, 1e20, 1e21, 1e-7, 123456.789),
    fc.integer(),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.array(tie('any'), { maxLength: 5 }),
    fc.dictionary(key, tie('any'), { maxKeys: 8, noNullPrototype: true }),
  ),
})).any;

function picker(choices: readonly number[]): (below: number) => number {
  let next = 0;
  return (below) => choices[next++ % choices.length]! % below;
}

describe(`canonicalBytes on generated input (seed ${SEED})`, () => {
  it('gives the canonical text of a value, however it is spelt, with its outline', () => {
    let taken = 0;
    fc.assert(
      fc.property(
        value,
        fc.array(fc.nat(), { minLength: 8, maxLength: 64 }),
        fc.nat({ max: 4 }),
        (one, choices, levels) => {
          if (agrees(utf8(spelt(one, picker(choices))), 32, levels)) taken++;
        },
      ),
      { seed: SEED, numRuns: runs(6000) },
    );
    assert.ok(taken > runs(3000), `only ${taken} were taken`);
  });

  it('sorts the keys of large objects, and finds one that stands twice', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(key, { minLength: 2, maxLength: 60, size: 'max' }),
        fc.nat(),
        fc.nat(),
        (keys, from, to) => {
          const members = keys
            .filter((name) => !name.includes('\0'))
            .map((name) => `${JSON.stringify(name)}:{"b":1,"a":[]}`);
          assert.equal(agrees(utf8(`{${members.join(',')}}`)), true);
          if (members.length === 0) return;
          members.splice(to % (members.length + 1), 0, members[from % members.length]!);
          assert.equal(agrees(utf8(`{${members.join(',')}}`)), false);
        },
      ),
      { seed: SEED, numRuns: 500 },
    );
  });

  it('agrees on sound texts, at every limit of nesting', () => {
    fc.assert(
      fc.property(
        jsonText,
        fc.constantFrom(...DEPTHS),
        (text, depthMax) => void agrees(utf8(text), depthMax),
      ),
      { seed: SEED, numRuns: runs(6000) },
    );
  });

  it('agrees on broken bytes', () => {
    fc.assert(
      fc.property(
        mutatedBytes,
        fc.constantFrom(...DEPTHS),
        (bytes, depthMax) => void agrees(bytes, depthMax),
      ),
      { seed: SEED, numRuns: runs(10_000) },
    );
  });

  it('agrees on broken bytes of texts that it takes', () => {
    const change = fc.tuple(
      fc.nat(),
      fc.constantFrom(...utf8('"\\{}[],:0-.e u/\n\0'), 0x80, 0xc3, 0xed, 0xf0, 0xff),
    );
    fc.assert(
      fc.property(value, fc.array(change, { minLength: 1, maxLength: 2 }), (one, changes) => {
        const bytes = utf8(canonicalJson(one));
        for (const [place, byte] of changes) bytes[place % bytes.length] = byte;
        agrees(bytes);
      }),
      { seed: SEED, numRuns: runs(10_000) },
    );
  });

  it('agrees on numbers', () => {
    fc.assert(
      fc.property(numberText, (literal) => void agrees(utf8(`{"b":${literal},"a":[${literal}]}`))),
      { seed: SEED, numRuns: runs(20_000) },
    );
  });

  it('agrees on random bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 24 }), (bytes) => void agrees(bytes)),
      { seed: SEED, numRuns: runs(10_000) },
    );
  });
});

const JCS = 'jcs/testdata';
const NUMBERS = 'jcs/numbers-100000.csv.gz';
const SUITE = 'json-test-suite/test_parsing';
const NAUGHTY = 'naughty-strings/blns.json';

describe('canonicalBytes on public vectors', () => {
  it('agrees on the texts of RFC 8785, as they come and in canonical form', {
    skip: skipWithout(JCS),
  }, () => {
    for (const path of vectorPaths(`${JCS}/input`, '.json')) {
      agrees(vectorBytes(path));
      agrees(vectorBytes(path.replace('input', 'output')));
    }
  });

  it('agrees on each of the 100,000 numbers', { skip: skipWithout(NUMBERS) }, () => {
    const lines = gunzipSync(vectorBytes(NUMBERS)).toString('ascii').trimEnd().split('\n');
    assert.equal(lines.length, 100_000);
    for (const line of lines) {
      const number = line.slice(line.indexOf(',') + 1);
      const bytes = utf8(number);
      const result = canonicalBytes(bytes, { depthMax: 1, outlineLevels: 0 });
      assert.equal(result && textOf(result.bytes), slowly(bytes, 1));
      if (/[.e]/.test(number)) assert.equal(textOf(result!.bytes), number);
    }
  });

  it('agrees on every file of JSONTestSuite', { skip: skipWithout(SUITE) }, () => {
    const paths = vectorPaths(SUITE, '.json');
    assert.equal(paths.length, 95 + 188 + 35);
    for (const path of paths) agrees(vectorBytes(path));
  });

  it('agrees on naughty strings, as keys and as values', { skip: skipWithout(NAUGHTY) }, () => {
    const strings: string[] = JSON.parse(vectorText(NAUGHTY));
    assert.ok(strings.length > 500);
    for (const string of strings) {
      const text = JSON.stringify(string);
      agrees(utf8(`{"b":${text},"a":[${text}]}`));
      agrees(utf8(`{"~":0,${text}:1,"a":2}`));
    }
  });
});
