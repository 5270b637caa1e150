// Deliveries of exports through the whole service, to servers that have the faults of real ones.

import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { DeadLetter, Export, ExportDelivery, ExportReceipt, List } from '@tallystick/contract';
import { checkStore } from '../check-store.ts';
import { PLATFORM_KEY, WITH_PLATFORM_KEY } from '../testing/admin-caller.ts';
import { ask as askOf, type Told } from '../testing/ask.ts';
import { S3Server } from '../testing/s3-server.ts';
import { SFTP_PASSWORD, SftpServer } from '../testing/sftp-server.ts';
import { startTestApp, type TestApp } from '../testing/test-app.ts';
import { until } from '../testing/until.ts';

const SETTINGS = { ...WITH_PLATFORM_KEY, Environment: 'Test', Exports__AllowPrivateTargets: 'true' };

let app: TestApp;
let sftp: SftpServer;
let s3: S3Server;
before(async () => {
  [sftp, s3] = [await SftpServer.start(), await S3Server.start()];
  app = await startTestApp(SETTINGS);
});
after(async () => {
  await app[Symbol.asyncDispose]();
  await sftp[Symbol.asyncDispose]();
  await s3[Symbol.asyncDispose]();
});

type Asker = <T = Export>(
  method: string,
  path: string,
  body?: unknown,
  headers?: Record<string, string>,
) => Promise<Told<T>>;

const askerOf =
  (tenant: string, at: Pick<TestApp, 'url'> = app): Asker =>
  (method, path, body, headers = {}) =>
    askOf(at, method, `/api/v1${path}`, { key: PLATFORM_KEY, tenant, body, headers });

async function withEvents(ask: Asker, count = 5, payload = 'x'): Promise<void> {
  const events = Array.from({ length: count }, (_, i) => ({
    timestamp: new Date(Date.UTC(2026, 0, 1, 0, 0, i)).toISOString(),
    actor: { actorType: 'User', userId: 'u-1' },
    action: 'Update.Invoice',
    resource: { resourceType: 'Invoice', resourceId: `I-${i}` },
    payload: { note: payload },
  }));
  assert.equal((await ask('POST', '/audit-events/batch', { events })).code, '201');
}

async function completed(ask: Asker, request: object = {}): Promise<Export> {
  const { code, body } = await ask<ExportReceipt>('POST', '/exports', request);
  assert.equal(code, '202');
  return seenWhen(ask, body.exportId, ({ status }) => status === 'Completed');
}

async function seenWhen(ask: Asker, exportId: string, isReady: (shown: Export) => boolean): Promise<Export> {
  let seen: Export | undefined;
  await until(async () => {
    seen = (await ask('GET', `/exports/${exportId}`)).body;
    return isReady(seen);
  });
  return seen!;
}

async function ended(ask: Asker, exportId: string): Promise<ExportDelivery> {
  const isEnded = ({ deliveries: [...all] = [] }: Export) =>
    ['Delivered', 'Failed'].includes(all.at(-1)?.status ?? '');
  return (await seenWhen(ask, exportId, isEnded)).deliveries!.at(-1)!;
}

const fileOf = async ({ downloadUrl }: Export) =>
  Buffer.from(await (await fetch(downloadUrl!)).arrayBuffer());

const deliver = (ask: Asker, exportId: string, destination: object, headers = {}) =>
  ask<ExportDelivery>('POST', `/exports/${exportId}/deliver`, { destination }, headers);

test('a file is delivered by SFTP and to S3 as it is downloaded, and each step is a notice', async () => {
  const ask = askerOf('both');
  await withEvents(ask);
  const made = await completed(ask, { compression: 'Gzip' });
  const whole = await fileOf(made);
  const accepted = await deliver(ask, made.exportId, sftp.destination());
  assert.equal(accepted.code, '202');
  assert.equal(accepted.body.status, 'Pending');
  const bySftp = await ended(ask, made.exportId);
  assert.equal(bySftp.deliveryId, accepted.body.deliveryId);
  assert.equal(bySftp.status, 'Delivered', bySftp.failureReason);
  assert.equal(bySftp.bytesTransferred, whole.length);
  const name = `/in/audit-both-${made.exportId}.json.gz`;
  assert.equal(bySftp.location, `sftp://127.0.0.1:${sftp.port}${name}`);
  assert.ok(sftp.files.get(name)!.equals(whole));
  await deliver(ask, made.exportId, s3.destination());
  const toS3 = await ended(ask, made.exportId);
  assert.equal(toS3.status, 'Delivered', toS3.failureReason);
  const { deliveries } = (await ask('GET', `/exports/${made.exportId}`)).body;
  assert.deepEqual(
    deliveries!.map(({ destination }) => destination!.type),
    ['Sftp', 'ObjectStorage'],
  );
  assert.ok([...s3.objects.values()].some((object) => object.equals(whole)));
});

test('a destination that is given with the request gets the file when it is complete', async () => {
  const ask = askerOf('given');
  await withEvents(ask);
  const made = await completed(ask, { destination: sftp.destination() });
  assert.equal(made.destination.type, 'Sftp');
  const delivery = await ended(ask, made.exportId);
  assert.equal(delivery.status, 'Delivered', delivery.failureReason);
  assert.ok(sftp.files.get(`/in/audit-given-${made.exportId}.json`)!.equals(await fileOf(made)));
});

test('secrets are in no answer, no repeat, no notice, no diagnostic and no file', async () => {
  const ask = askerOf('secrets');
  await withEvents(ask);
  const made = await completed(ask, { destination: sftp.destination() });
  const wrong = sftp.destination({ password: 'a wrong password-9177' });
  const key = { 'Idempotency-Key': 'once-7' };
  const first = await deliver(ask, made.exportId, wrong, key);
  const again = await deliver(ask, made.exportId, wrong, key);
  assert.deepEqual(again.body, first.body);
  const delivery = await ended(ask, made.exportId);
  assert.match(delivery.failureReason!, /^AuthenticationFailed: /);
  const faulty = await deliver(ask, made.exportId, {
    ...wrong,
    privateKey: 'a private key-9177',
  });
  assert.equal(faulty.code, '422 INVALID_DESTINATION');
  const answers: Told[] = [first, again, faulty];
  for (const path of ['/exports', `/exports/${made.exportId}`, '/audit-events', '/admin/dead-letter-queue'])
    answers.push(await ask('GET', path));
  const told = answers.map(({ text }) => text).join('\n') + JSON.stringify(app.lines);
  const folder = app.dataDirectory;
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((each) => each.isFile())
    .map((each) => readFileSync(join(each.parentPath, each.name)).toString('latin1'));
  for (const secret of [SFTP_PASSWORD, 'a wrong password-9177', 'a private key-9177']) {
    assert.ok(!told.includes(secret));
    assert.ok(!files.some((file) => file.includes(secret)));
  }
});

test('destinations that are malformed are refused', async () => {
  const ask = askerOf('malformed');
  await withEvents(ask);
  const { exportId } = await completed(ask);
  const faulty: object[] = [
    sftp.destination({ password: undefined }),
    sftp.destination({ hostKeyFingerprint: 'MD5:00:11' }),
    sftp.destination({ host: 'a host' }),
    sftp.destination({ path: '/in\n' }),
    sftp.destination({ password: undefined, privateKey: 'none' }),
    s3.destination({ prefix: '../other-bucket/' }),
    s3.destination({ bucket: 'A/B' }),
    s3.destination({ endpoint: 'https://s3.example/path' }),
    s3.destination({ region: 'eu central' }),
    { type: 'Download' },
  ];
  for (const destination of faulty) {
    const refused = await deliver(ask, exportId, destination);
    assert.equal(refused.code, '422 INVALID_DESTINATION', JSON.stringify(destination));
  }
  const created = await ask('POST', '/exports', { destination: faulty[0] });
  assert.equal(created.code, '422 INVALID_DESTINATION');
});

test('private addresses are refused unless a setting allows them', async () => {
  await using strict = await startTestApp(WITH_PLATFORM_KEY);
  const ask = askerOf('strict', strict);
  await withEvents(ask);
  const { exportId } = await completed(ask);
  const hosts = [sftp.destination(), sftp.destination({ host: '169.254.169.254' }), s3.destination()];
  for (const destination of hosts)
    assert.equal((await deliver(ask, exportId, destination)).code, '422 INVALID_DESTINATION');
});

test('an export that is not complete has nothing to deliver', async () => {
  const ask = askerOf('unready');
  await withEvents(ask);
  const { exportId } = await completed(ask);
  const unknown = await deliver(ask, '01J00000000000000000000000', sftp.destination());
  assert.equal(unknown.code, '404 EXPORT_NOT_FOUND');
  const pending = (await ask<ExportReceipt>('POST', '/exports', {})).body;
  const early = await deliver(ask, pending.exportId, sftp.destination());
  assert.ok(['409 EXPORT_NOT_READY', '202'].includes(early.code), early.code);
  assert.equal((await ask('DELETE', `/exports/${exportId}`)).code, '204');
  assert.equal((await deliver(ask, exportId, sftp.destination())).code, '404 EXPORT_NOT_FOUND');
});

test('data of a tenant that is pinned to a region stays in it', async () => {
  const ask = askerOf('pinned');
  await withEvents(ask);
  const { exportId } = await completed(ask);
  const tenant = (await ask<Record<string, unknown>>('GET', '/admin/tenants/pinned')).body;
  const { tier, status, defaultClassification } = tenant;
  const settings = { tier, status, defaultClassification, region: 'eu-west-1' };
  const changed = await ask('PUT', '/admin/tenants/pinned', settings);
  assert.equal(changed.status, 200, changed.text);
  assert.equal((await deliver(ask, exportId, s3.destination())).code, '403 RESIDENCY_VIOLATION');
  // Its own word for where it is proves nothing.
  for (const destination of [s3.destination({ region: 'eu-west-1' }), sftp.destination()])
    assert.equal((await deliver(ask, exportId, destination)).code, '403 RESIDENCY_VIOLATION');
  const created = await ask('POST', '/exports', { destination: s3.destination() });
  assert.equal(created.code, '403 RESIDENCY_VIOLATION');
});

test('one that has failed is a dead letter, and to reprocess it delivers', async () => {
  const ask = askerOf('letters');
  await withEvents(ask);
  const { exportId } = await completed(ask);
  const destination = sftp.destination();
  await sftp.changeHostKey();
  await deliver(ask, exportId, destination);
  assert.match((await ended(ask, exportId)).failureReason!, /^HostKeyMismatch: /);
  let letter: DeadLetter | undefined;
  await until(async () => {
    const { data } = (await ask<List<DeadLetter>>('GET', '/admin/dead-letter-queue?source=Export')).body;
    letter = data[0];
    return letter !== undefined;
  });
  assert.match(letter!.reason, /^HostKeyMismatch: /);
  await sftp.changeHostKey();
  const again = await ask('POST', `/admin/dead-letter-queue/${letter!.messageId}/reprocess`);
  assert.equal(again.status, 202, again.text);
  await seenWhen(ask, exportId, ({ deliveries }) => deliveries![0]!.status === 'Delivered');
  assert.ok(sftp.files.has(`/in/audit-letters-${exportId}.json`));
});

const LARGE = 'y'.repeat(40_000);

test('a delivery that is cut off goes on from there, byte by byte the same', async () => {
  const ask = askerOf('cut');
  await withEvents(ask, 100, LARGE);
  const made = await completed(ask);
  const whole = await fileOf(made);
  assert.ok(whole.length > 3_900_000);
  sftp.written = 0;
  sftp.cutAfterBytes = 2_500_000;
  await deliver(ask, made.exportId, sftp.destination());
  const delivery = await ended(ask, made.exportId);
  assert.equal(delivery.status, 'Delivered', delivery.failureReason);
  assert.ok(sftp.files.get(`/in/audit-cut-${made.exportId}.json`)!.equals(whole));
  // It did not begin anew.
  assert.ok(sftp.written < whole.length + 1_500_000, String(sftp.written));
});

test('a delivery outlives the service that began it', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tallystick-deliveries-'));
  const settings = { ...SETTINGS, Storage__DataDirectory: join(folder, 'data') };
  try {
    let exportId = '';
    let whole: Buffer;
    sftp.isHanging = true;
    {
      await using first = await startTestApp(settings);
      const ask = askerOf('outlives', first);
      await withEvents(ask, 20, LARGE);
      const made = await completed(ask);
      ({ exportId } = made);
      whole = await fileOf(made);
      await deliver(ask, exportId, sftp.destination());
      await seenWhen(ask, exportId, ({ deliveries }) => deliveries![0]!.status === 'InProgress');
      await until(() => sftp.files.has(`/in/audit-outlives-${exportId}.json.part`));
    }
    sftp.isHanging = false;
    {
      await using second = await startTestApp(settings);
      const ask = askerOf('outlives', second);
      const delivery = await ended(ask, exportId);
      assert.equal(delivery.status, 'Delivered', delivery.failureReason);
      assert.ok(sftp.files.get(`/in/audit-outlives-${exportId}.json`)!.equals(whole));
      assert.equal((await ask('DELETE', `/exports/${exportId}`)).code, '204');
      assert.equal((await ask('GET', `/exports/${exportId}`)).code, '404 EXPORT_NOT_FOUND');
    }
    // The records of exports are held against the notices of their changes.
    const { faults } = await checkStore(settings.Storage__DataDirectory, {
      keys: [],
      seen: [],
      tenant: undefined,
      isWithoutIndex: true,
    });
    assert.deepEqual(faults, []);
  } finally {
    sftp.isHanging = false;
    rmSync(folder, { recursive: true, force: true });
  }
});
