// The committed interfaces are what the contract says, and change only as clients can bear it. UPDATE_REFERENCE=1
// writes them where nothing breaks; BREAKING=1 besides says that it is meant to.

import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { buildSchema, findBreakingChanges } from 'graphql';
import { INTERFACES } from './interfaces.ts';
import { type CommittedTools, toolsBreaks } from './mcp/tools-text.ts';
import type { CommittedInterface } from './interfaces.ts';

const folder = fileURLToPath(new URL('../interfaces/', import.meta.url));

/** By the ending of the file: what only the parser of the format can compare. */
const COMPARERS: Readonly<Record<string, NonNullable<CommittedInterface['breaks']>>> = {
  '.graphql': (committed, text) =>
    findBreakingChanges(buildSchema(committed), buildSchema(text)).map(({ description }) => description),
  '.json': (committed, text) =>
    toolsBreaks(JSON.parse(committed) as CommittedTools, JSON.parse(text) as CommittedTools),
};

/** Files that have no text in the contract: said by hand. */
const BY_HAND: readonly string[] = ['README.md', 'proto/buf.yaml'];

function comparerOf(file: string): NonNullable<CommittedInterface['breaks']> {
  const breaks = INTERFACES[file]?.breaks ?? COMPARERS[file.slice(file.lastIndexOf('.'))];
  assert.ok(breaks, `${file}: nothing says which changes of it break clients`);
  return breaks;
}

describe('the interfaces of the protocols', () => {
  for (const [file, { text }] of Object.entries(INTERFACES)) {
    it(`${file} is what the contract says, and breaks no client (UPDATE_REFERENCE=1 writes it)`, () => {
      const path = `${folder}${file}`;
      const [committed, made] = [existsSync(path) ? readFileSync(path, 'utf8') : undefined, text()];
      const broken = committed === undefined ? [] : comparerOf(file)(committed, made);
      if (process.env['BREAKING'] !== '1') assert.deepEqual(broken, [], 'BREAKING=1 if it is meant to');
      if (process.env['UPDATE_REFERENCE'] === '1') {
        mkdirSync(dirname(path), { recursive: true });
        writeFileSync(path, made);
      }
      assert.ok(readFileSync(path, 'utf8') === made, `${file} differs: npm run docs writes it`);
    });
  }

  it('are the only files beside what is written by hand', () => {
    const files = readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => `${parentPath}/${name}`.slice(folder.length).replace(/^\//, ''));
    assert.deepEqual(files.toSorted(), [...Object.keys(INTERFACES), ...BY_HAND].toSorted());
  });
});
