// The documents hold to the code: links, and the lists of what the code has.

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, it } from 'node:test';
import { LIMITS } from '@tallystick/contract';
import { KINDS, REASONS } from '@tallystick/evidence';
import { isTest, readText, repositoryFiles, ROOT, sourceFiles } from './source.ts';

const documents = repositoryFiles().filter((path) => path.endsWith('.md'));

describe('documents', () => {
  it('links inside the repository lead somewhere', () => {
    const dead = documents.flatMap((path) =>
      [...readText(path).matchAll(/\]\((?!https?:|mailto:|#)([^)#\s]+)(?:#[^)]*)?\)/g)]
        .map((match) => normalize(join(dirname(path), match[1]!)))
        .filter((target) => !existsSync(join(ROOT, target)))
        .map((target) => `${path}: ${target} is not there`),
    );
    assert.deepEqual(dead, []);
  });

  it('name only source files that are there', () => {
    const paths = repositoryFiles().map((path) => `/${path}`);
    // Decisions tell of their time, the changelog of versions that are over, and STYLE.md has examples.
    const current = documents.filter((path) => !/^(docs\/decisions\/\d|CHANGELOG|STYLE)/.test(path));
    const dead = current.flatMap((path) =>
      [...readText(path).matchAll(/`([\w{},./-]+\.ts)`/g)]
        .flatMap(([, name]) => spelledOut(name!))
        .filter((name) => !paths.some((each) => each.endsWith(`/${name}`)))
        .map((name) => `${path}: ${name} is not there`),
    );
    assert.deepEqual(dead, []);
  });
});

describe('pictures', () => {
  it('are each shown by a document, and say in words what they show', () => {
    const pictures = repositoryFiles().filter((path) => path.endsWith('.svg'));
    assert.ok(pictures.length > 0, 'there are pictures');
    const faults = pictures.flatMap((path) => [
      ...(documents.some((page) => shows(page, path)) ? [] : [`${path} is shown by no document`]),
      ...(/<title id="title">.+<\/title>\s+<desc id="desc">.+<\/desc>/.test(readText(path))
        ? []
        : [`${path} has no title, or no description`]),
    ]);
    assert.deepEqual(faults, []);
  });
});

function shows(page: string, picture: string): boolean {
  return [...readText(page).matchAll(/!\[[^\]]+\]\(([^)]+)\)/g)].some(
    ([, target]) => normalize(join(dirname(page), target!)) === picture,
  );
}

/** `{a,b}/c` is `a/c` and `b/c`. */
function spelledOut(name: string): string[] {
  const group = /\{([^}]*)\}/.exec(name);
  if (group === null) return [name];
  return group[1]!.split(',').flatMap((each) => spelledOut(name.replace(group[0], each)));
}

describe('notices', () => {
  it('that notices.md says are written are those that the server writes', () => {
    const written = sourceFiles()
      .filter(({ path }) => path.startsWith('packages/server/src/') && !isTest(path))
      .flatMap(({ text }) =>
        [...text.matchAll(/\bkind: KINDS\.(\w+)/g)].map(
          ([, name]) => Object.entries(KINDS).find(([key]) => key === name)![1],
        ),
      );
    const notices = new Set<number>(written.filter((kind) => kind !== KINDS.event));
    const kinds = [...notices]
      .toSorted((a, b) => a - b)
      .join(', ')
      .replace(/, (\d)$/, ' and $1');
    assert.ok(readText('docs/formats/notices.md').includes(`writes kinds ${kinds}.`), `it writes ${kinds}`);
  });
});

describe('reasons', () => {
  it('of verdicts.md are those of the code, all of them and in that order', () => {
    const rows = [...readText('docs/formats/verdicts.md').matchAll(/^\| `([A-Z_]+)` \|/gm)].map(
      (row) => row[1],
    );
    assert.deepEqual(rows, [...REASONS]);
  });
});

describe('limits', () => {
  it('of the policies of a tenant are those of the contract', () => {
    const rows = readText('docs/concepts/policies.md').matchAll(/^\| ([\d,]+) \| .* \| `(\w+)` \|$/gm);
    const shown = [...rows].map(([, value, name]) => [name!, Number(value!.replaceAll(',', ''))]);
    assert.deepEqual(Object.fromEntries(shown), {
      policiesMax: LIMITS.policiesMax,
      policyRecordsMax: LIMITS.policyRecordsMax,
      policiesLengthMax: LIMITS.policiesLengthMax,
      activeRulesMax: LIMITS.activeRulesMax,
      activeConditionsMax: LIMITS.activeConditionsMax,
      activeSearchesMax: LIMITS.activeSearchesMax,
      activeRedactFieldsMax: LIMITS.activeRedactFieldsMax,
      activeDetectorsMax: LIMITS.activeDetectorsMax,
    });
  });
});
