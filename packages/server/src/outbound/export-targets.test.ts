// The ways to SFTP servers and object storage, each against a server that has the faults of real ones.

import assert from 'node:assert/strict';
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { test } from 'node:test';
import type {
  ExportTarget,
  ObjectStorageDestination,
  Sending,
  Sent,
  SftpDestination,
} from '../exports/export-target.ts';
import { systemClock } from '../runtime/clock.ts';
import { S3Server } from '../testing/s3-server.ts';
import { newUserKey, SftpServer } from '../testing/sftp-server.ts';
import { createGuardedSockets } from './guarded-socket.ts';
import { anyButMetadata, publicOnly } from './http/address-rules.ts';
import { createOutboundHttp } from './http/guarded-http.ts';
import { systemResolve } from './http/resolve.ts';
import { createS3Target } from './s3.ts';
import { createSftpTarget } from './sftp.ts';
import { signS3, sha256Hex } from './sigv4.ts';

const MB = 1024 * 1024;
const NAME = 'audit-acme-01J.json';

const sockets = createGuardedSockets({ clock: systemClock, rule: anyButMetadata, resolve: systemResolve });
const sftp = (stepMs = 5000) => createSftpTarget({ sockets, clock: systemClock, stepMs });

function bytesOf(size: number): Buffer {
  const bytes = Buffer.alloc(size);
  for (let i = 0; i < size; i += 4) bytes.writeUInt32LE((i * 2654435761) >>> 0, Math.min(i, size - 4));
  return bytes;
}

interface Trial {
  readonly progress: number[];
  /** Where each reading began. */
  readonly readFrom: number[];
  readonly outcome: Promise<Sent>;
}

function send<D extends SftpDestination | ObjectStorageDestination>(
  target: ExportTarget<D>,
  destination: object,
  bytes: Buffer,
  signal: AbortSignal = new AbortController().signal,
): Trial {
  const progress: number[] = [];
  const readFrom: number[] = [];
  const sending: Sending<D> = {
    destination: destination as D,
    fileName: NAME,
    mediaType: 'application/json',
    byteLength: bytes.length,
    async *read(from, end) {
      readFrom.push(from);
      for (let at = from; at < end; at += 100_000) yield bytes.subarray(at, Math.min(at + 100_000, end));
    },
    signal,
    onProgress: async (at) => void progress.push(at),
  };
  return { progress, readFrom, outcome: target.send(sending) };
}

async function placeOf({ outcome }: Trial): Promise<string> {
  const sent = await outcome;
  assert.ok(sent.status === 'Sent', JSON.stringify(sent));
  return sent.location;
}

async function fault({ outcome }: Trial): Promise<readonly [reason: string, isFinal: boolean]> {
  const sent = await outcome;
  assert.ok(sent.status === 'Failed', 'it was sent');
  return [sent.fault.reason, sent.fault.isFinal];
}

test('SFTP: a file has its name when it is whole, in the place of an older one', async () => {
  await using server = await SftpServer.start();
  const bytes = bytesOf(3 * MB + 17);
  for (let i = 0; i < 2; i++) {
    const sent = send(sftp(), server.destination(), bytes);
    assert.equal(await placeOf(sent), `sftp://127.0.0.1:${server.port}/in/${NAME}`);
    assert.equal(sent.progress.at(-1), bytes.length);
    assert.deepEqual([...server.files.keys()], [`/in/${NAME}`]);
    assert.ok(server.files.get(`/in/${NAME}`)!.equals(bytes));
  }
  assert.deepEqual(server.renamed[0], [`/in/${NAME}.part`, `/in/${NAME}`]);
});

test('SFTP: an empty file is sent as well', async () => {
  await using server = await SftpServer.start();
  await placeOf(send(sftp(), server.destination(), Buffer.alloc(0)));
  assert.equal(server.files.get(`/in/${NAME}`)?.length, 0);
});

test('SFTP: a private key lets in as a password does', async () => {
  await using server = await SftpServer.start();
  const privateKey = newUserKey();
  const destination = server.destination({ password: undefined, privateKey });
  assert.deepEqual(await fault(send(sftp(), destination, bytesOf(10))), ['AuthenticationFailed', true]);
  server.userKey = privateKey;
  await placeOf(send(sftp(), destination, bytesOf(10)));
  assert.ok(server.files.has(`/in/${NAME}`));
});

test('SFTP: a key with a passphrase and what is no key are refused before anything is sent', async () => {
  await using server = await SftpServer.start();
  const judge = (privateKey: string) =>
    sftp().judge(server.destination({ password: undefined, privateKey }) as SftpDestination);
  assert.equal((await judge('no key at all'))?.field, 'privateKey');
  assert.equal(await judge(newUserKey()), undefined);
  const inPem = (privateKey: KeyObject, label: string) =>
    `-----BEGIN ${label}-----\n${privateKey.export({ format: 'der', type: 'pkcs1' }).toString('base64')}\n-----END ${label}-----\n`;
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  assert.equal(await judge(inPem(privateKey, 'RSA PRIVATE KEY')), undefined);
  const encrypted = privateKey.export({
    format: 'pem',
    type: 'pkcs1',
    cipher: 'aes-128-cbc',
    passphrase: 'x',
  });
  assert.match((await judge(String(encrypted)))?.issue ?? '', /^needs a passphrase/);
  assert.equal((await judge('ssh-ed25519 AAAA'))?.field, 'privateKey');
});

test('SFTP: a key that is made to be hard to read is refused in a moment', async () => {
  await using server = await SftpServer.start();
  // The library took the better part of a second.
  const hostile = `-----BEGIN RSA PRIVATE KEY-----\n${'a:b\n'.repeat(4000)}`;
  const destination = server.destination({ password: undefined, privateKey: hostile }) as SftpDestination;
  const before = process.threadCpuUsage();
  assert.equal((await sftp().judge(destination))?.field, 'privateKey');
  const { user, system } = process.threadCpuUsage(before);
  assert.ok(user + system < 100_000, `${(user + system) / 1000} ms`);
});

test('SFTP: what was cut off goes on from there, and the file is the same', async () => {
  await using server = await SftpServer.start();
  const bytes = bytesOf(6 * MB);
  server.cutAfterBytes = 4 * MB;
  assert.deepEqual(await fault(send(sftp(), server.destination(), bytes)), ['Unreachable', false]);
  const sizeBefore = server.files.get(`/in/${NAME}.part`)!.length;
  assert.ok(sizeBefore > 3 * MB);
  const again = send(sftp(), server.destination(), bytes);
  await placeOf(again);
  assert.ok(again.readFrom[0]! >= sizeBefore - MB, String(again.readFrom));
  assert.ok(server.files.get(`/in/${NAME}`)!.equals(bytes));
});

test('SFTP: a hole that a server left in what it wrote last is filled', async () => {
  await using server = await SftpServer.start();
  const bytes = bytesOf(4 * MB);
  const torn = Buffer.from(bytes.subarray(0, 3 * MB)).fill(0, 3 * MB - 200_000, 3 * MB - 100_000);
  server.files.set(`/in/${NAME}.part`, torn);
  await placeOf(send(sftp(), server.destination(), bytes));
  assert.ok(server.files.get(`/in/${NAME}`)!.equals(bytes));
});

test('SFTP: another host key and a wrong password end it, and nothing is tried again', async () => {
  await using server = await SftpServer.start();
  const destination = server.destination();
  const wrong = server.destination({ password: 'wrong' });
  assert.deepEqual(await fault(send(sftp(), wrong, bytesOf(10))), ['AuthenticationFailed', true]);
  await server.changeHostKey();
  assert.deepEqual(await fault(send(sftp(), destination, bytesOf(10))), ['HostKeyMismatch', true]);
  assert.equal(server.files.size, 0);
});

test('SFTP: a server that hangs, a full disk and a directory that is not there', async () => {
  await using server = await SftpServer.start();
  server.diskBytesMax = MB;
  assert.deepEqual(await fault(send(sftp(), server.destination(), bytesOf(2 * MB))), [
    'DestinationRefused',
    false,
  ]);
  server.isHanging = true;
  assert.deepEqual(await fault(send(sftp(200), server.destination(), bytesOf(10))), ['Timeout', false]);
  const elsewhere = server.destination({ path: '/nowhere' });
  assert.deepEqual(await fault(send(sftp(), elsewhere, bytesOf(10))), ['DestinationRefused', false]);
});

test('SFTP: it stops when it is told to', async () => {
  await using server = await SftpServer.start();
  server.isHanging = true;
  const stop = new AbortController();
  const sent = send(sftp(), server.destination(), bytesOf(MB), stop.signal);
  stop.abort(new Error('stopped'));
  await assert.rejects(sent.outcome, /stopped/);
});

test('SFTP: private addresses are refused, in every notation and behind names', async () => {
  const resolve = async (name: string) => (name === 'inside.example' ? ['93.184.216.34', '10.0.0.1'] : []);
  const guarded = createGuardedSockets({ clock: systemClock, rule: publicOnly, resolve });
  const target = createSftpTarget({ sockets: guarded, clock: systemClock });
  await using server = await SftpServer.start();
  for (const host of ['127.0.0.1', '::1', '0x7f.1', '2130706433', 'localhost', 'inside.example']) {
    const destination = server.destination({ host });
    assert.equal((await target.judge(destination as SftpDestination))?.field, 'host', host);
    assert.deepEqual(await fault(send(target, destination, bytesOf(10))), ['NotAllowed', true], host);
  }
  assert.equal(server.connections, 0);
});

const http = createOutboundHttp({ clock: systemClock, https: anyButMetadata, http: anyButMetadata });
const s3 = (timeoutMs = 5000) => createS3Target({ http, clock: systemClock, timeoutMs });
const KEY = `exports/of ana & co/${NAME}`;

test('S3: a small file is one request', async () => {
  await using server = await S3Server.start();
  const bytes = bytesOf(1000);
  const sent = send(s3(), server.destination(), bytes);
  assert.equal(await placeOf(sent), `s3://audit-files/${KEY}`);
  assert.ok(server.objects.get(KEY)!.equals(bytes));
  assert.deepEqual(sent.progress, [1000]);
});

test('S3: a large file is sent in parts, and is there when all of them are', async () => {
  await using server = await S3Server.start();
  const bytes = bytesOf(20 * MB + 5);
  const sent = send(s3(), server.destination(), bytes);
  await placeOf(sent);
  assert.ok(server.objects.get(KEY)!.equals(bytes));
  assert.deepEqual(sent.progress, [8 * MB, 16 * MB, bytes.length]);
  assert.equal(server.uploads.size, 0);
});

test('S3: an upload that broke off goes on with the parts that are missing, or not the same', async () => {
  await using server = await S3Server.start();
  const bytes = bytesOf(20 * MB);
  server.cutsPart = 3;
  assert.deepEqual(await fault(send(s3(), server.destination(), bytes)), ['Unreachable', false]);
  const [upload] = server.uploads.values();
  upload!.parts.set(1, bytesOf(8 * MB).fill(1));
  server.sentParts.length = 0;
  await placeOf(send(s3(), server.destination(), bytes));
  assert.deepEqual(server.sentParts, [1, 3]);
  assert.ok(server.objects.get(KEY)!.equals(bytes));
});

test('S3: credentials that must not list uploads begin a new one', async () => {
  await using server = await S3Server.start();
  server.nextErrors.push([403, '<Error><Code>AccessDenied</Code></Error>']);
  const bytes = bytesOf(9 * MB);
  await placeOf(send(s3(), server.destination(), bytes));
  assert.ok(server.objects.get(KEY)!.equals(bytes));
});

test('S3: what ends a delivery, and what is tried again', async () => {
  await using server = await S3Server.start();
  const ended = async (more: object) => fault(send(s3(), server.destination(more), bytesOf(10)));
  assert.deepEqual(await ended({ secretAccessKey: 'wrong' }), ['AuthenticationFailed', true]);
  assert.deepEqual(await ended({ accessKeyId: 'WRONG' }), ['AuthenticationFailed', true]);
  assert.deepEqual(await ended({ region: 'eu-west-1' }), ['DestinationRefused', true]);
  assert.deepEqual(await ended({ bucket: 'another-one' }), ['DestinationRefused', true]);
  server.nextErrors.push([503, '<Error><Code>SlowDown</Code></Error>']);
  assert.deepEqual(await ended({}), ['DestinationRefused', false]);
  // Some refusals of the last request come with a 200.
  server.nextErrors.push([200, '<?xml version="1.0"?><Error><Code>InternalError</Code></Error>']);
  assert.deepEqual(await ended({}), ['DestinationRefused', false]);
  server.isHanging = true;
  assert.deepEqual(await fault(send(s3(200), server.destination(), bytesOf(10))), ['Timeout', false]);
});

test('S3: signs as the documentation of AWS does', () => {
  const { authorization } = signS3(
    {
      method: 'GET',
      url: new URL('https://examplebucket.s3.amazonaws.com/test.txt'),
      headers: { range: 'bytes=0-9' },
      bodyHash: sha256Hex(''),
      nowMs: Date.parse('2013-05-24T00:00:00Z'),
    },
    {
      accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
      secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
      region: 'us-east-1',
    },
  );
  assert.match(authorization!, /Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41$/);
});
