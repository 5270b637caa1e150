import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type DeliveryAttempt, LIMITS } from '@tallystick/contract';
import { attemptsIn, withAttempt } from './attempts.ts';

const attempt = (attemptNumber: number, more: Partial<DeliveryAttempt> = {}): DeliveryAttempt => ({
  attemptNumber,
  at: '2026-01-01T00:00:00.000Z',
  latencyMs: 1,
  ...more,
});

test('a history keeps the headers of the newest attempt alone, so that none grows large', () => {
  const requestHeaders = { 'X-Long': 'x'.repeat(LIMITS.customHeadersLengthMax) };
  let progress: string | undefined;
  for (let i = 1; i <= 100; i++)
    progress = withAttempt(progress, attempt(((i - 1) % 10) + 1, { requestHeaders, error: 'no' }));
  const attempts = attemptsIn(progress);
  assert.deepEqual(attempts.at(-1)?.requestHeaders, requestHeaders);
  assert.ok(attempts.slice(0, -1).every((each) => each.requestHeaders === undefined && each.error === 'no'));
  assert.ok(progress!.length < 2 * LIMITS.customHeadersLengthMax, `${progress!.length} characters`);
});
