// P15's other half: a stop has an end. Whatever hangs, a client or the file system, the process is gone soon after its
// limit, says why, and does not look as if all were well; and a second signal ends it at once.

import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { Client, event } from './client.ts';
import { markersIn, readLog } from './read-log.ts';
import { KEY, type Service, startService, temporaryFolder } from './running.ts';

const LIMIT_MS = 2500;
/** Longer than any stop should take, and less than a commit waits for somebody else's lock. */
const TOO_LONG_MS = 4000;

type ShortService = Service & { readonly dataDirectory: string };

async function startShort(): Promise<ShortService> {
  const folder = temporaryFolder();
  const dataDirectory = join(folder.path, 'data');
  const script = join(import.meta.dirname, 'processes/short-stop.ts');
  const service = await startService({ dataDirectory, script });
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

/** While a commit of the service's writer stands still in the file system: it waits for a lock that we hold. */
async function whileStoring(service: ShortService, work: () => Promise<void>): Promise<void> {
  using client = new Client(service.url);
  assert.equal((await client.ask({ body: event('stored') })).status, 201);
  using journal = closing(new DatabaseSync(join(service.dataDirectory, 'journal.db')), 'close');
  journal.at.exec('BEGIN IMMEDIATE');
  const unanswered = assert.rejects(client.ask({ body: event('hangs') }));
  await pause(100);
  await work();
  await unanswered;
  journal.at.exec('ROLLBACK');
  assert.deepEqual([...markersIn(readLog(service.dataDirectory)).keys()], ['stored']);
}

test('control: a stop that does not hang is over before its limit, with 0', async () => {
  await using service = await startShort();
  const { end, ms } = await stop(service, 'SIGTERM');
  assert.equal(end, 0, service.diagnostics());
  assert.ok(ms < LIMIT_MS, `${ms} ms`);
  assert.doesNotMatch(service.diagnostics(), /did not stop in time/);
});

test('a stop that waits for the rest of a request ends at its limit, says so, and is no success', async () => {
  await using service = await startShort();
  using socket = closing(connect(service.port, '127.0.0.1'), 'destroy');
  socket.at.on('error', () => {});
  const answered = new Promise((resolve) => socket.at.once('data', resolve));
  const headers = ['Host: x', `X-API-Key: ${KEY}`, 'X-Tenant-Id: acme', 'Content-Length: 100'];
  // Once the request before it is answered, the part has arrived.
  const live = 'GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n';
  socket.at.write(`${live}POST /api/v1/audit-events HTTP/1.1\r\n${headers.join('\r\n')}\r\n\r\n{`);
  await answered;
  assertEndedAtLimit(service, await stop(service, 'SIGTERM'));
});

test('so does one whose writer hangs in the file system', async () => {
  await using service = await startShort();
  await whileStoring(service, async () => {
    assertEndedAtLimit(service, await stop(service, 'SIGTERM'));
  });
});

test('a second signal waits for the file system no more than for clients', async () => {
  await using service = await startShort();
  await whileStoring(service, async () => {
    const { end, ms } = await stopAgain(service, 'SIGINT');
    assert.equal(end, 'SIGINT');
    assert.ok(ms < LIMIT_MS, `${ms} ms`);
  });
});

function assertEndedAtLimit(service: ShortService, { end, ms }: Stopped): void {
  assert.equal(end, 'SIGKILL');
  assert.ok(ms > LIMIT_MS - 100 && ms < TOO_LONG_MS, `${ms} ms`);
  const [last = ''] = service.diagnostics().trimEnd().split('\n').slice(-1);
  const { level, message } = JSON.parse(last) as { level: string; message: string };
  assert.deepEqual([level, message], ['Error', 'the service did not stop in time']);
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

function closing<End extends string, T extends Record<End, () => unknown>>(
  at: T,
  end: End,
): Disposable & { readonly at: T } {
  return { at, [Symbol.dispose]: () => void at[end]() };
}
