// Mutants that no test can kill, because they do what the code does that they were made of. Each is listed in
// equivalents.json by its file and by the lines that it changes, before and after, and says why. An entry that no
// mutant matches any more is reported, so that the list cannot outlive the code.

import { readFileSync } from 'node:fs';
import { type Mutant, mutantsOf } from './mutants.ts';
import { parseSource } from './parse-source.ts';
import { prosePlaces } from './prose.ts';

/** The whole lines that a mutant changes, before and after, with single spaces: what it is known by. */
export interface Change {
  /** From packages/evidence/src. */
  file: string;
  was: string;
  becomes: string;
}

export interface Equivalent extends Change {
  reason: string;
}

export interface MutatedText extends Change {
  text: string;
}

export function readEquivalents(): Equivalent[] {
  const text = readFileSync(new URL('equivalents.json', import.meta.url), 'utf8');
  return JSON.parse(text) as Equivalent[];
}

export function listedAs(listed: readonly Equivalent[], change: Change): Equivalent | undefined {
  const { file, was, becomes } = change;
  return listed.find((one) => one.file === file && one.was === was && one.becomes === becomes);
}

/** All mutants of all texts that are no tests. */
export function mutantsByFile(texts: ReadonlyMap<string, string>): Map<string, MutatedText[]> {
  const trees = parseSource(new Map([...texts].filter(([path]) => !path.endsWith('.test.ts'))));
  const prose = prosePlaces(trees.values());
  return new Map(
    [...trees].map(([file, tree]) => [
      file,
      mutantsOf(tree, prose).map((one) => mutated(file, tree.text, one)),
    ]),
  );
}

function mutated(file: string, text: string, { start, end, replacement }: Mutant): MutatedText {
  const lineStart = text.lastIndexOf('\n', start - 1) + 1;
  const lineEnd = text.indexOf('\n', end) === -1 ? text.length : text.indexOf('\n', end);
  const plain = (piece: string): string => piece.replace(/\s+/g, ' ').trim();
  return {
    file,
    text: text.slice(0, start) + replacement + text.slice(end),
    was: plain(text.slice(lineStart, lineEnd)),
    becomes: plain(text.slice(lineStart, start) + replacement + text.slice(end, lineEnd)),
  };
}
