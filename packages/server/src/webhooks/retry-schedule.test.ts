import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RetryRule } from '@tallystick/contract';
import { parseRetryAfter, retryDelayMs } from './retry-schedule.ts';

const SCHEDULE: RetryRule = { strategy: 'Schedule' };
const parts = { retry: SCHEDULE, timeScale: 1, chance: 0.5 };
const delays = (more: Partial<typeof parts> = {}) =>
  Array.from({ length: 9 }, (_, i) => retryDelayMs(i + 2, undefined, { ...parts, ...more }) / 1000);

test('attempts 2 to 10 wait for 30 s, 5 min, 15 min and then an hour each', () => {
  assert.deepEqual(delays(), [30, 300, 900, 3600, 3600, 3600, 3600, 3600, 3600]);
});

test('each delay varies by a fifth, up or down', () => {
  assert.equal(retryDelayMs(2, undefined, { ...parts, chance: 0 }), 24_000);
  const most = retryDelayMs(2, undefined, { ...parts, chance: 1 - Number.EPSILON });
  assert.ok(most > 35_990 && most <= 36_000, String(most));
});

test('the formula doubles the initial delay for each attempt, up to the longest', () => {
  const by = (more: object) => delays({ retry: { strategy: 'Exponential', ...more } });
  assert.deepEqual(by({}), [30, 60, 120, 240, 480, 960, 1920, 3600, 3600]);
  assert.deepEqual(by({ initialDelay: 'PT1S', maxDelay: 'PT10S' }), [1, 2, 4, 8, 10, 10, 10, 10, 10]);
  assert.deepEqual(by({ initialDelay: 'PT2H', maxDelay: 'PT1H' }).slice(0, 2), [3600, 3600]);
});

test('a subscription of before the bounds waits for a second at least, and for a day at most', () => {
  const by = (initialDelay: string, maxDelay: string) =>
    delays({ retry: { strategy: 'Exponential', initialDelay, maxDelay } });
  assert.deepEqual(by('PT0.0001S', 'PT0.0002S').slice(0, 2), [1, 1]);
  assert.deepEqual(by('P275000Y', 'P999999999Y').slice(0, 2), [86_400, 86_400]);
});

test('a test’s scale shortens delays and the cap on Retry-After, not its value', () => {
  const timeScale = 0.001;
  assert.deepEqual(delays({ timeScale }).slice(0, 4), [0.03, 0.3, 0.9, 3.6]);
  const asked = (ms: number) => retryDelayMs(2, ms, { ...parts, timeScale });
  assert.deepEqual([asked(10), asked(2000), asked(60_000)], [30, 2000, 3600]);
});

test('Retry-After lengthens a delay up to an hour, and shortens none', () => {
  const asked = (ms: number) => retryDelayMs(3, ms, parts) / 1000;
  assert.deepEqual([asked(0), asked(299_000), asked(301_000), asked(7_200_000)], [300, 300, 301, 3600]);
});

test('Retry-After is a number of seconds, or a date of HTTP', () => {
  const now = Date.UTC(2026, 0, 1);
  const read = (text: string | undefined) => parseRetryAfter(text, now);
  assert.equal(read('120'), 120_000);
  assert.equal(read('0'), 0);
  assert.equal(read('9999999999'), 9_999_999_999_000, 'it is honoured as far as any is');
  assert.equal(read('Thu, 01 Jan 2026 00:01:00 GMT'), 60_000);
  assert.equal(read('Wed, 31 Dec 2025 23:00:00 GMT'), 0);
  for (const text of [undefined, '', 'soon', '-1', '1.5', '2026-01-01T00:01:00Z', '1e3'])
    assert.equal(read(text), undefined, text);
});
