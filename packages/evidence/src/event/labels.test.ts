import assert from 'node:assert/strict';
import { test } from 'node:test';
import { textOf } from '../bytes.ts';
import * as labels from './labels.ts';

test('every label is 16 bytes and says what is hashed', () => {
  const { LABEL_BYTES, ...made } = labels;
  assert.deepEqual(Object.fromEntries(Object.entries(made).map(([name, bytes]) => [name, textOf(bytes)])), {
    LABEL_TAG: 'audit-trail/t1\n\0',
    LABEL_COMMITMENT: 'audit-trail/f1\n\0',
    LABEL_GROUP: 'audit-trail/r1\n\0',
    LABEL_CONTENT: 'audit-trail/c1\n\0',
    LABEL_ENTRY: 'audit-trail/e1\n\0',
    LABEL_GENESIS: 'audit-trail/g1\n\0',
  });
  for (const bytes of Object.values(made)) assert.equal(bytes.length, LABEL_BYTES);
});
