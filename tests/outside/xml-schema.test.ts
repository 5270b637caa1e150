// XML of exports against its schema, by xmllint of libxml2 as it is installed here.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { ROOT } from '../source.ts';

const SCHEMA = join(ROOT, 'docs/formats/export.xsd');
const VECTOR = join(ROOT, 'vectors/exports/valid/criteria-xml/events.xml');
const skip =
  spawnSync('xmllint', ['--version']).error === undefined ? false : 'there is no xmllint on this machine';

let folder: string;
before(() => {
  folder = mkdtempSync(join(tmpdir(), 'tallystick-xml-'));
});
after(() => rmSync(folder, { recursive: true }));

function validated(text: string) {
  const file = join(folder, 'events.xml');
  writeFileSync(file, text);
  const run = spawnSync('xmllint', ['--nonet', '--noout', '--schema', SCHEMA, file], { encoding: 'utf8' });
  return { code: run.status, said: run.stderr };
}

test('an export as XML validates', { skip }, () => {
  const { code, said } = validated(readFileSync(VECTOR, 'utf8'));
  assert.equal(code, 0, said);
  const none = '<?xml version="1.0" encoding="UTF-8"?>\n<events>\n</events>\n';
  assert.equal(validated(none).code, 0, 'of no events, too');
});

test('what no export writes does not validate', { skip }, () => {
  const sound = readFileSync(VECTOR, 'utf8');
  const sins: [string | RegExp, string][] = [
    [/<action>[^<]*<\/action>/, ''],
    [/(<action>[^<]*<\/action>)/, '$1$1'],
    ['<outcome>Success', '<outcome>Perhaps'],
    [/<sequence>\d+/, '<sequence>0'],
    ['<event>', '<event><note>paid</note>'],
    [/<leafHash>./, '<leafHash>X'],
    ['encoding="base64"', 'encoding="hex"'],
  ];
  for (const [from, to] of sins) {
    const changed = sound.replace(from, to);
    assert.notEqual(changed, sound, String(from));
    assert.notEqual(validated(changed).code, 0, String(from));
  }
});
