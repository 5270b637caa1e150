// scanJson against a naive scanner and against JSON.parse, on generated texts and broken bytes.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { textOf, utf8 } from '../bytes.ts';
import { canonicalJson } from './canonical-json.ts';
import { scanJson } from './strict-json.ts';
import { jsonText, mutatedBytes, numberText } from '../testing/json-texts.ts';
import { type NaiveFault, type NaiveFaultKind, naiveScan } from '../testing/naive-json.ts';
import { runs } from '../testing/size.ts';

const SEED = 8259;
const DEPTHS = [0, 1, 2, 3, 32];

const KINDS: readonly [RegExp, NaiveFaultKind][] = [
  [/^is given more than once/, 'duplicate'],
  [/U\+0000/, 'nul'],
  [/lone surrogate/, 'surrogate'],
  [/^is nested deeper than \d+ levels$/, 'depth'],
  [/^is an integer outside|^is a number /, 'number'],
];

function scanned(bytes: Uint8Array, depthMax: number): NaiveFault[] | undefined {
  const { syntax, violations, unlisted } = scanJson(bytes, { depthMax, violationsMax: 1000 });
  assert.equal(unlisted, 0);
  if (syntax !== undefined) {
    assert.ok(syntax.offset >= 0 && syntax.offset <= bytes.length);
    return undefined;
  }
  return violations.map(({ path, issue }) => ({
    path,
    kind: KINDS.find(([pattern]) => pattern.test(issue))![1],
  }));
}

function sorted(found: NaiveFault[] | undefined): string[] | undefined {
  return found?.map(({ path, kind }) => `${path} ${kind}`).sort();
}

function agrees(bytes: Uint8Array, depthMax: number): void {
  assert.deepEqual(sorted(scanned(bytes, depthMax)), sorted(naiveScan(bytes, depthMax)));
}

function parses(bytes: Uint8Array): boolean {
  try {
    JSON.parse(textOf(bytes));
    return true;
  } catch {
    return false;
  }
}

describe(`scanJson on generated input (seed ${SEED})`, () => {
  it('finds in sound texts what the naive scanner finds, at the same paths', () => {
    fc.assert(
      fc.property(jsonText, fc.constantFrom(...DEPTHS), (text, depthMax) => agrees(utf8(text), depthMax)),
      { seed: SEED, numRuns: runs(2500) },
    );
  });

  it('finds in broken bytes what the naive scanner finds, and calls JSON what JSON.parse reads', () => {
    fc.assert(
      fc.property(mutatedBytes, fc.constantFrom(...DEPTHS), (bytes, depthMax) => {
        agrees(bytes, depthMax);
        assert.equal(scanJson(bytes).syntax === undefined, parses(bytes));
      }),
      { seed: SEED, numRuns: runs(4000) },
    );
  });

  it('takes a number iff the naive scanner does', () => {
    fc.assert(
      fc.property(numberText, (literal) => agrees(utf8(literal), 32)),
      { seed: SEED, numRuns: runs(8000) },
    );
  });

  it('never throws at random bytes and never takes what JSON.parse refuses', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 24 }), (bytes) => {
        assert.equal(scanJson(bytes).syntax === undefined, parses(bytes));
      }),
      { seed: SEED, numRuns: runs(8000) },
    );
  });

  it('finds nothing in canonical texts but U+0000 and integers beyond ±(2^53 - 1)', () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: 'binary', maxDepth: 5 }), (value) => {
        const { syntax, violations } = scanJson(utf8(canonicalJson(value)));
        assert.equal(syntax, undefined);
        for (const { issue } of violations) assert.match(issue, /U\+0000|^is an integer outside/);
      }),
      { seed: SEED, numRuns: runs(3000) },
    );
  });

  it('finds the first fault where a text that can still be completed ends', () => {
    fc.assert(
      fc.property(mutatedBytes, (bytes) => {
        const { syntax } = scanJson(bytes);
        if (syntax === undefined) return;
        const before = scanJson(bytes.subarray(0, syntax.offset)).syntax;
        if (before !== undefined) assert.equal(before.offset, syntax.offset);
      }),
      { seed: SEED, numRuns: runs(3000) },
    );
  });
});
