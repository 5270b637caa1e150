import assert from 'node:assert/strict';
import { existsSync, statSync } from 'node:fs';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { run, serve, start } from '../testing/command.ts';

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

function open(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => resolve(socket)).once('error', reject);
  });
}

const ADMIN_KEY = 'the-platform-key-of-these-tests';

const EVENT = {
  timestamp: '2026-01-02T03:04:05.678Z',
  actor: { actorType: 'User', userId: 'u-1' },
  action: 'Approve.Invoice',
  resource: { resourceType: 'Invoice', resourceId: 'INV-42' },
};

/** The head of a request whose body is waited for as long as a stop may last. */
function post(length: number): string {
  const headers = ['Host: x', `X-API-Key: ${ADMIN_KEY}`, 'X-Tenant-Id: acme', `Content-Length: ${length}`];
  return `POST /api/v1/audit-events HTTP/1.1\r\n${headers.join('\r\n')}\r\n\r\n`;
}

/** A connection on which a part of a request has arrived: somebody has been answered who came later. */
async function begun(port: number, part: string): Promise<Socket> {
  const socket = await open(port);
  socket.write(part);
  assert.equal((await fetch(`http://127.0.0.1:${port}/health/live`)).status, 200);
  return socket;
}

async function untilRefused(port: number): Promise<void> {
  for (;;) {
    try {
      (await open(port)).destroy();
    } catch (error) {
      assert.equal((error as NodeJS.ErrnoException).code, 'ECONNREFUSED');
      return;
    }
    await pause(20);
  }
}

const jsonLines = (stderr: string) =>
  stderr
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as { level: string; message: string; setting?: string });

describe('tallystick serve', { concurrency: 3 }, () => {
  it('says where it listens and where the data is, and serves', async () => {
    await using service = await serve();
    const response = await fetch(`http://127.0.0.1:${service.port}/health/ready`);
    assert.equal(response.status, 200);
    const [, data = ''] = await service.prints(/^ {2}data {5}(.*)$/m);
    assert.equal(data, join(service.folder, 'data'));
    assert.equal(statSync(data).mode & 0o777, 0o700);
  });

  it('prints a line that sends an event, by a version that takes it', async () => {
    for (const [v1, v2, version] of [
      ['Active', 'Active', 'v1'],
      ['Deprecated', 'Active', 'v1'],
      ['Sunset', 'Active', 'v2'],
      ['Retired', 'Deprecated', 'v2'],
      ['Retired', 'Sunset', undefined],
    ] as const) {
      await using service = await serve({ env: { ApiVersions__V1__State: v1, ApiVersions__V2__State: v2 } });
      service.child.kill('SIGTERM');
      const { stdout } = await service.ended;
      assert.equal(
        /Send an event:\n {2}curl \S+\/api\/(v\d)\/audit-events /.exec(stdout)?.[1],
        version,
        stdout,
      );
    }
  });

  it('SIGTERM lets the request under way finish, then exits 0; diagnostics are JSON lines', async () => {
    await using service = await serve({ env: { TALLYSTICK_ADMIN_KEY: ADMIN_KEY } });
    const body = JSON.stringify(EVENT);
    const socket = await begun(service.port, post(body.length) + body.slice(0, 10));
    let received = '';
    socket.on('data', (chunk: Buffer) => (received += chunk.toString()));
    const closed = new Promise((resolve) => socket.once('close', resolve));
    service.child.kill('SIGTERM');
    await untilRefused(service.port);
    socket.write(body.slice(10));
    await closed;
    assert.match(received, /^HTTP\/1\.1 201 Created\r\n/);
    assert.match(received, /\r\nconnection: close\r\n/i);
    const { code, signal, stderr } = await service.ended;
    // After half a minute it would have ended itself by a signal.
    assert.deepEqual({ code, signal }, { code: 0, signal: null });
    assert.deepEqual(
      jsonLines(stderr).map(({ message }) => message),
      ['ready', 'draining', 'stopped'],
    );
  });

  it('one Ctrl-C that arrives twice drains; a second one later stops at once', async () => {
    await using service = await serve({ env: { TALLYSTICK_ADMIN_KEY: ADMIN_KEY } });
    const socket = await begun(service.port, `${post(100)}{`);
    socket.on('error', () => {});
    service.child.kill('SIGINT');
    await pause(50);
    service.child.kill('SIGINT');
    await pause(700);
    assert.equal(service.child.exitCode, null, 'still draining');
    // Later is by its own clock, and a busy machine may have let it see the first ones only now.
    const again = setInterval(() => service.child.kill('SIGINT'), 700);
    service.child.kill('SIGINT');
    const { signal } = await service.ended;
    clearInterval(again);
    assert.equal(signal, 'SIGINT');
  });

  it('wrong settings are one line each on standard error, and exit code 2', async () => {
    const env = { Server__Port: 'x', Server__Prot: '1', RateLimiting__EnableRateLimiting: 'perhaps' };
    const { code, stdout, stderr } = await run(['serve'], { env });
    assert.equal(code, 2);
    assert.equal(stdout, '');
    assert.deepEqual(stderr.trimEnd().split('\n'), [
      'tallystick: Server__Port: "x" in the environment is not allowed; allowed: a port, 0 to 65535 (0 takes any free one)',
      'tallystick: RateLimiting__EnableRateLimiting: "perhaps" in the environment is not allowed; allowed: true or false',
      'tallystick: Server__Prot in the environment is not a setting; did you mean Server__Port?',
    ]);
  });

  it('a database that does not answer is said in one line, without its password', async () => {
    const env = {
      Environment: 'Test',
      Storage__Url: 'postgres://app:hunter2@127.0.0.1:1/audit',
      Server__Port: '0',
    };
    const { code, stdout, stderr } = await run(['serve'], { env });
    assert.deepEqual([code, stdout], [1, '']);
    assert.match(stderr, /^tallystick: cannot connect to the database of Storage__Url: .*ECONNREFUSED.*\n$/);
    assert.doesNotMatch(stderr, /hunter2/);
  });

  it('on PostgreSQL in Production it does not start without places for the anchor and the keyring', async () => {
    const env = { Storage__Url: 'postgres://app:hunter2@127.0.0.1:1/audit', Server__Port: '0' };
    const { code, stdout, stderr } = await run(['serve'], { env });
    assert.deepEqual([code, stdout], [2, '']);
    assert.match(
      stderr,
      /^tallystick: Log__Anchor is missing; [^\n]*PostgreSQL[^\n]*\n[^\n]*Encryption__Keyring is missing; [^\n]*\n$/,
    );
  });

  it('a settings file is found in the working directory, or where --config says', async () => {
    const files = {
      'tallystick.json': '{"Storage":{"DataDirectory":"here"}}',
      'other.json': '{"Server":{"Port":0}}',
    };
    for (const [args, folder] of [
      [['serve'], 'here'],
      [['serve', '--config', 'other.json'], 'data'],
    ] as const) {
      await using service = start(args, { files, env: { Server__Port: '0' } });
      await service.prints(/is ready/);
      assert.ok(existsSync(join(service.folder, folder)));
    }
  });

  it('a port in use is one clear line, and exit code 1', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => other.once('listening', resolve));
    const { port } = other.address() as AddressInfo;
    const { code, stderr } = await run(['serve'], { env: { Server__Port: String(port) } });
    other.close();
    assert.equal(code, 1);
    assert.equal(
      stderr,
      `tallystick: cannot listen on 127.0.0.1:${port}: the address is already in use; see Server__Host and Server__Port\n`,
    );
  });

  it('a data directory that cannot be used is one clear line, and exit code 1', async () => {
    const { code, stderr } = await run(['serve'], {
      env: { Server__Port: '0', Storage__DataDirectory: '/dev/null' },
    });
    assert.equal(code, 1);
    assert.match(
      stderr,
      /^tallystick: cannot use the data directory \/dev\/null \(\w+\); see Storage__DataDirectory\n$/,
    );
  });

  it('goes on when nobody reads its output any more', async () => {
    await using service = await serve({ env: { Telemetry__Level: 'Debug' } });
    service.child.stdout?.destroy();
    service.child.stderr?.destroy();
    for (let i = 0; i < 3; i++) {
      const response = await fetch(`http://127.0.0.1:${service.port}/health/live`);
      assert.equal(response.status, 200);
      await response.text();
    }
    service.child.kill('SIGTERM');
    assert.equal((await service.ended).code, 0);
  });

  it('in Development diagnostics are readable', async () => {
    await using service = await serve({ env: { Environment: 'Development', Telemetry__Level: 'Debug' } });
    await (await fetch(`http://127.0.0.1:${service.port}/health/live`)).text();
    service.child.kill('SIGTERM');
    const { stderr } = await service.ended;
    assert.match(
      stderr,
      /^\d\d:\d\d:\d\d\.\d{3} debug request {2}method=GET {2}path=\/health\/live {2}status=200 /m,
    );
  });
});
