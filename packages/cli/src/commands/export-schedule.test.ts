// The real command against a service whose clock leaps: a schedule is made, shown, changed and deleted, and its files are verified as a chain.

import assert from 'node:assert/strict';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { after, before, test } from 'node:test';
import type { Schedule } from '@tallystick/contract';
import { type Clock, systemClock } from '../../../server/src/runtime/clock.ts';
import { PLATFORM_KEY, WITH_PLATFORM_KEY } from '../../../server/src/testing/admin-caller.ts';
import { ask } from '../../../server/src/testing/ask.ts';
import { S3Server } from '../../../server/src/testing/s3-server.ts';
import { startTestApp, type TestApp } from '../../../server/src/testing/test-app.ts';
import { until } from '../../../server/src/testing/until.ts';
import { emptyPlace, type Place } from '../testing/place.ts';

const TENANT = 'acme';
let aheadMs = 0;
const clock: Clock = {
  ...systemClock,
  now: () => systemClock.now() + aheadMs,
  monotonicNs: () => systemClock.monotonicNs() + aheadMs * 1e6,
};

let app: TestApp;
let s3: S3Server;
let place: Place;
before(async () => {
  place = emptyPlace();
  s3 = await S3Server.start(() => clock.now());
  const settings = {
    ...WITH_PLATFORM_KEY,
    Environment: 'Test',
    Exports__AllowPrivateTargets: 'true',
    Log__CheckpointInterval: 'PT0.05S',
  };
  app = await startTestApp(settings, { clock });
  writeFileSync(join(place.folder, 'bucket.json'), JSON.stringify(s3.destination()));
});
after(async () => {
  await app?.[Symbol.asyncDispose]();
  await s3?.[Symbol.asyncDispose]();
  place?.[Symbol.dispose]();
});

const asked = (method: string, path: string) =>
  ask(app, method, `/api/v1${path}`, { key: PLATFORM_KEY, tenant: TENANT });

function schedule(...words: string[]) {
  const env = { TALLYSTICK_URL: app.url, TALLYSTICK_API_KEY: PLATFORM_KEY };
  return place.run(['export', 'schedule', ...words, '--tenant', TENANT], env);
}

async function soundly(...words: string[]): Promise<string> {
  const { code, stdout, stderr } = await schedule(...words);
  assert.deepEqual([code, stderr], [0, ''], stdout);
  return stdout;
}

test('a schedule is made, and its files are a chain until one is missing', async () => {
  const destination = join(place.folder, 'bucket.json');
  const made = await soundly('create', '--name', 'n', '--every', 'Hour', '--destination', destination);
  assert.match(
    made,
    /^schedule id +[0-9A-Z]{26}\nname +n\nevery +Hour\nformat +JSON\nsent to +ObjectStorage /,
  );
  assert.ok(!made.includes('secret'));
  const [scheduleId] = /[0-9A-Z]{26}/.exec(made)!;
  for (let number = 1; number <= 3; number++) {
    // A look for any job: from then on the run waits.
    await asked('GET', `/admin/operations/${'0'.repeat(26)}`);
    aheadMs += 3_600_000;
    await until(() => s3.objects.size === number);
  }
  const shown = JSON.parse(await soundly('status', scheduleId, '--json')) as Schedule;
  assert.equal(shown.lastRun!.number, 3);

  const folder = join(place.folder, 'received');
  mkdirSync(folder);
  const names = [...s3.objects.keys()].map((name) => basename(name)).toSorted();
  for (const [name, bytes] of s3.objects) writeFileSync(join(folder, basename(name)), bytes);
  writeFileSync(join(folder, 'notes.txt'), 'received by mail');
  const key = join(place.folder, 'log.key');
  writeFileSync(key, (await asked('GET', `/log/t/${TENANT}/key`)).text);
  const verify = (...words: string[]) => place.run(['verify', folder, '--chain', '--key', key, ...words]);
  const whole = await verify();
  assert.equal(whole.code, 0, whole.stdout + whole.stderr);
  assert.match(
    whole.stdout,
    /^verified {2}.*received\n {2}schedule +\w{26} of acme\n {2}files +1 to 3, none missing/,
  );
  rmSync(join(folder, names[1]!));
  const broken = await verify('--json');
  const said = JSON.parse(broken.stdout) as { reason: string; message: string };
  assert.deepEqual([broken.code, said.reason], [1, 'CHAIN_BROKEN']);
  assert.match(said.message, /^file 2 is missing between .*-000001-.*\.zip and .*-000003-.*\.zip$/);
  rmSync(join(folder, names[0]!));
  assert.match((await verify()).stdout, /files +3 to 3, none missing[^]*before +files 1 to 2 are not here/);
  writeFileSync(join(folder, names[0]!), s3.objects.values().next().value!.subarray(0, -100));
  assert.equal((await verify()).code, 1);
});

test('a schedule is listed, changed, paused, resumed and deleted', async () => {
  const list = await soundly('list');
  const [scheduleId] = /[0-9A-Z]{26}/.exec(list)!;
  assert.match(list, /SCHEDULE ID[^]* n +Hour +yes +3, Completed/);
  assert.match(
    await soundly('change', scheduleId, '--name', 'other', '--every', 'Month'),
    /name +other\nevery +Month\n/,
  );
  assert.match(await soundly('pause', scheduleId), /every +Month, paused\n/);
  assert.match(await soundly('resume', scheduleId), /next run +\d{4}-\d\d-01T00:00:00\.000Z/);
  assert.match(await soundly('delete', scheduleId), /is deleted\n$/);
  const gone = await schedule('status', scheduleId);
  assert.deepEqual([gone.code, /There is no schedule/.test(gone.stderr)], [1, true]);
  const wrong = await schedule('create', '--name', 'n', '--every', 'Week', '--destination', place.folder);
  assert.equal(wrong.code, 2);
});
