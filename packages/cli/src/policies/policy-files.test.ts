import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { CannotRun } from '../cannot-run.ts';
import { readPolicyFiles } from './policy-files.ts';

const folder = mkdtempSync(join(tmpdir(), 'tallystick-policies-'));
after(() => rmSync(folder, { recursive: true }));
let count = 0;

/** A directory with these files in it. */
function directory(files: Readonly<Record<string, string | Uint8Array>>): string {
  const path = join(folder, String(count++));
  mkdirSync(path);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(path, name), text);
  return path;
}

const named = (paths: readonly string[]) => readPolicyFiles(paths).map(({ name }) => name);

test('policies stand in documents of YAML, and in JSON one by one or as a list', () => {
  const path = directory({
    'b.yml': 'name: B1\n---\nname: B2\n---\n',
    'a.yaml': '# a comment\nname: A\n',
    'c.json': '[{ "name": "C1" },\n\t{ "name": "C2" }]',
    'd.json': '{\n\t"name": "D"\n}\n',
    'readme.md': 'not: [read',
    'Z.yaml': 'name: Z',
  });
  assert.deepEqual(named([path]), ['Z', 'A', 'B1', 'B2', 'C1', 'C2', 'D']);
  assert.deepEqual(named([join(path, 'd.json'), join(path, 'a.yaml')]), ['D', 'A']);
  const lines = readPolicyFiles([path]).map(
    ({ file, lineOf }) => `${file.slice(path.length + 1)}:${lineOf('name')}`,
  );
  assert.deepEqual(lines, ['Z.yaml:1', 'a.yaml:2', 'b.yml:1', 'b.yml:3', 'c.json:1', 'c.json:2', 'd.json:2']);
});

test('members that the service ignores are left out; it judges all others', () => {
  const path = directory({
    'a.yaml':
      'name: 7\ndescription:\nversion: 3\npolicyId: x\ncolour: red\nrules:\n  - { name: ~, conditions: { payload.a: ~ } }\n',
  });
  const [found] = readPolicyFiles([path]);
  assert.equal(found!.name, undefined);
  assert.deepEqual(found!.policy, { name: 7, colour: 'red', rules: [{ conditions: { 'payload.a': null } }] });
});

test('what is not a policy, or is ambiguous, is refused with file and line', () => {
  for (const [files, says] of [
    [{ 'a.yaml': '- name: A\n' }, /a\.yaml:1: a policy must be a mapping, not a list$/],
    [{ 'a.yaml': 'name: A\n---\ntext\n' }, /a\.yaml:3: .*, not a string$/],
    [{ 'a.json': '[{ "name": "A" },\n 7]' }, /a\.json:2: .*, not a number$/],
    [{ 'a.json': '[null]' }, /a\.json:1: .*, not null$/],
    [{ 'a.json': '[[]]' }, /a\.json:1: .*, not a list$/],
    [{ 'a.json': '{ "name": "A", // no\n }' }, /a\.json:1: not valid JSON: expected /],
    [{ 'a.json': 'name: A' }, /a\.json:1: not valid JSON: /],
    [{ 'a.json': '{ "name": "A",\n "name": "B" }' }, /a\.json:2: duplicate key "name"$/],
    [{ 'a.yaml': 'name: A\nx: *y\n' }, /a\.yaml:2: unknown alias \*y/],
    [{ 'a.yaml': '# nothing\n' }, /a\.yaml contains no policy$/],
    [{ 'a.json': '[]' }, /a\.json contains no policy$/],
    [{ 'a.json': '' }, /a\.json:1: not valid JSON: /],
    [{ 'a.txt': 'name: A' }, /contains no \.yaml, \.yml or \.json file$/],
    [{ 'a.yaml': `# ${'x'.repeat(1_048_576)}` }, /a\.yaml is over 1048576 bytes$/],
    [{ 'a.yaml': new Uint8Array([0x6e, 0xff]) }, /a\.yaml is not valid UTF-8$/],
    [
      { 'a.yaml': 'name: A\n', 'b.yaml': '# B\nname: A\n' },
      /b\.yaml:2: duplicate policy name; the first is at .*a\.yaml:1$/,
    ],
    [
      { 'a.yaml': 'name: A\nstatus: Draft\nactive: true\n' },
      /a\.yaml:3: active: true contradicts status: Draft; keep one of them$/,
    ],
    [
      { 'a.yaml': 'name: A\nstatus: Active\nactive: false\n' },
      /a\.yaml:3: active: false contradicts status: Active/,
    ],
    [{ 'a.yaml': 'name: A\ntimeRange: {}\n' }, /a\.yaml:2: timeRange is not a field of a policy$/],
  ] as const)
    assert.throws(() => readPolicyFiles([directory(files)]), { constructor: CannotRun, message: says });
  assert.throws(() => readPolicyFiles([join(folder, 'none')]), /cannot read .*none: no such file/);
  assert.equal(named([directory({ 'a.yaml': 'name: A\nstatus: Draft\nactive: false\n' })]).length, 1);
  assert.equal(named([directory({ 'a.yaml': `name: A\n#${'x'.repeat(1_048_576 - 9)}` })]).length, 1);
});

test('a named pipe in a directory is not waited for', () => {
  const path = directory({ 'a.yaml': 'name: A\n' });
  execFileSync('mkfifo', [join(path, 'b.yaml')]);
  assert.deepEqual(
    readPolicyFiles([path]).map(({ name }) => name),
    ['A'],
  );
});
