// P13 at random: the service is started again and again, each time by another clock, which then is set once more. A key
// that was used lives for 24 hours unless a later start had a clock that was further ahead, and no log suffers.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { DAY_MS, HOUR_MS, startInTime, START_MS } from './in-time.ts';
import { readLog } from './read-log.ts';
import { temporaryFolder } from './running.ts';
import { SIZE } from './size.ts';

/** How long the service was down, how far its clock was off at the start, and how far when it was set afterwards. */
interface Run {
  readonly downMs: number;
  readonly startShiftMs: number;
  readonly laterShiftMs: number;
}

interface UsedIdempotencyKey {
  readonly eventId: string;
  /** When it was, really. */
  readonly usedAtMs: number;
  /** How far ahead the clock was then, be it the one of the start or the one of that moment. */
  readonly aheadMs: number;
  /** The furthest ahead that a clock was at a start since then. */
  startAheadMs: number;
}

const shift = fc.constantFrom(0, 0, -HOUR_MS, HOUR_MS, DAY_MS, -DAY_MS, -10 * DAY_MS);
const run: fc.Arbitrary<Run> = fc.record({
  downMs: fc.constantFrom(0, 1, HOUR_MS, 11 * HOUR_MS, DAY_MS - 1, DAY_MS),
  startShiftMs: shift,
  laterShiftMs: shift,
});

/** What the answer to a repeat has to be; undefined where the clocks leave it open. */
function promised(key: UsedIdempotencyKey, realMs: number, startShiftMs: number): 200 | 201 | undefined {
  const hasEnded = realMs - key.usedAtMs >= DAY_MS;
  if (!hasEnded && key.startAheadMs <= key.aheadMs) return 200;
  return hasEnded && startShiftMs >= key.aheadMs ? 201 : undefined;
}

async function walk(runs: readonly Run[]): Promise<number> {
  using folder = temporaryFolder();
  const dataDirectory = join(folder.path, 'data');
  const keys = new Map<string, UsedIdempotencyKey>();
  let realMs = START_MS;
  let held = 0;
  for (const [number, { downMs, startShiftMs, laterShiftMs }] of runs.entries()) {
    realMs += downMs;
    for (const key of keys.values()) key.startAheadMs = Math.max(key.startAheadMs, startShiftMs);
    await using service = await startInTime(dataDirectory, realMs + startShiftMs);
    let shiftMs = startShiftMs;
    const use = async (name: string) => {
      const known = keys.get(name);
      const expected = known === undefined ? 201 : promised(known, realMs, startShiftMs);
      const { status, eventId } = await service.send(name, { key: name });
      if (expected !== undefined) {
        assert.equal(status, expected, `${name} in run ${number}`);
        held += 1;
      }
      if (status === 200) assert.equal(eventId, known?.eventId);
      else {
        const aheadMs = Math.max(startShiftMs, shiftMs);
        keys.set(name, { eventId, usedAtMs: realMs, aheadMs, startAheadMs: startShiftMs });
      }
    };
    for (const name of keys.keys()) await use(name);
    shiftMs = laterShiftMs;
    service.clock.setNow(realMs + laterShiftMs);
    await use(`key-${number}`);
    for (const name of keys.keys()) await use(name);
  }
  readLog(dataDirectory);
  return held;
}

test(`${SIZE.walks} walks over starts by clocks that lie: keys live for their 24 hours, and logs hold`, async (t) => {
  let held = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(run, { minLength: 3, maxLength: 6 }), async (runs) => {
      held += await walk(runs);
    }),
    { numRuns: SIZE.walks, seed: 20260601 },
  );
  t.diagnostic(`${held} answers held to the promise`);
});
