import assert from 'node:assert/strict';
import { test } from 'node:test';
import { closingLine, type SearchResult } from './search-closing.ts';

const RESULT: SearchResult = { shown: 2, total: 2, isExact: true, isWhole: true, lagMs: 0, isUnknown: false };

test('says how many were found, how sure that is, and how far the index was behind', () => {
  for (const [result, line] of [
    [{}, '2 events found.'],
    [{ shown: 1, total: 1 }, '1 event found.'],
    [{ shown: 0, total: 0 }, '0 events found.'],
    [{ shown: 0, total: 0, isUnknown: true }, '0 events found: nothing was ever written to the log of acme.'],
    [{ total: 9, isWhole: false }, '2 of 9 events shown; --limit <n> or --all shows more.'],
    [
      { shown: 50, total: 10_001, isExact: false, isWhole: false },
      '50 of at least 10001 events shown; --limit <n> or --all shows more.',
    ],
    [
      { shown: 20_000, total: 10_001, isExact: false, isWhole: false },
      '20000 of at least 20001 events shown; --limit <n> or --all shows more.',
    ],
    [{ shown: 20_000, total: 10_001, isExact: false }, '20000 events found.'],
    // An event that is not what was accepted is counted, and not shown.
    [{ shown: 2, total: 3 }, '2 of 3 events shown.'],
    [{ shown: 3, total: 2 }, '3 events found.'],
    [{ lagMs: 140 }, '2 events found; the index is 140 ms behind the log, so the newest may be missing.'],
  ] satisfies [Partial<SearchResult>, string][]) {
    assert.equal(closingLine({ ...RESULT, ...result }, 'acme'), line);
  }
});
