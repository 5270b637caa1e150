// Exports with proofs of a log that goes on after a restore: the rows of the log before it are there, the others are proven.

import assert from 'node:assert/strict';
import { cpSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { AuditEvent, Export, ExportReceipt } from '@tallystick/contract';
import { ask as askOf } from '../../../server/src/testing/ask.ts';
import { startTestApp, type TestApp } from '../../../server/src/testing/test-app.ts';
import { until } from '../../../server/src/testing/until.ts';
import { unzipped } from '../../../server/src/testing/unzipped.ts';
import { changedArchive, edit } from '../testing/changed-archive.ts';
import { run } from '../testing/command.ts';
import { emptyPlace, type Place } from '../testing/place.ts';

const KEY = 'correct-horse-battery-1';
const SETTINGS = {
  TALLYSTICK_ADMIN_KEY: KEY,
  Log__Origin: 'audit.example.com',
  Log__CheckpointInterval: 'PT0.05S',
};

const start = (place: Place): Promise<TestApp> => startTestApp({ ...place.env, ...SETTINGS });
const command = (place: Place, ...args: string[]) => run(args, { env: { ...place.env, ...SETTINGS } });

async function ask<T>(app: TestApp, method: string, path: string, body?: unknown) {
  const told = await askOf<T>(app, method, `/api/v1${path}`, { key: KEY, tenant: 'acme', body });
  assert.ok(told.status < 300, `${path}: ${told.code}`);
  return told;
}

async function send(app: TestApp, ...names: string[]): Promise<void> {
  const events = names.map((name) => ({
    timestamp: '2026-01-02T03:04:05Z',
    actor: { actorType: 'User', userId: 'u-1' },
    action: 'Delete.Invoice',
    resource: { resourceType: 'Invoice', resourceId: name },
    payload: { name },
  }));
  await ask(app, 'POST', '/audit-events/batch', { events });
}

async function exported(app: TestApp, wanted: object): Promise<Buffer> {
  const proven = { compression: 'Zip', includeProofs: true, format: 'NDJSON', ...wanted };
  const { exportId } = (await ask<ExportReceipt>(app, 'POST', '/exports', proven)).body;
  let made: Export | undefined;
  await until(async () => {
    made = (await ask<Export>(app, 'GET', `/exports/${exportId}`)).body;
    assert.notEqual(made.status, 'Failed', JSON.stringify(made));
    return made.downloadUrl !== undefined;
  });
  return Buffer.from(await (await fetch(made!.downloadUrl!)).arrayBuffer());
}

const namesIn = (archive: Buffer) =>
  unzipped(archive)
    .get('events.ndjson')!
    .trimEnd()
    .split('\n')
    .map((line) => (JSON.parse(line) as AuditEvent).resource.resourceId);

test('an export after a restore has the rows of both logs, and proves those of the newer one', async () => {
  using place = emptyPlace();
  const journal = join(place.data, 'journal.db');
  const copy = join(place.folder, 'copy.db');
  {
    await using app = await start(place);
    await send(app, 'old-1', 'old-2');
    await exported(app, {});
  }
  cpSync(journal, copy);
  {
    await using app = await start(place);
    await send(app, 'lost');
    await exported(app, {});
  }
  for (const tail of ['', '-wal', '-shm']) rmSync(`${journal}${tail}`, { force: true });
  cpSync(copy, journal);
  const recovered = await command(place, 'recover', '--new-epoch', '--yes');
  assert.equal(recovered.code, 0, recovered.stderr);

  await using app = await start(place);
  await send(app, 'new-1', 'new-2', 'new-3');
  const key = join(place.folder, 'log.key');
  writeFileSync(key, (await ask(app, 'GET', '/log/t/acme/key')).text);
  const verdictOn = async (archive: Buffer) => {
    const file = join(place.folder, 'export.zip');
    writeFileSync(file, archive);
    const { code, stdout, stderr } = await command(place, 'verify', file, '--key', key, '--json');
    assert.equal(stderr, '');
    const said: Record<string, unknown> = { code, ...(JSON.parse(stdout) as object) };
    return said;
  };

  const events = await exported(app, {});
  assert.deepEqual(namesIn(events), ['old-1', 'old-2', 'new-1', 'new-2', 'new-3']);
  const ofEvents = await verdictOn(events);
  assert.deepEqual(
    [ofEvents['code'], ofEvents['origin'], ofEvents['rows'], ofEvents['rowsUnproven'], ofEvents['entries']],
    [0, 'audit.example.com/t/acme/1', 5, 2, 3],
  );

  const found = await exported(app, { criteria: { query: 'payload.name:old-2 OR payload.name:new-1' } });
  assert.deepEqual(namesIn(found), ['old-2', 'new-1']);
  const ofFound = await verdictOn(found);
  assert.deepEqual([ofFound['code'], ofFound['rowsUnproven'], ofFound['entries']], [0, 1, 1]);

  const everything = await exported(app, { criteria: { filters: { kinds: ['Event', 'Notice'] } } });
  const ofEverything = await verdictOn(everything);
  assert.deepEqual(
    [ofEverything['code'], ofEverything['complete']],
    [0, false],
    'nothing proves the older log',
  );

  // What no line proves is under the signature of the manifest.
  const changed = changedArchive(
    events,
    edit('events.ndjson', (text) => text.replace('"resourceId":"old-2"', '"resourceId":"old-9"')),
  );
  const refused = await verdictOn(changed);
  assert.deepEqual([refused['code'], refused['reason']], [1, 'CHECKSUM_MISMATCH']);
  const proven = changedArchive(
    events,
    edit('events.ndjson', (text) => text.replace('"resourceId":"new-2"', '"resourceId":"new-9"')),
  );
  assert.deepEqual((await verdictOn(proven))['reason'], 'ROW_MISMATCH');
});
