// The limits that the specification fixes, as numbers; and every limit says its unit.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LIMIT_GROUPS, LIMITS, RETRY_DELAYS_MS } from './limits.ts';

test('the limits of the specification hold to the digit', () => {
  const { payloadBytesMax, batchBytesMax, batchEventsMax, searchResultsMax, pageSizeDefault, pageSizeMax } =
    LIMITS;
  assert.deepEqual([payloadBytesMax, batchBytesMax, batchEventsMax], [65_536, 10_485_760, 1000]);
  assert.deepEqual([searchResultsMax, pageSizeDefault, pageSizeMax], [10_000, 100, 1000]);
  assert.deepEqual([LIMITS.actionLengthMin, LIMITS.actionLengthMax], [3, 100]);
  assert.deepEqual([LIMITS.timestampAheadMsMax, LIMITS.idempotencyWindowMs], [300_000, 86_400_000]);
  assert.deepEqual([LIMITS.batchTimeoutMs, LIMITS.searchTimeoutMs], [60_000, 30_000]);
  assert.deepEqual([LIMITS.requestsPerMinuteStandard, LIMITS.requestsPerMinutePremium], [1000, 10_000]);
  assert.deepEqual([LIMITS.deliveryAttemptsMax, LIMITS.deadLetterLifetimeMs], [10, 604_800_000]);
});

test('there is a delay for every attempt, and 6 h 20 min 30 s lie between the first and the last', () => {
  assert.equal(RETRY_DELAYS_MS.length, LIMITS.deliveryAttemptsMax);
  const sum = RETRY_DELAYS_MS.reduce((total, delay) => total + delay, 0);
  assert.equal(sum, (6 * 3600 + 20 * 60 + 30) * 1000);
});

test('every limit is in exactly one group, positive, with a note that ends', () => {
  const names = Object.values(LIMIT_GROUPS).flatMap((group) => Object.keys(group));
  assert.equal(new Set(names).size, names.length);
  assert.deepEqual(names.sort(), Object.keys(LIMITS).sort());
  for (const group of Object.values(LIMIT_GROUPS)) {
    for (const [name, [value, note]] of Object.entries(group)) {
      assert.ok(Number.isInteger(value) && value > 0, name);
      assert.match(note, /^.+\.$/, name);
    }
  }
});
