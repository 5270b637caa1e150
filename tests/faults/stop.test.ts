// P15's other half: a stop has an end. Even if a client or the file system hangs, the process ends soon after its limit,
// says why, and exits with an error; and a second signal ends it at once.

import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { Client, event } from './client.ts';
import { markersIn, readLog } from './read-log.ts';
import { KEY, type Service, startService, temporaryFolder } from './running.ts';

/** Less than a commit waits for somebody else's lock. */
const LIMIT_MS = 2500;
/** More than any stop takes that does not hang, however slow the machine is. */
const LONG_LIMIT_MS = 120_000;
/** Less than clients are given without a limit. */
const TOO_LONG_MS = 20_000;
const LIVE = 'GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n';

type ShortService = Service & { readonly dataDirectory: string };

async function startShort(limitMs = LIMIT_MS): Promise<ShortService> {
  const folder = temporaryFolder();
  const dataDirectory = join(folder.path, 'data');
  const script = join(import.meta.dirname, 'processes/short-stop.ts');
  const env = { STOP_MS_MAX: String(limitMs) };
  const service = await startService({ dataDirectory, script, env });
  return {
    ...service,
    dataDirectory,
    async [Symbol.asyncDispose]() {
      await service[Symbol.asyncDispose]();
      folder[Symbol.dispose]();
    },
  };
}

interface Stopped {
  /** The exit code, or the signal that it ended by. */
  readonly end: number | string;
  readonly ms: number;
}

async function stop(service: ShortService, signal: NodeJS.Signals): Promise<Stopped> {
  const startedAt = performance.now();
  service.kill(signal);
  const end = await service.ended;
  return { end, ms: performance.now() - startedAt };
}

/** Signals until it is gone, each so long after the last one that they do not count as one. */
async function stopAgain(service: ShortService, signal: NodeJS.Signals): Promise<Stopped> {
  const again = setInterval(() => service.kill(signal), 700);
  const stopped = await stop(service, signal);
  clearInterval(again);
  return stopped;
}

/** Resolves when all that was sent has arrived: once the request before it is answered. `closed` gives all answers. */
async function arrived(service: ShortService, request: string): Promise<{ closed: Promise<string> }> {
  const socket = connect(service.port, '127.0.0.1');
  socket.on('error', () => {});
  let received = '';
  socket.on('data', (chunk) => (received += String(chunk)));
  const answered = new Promise((resolve) => socket.once('data', resolve));
  const closed = new Promise<string>((resolve) => socket.once('close', () => resolve(received)));
  socket.write(LIVE + request);
  await answered;
  return { closed };
}

function post(body: string, length = body.length): string {
  const headers = ['Host: x', `X-API-Key: ${KEY}`, 'X-Tenant-Id: acme', `Content-Length: ${length}`];
  return `POST /api/v1/audit-events HTTP/1.1\r\n${headers.join('\r\n')}\r\n\r\n${body}`;
}

const answersIn = (received: string) => received.split('HTTP/1.1 ').length - 1;

/** While a commit of the service's writer stands still in the file system: it waits for a lock that we hold. */
async function whileStoring(service: ShortService, work: () => Promise<void>): Promise<void> {
  using client = new Client(service.url);
  assert.equal((await client.ask({ body: event('stored') })).status, 201);
  using journal = closing(
    new DatabaseSync(join(service.dataDirectory, 'journal.db'), { timeout: LONG_LIMIT_MS }),
    'close',
  );
  journal.at.exec('BEGIN IMMEDIATE');
  const { closed } = await arrived(service, post(JSON.stringify(event('hangs'))));
  await work();
  assert.equal(answersIn(await closed), 1, 'it was over before the commit was');
  journal.at.exec('ROLLBACK');
  assert.deepEqual([...markersIn(readLog(service.dataDirectory)).keys()], ['stored']);
}

test('control: a stop that does not hang is over before its limit, with 0', async () => {
  await using service = await startShort(LONG_LIMIT_MS);
  const { end } = await stop(service, 'SIGTERM');
  assert.equal(end, 0, service.diagnostics());
  assert.doesNotMatch(service.diagnostics(), /did not stop in time/);
});

test('a stop that waits for the rest of a request ends at its limit, says so, and is no success', async () => {
  await using service = await startShort();
  const { closed } = await arrived(service, post('{', 100));
  assertEndedAtLimit(service, await stop(service, 'SIGTERM'));
  await closed;
});

test('so does one whose writer hangs in the file system', async () => {
  await using service = await startShort();
  await whileStoring(service, async () => {
    assertEndedAtLimit(service, await stop(service, 'SIGTERM'));
  });
});

test('a second signal waits for the file system no more than for clients', async () => {
  await using service = await startShort(LONG_LIMIT_MS);
  await whileStoring(service, async () => {
    assert.equal((await stopAgain(service, 'SIGINT')).end, 'SIGINT');
  });
});

function assertEndedAtLimit(service: ShortService, { end, ms }: Stopped): void {
  assert.equal(end, 'SIGKILL');
  assert.ok(ms > LIMIT_MS - 100 && ms < TOO_LONG_MS, `${ms} ms`);
  const [last = ''] = service.diagnostics().trimEnd().split('\n').slice(-1);
  const { level, message } = JSON.parse(last) as { level: string; message: string };
  assert.deepEqual([level, message], ['Error', 'the service did not stop in time']);
}

function closing<End extends string, T extends Record<End, () => unknown>>(
  at: T,
  end: End,
): Disposable & { readonly at: T } {
  return { at, [Symbol.dispose]: () => void at[end]() };
}
