// Files of exports sent to the sshd of OpenSSH, as it is installed here: new, in the place of an older one, and after a break.

import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createConnection } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { SftpDestination } from '../../packages/server/src/exports/export-target.ts';
import { createGuardedSockets } from '../../packages/server/src/outbound/guarded-socket.ts';
import { loopbackOnly } from '../../packages/server/src/outbound/http/address-rules.ts';
import { systemResolve } from '../../packages/server/src/outbound/http/resolve.ts';
import { createSftpTarget } from '../../packages/server/src/outbound/sftp.ts';
import { systemClock } from '../../packages/server/src/runtime/clock.ts';
import { freePort } from '../../packages/server/src/testing/free-port.ts';
import { until } from '../../packages/server/src/testing/until.ts';

const SSHD = '/usr/sbin/sshd';
const skip = existsSync(SSHD) ? false : 'there is no sshd on this machine';
const NAME = 'audit-acme-01J.json';

let folder: string;
let port: number;
let sshd: ChildProcess | undefined;

before(async () => {
  if (skip !== false) return;
  folder = mkdtempSync(join(tmpdir(), 'tallystick-sshd-'));
  const keygen = (name: string, type: string) =>
    execFileSync('ssh-keygen', ['-q', '-t', type, '-N', '', '-f', join(folder, name)]);
  keygen('host', 'ed25519');
  keygen('user-ed25519', 'ed25519');
  keygen('user-ecdsa', 'ecdsa');
  const authorized = ['user-ed25519', 'user-ecdsa'].map((name) =>
    readFileSync(join(folder, `${name}.pub`), 'utf8'),
  );
  writeFileSync(join(folder, 'authorized'), authorized.join(''));
  mkdirSync(join(folder, 'in'));
  if (userInfo().uid === 0) mkdirSync('/run/sshd', { recursive: true });
  port = await freePort();
  const settings = {
    ListenAddress: '127.0.0.1',
    HostKey: join(folder, 'host'),
    AuthorizedKeysFile: join(folder, 'authorized'),
    PidFile: 'none',
    StrictModes: 'no',
    UsePAM: 'no',
    PermitRootLogin: 'yes',
    Subsystem: 'sftp internal-sftp',
  };
  const lines = Object.entries(settings).map(([name, value]) => `${name} ${value}\n`);
  writeFileSync(join(folder, 'config'), lines.join(''));
  sshd = spawn(SSHD, ['-D', '-e', '-f', join(folder, 'config'), '-p', String(port)], { stdio: 'ignore' });
  await until(answers);
});
after(async () => {
  if (sshd !== undefined) {
    const ended = new Promise((resolve) => sshd!.once('exit', resolve));
    sshd.kill();
    await ended;
  }
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
});

function answers(): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection({ host: '127.0.0.1', port });
    socket.once('data', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}

const sockets = createGuardedSockets({ clock: systemClock, rule: loopbackOnly, resolve: systemResolve });
const target = createSftpTarget({ sockets, clock: systemClock });

function destination(more: Partial<SftpDestination> = {}): SftpDestination {
  const [, fingerprint = ''] = String(execFileSync('ssh-keygen', ['-lf', join(folder, 'host.pub')])).split(
    ' ',
  );
  return {
    type: 'Sftp',
    host: '127.0.0.1',
    port,
    path: join(folder, 'in'),
    username: userInfo().username,
    privateKey: readFileSync(join(folder, 'user-ed25519'), 'utf8'),
    hostKeyFingerprint: fingerprint,
    ...more,
  };
}

function send(to: SftpDestination, bytes: Buffer) {
  const readFrom: number[] = [];
  const sent = target.send({
    destination: to,
    fileName: NAME,
    mediaType: 'application/json',
    byteLength: bytes.length,
    async *read(from, end) {
      readFrom.push(from);
      for (let at = from; at < end; at += 65_536) yield bytes.subarray(at, Math.min(end, at + 65_536));
    },
    signal: new AbortController().signal,
    onProgress: async () => {},
  });
  return { sent, readFrom };
}

/** Bytes that repeat nowhere. */
function bytesOf(blocks: number): Buffer {
  return Buffer.concat(
    Array.from({ length: blocks }, (_, i) => createHash('sha512').update(String(i)).digest()),
  );
}

test('OpenSSH takes a file by each kind of key, in the place of an older one', { skip }, async () => {
  for (const [i, name] of ['user-ed25519', 'user-ecdsa'].entries()) {
    const bytes = bytesOf(100_000 + i);
    const privateKey = readFileSync(join(folder, name), 'utf8');
    const { status } = await send(destination({ privateKey }), bytes).sent;
    assert.equal(status, 'Sent');
    assert.deepEqual(readdirSync(join(folder, 'in')), [NAME]);
    assert.ok(readFileSync(join(folder, 'in', NAME)).equals(bytes));
  }
});

test('OpenSSH: a file that is there in part is completed', { skip }, async () => {
  const bytes = bytesOf(100_000);
  writeFileSync(join(folder, 'in', `${NAME}.part`), bytes.subarray(0, 4_000_000));
  const { sent, readFrom } = send(destination(), bytes);
  assert.equal((await sent).status, 'Sent');
  assert.ok(readFrom[0]! > 2_900_000, String(readFrom));
  assert.ok(readFileSync(join(folder, 'in', NAME)).equals(bytes));
});

test('OpenSSH: what it refuses has its reason', { skip }, async () => {
  const other = `SHA256:${'A'.repeat(43)}`;
  const cases: [Partial<SftpDestination>, string][] = [
    [{ hostKeyFingerprint: other }, 'HostKeyMismatch'],
    [{ username: 'nobody-at-all' }, 'AuthenticationFailed'],
    [{ path: join(folder, 'nowhere') }, 'DestinationRefused'],
    // A device, and no folder.
    [{ path: '/dev/full' }, 'DestinationRefused'],
  ];
  for (const [more, reason] of cases) {
    const outcome = await send(destination(more), bytesOf(10)).sent;
    assert.ok(outcome.status === 'Failed');
    assert.equal(outcome.fault.reason, reason, outcome.fault.message);
  }
});
