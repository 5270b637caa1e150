// P2: a disk that is full or failing. Nothing is acknowledged that is not stored, the answer is 503 with
// Retry-After, the service says that it is not ready, and it goes on by itself when the disk does.
// P1 besides: an answer waits for an fsync of its own.

import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { acknowledgedIn, Client, event } from './client.ts';
import { markersIn, readLog } from './read-log.ts';
import { type Service, startService, temporaryFolder } from './running.ts';
import { SIZE } from './size.ts';

/** However slow the machine is. */
const WAIT_MS = 120_000;

test('a file that cannot grow: 503 and not ready, then it goes on by itself', needs('prlimit'), async () => {
  using folder = temporaryFolder();
  const dataDirectory = join(folder.path, 'data');
  await using service = await startService({ dataDirectory });
  using client = new Client(service.url);
  const acknowledged = await sendUntil(client, (_, count) => count === 20, 'before');
  // What is full is the writer's alone to find: answers go over sockets, which have no size.
  execFileSync('prlimit', [`--pid=${service.pid}`, '--fsize=4096:unlimited']);
  const during = await sendUntil(client, (status, count) => status === 503 || count > 2000, 'during');
  const refused = await client.ask({ body: event('refused') });
  assert.equal(refused.status, 503);
  assert.match(String(refused.headers['retry-after']), /^[1-9]\d*$/);
  assert.equal((refused.body as { error: { code: string } }).error.code, 'SERVICE_UNAVAILABLE');
  await until(() => isReady(client, 503));
  execFileSync('prlimit', [`--pid=${service.pid}`, '--fsize=unlimited:unlimited']);
  await until(() => isReady(client, 200));
  const after = await sendUntil(client, (_, count) => count === 20, 'after');
  assertKept(dataDirectory, [...acknowledged, ...during, ...after]);
});

test('an answer waits for an fsync of its own', needs('strace'), async () => {
  using folder = temporaryFolder();
  await using service = await startService({ dataDirectory: join(folder.path, 'data') });
  using client = new Client(service.url, 1);
  await sendUntil(client, (_, count) => count === 3, 'before');
  const output = join(mkdtempSync(join(folder.path, 'strace-')), 'calls');
  await whileTraced(service, ['-e', 'trace=fdatasync,fsync', '-o', output], () =>
    sendUntil(client, (_status, count) => count === 20, 'traced'),
  );
  const calls = readFileSync(output, 'utf8').match(/fdatasync\(|fsync\(/g) ?? [];
  assert.ok(calls.length >= 20, `20 answers, ${calls.length} fsyncs`);
});

const FAULTS = [
  ['fsync', 'EIO'],
  ['fsync', 'ENOSPC'],
  ['pwrite64', 'EIO'],
  ['pwrite64', 'ENOSPC'],
] as const;

for (const [call, error] of FAULTS) {
  const places = SIZE.isLong ? 12 : 2;
  test(
    `${error} in the n-th ${call}, n to ${places}: nothing acknowledged is lost`,
    needs('strace'),
    async (t) => {
      let refusals = 0;
      for (let n = 1; n <= places; n++) {
        using folder = temporaryFolder();
        const dataDirectory = join(folder.path, 'data');
        await using service = await startService({ dataDirectory });
        using client = new Client(service.url);
        const acknowledged = await sendUntil(client, (_, count) => count === 5, 'before');
        const inject = `inject=${call}:error=${error}:when=${n}..${n + 2}`;
        const args = ['-e', `trace=${call}`, '-e', inject, '-o', '/dev/null'];
        let seen = 0;
        const isEnough = (status: number, count: number) => {
          if (status === 503) seen += 1;
          return seen > 2 || count > 60;
        };
        acknowledged.push(...(await whileTraced(service, args, () => sendUntil(client, isEnough, 'during'))));
        refusals += seen;
        await until(() => isReady(client, 200));
        acknowledged.push(...(await sendUntil(client, (_, count) => count === 5, 'after')));
        assertKept(dataDirectory, acknowledged);
      }
      assert.ok(refusals > 0, 'no fault was felt');
      t.diagnostic(`${places} places, ${refusals} refusals, 0 lost`);
    },
  );
}

/** Sends one event after the other until told; gives the ids that were acknowledged. */
async function sendUntil(
  client: Client,
  isEnough: (status: number, count: number) => boolean,
  name: string,
): Promise<string[]> {
  const acknowledged: string[] = [];
  for (let count = 1; ; count++) {
    const reply = await client.ask({ body: event(`${name}-${count}`) });
    assert.ok(reply.status === 201 || reply.status === 503, `${reply.status} ${JSON.stringify(reply.body)}`);
    if (reply.status === 201) acknowledged.push(...acknowledgedIn(reply));
    if (isEnough(reply.status, count)) return acknowledged;
  }
}

function assertKept(dataDirectory: string, acknowledged: readonly string[]): void {
  const log = readLog(dataDirectory);
  const found = new Set((log.get('acme') ?? []).map(({ eventId }) => eventId));
  assert.deepEqual(
    acknowledged.filter((id) => !found.has(id)),
    [],
  );
  assert.deepEqual(
    [...markersIn(log)].filter(([, count]) => count !== 1),
    [],
  );
}

async function isReady(client: Client, expected: number): Promise<boolean> {
  const { status } = await client.ask({ method: 'GET', path: '/health/ready' });
  return status === expected;
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  const startedAt = performance.now();
  while (!(await holds())) {
    assert.ok(performance.now() - startedAt < WAIT_MS, 'it did not come to be in time');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Attaches to every thread of the service, does the work and detaches. */
async function whileTraced<T>(service: Service, args: readonly string[], work: () => Promise<T>): Promise<T> {
  const child = spawn('strace', ['-f', '-p', String(service.pid), ...args], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  await new Promise<void>((resolve, reject) => {
    child.stderr.on('data', (chunk: Buffer) => {
      if (String(chunk).includes('attached')) setTimeout(resolve, 200);
    });
    child.once('exit', (code) => reject(new Error(`strace ended with ${code}`)));
  });
  try {
    return await work();
  } finally {
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGINT');
    await ended;
  }
}

/** These need a tool that a machine may lack, or may not let us use; then the test says so. */
function needs(tool: 'prlimit' | 'strace'): { skip: string | false } {
  try {
    if (tool === 'prlimit') execFileSync('prlimit', ['--version'], { stdio: 'ignore' });
    else execFileSync('strace', ['-o', '/dev/null', 'true'], { stdio: 'ignore' });
    return { skip: false };
  } catch {
    return { skip: `${tool} is not there, or not allowed` };
  }
}
