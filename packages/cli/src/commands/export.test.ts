// The real command against the real service: exports are requested, followed, downloaded, and gone on with after a break.

import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import type { AuditEvent, Export } from '@tallystick/contract';
import { type Ended, run } from '../testing/command.ts';
import { emptyPlace } from '../testing/place.ts';
import { policedTenant } from '../testing/policies-command.ts';
import { startSearched } from '../testing/searched-log.ts';

const place = emptyPlace();
const service = await startSearched(place);
const folder = mkdtempSync(join(tmpdir(), 'tallystick-export-'));
after(async () => {
  await service[Symbol.asyncDispose]();
  place[Symbol.dispose]();
  rmSync(folder, { recursive: true, force: true });
});

const { env } = policedTenant(service.url, 'any');
const tallystick = ([command, ...args]: readonly string[], tenant: string): Promise<Ended> =>
  run(['export', command!, '--tenant', tenant, ...args], { env });

const soundly = async (args: readonly string[], tenant: string): Promise<string> => {
  const { code, stdout, stderr } = await tallystick(args, tenant);
  assert.deepEqual([code, stderr], [0, ''], stdout);
  return stdout;
};

test('an export is made and downloaded in one command, and shown by others', async () => {
  const tenant = 'exporting';
  await service.of(tenant).add([{ action: 'Read.Invoice' }, { action: 'Delete.Invoice' }]);
  const file = join(folder, 'all.ndjson.gz');
  const made = await soundly(
    ['create', '--format', 'NDJSON', '--compression', 'Gzip', '--name', 'Q3', '--out', file],
    tenant,
  );
  assert.match(made, /^export id +[0-9A-Z]{26}\nname +Q3\nstatus +Completed\nformat +NDJSON, Gzip\n/);
  const lines = String(gunzipSync(readFileSync(file)))
    .trimEnd()
    .split('\n');
  assert.deepEqual(
    lines.map((line) => (JSON.parse(line) as AuditEvent).action),
    ['Read.Invoice', 'Delete.Invoice'],
  );
  const [exportId] = /[0-9A-Z]{26}/.exec(made)!;
  const shown = JSON.parse(await soundly(['status', exportId, '--json'], tenant)) as Export;
  assert.deepEqual([shown.exportId, shown.eventCount], [exportId, 2]);
  assert.match(await soundly(['list'], tenant), new RegExp(`EXPORT ID[^]*${exportId} +Q3 +Completed`));

  const again = await tallystick(['create', '--out', file], tenant);
  assert.deepEqual([again.code, /is there already/.test(again.stderr)], [2, true]);
  assert.match(await soundly(['delete', exportId], tenant), /is deleted\n$/);
  const gone = await tallystick(['status', exportId], tenant);
  assert.deepEqual([gone.code, /There is no export/.test(gone.stderr)], [1, true]);
});

test('only what passes is exported, and a broken download goes on where it was', async () => {
  const tenant = 'resuming';
  await service
    .of(tenant)
    .add(Array.from({ length: 60 }, (_, i) => ({ action: i % 2 ? 'Read.Invoice' : 'Delete.Invoice' })));
  const created = await soundly(
    ['create', '--format', 'CSV', '--filters', '{"actions":["Delete.*"]}', '--json'],
    tenant,
  );
  const { exportId } = JSON.parse(created) as Export;
  const whole = join(folder, 'whole.csv');
  await soundly(['download', exportId, '--out', whole], tenant);
  const bytes = readFileSync(whole);
  assert.equal(String(bytes).trimEnd().split('\r\n').length, 31);
  const { checksum } = JSON.parse(await soundly(['status', exportId, '--json'], tenant)) as Export;

  const file = join(folder, 'resumed.csv');
  writeFileSync(`${file}.${checksum!.slice(-12)}.part`, bytes.subarray(0, 1000));
  await soundly(['download', exportId, '--out', file], tenant);
  assert.deepEqual(readFileSync(file), bytes);

  const altered = join(folder, 'altered.csv');
  writeFileSync(`${altered}.${checksum!.slice(-12)}.part`, 'x'.repeat(1000));
  const { code, stderr } = await tallystick(['download', exportId, '--out', altered], tenant);
  assert.deepEqual([code, existsSync(altered)], [1, false]);
  assert.match(stderr, /is not the file of/);
});

test('a wrong command line is told from what the service refuses', async () => {
  const wrong = await tallystick(['create', '--format', 'PDF'], 'any');
  assert.deepEqual([wrong.code, /JSON/.test(wrong.stderr)], [2, true]);
  assert.equal((await tallystick(['status', 'x'], 'any')).code, 2);
  const refused = await tallystick(['create', '--query', 'a AND ('], 'any');
  assert.deepEqual([refused.code, /criteria\.query/.test(refused.stderr)], [1, true]);
});
