// Logs that were refused when the signing key was changed, and what becomes of their notices: with a real service, whose
// anchor says more of one log than the store has.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { loadConfig } from '../config/config.ts';
import { openRecovery } from '../operate/recover.ts';
import { rotateSigning } from '../operate/rotate-signing.ts';
import { createFakeClock } from '../testing/fake-clock.ts';
import { createSystemRandom } from '../runtime/random.ts';
import { openOwnAnchor } from '../storage/anchor/file-anchor.ts';
import { rotateSigningKey } from '../storage/keys/signing-key-files.ts';
import { addOwedNotices, readOwedNotices } from '../storage/keys/owed-notice-files.ts';
import { EVENT } from '../testing/bound-operations.ts';
import { believeClearance, eventCaller } from '../testing/event-caller.ts';
import { nextId, openSignedLogs, SIGNED_ORIGIN } from '../testing/signed-log.ts';
import { startTestApp, type TestApp } from '../testing/test-app.ts';
import { createTelemetry } from '../telemetry.ts';
import { startOwedNotices } from './owed-notices.ts';
import { announceRotation } from './rotation.ts';

const folder = mkdtempSync(join(tmpdir(), 'tallystick-owed-'));
after(() => rmSync(folder, { recursive: true }));

const HOUR = 3_600_000;
const settings = {
  Storage__DataDirectory: join(folder, 'data'),
  Log__CheckpointInterval: 'PT0.05S',
  Log__Origin: 'audit.example.com',
};
const keyFiles = (directory: string) => readdirSync(join(directory, 'signing-keys'));
const owedFiles = (directory: string) => keyFiles(directory).filter((name) => /\.owed/.test(name));

/** Of a stream, or of an event in it. */
interface Row {
  readonly streamId: string;
  readonly action: string;
  readonly payload: Readonly<Record<string, string>>;
}

async function rotationsIn(app: TestApp, tenant: string): Promise<Row[]> {
  const headers = { 'X-API-Key': 'Secret', 'X-Tenant-Id': tenant };
  const read = async (path: string) =>
    ((await (await fetch(`${app.url}/api/v1${path}`, { headers })).json()) as { data: Row[] }).data;
  const rows: Row[] = [];
  for (const { streamId } of await read('/event-streams'))
    rows.push(...(await read(`/event-streams/${streamId}/events`)));
  return rows.filter(({ action }) => action === 'Rotate.SigningKey');
}

async function until<T>(look: () => Promise<T | undefined>): Promise<T> {
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

test('a log that was refused during a rotation has its notice once it goes on, and once only', async () => {
  const { Storage__DataDirectory: directory } = settings;
  const { config } = loadConfig({ variables: settings, workingDirectory: folder });
  const serve = () => startTestApp(settings, { authenticate: believeClearance });
  {
    await using app = await serve();
    for (const tenant of ['acme', 'other'])
      assert.equal((await eventCaller(app, tenant).ingest(EVENT)).code, '201');
  }
  {
    await using anchor = await openOwnAnchor(directory);
    await anchor.append([{ origin: 'audit.example.com/t/acme', size: 9, root: new Uint8Array(32).fill(7) }]);
  }
  const rotation = await rotateSigning(config, HOUR);
  // That of the other tenant, and that of the installation.
  assert.deepEqual([rotation.logs, [...rotation.without.keys()]], [2, ['acme']]);
  assert.deepEqual(owedFiles(directory), [`${rotation.noticeId}.owed`]);
  {
    await using app = await serve();
    assert.equal((await eventCaller(app).ingest(EVENT)).code, '503 SERVICE_UNAVAILABLE');
    assert.deepEqual(await rotationsIn(app, 'acme'), [], 'it is refused as before');
    assert.equal((await rotationsIn(app, 'other')).length, 1);
  }
  {
    await using recovery = await openRecovery(config);
    await recovery.begin(recovery.disagreements[0]!);
  }
  for (let start = 0; start < 2; start++) {
    await using app = await serve();
    await until(async () => (owedFiles(directory).length === 0 ? true : undefined));
    const [notice, ...more] = await rotationsIn(app, 'acme');
    assert.equal(more.length, 0);
    assert.match(notice!.payload['newKey']!, /^audit\.example\.com\/t\/acme\/1\+/);
    assert.equal((await rotationsIn(app, 'other')).length, 1, 'others are not told again');
  }
});

test('one log that cannot be told yet keeps no other from its notice, nor is it forgotten', async () => {
  await using logs = await openSignedLogs('acme', 'other');
  for (const tenant of ['acme', 'other']) await logs.fill(tenant, 1);
  await logs.publish();
  await using anchor = await openOwnAnchor(logs.directory);
  for (const tenant of ['acme', 'other'])
    await anchor.append([
      { origin: `${SIGNED_ORIGIN}/t/${tenant}`, size: 5, root: new Uint8Array(32).fill(7) },
    ]);
  const { noticeId } = await rotateSigning(logs.config, HOUR);
  const refused = new Set(['acme', 'other']);
  const clock = createFakeClock(Date.parse('2026-01-02T03:04:05Z'));
  const appended: string[] = [];
  let turns = 0;
  await using loop = startOwedNotices({
    read() {
      turns += 1;
      return readOwedNotices(logs.directory);
    },
    trees: logs.storage.tree,
    refusalOf: (tenant) => (refused.has(tenant) ? 'it is behind' : undefined),
    sequencer: {
      async append(request) {
        appended.push(request.tenant);
        const now = { nowMs: clock.now(), steadyNowMs: clock.now() };
        const [result] = await logs.storage.log.append([request], now);
        assert.equal(result?.status, 'Done');
        return result;
      },
    },
    clock,
    random: createSystemRandom(),
    telemetry: createTelemetry({ clock, level: 'Info', form: 'json', secrets: [], write: () => {} }),
  });
  /** A whole turn that began after this; the only timer is that of the pause behind it. */
  const turn = async () => {
    const before = turns;
    loop.wake();
    await until(async () => (turns > before && clock.pending() > 0 ? true : undefined));
  };
  await turn();
  assert.deepEqual(appended, []);
  refused.delete('other');
  await turn();
  await turn();
  assert.deepEqual(appended, ['other']);
  assert.deepEqual(owedFiles(logs.directory), [`${noticeId}.owed`]);
  refused.delete('acme');
  await turn();
  await turn();
  assert.deepEqual(appended, ['other', 'acme']);
  assert.deepEqual(owedFiles(logs.directory), []);
});

test('what is owed counts when the rotation does, and not by a plan that another has followed', async () => {
  await using logs = await openSignedLogs('acme');
  await logs.fill('acme', 1);
  await logs.publish();
  await using anchor = await openOwnAnchor(logs.directory);
  await anchor.append([{ origin: `${SIGNED_ORIGIN}/t/acme`, size: 5, root: new Uint8Array(32).fill(7) }]);
  const rotation = await rotateSigning(logs.config, HOUR);
  const [owed] = await readOwedNotices(logs.directory);
  assert.deepEqual(
    [owed!.rotation.noticeId, owed!.rotation.overlapEndsAtMs, owed!.tenants],
    [rotation.noticeId, rotation.overlapEndsAtMs, ['acme']],
  );
  const other = { ...rotation, noticeId: '01KE00000000000000000000ZZ' };
  await addOwedNotices(logs.directory, { ...other, next: { ...other.next, fingerprint: '00' } }, ['acme']);
  assert.equal((await readOwedNotices(logs.directory)).length, 1, 'its key does not count');
  await addOwedNotices(logs.directory, { ...other, overlapEndsAtMs: 5 }, ['acme']);
  assert.equal((await readOwedNotices(logs.directory)).length, 1, 'its plan was not the one');
  assert.deepEqual(owedFiles(logs.directory), [
    '01KE00000000000000000000ZZ.owed',
    `${rotation.noticeId}.owed`,
  ]);
  writeFileSync(join(logs.directory, 'signing-keys', '01KE00000000000000000000ZY.owed'), '{}');
  await assert.rejects(readOwedNotices(logs.directory), /does not say which logs/);
});

test('a log that began while the key was changed has its notice from the next run, where the first was killed', async () => {
  await using logs = await openSignedLogs('acme', 'late');
  // As a service does before its first event: to open it makes the file.
  await (await openOwnAnchor(logs.directory))[Symbol.asyncDispose]();
  await logs.fill('acme', 1);
  const { log, tree } = logs.storage;
  const clock = { now: () => Date.now() };
  const parts = { log, tree, refused: new Map<string, string>(), clock, correlationId: randomUUID() };
  let noticeId: string | undefined;
  const request = { overlapMs: HOUR, nowMs: clock.now(), nextId };
  await rotateSigningKey(logs.directory, request, async (planned) => {
    ({ noticeId } = planned);
    await announceRotation(planned, parts);
    await logs.fill('late', 1);
  });
  // The key is in force, and the command that changed it does not run again.
  const again = await rotateSigning(logs.config, HOUR);
  assert.deepEqual([again.noticeId, again.logs, again.before], [noticeId, 2, 1]);
  await assert.rejects(rotateSigning(logs.config, HOUR), /the one before signs until/);
});
