// scanJson at its limits: paths, nesting, how many violations are listed, and bodies made to be slow.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { utf8 } from '../bytes.ts';
import { processorMs } from '../testing/processor-time.ts';
import { JSON_DEPTH_MAX, JSON_VIOLATIONS_MAX, type JsonViolation, scanJson } from './strict-json.ts';

const CLEAN = { violations: [], unlisted: 0 };
const MEGABYTE = 1024 * 1024;

const pathsOf = (text: string): string[] => scanJson(utf8(text)).violations.map(({ path }) => path);
const nested = (levels: number, inside = ''): string => `${'['.repeat(levels)}${inside}${']'.repeat(levels)}`;

describe('scanJson, paths', () => {
  it('names members and elements from the outermost value on', () => {
    assert.deepEqual(pathsOf('{"events":[{},{},{"actor":{"age":1e400}}]}'), ['events[2].actor.age']);
    assert.deepEqual(pathsOf('{"payload":{"lines":[{"sku":"\\ud800"}]}}'), ['payload.lines[0].sku']);
    assert.deepEqual(pathsOf('[[0,[1e400]],{"a":1e400}]'), ['[0][1][0]', '[1].a']);
  });

  it('names the whole text by the empty path', () => {
    assert.deepEqual(pathsOf('1e400'), ['']);
  });

  it('quotes a key that is no identifier as JSON does', () => {
    const keys = ['unit price', 'a.b', 'a[0]', '', '1st', 'späť', 'say "no"', 'back\\slash', '\n'];
    for (const key of keys) {
      const quoted = JSON.stringify(key);
      assert.deepEqual(pathsOf(`{"payload":{${quoted}:{"n":1e400}}}`), [`payload[${quoted}].n`]);
    }
    assert.deepEqual(pathsOf('{"$a_1":{"_":1e400}}'), ['$a_1._']);
  });

  it('shows the first 64 characters of a long key', () => {
    assert.deepEqual(pathsOf(`{"${'k'.repeat(64)}":1e400}`), ['k'.repeat(64)]);
    assert.deepEqual(pathsOf(`{"${'k'.repeat(65)}":[1e400]}`), [`["${'k'.repeat(64)}…"][0]`]);
    assert.deepEqual(pathsOf(`{"${'\\u0061é€😀\\n'.repeat(13)}":1e400}`), [
      `["${'aé€😀\\n'.repeat(12)}aé€😀…"]`,
    ]);
  });

  it('lists all violations in the order of the text', () => {
    assert.deepEqual(pathsOf('{"b":1e400,"a":"\\u0000","b":{"c":1e-400}}'), ['b', 'a', 'b', 'b.c']);
  });
});

describe('scanJson, nesting', () => {
  it(`takes ${JSON_DEPTH_MAX} levels and refuses one more`, () => {
    assert.deepEqual(scanJson(utf8(nested(JSON_DEPTH_MAX, '1'))), CLEAN);
    assert.deepEqual(scanJson(utf8(nested(JSON_DEPTH_MAX + 1))).violations, [
      { path: '[0]'.repeat(JSON_DEPTH_MAX), issue: `is nested deeper than ${JSON_DEPTH_MAX} levels` },
    ]);
  });

  it('takes the limit from the caller', () => {
    assert.deepEqual(scanJson(utf8('{"events":[{"payload":{}}]}'), { depthMax: 4 }), CLEAN);
    assert.deepEqual(scanJson(utf8('{"events":[{"payload":{}}]}'), { depthMax: 3 }).violations, [
      { path: 'events[0].payload', issue: 'is nested deeper than 3 levels' },
    ]);
    assert.deepEqual(scanJson(utf8(nested(500)), { depthMax: 500 }), CLEAN);
  });

  it('takes a limit that makes no sense as the least one', () => {
    for (const depthMax of [0, -1, Number.NaN, 0.5]) {
      assert.deepEqual(scanJson(utf8('[[]]'), { depthMax }).violations, [
        { path: '', issue: 'is nested deeper than 0 levels' },
      ]);
    }
  });

  it('looks for nothing but syntax past the limit, and for everything after it', () => {
    const text = '{"a":[{"x":1e400,"x":[[1,2],{}],"y":{"z":{}}},1,{}],"b":1e400,"a":0}';
    assert.deepEqual(
      scanJson(utf8(text), { depthMax: 2 }).violations.map(({ path }) => path),
      ['a[0]', 'a[2]', 'b', 'a'],
    );
  });

  it('still finds a syntax fault past the limit', () => {
    assert.equal(scanJson(utf8(`${'['.repeat(100)}}`)).syntax?.offset, 100);
    assert.equal(scanJson(utf8('[[{"a":1],2]]'), { depthMax: 1 }).syntax?.offset, 8);
    const mixed = `${'{"a":['.repeat(1000)}${']}'.repeat(1000)}`;
    assert.equal(scanJson(utf8(mixed)).syntax, undefined);
    assert.equal(scanJson(utf8(mixed.replace(/]}]}$/, ']}}]'))).syntax?.offset, mixed.length - 2);
  });
});

describe('scanJson, how many violations', () => {
  it('lists 100 and counts the rest', () => {
    const { violations, unlisted } = scanJson(utf8(`[${'1e400,'.repeat(250)}0]`));
    assert.equal(violations.length, JSON_VIOLATIONS_MAX);
    assert.equal(unlisted, 150);
  });

  it('takes the bound from the caller and never lists none', () => {
    const text = utf8('[1e400,1e400,1e400]');
    assert.equal(scanJson(text, { violationsMax: 2 }).violations.length, 2);
    for (const violationsMax of [0, -1, Number.NaN]) {
      assert.equal(scanJson(text, { violationsMax }).violations.length, 1);
    }
  });
});

/** Several times what a slow machine needs; a scan in quadratic time would take minutes. */
const BODY_MS_MAX = 5000;

describe(`scanJson, a body of 10 MB within ${BODY_MS_MAX} ms`, () => {
  const full = (part: string): string => part.repeat(Math.floor((10 * MEGABYTE) / part.length));
  /** 64 keys of one length whose sums by 31 are all the same. */
  const colliding = Array.from(
    { length: 64 },
    (_, i) =>
      `"${'x'.repeat(100)}${i.toString(2).padStart(6, '0').replaceAll('0', 'Aa').replaceAll('1', 'BB')}":0`,
  );
  const manyKeys = Array.from({ length: 700_000 }, (_, i) => `"${i * 65_536}":0`);
  const bodies: readonly [name: string, body: () => string][] = [
    ['of opening brackets', () => full('[')],
    ['of opening objects', () => full('{"a":')],
    ['of closed brackets', () => nested(5 * MEGABYTE)],
    ['of one object with 700,000 keys like array indexes', () => `{${manyKeys.join(',')}}`],
    ['of objects whose keys hash alike', () => `[${full(`{${colliding.join(',')}},`)}0]`],
    ['of objects with one escaped key', () => `[${full('{"\\n":0},')}0]`],
    ['of one key, again and again', () => `{${full('"a":0,')}"a":0}`],
    ['of one number', () => full('1')],
    ['of one number with zeros inside', () => `1.${'0'.repeat(5 * MEGABYTE)}1${'0'.repeat(5 * MEGABYTE)}`],
    ['of numbers that no double holds', () => `[${full('0.300000000000000041,')}0]`],
    [
      'of violations under a key of 5 MB',
      () => `{"${'k'.repeat(5 * MEGABYTE)}":[${full('1e400,').slice(0, 5 * MEGABYTE)}0]}`,
    ],
    ['of white space', () => full(' ')],
    ['of one string with escapes', () => `"${full('\\u00e9\\n')}"`],
  ];
  for (const [name, body] of bodies) {
    it(`scans one ${name}`, () => {
      const bytes = utf8(body());
      let violations: readonly JsonViolation[] = [];
      const ms = processorMs(() => ({ violations } = scanJson(bytes)));
      assert.ok(ms < BODY_MS_MAX, `took ${ms} ms`);
      assert.ok(JSON.stringify(violations).length < 100_000);
    });
  }

  it('refuses a bomb of 100,000 brackets at its first level too many', () => {
    const { syntax, violations } = scanJson(utf8(nested(100_000)));
    assert.equal(syntax, undefined);
    assert.deepEqual(
      violations.map(({ path }) => path),
      ['[0]'.repeat(JSON_DEPTH_MAX)],
    );
  });
});
