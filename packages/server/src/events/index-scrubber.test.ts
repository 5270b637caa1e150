import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSystemRandom } from '../runtime/random.ts';
import { createTelemetry } from '../telemetry.ts';
import { createFakeClock } from '../testing/fake-clock.ts';
import type { IndexCheck } from './event-index.ts';
import { IndexScrubber } from './index-scrubber.ts';

const SOUND: IndexCheck = { isRoundDone: false, fault: undefined };
const DAY_MS = 24 * 3_600_000;
const PACE_MS = 600_000;

/** Answers these steps, and then that the round is done. */
function build(steps: readonly IndexCheck[]) {
  const clock = createFakeClock(1_000_000);
  const lines: string[] = [];
  let asked = 0;
  let signal: AbortSignal | undefined;
  const index = {
    async checkNext(stop: AbortSignal) {
      signal = stop;
      return steps[asked++] ?? { isRoundDone: true, fault: undefined };
    },
  };
  const telemetry = createTelemetry({
    clock,
    level: 'Info',
    form: 'json',
    secrets: [],
    write: (line) => void lines.push(line),
  });
  const scrubber = new IndexScrubber({
    index,
    clock,
    random: createSystemRandom(),
    telemetry,
    paceMs: PACE_MS,
  });
  scrubber.start();
  const advance = async (turns: number) => {
    for (let i = 0; i < turns; i++) await clock.advance(PACE_MS);
  };
  return { clock, scrubber, lines, advance, asked: () => asked, signal: () => signal };
}

test('part after part is compared, and then it rests until the day is over', async () => {
  const { clock, scrubber, advance, asked } = build([SOUND, SOUND]);
  await advance(30);
  assert.equal(asked(), 3);
  await clock.advance(DAY_MS);
  await advance(2);
  assert.equal(asked(), 4);
  await scrubber[Symbol.asyncDispose]();
});

test('what differs is reported with tenant and index', async () => {
  const fault = { tenant: 'acme', index: 17, message: 'it is not what the log says' };
  const { scrubber, advance, lines } = build([{ isRoundDone: false, fault }]);
  await advance(20);
  const [line] = lines.map((text) => JSON.parse(text) as Record<string, unknown>);
  assert.equal(line?.['message'], 'the index differed from the log, and was made again');
  assert.deepEqual([line?.['tenant'], line?.['index']], ['acme', 17]);
  await scrubber[Symbol.asyncDispose]();
});

test('it stops what it does when it is stopped', async () => {
  const { scrubber, advance, signal } = build([SOUND]);
  await advance(20);
  assert.equal(signal()?.aborted, false);
  await scrubber[Symbol.asyncDispose]();
  assert.equal(signal()?.aborted, true);
});
