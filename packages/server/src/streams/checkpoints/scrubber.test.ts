import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Reason } from '@tallystick/evidence';
import { createFakeClock } from '../../testing/fake-clock.ts';
import { createSystemRandom } from '../../runtime/random.ts';
import { createTelemetry } from '../../telemetry.ts';
import { createScrubber } from './scrubber.ts';
import type { RangeVerdict, RangeRequest } from '../tree.ts';

const SOUND: RangeVerdict = {
  checkedEvents: 0,
  expiredEvents: 0,
  redactedEvents: 0,
  treeSize: 0,
  rootHash: new Uint8Array(32),
};

/** Logs with this number of events, in order of their names, with a record of the checks: the pace is under test. */
function build(
  logs: Readonly<Record<string, number>>,
  damage: { readonly reason?: Reason; at?: number; to?: number } = {},
  undeletedInOther?: number,
) {
  const clock = createFakeClock(1_000_000);
  const asked: string[] = [];
  const lines: string[] = [];
  const trees = {
    async nextLog(tenant = '', index = 0) {
      const found = Object.entries(logs).find(
        ([name, size]) => (name > tenant && size > 0) || (name === tenant && size > index),
      );
      return found && { tenant: found[0], endIndex: found[1] };
    },
    forTenant: (tenant: string) => ({
      async checkRange({ fromIndex, endIndex, deletedBeforeMs }: RangeRequest): Promise<RangeVerdict> {
        asked.push(`${tenant} ${fromIndex}-${endIndex}`);
        assert.equal(deletedBeforeMs, clock.now() - 3_600_000);
        if (tenant === 'other' && undeletedInOther !== undefined)
          return { ...SOUND, undeleted: undeletedInOther };
        const { at, to = at, reason = 'LEAF_MISMATCH' } = damage;
        if (at === undefined || to === undefined || to < fromIndex || at >= endIndex) return SOUND;
        return { ...SOUND, fault: { index: at, reason, message: `entry ${at}` } };
      },
    }),
  };
  const telemetry = createTelemetry({
    clock,
    level: 'Info',
    form: 'json',
    secrets: [],
    write: (line) => void lines.push(line),
  });
  const limits = { eventsMax: 10, paceMs: 100, roundMs: 10_000 };
  const scrubber = createScrubber({
    trees,
    signing: { publicKeys: () => [] },
    clock,
    random: createSystemRandom(),
    telemetry,
    limits,
  });
  scrubber.start();
  return { clock, scrubber, asked, lines };
}

async function advance(clock: ReturnType<typeof createFakeClock>, turns: number): Promise<void> {
  for (let i = 0; i < turns; i++) await clock.advance(100);
}

test('a round goes through every log in portions, and then rests until its day is over', async () => {
  const { clock, scrubber, asked } = build({ acme: 25, other: 3, quiet: 0 });
  await clock.advance(99);
  assert.deepEqual(asked, [], 'a start has other work to do');
  await advance(clock, 10);
  const round = ['acme 0-10', 'acme 10-20', 'acme 20-25', 'other 0-3'];
  assert.deepEqual(asked, round);
  await advance(clock, 80);
  assert.deepEqual(asked, round);
  await advance(clock, 20);
  assert.deepEqual(asked, [...round, ...round]);
  await scrubber[Symbol.asyncDispose]();
});

test('damage is reported once a round, and the round continues', async () => {
  const { clock, scrubber, asked, lines } = build({ acme: 25, other: 3 }, { at: 12 });
  await advance(clock, 10);
  assert.equal(asked.length, 4);
  assert.equal(scrubber.figures().damagedLogs, 1);
  const told = lines.filter((line) => line.includes('the store differs from what was accepted'));
  assert.equal(told.length, 1);
  assert.match(told[0]!, /"tenant":"acme".*"index":12.*"reason":"LEAF_MISMATCH"/);
  await scrubber[Symbol.asyncDispose]();
});

test('content that was to be deleted an hour ago is reported like damage', async () => {
  const { clock, scrubber, asked, lines } = build({ acme: 25, other: 3 }, {}, 7);
  await advance(clock, 10);
  assert.deepEqual([asked.length, scrubber.figures().damagedLogs], [4, 1]);
  const told = lines.filter((line) => line.includes('content is stored that was to be deleted'));
  assert.equal(told.length, 1);
  assert.match(told[0]!, /"tenant":"other".*"index":7/);
  await scrubber[Symbol.asyncDispose]();
});

test('damage stays reported until a whole round has not found it', async () => {
  const damage: { at?: number } = { at: 12 };
  const { clock, scrubber, asked, lines } = build({ acme: 25, other: 3 }, damage);
  await advance(clock, 10);
  assert.deepEqual([asked.length, scrubber.figures().damagedLogs], [4, 1]);
  while (asked.length < 5) await advance(clock, 1);
  assert.equal(scrubber.figures().damagedLogs, 1, 'the second round has just begun');
  await advance(clock, 10);
  assert.equal(scrubber.figures().damagedLogs, 1);
  assert.equal(lines.filter((line) => line.includes('the store differs from')).length, 2, 'once a round');
  delete damage.at;
  while (asked.length < 11) await advance(clock, 1);
  assert.equal(scrubber.figures().damagedLogs, 1, 'the third round is not over');
  await advance(clock, 10);
  assert.deepEqual([asked.length, scrubber.figures().damagedLogs], [12, 0]);
  await scrubber[Symbol.asyncDispose]();
});

test('a log with a wrong end does not keep those behind it from their turn', async () => {
  const end = Number.MAX_SAFE_INTEGER;
  const { clock, scrubber, asked } = build({ acme: end, other: 3 }, { reason: 'TRUNCATED', at: 10, to: end });
  await advance(clock, 10);
  assert.deepEqual(asked, ['acme 0-10', 'acme 10-20', 'other 0-3']);
  assert.equal(scrubber.figures().damagedLogs, 1);
  await scrubber[Symbol.asyncDispose]();
});
