import assert from 'node:assert/strict';
import { test } from 'node:test';
import { classify } from './classify.ts';
import { viewFor, visibleTo } from './redact.ts';

const LEVELS = ['Public', 'Internal', 'Confidential', 'Secret'] as const;

test('a hint raises a classification and never lowers it', () => {
  for (const [i, byDefault] of LEVELS.entries()) {
    assert.equal(classify(byDefault, undefined), byDefault);
    for (const [j, hint] of LEVELS.entries()) {
      assert.equal(classify(byDefault, hint), LEVELS[Math.max(i, j)], `${byDefault} ${hint}`);
    }
  }
});

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
