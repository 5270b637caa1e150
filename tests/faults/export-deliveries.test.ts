// A delivery whose service is killed while it sends continues with what is at the destination: from the `.part` of SFTP, and from the parts of an
// upload to S3. The file at the destination is the one that is downloaded.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import type { ExportDelivery } from '@tallystick/contract';
import { S3Server } from '../../packages/server/src/testing/s3-server.ts';
import { SftpServer } from '../../packages/server/src/testing/sftp-server.ts';
import { until } from '../../packages/server/src/testing/until.ts';
import { BACKENDS, type Backend } from './backends.ts';
import { asked, completed, download, kill, requested, send, shown } from './exporting.ts';
import { type Service, startService } from './running.ts';
import { SIZE } from './size.ts';

const MB = 1024 * 1024;
const KILLS = SIZE.isLong ? 5 : 1;
/** Of a file, so that each kill comes behind another part of it: those of an upload to S3, and for SFTP any that is not under way at once. */
const PART_BYTES = { s3: 8 * MB, sftp: SIZE.isLong ? 8 * MB : 3 * MB } as const;
/** So many that a batch of them stays below its limit. */
const EVENT_BYTES = 18_000;

async function withFile(
  service: Service,
  partBytes: number,
): Promise<{ readonly exportId: string; readonly file: Buffer }> {
  const note = randomBytes(EVENT_BYTES / 2).toString('hex');
  await send(service, 0, Math.ceil(((KILLS + 1) * partBytes) / EVENT_BYTES) + 1, note);
  const exportId = await requested(service, { format: 'NDJSON' });
  await completed(service, exportId);
  return { exportId, file: Buffer.from(await (await download(service, exportId)).arrayBuffer()) };
}

const deliver = (service: Service, exportId: string, destination: object) =>
  asked<ExportDelivery>(service, 'POST', `/exports/${exportId}/deliver`, { destination });

const restarted = async (backend: Backend): Promise<Service> => {
  await backend.endLeases?.();
  return startService(backend.start);
};

async function delivered(service: Service, exportId: string): Promise<ExportDelivery> {
  let last: ExportDelivery | undefined;
  await until(async () => {
    last = (await shown(service, exportId)).deliveries!.at(-1);
    assert.notEqual(last?.status, 'Failed', last?.failureReason);
    return last?.status === 'Delivered';
  });
  return last!;
}

/** In short, each protocol on one backend: deliveries ask their store for their job alone. */
const on = (name: keyof typeof BACKENDS) =>
  Object.entries(BACKENDS).filter(([each]) => SIZE.isLong || each === name) as [
    string,
    () => Promise<Backend>,
  ][];

for (const [name, open] of on('SQLite')) {
  test(`on ${name} a delivery by SFTP that was killed continues with its part`, async (t) => {
    await using opened = await open();
    const backend = allowing(opened);
    await using sftp = await SftpServer.start();
    let service = await startService(backend.start);
    try {
      const { exportId, file } = await withFile(service, PART_BYTES.sftp);
      sftp.hangsAtBytes = PART_BYTES.sftp;
      await deliver(service, exportId, sftp.destination());
      for (let i = 1; i <= KILLS; i++) {
        await until(() => sftp.isHanging);
        await kill(service);
        sftp.hangsAtBytes = i < KILLS ? (i + 1) * PART_BYTES.sftp : Infinity;
        sftp.isHanging = false;
        service = await restarted(backend);
      }
      const { location, bytesTransferred } = await delivered(service, exportId);
      assert.equal(bytesTransferred, file.length);
      const [path] = [...sftp.files.keys()];
      assert.ok(location!.endsWith(path!), location);
      assert.deepEqual([...sftp.files.keys()], [path], 'no part is left');
      assert.ok(sftp.files.get(path!)!.equals(file));
      const again = sftp.written - file.length;
      t.diagnostic(`${file.length} bytes, ${KILLS} kills, ${again} bytes were sent twice`);
      // What may have been under way is sent again after each kill.
      assert.ok(again <= KILLS * 2 * MB, `${again} bytes were sent twice`);
    } finally {
      await kill(service);
    }
  });
}

for (const [name, open] of on('PostgreSQL')) {
  test(`on ${name} a delivery to S3 that was killed goes on with the parts that are missing`, async (t) => {
    await using opened = await open();
    const backend = allowing(opened);
    await using s3 = await S3Server.start();
    let service = await startService(backend.start);
    try {
      const { exportId, file } = await withFile(service, PART_BYTES.s3);
      s3.hangsAtPart = 2;
      await deliver(service, exportId, s3.destination());
      for (let i = 1; i <= KILLS; i++) {
        await until(() => s3.isHanging);
        await kill(service);
        s3.hangsAtPart = i < KILLS ? i + 2 : undefined;
        s3.isHanging = false;
        service = await restarted(backend);
      }
      const { location } = await delivered(service, exportId);
      const [key] = [...s3.objects.keys()];
      assert.ok(location!.endsWith(key!), location);
      assert.ok(s3.objects.get(key!)!.equals(file));
      assert.equal(s3.uploads.size, 0, 'no upload is left open');
      t.diagnostic(`${file.length} bytes, ${KILLS} kills, parts ${s3.sentParts.join(' ')}`);
      const numbers = s3.sentParts.toSorted((a, b) => a - b);
      assert.deepEqual(numbers, [...new Set(numbers)], 'no part was sent twice');
    } finally {
      await kill(service);
    }
  });
}

function allowing(backend: Backend): Backend {
  const env = { ...backend.start.env, Exports__AllowPrivateTargets: 'true' };
  return { ...backend, start: { ...backend.start, env } };
}
