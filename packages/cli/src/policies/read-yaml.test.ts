import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { runs } from '../../../evidence/src/testing/size.ts';
import { NotReadable, readYaml } from './read-yaml.ts';

const values = (text: string) => readYaml(text).map(({ value }) => value);

test('each document is a value, and one without content is none', () => {
  assert.deepEqual(values('a: 1\n---\n# nothing\n---\n- b\n---\n'), [{ a: 1 }, ['b']]);
  assert.deepEqual(values(''), []);
  assert.deepEqual(values('# only a comment\n'), []);
});

test('it is the core schema of YAML 1.2, whatever a document asks for', () => {
  const text = 'a: yes\nb: 014\nc: 2026-01-02\nd: 1:30\ne: ~\nf:\ng: 0x1F\nh: 1.5e3\ni: TRUE\n1: one\n';
  const plain = { a: 'yes', b: 14, c: '2026-01-02', d: '1:30', e: null, f: null };
  const value = { ...plain, g: 31, h: 1500, i: true, 1: 'one' };
  assert.deepEqual(values(text), [value]);
  assert.deepEqual(values(`%YAML 1.1\n---\n${text}`), [value]);
});

test('JSON is read as what it is, in any layout', () => {
  // Whole numbers past 2^53 are refused, as in a request.
  const isExact = (value: unknown) => !/(?<![\d.])\d{16,}(?![\d.e])/.test(JSON.stringify(value));
  const json = fc.jsonValue({ noUnicodeString: false, maxDepth: 5 }).filter(isExact);
  fc.assert(
    fc.property(json, fc.constantFrom('', ' ', '\t'), (value, indent) => {
      const [document] = readYaml(JSON.stringify([value], null, indent));
      assert.equal(JSON.stringify(document!.value), JSON.stringify([value]));
    }),
    { seed: 4, numRuns: runs(1000) },
  );
  const [document] = readYaml('{"__proto__": {"a": 1}}');
  assert.deepEqual(Object.keys(document!.value as object), ['__proto__']);
});

test('an alias is the value of the anchor before it', () => {
  assert.deepEqual(values('a: &x {b: 1}\nc: *x\nd: [*x, *x]\n'), [
    { a: { b: 1 }, c: { b: 1 }, d: [{ b: 1 }, { b: 1 }] },
  ]);
});

test('what has no JSON equivalent is refused with its line', () => {
  for (const [text, line, says] of [
    ['a: 1\nb:\n  c: 1\n  c: 2\n', 4, /^duplicate key "c"$/],
    ['a: 1\n"a": 2\n', 2, /^duplicate key "a"$/],
    ['a: 1\n? [b, c]\n: 2\n', 2, /keys must be strings/],
    ['a:\n  - 1\n  - .inf\n', 3, /".inf" is not exact/],
    ['a: .nan\n', 1, /is not exact as a JSON number/],
    ['a: 12345678901234567890\n', 1, /"12345678901234567890" is not exact as a JSON number/],
    ['a: 0.12345678901234567890123\n', 1, /is not exact as a JSON number/],
    ['a: 1e999\n', 1, /is not exact as a JSON number/],
    ['a: 1\nb: !secret x\n', 2, /tag: !secret/],
    ['a: !!binary aGk=\n', 1, /tag/],
    ['a: *b\n', 1, /unknown alias \*b/],
    ['a: &b [*b]\n', 1, /unknown alias \*b/],
    // Each alias would be written out.
    [`a: &b ${'x'.repeat(700_000)}\nc: [*b, *b]\n`, 2, /aliases stand for over 1048576 characters/],
    [`a: &b ${'x'.repeat(300_000)}\nc: &d [*b, *b]\ne: [*d]\n`, 3, /aliases stand for over/],
    ['a: b: c\n', 1, /Nested mappings/],
    ['a:\n\tb: c\n', 2, /Tabs/],
    ['a: 1\nb: "x\n', 3, /quote/],
  ] as const) {
    assert.throws(
      () => readYaml(text),
      (error: unknown) => {
        assert.ok(error instanceof NotReadable, String(error));
        assert.deepEqual([error.line, error.message.includes('\n')], [line, false], text);
        assert.match(error.message, says);
        return true;
      },
    );
  }
});

test('a hostile text is refused, and soon', () => {
  const laughs = ['a0: &a0 [x, x, x, x, x, x, x, x, x, x]'];
  for (let i = 1; i < 10; i++)
    laughs.push(
      `a${i}: &a${i} [${Array(10)
        .fill(`*a${i - 1}`)
        .join(', ')}]`,
    );
  for (const [text, says] of [
    [laughs.join('\n'), /over 100000 values/],
    ['['.repeat(500_000), /nested too deeply/],
    ['{a: '.repeat(200_000), /nested too deeply/],
    ['- '.repeat(500_000), /nested too deeply/],
    ['? '.repeat(500_000), /nested too deeply/],
    [Array.from({ length: 1000 }, (_, i) => `${' '.repeat(i)}a:\n`).join(''), /nested too deeply/],
    [`[${'1,'.repeat(100_001)}]`, /over 100000 values/],
  ] as const)
    assert.throws(() => readYaml(text), { constructor: NotReadable, message: says });
  assert.equal(readYaml(`{"${'k'.repeat(500_000)}": [${'1,'.repeat(50_000)}]}`)[0]!.lineOf('k'), 1);
  // Keys are compared by a set.
  const keys = Array.from({ length: 20_000 }, (_, i) => `k${i}:\n`).join('');
  assert.equal(Object.keys(readYaml(keys)[0]!.value as object).length, 20_000);
});

test('the line of a member is that of its key, or of the nearest member around it', () => {
  const [, document] = readYaml(
    [
      '---',
      'a: 1',
      '---',
      '# second',
      'name: x',
      'rules:',
      '  - effect:',
      '      b.c: 1',
      '    name: y',
      '',
    ].join('\n'),
  );
  for (const [path, line] of [
    ['', 5],
    ['name', 5],
    ['rules', 6],
    ['rules[0]', 7],
    ['rules[0].effect', 7],
    ['rules[0].effect.b.c', 8],
    ['rules[0].effect.b.d.e', 7],
    ['rules[0].name', 9],
    ['rules[7].name', 6],
    ['policyType', 5],
    ['rules[0]["odd one"]', 7],
  ] as const)
    assert.equal(document!.lineOf(path), line, path);
});
