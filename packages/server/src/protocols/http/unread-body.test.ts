// What is left of a body that nobody reads: the connection waits for it a moment, and no longer.

import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { LIMITS } from '@tallystick/contract';
import type { Clock } from '../../runtime/clock.ts';
import { createFakeClock } from '../../testing/fake-clock.ts';
import { ALLOWED, believeKey, boundOperations, EVENT } from '../../testing/bound-operations.ts';
import { startTestApp } from '../../testing/test-app.ts';

const POST = 'POST /api/v1/audit-events HTTP/1.1\r\nHost: x\r\n';
const CREDENTIALS = Object.entries(ALLOWED)
  .map(([name, value]) => `${name}: ${value}\r\n`)
  .join('');

const LINGER_MS = 2000;
const READ_MS_MAX = 60_000;
const OPERATION_MS_MAX = 35_000;

/** Counts the timers that wait, by their delay: loops of the app set others whenever they get to it. */
function countingClock() {
  const clock = createFakeClock();
  const waiting = new Map<number, number>();
  const count = (delayMs: number, by: number) => waiting.set(delayMs, (waiting.get(delayMs) ?? 0) + by);
  const after: Clock['after'] = (delayMs, run) => {
    let isWaiting = true;
    const over = () => {
      if (isWaiting) count(delayMs, -1);
      isWaiting = false;
    };
    count(delayMs, 1);
    const timer = clock.after(delayMs, () => {
      over();
      run();
    });
    return {
      cancel() {
        over();
        timer.cancel();
      },
    };
  };
  return { clock: { ...clock, after }, waiting: (delayMs: number) => waiting.get(delayMs) ?? 0 };
}

async function startWithFakeClock() {
  const { clock, waiting } = countingClock();
  const app = await startTestApp({}, { clock, authenticate: believeKey, operations: boundOperations() });
  return {
    clock,
    waiting,
    port: app.port,
    async [Symbol.asyncDispose]() {
      const stop = new AbortController();
      const stopping = app[Symbol.asyncDispose]().then(() => stop.abort());
      while (!stop.signal.aborted) await clock.advance(100);
      await stopping;
    },
  };
}

async function openHalf(port: number): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  socket.on('error', () => {});
  await new Promise((resolve) => socket.once('connect', resolve));
  return socket;
}

const nextData = (socket: Socket) =>
  new Promise<string>((resolve) => socket.once('data', (chunk) => resolve(String(chunk))));

test('a connection whose request was refused is closed two seconds after the answer, when the body has not come by then', async () => {
  await using app = await startWithFakeClock();
  const table: [request: string, status: number][] = [
    [`${POST}Content-Length: 100\r\n\r\n{"a":`, 401],
    [`${POST}Transfer-Encoding: chunked\r\n\r\n5\r\n{"a":\r\n`, 401],
    [`${POST}${CREDENTIALS}Content-Length: ${LIMITS.requestBytesMax + 1}\r\n\r\n{"a":`, 400],
    [`POST /nowhere HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"a":`, 404],
    ['GET /health/live HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"a":', 200],
  ];
  for (const [request, status] of table) {
    const socket = await openHalf(app.port);
    let isClosed = false;
    const ended = new Promise<void>((resolve) => {
      for (const end of ['end', 'close'] as const) {
        socket.once(end, () => {
          isClosed = true;
          resolve();
        });
      }
    });
    socket.write(request);
    assert.match(await nextData(socket), new RegExp(`^HTTP/1.1 ${status} `));
    await app.clock.advance(1900);
    // A byte now and then buys no time.
    socket.write('1');
    await new Promise((resolve) => setTimeout(resolve, 20));
    assert.equal(isClosed, false, request);
    await app.clock.advance(100);
    await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, 60_000).unref())]);
    assert.equal(isClosed, true, request);
    socket.destroy();
  }
});

test('when the rest of the body comes in time, the connection goes on and nothing waits any more', async () => {
  await using app = await startWithFakeClock();
  const socket = await openHalf(app.port);
  socket.write(`${POST}Content-Length: 10\r\n\r\n12345`);
  assert.match(await nextData(socket), /^HTTP\/1\.1 401 /);
  assert.equal(app.waiting(LINGER_MS), 1);
  socket.write('67890GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n');
  assert.match(await nextData(socket), /^HTTP\/1\.1 200 /);
  assert.equal(app.waiting(LINGER_MS), 0);
  await app.clock.advance(5000);
  socket.write('GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n');
  assert.match(await nextData(socket), /^HTTP\/1\.1 200 /);
  socket.destroy();
});

test('a request that is complete when it is served sets no timer', async () => {
  await using app = await startWithFakeClock();
  const socket = await openHalf(app.port);
  const text = JSON.stringify({ ...EVENT, timestamp: '2025-01-02T03:04:05Z' });
  for (const credentials of ['', CREDENTIALS]) {
    socket.write(`${POST}${credentials}Content-Length: ${text.length}\r\n\r\n${text}`);
    assert.match(await nextData(socket), /^HTTP\/1\.1 (401|201) /);
  }
  assert.deepEqual([LINGER_MS, OPERATION_MS_MAX].map(app.waiting), [0, 0]);
  socket.destroy();
});

test('an answer that nobody reads is held for a minute, and then its connection ends', async () => {
  await using app = await startWithFakeClock();
  const socket = connect({ port: app.port, host: '127.0.0.1' });
  socket.on('error', () => {});
  socket.pause();
  const closed = new Promise((resolve) => socket.once('close', resolve));
  // More than the buffers of the system take.
  socket.write('GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(20_000));
  // One of them is a loop's own.
  while (app.waiting(READ_MS_MAX) < 2) await new Promise((resolve) => setTimeout(resolve, 20));
  await app.clock.advance(READ_MS_MAX);
  socket.resume();
  await closed;
});
