import assert from 'node:assert/strict';
import { test } from 'node:test';
import { viewFor, visibleTo } from './redact.ts';

const LEVELS = ['Public', 'Internal', 'Confidential', 'Secret'] as const;

test('each clearance sees what it is cleared for, facts of what is above, and of a secret perhaps nothing', () => {
  const views = Object.fromEntries(
    LEVELS.map((clearance) => [clearance, LEVELS.map((level) => viewFor(clearance, level)).join(' ')]),
  );
  assert.deepEqual(views, {
    Public: 'Whole Withheld Withheld Invisible',
    Internal: 'Whole Whole Withheld Invisible',
    Confidential: 'Whole Whole Whole Withheld',
    Secret: 'Whole Whole Whole Whole',
  });
});

test('what is not invisible to a reader is visible to them', () => {
  for (const clearance of LEVELS) {
    const expected = LEVELS.filter((level) => viewFor(clearance, level) !== 'Invisible');
    assert.deepEqual(visibleTo(clearance), expected, clearance);
  }
});
