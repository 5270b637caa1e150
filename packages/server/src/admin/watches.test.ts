// What health watches of the machine: disks, clocks and certificates, each under a clock that the test moves.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSystemRandom } from '../runtime/random.ts';
import { createAuthority } from '../testing/certificates.ts';
import { createFakeClock } from '../testing/fake-clock.ts';
import { watchCertificate } from './certificate-watch.ts';
import { watchClock } from './clock-watch.ts';
import type { Check } from './health.ts';
import { watchSpace } from './space-watch.ts';
import { type Finding, startWatches, type Watch, withFindings } from './watch.ts';

const DAY_MS = 86_400_000;
const MEBIBYTE = 2 ** 20;

function noting() {
  const lines: string[] = [];
  const note = (message: string) => void lines.push(message);
  return { lines, telemetry: { info: note, warn: note } };
}

async function told(watch: Watch): Promise<string> {
  await watch.measure();
  return watch
    .findings()
    .map(({ status, description }) => `${status}: ${description}`)
    .join(' ');
}

test('a disk that fills up is Degraded, then Unhealthy, and sound again once it is well above the limit', async () => {
  const { lines, telemetry } = noting();
  let free: number | undefined = 2000 * MEBIBYTE;
  const limits = { degradedBytes: 1000 * MEBIBYTE, unhealthyBytes: 100 * MEBIBYTE };
  const watch = watchSpace({ place: 'data directory', freeBytes: async () => free, limits, telemetry });
  const table: [mebibytes: number, expected: RegExp][] = [
    [1001, /^$/],
    [999, /^Degraded: The disk of the data directory has less than 1000 MiB free: make room/],
    [1050, /^Degraded/],
    [99, /^Unhealthy: .* less than 100 MiB/],
    [105, /^Unhealthy/],
    [120, /^Degraded/],
    [1101, /^$/],
  ];
  for (const [mebibytes, expected] of table) {
    free = mebibytes * MEBIBYTE;
    assert.match(await told(watch), expected, String(mebibytes));
  }
  assert.equal(lines.length, 4, 'one line for each change');
  free = undefined;
  assert.equal(await told(watch), '', 'what the file system does not say is no finding');
  free = 99 * MEBIBYTE;
  await told(watch);
  free = undefined;
  assert.match(await told(watch), /^Unhealthy/, 'a full disk that says nothing has no room');
  assert.equal(watch.free(), undefined);
});

test('a clock that is set back is told of for an hour; one that is set ahead, or a bit, is not', async () => {
  const clock = createFakeClock();
  const { lines, telemetry } = noting();
  const watch = watchClock({ clock, storeNowMs: async () => undefined, offsetMsMax: 1000, telemetry });
  const set = async (byMs: number) => {
    clock.setNow(clock.now() + byMs);
    return told(watch);
  };
  assert.equal(await told(watch), '');
  assert.equal(await set(3_600_000), '');
  assert.equal(await set(-900), '');
  assert.match(await set(-90_000), /^Degraded: .* set back by 90 s within the last hour/);
  await clock.advance(3_599_000);
  assert.match(await told(watch), /^Degraded/);
  await clock.advance(1000);
  assert.equal(await told(watch), '');
  assert.equal(lines.length, 1);
  assert.equal(watch.offsetMs(), undefined);
});

test('a clock that differs from that of the database is told of; the time of the question is no difference', async () => {
  const clock = createFakeClock();
  const { lines, telemetry } = noting();
  const store = { aheadMs: 0, tookMs: 0 };
  const storeNowMs = async () => {
    await clock.advance(store.tookMs);
    return clock.now() + store.aheadMs;
  };
  const watch = watchClock({ clock, storeNowMs, offsetMsMax: 1000, telemetry });
  const table: [aheadMs: number, tookMs: number, expected: RegExp, offsetMs: number][] = [
    [0, 0, /^$/, 0],
    [0, 30_000, /^$/, 0],
    [1500, 0, /^Degraded: The clock of this machine is more than 1 s behind that of the database/, -1500],
    [700, 0, /^Degraded/, -700],
    [400, 0, /^$/, -400],
    [-2000, 0, /ahead of that of the database: have a time service/, 2000],
  ];
  for (const [aheadMs, tookMs, expected, offsetMs] of table) {
    Object.assign(store, { aheadMs, tookMs });
    assert.match(await told(watch), expected, `${aheadMs} ${tookMs}`);
    assert.equal(watch.offsetMs(), offsetMs);
  }
  assert.equal(lines.length, 3);
});

test('a certificate is told of from 14 days before its end, by its own end and not that of its authority', async () => {
  const clock = createFakeClock();
  const { telemetry, lines } = noting();
  const authority = createAuthority();
  const notAfter = new Date(clock.now() + 20 * DAY_MS);
  const { certificate } = authority.issue({ hosts: ['localhost'], notAfter });
  const watch = watchCertificate(certificate + authority.certificate, clock, telemetry)!;
  assert.equal(watch.endsAtMs(), notAfter.getTime());
  assert.equal(await told(watch), '');
  clock.setNow(clock.now() + 6 * DAY_MS + 1000);
  const endsAt = notAfter.toISOString();
  assert.ok((await told(watch)).startsWith(`Degraded: The certificate of this service ends at ${endsAt}: `));
  await told(watch);
  clock.setNow(clock.now() + 15 * DAY_MS);
  assert.match(await told(watch), /has ended at/);
  assert.equal(lines.length, 1);
  watch.shown(authority.issue({ hosts: ['localhost'] }).certificate);
  assert.equal(await told(watch), '', 'a new one is in use');
  assert.equal(watchCertificate(undefined, clock, telemetry), undefined, 'plain HTTP');
});

test('a measurement that hangs is told of, is not begun a second time, and holds up no stop', async () => {
  const clock = createFakeClock();
  const { lines, telemetry } = noting();
  let begun = 0;
  const hung = {
    name: 'the disk',
    findings: () => [],
    measure() {
      begun += 1;
      return new Promise<void>(() => {});
    },
  };
  const random = createSystemRandom();
  const started = startWatches([hung], { clock, random, telemetry: { ...telemetry, error: assert.fail } });
  await clock.advance(29_000);
  assert.deepEqual(lines, []);
  await clock.advance(90_000);
  assert.ok(lines.length > 1 && lines.every((line) => line === 'the disk could not be measured'));
  const ended = started[Symbol.asyncDispose]();
  await clock.advance(1000);
  await ended;
  assert.equal(begun, 1);
  assert.equal(clock.pending(), 0);
});

test('a check tells all that was found, and the worst of it decides', async () => {
  const check = (status: 'Healthy' | 'Degraded', description: string): Check => ({
    name: 'storage',
    essential: true,
    run: async () => ({ status, description }),
  });
  const watch = (...found: Finding[]) => ({ findings: () => found });
  const slow = watch({ status: 'Degraded', description: 'Slow.' });
  const full = watch({ status: 'Unhealthy', description: 'Full.' });
  const table = [
    [check('Healthy', 'Fine.'), [watch()], 'Healthy Fine.'],
    [check('Healthy', 'Fine.'), [slow], 'Degraded Slow.'],
    [check('Degraded', 'Lame.'), [watch(), slow], 'Degraded Lame. Slow.'],
    [check('Degraded', 'Lame.'), [slow, full], 'Unhealthy Lame. Slow. Full.'],
  ] as const;
  for (const [plain, watches, expected] of table) {
    const { status, description } = await withFindings(plain, ...watches).run();
    assert.equal(`${status} ${description}`, expected);
  }
});
