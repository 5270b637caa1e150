// Stopping: nobody who was accepted is cut off, and nobody holds it up for ever.

import assert from 'node:assert/strict';
import { Agent, get } from 'node:http';
import { test } from 'node:test';
import { ALLOWED, believeKey, boundOperations } from '../../testing/bound-operations.ts';
import { exchangeRaw, open, readAnswers } from '../../testing/raw-http.ts';
import { startTestApp } from '../../testing/test-app.ts';

const GET = 'GET /health/ready HTTP/1.1\r\nHost: x\r\n';

/** An operation that answers when the test says so. */
function slowOperation() {
  const started = Promise.withResolvers<void>();
  const finish = Promise.withResolvers<void>();
  const operations = boundOperations({
    'policies.delete': async () => {
      started.resolve();
      await finish.promise;
      return { kind: 'Removed', body: undefined };
    },
  });
  const head = Object.entries(ALLOWED)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('');
  const request = `DELETE /api/v1/policies/01KE0000000000000000000042 HTTP/1.1\r\nHost: x\r\n${head}\r\n`;
  return { operations, request, started: started.promise, finish: () => finish.resolve() };
}

/** For a moment others are accepted. */
async function untilRefused(port: number): Promise<void> {
  for (;;) {
    const accepted = await open(port).catch((error: NodeJS.ErrnoException) => error.code);
    if (accepted === 'ECONNREFUSED') return;
    if (typeof accepted === 'object') accepted.destroy();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

test('a request that is being answered gets its answer, with Connection: close', async () => {
  const slow = slowOperation();
  const app = await startTestApp({}, { authenticate: believeKey, operations: slow.operations });
  const answered = exchangeRaw(app.port, slow.request);
  await slow.started;
  let stopped = false;
  const stopping = app[Symbol.asyncDispose]().then(() => (stopped = true));
  await untilRefused(app.port);
  assert.equal(stopped, false, 'it accepts nobody else, and waits');
  slow.finish();
  const [answer] = await answered;
  assert.deepEqual([answer?.status, answer?.headers['connection']], [204, 'close']);
  await stopping;
});

test('a request of which a part has arrived is answered', async () => {
  const app = await startTestApp();
  const socket = await open(app.port);
  const received = readAnswers(socket);
  socket.write(GET);
  // Once somebody is answered who came later, the part has arrived.
  await exchangeRaw(app.port, `${GET}\r\n`);
  const stopping = app[Symbol.asyncDispose]();
  await new Promise((resolve) => setTimeout(resolve, 150));
  socket.write('\r\n');
  const [answer] = await received;
  assert.equal(answer?.status, 503, 'not ready: it is draining');
  assert.match(answer.body, /"description":"Draining"/);
  assert.equal(answer.headers['connection'], 'close');
  await stopping;
});

test('connections that are kept alive and busy see no reset', async () => {
  const app = await startTestApp(
    {},
    { drainTimes: { acceptGraceMs: 0, idleGraceMs: 10_000, timeoutMs: 60_000 } },
  );
  const agent = new Agent({ keepAlive: true, maxSockets: 8 });
  const failures: string[] = [];
  const busy = Promise.withResolvers<void>();
  let answers = 0;
  const ask = () =>
    new Promise<boolean>((resolve) => {
      get(`${app.url}/health/live`, { agent }, (response) => {
        response.resume().on('end', () => {
          answers += 1;
          if (answers > 50) busy.resolve();
          resolve(response.headers.connection !== 'close');
        });
      }).on('error', (error: NodeJS.ErrnoException) => {
        failures.push(String(error.code));
        resolve(false);
      });
    });
  const client = async () => {
    while (await ask());
  };
  const clients = Array.from({ length: 8 }, client);
  // Should they all end before, by failures, there is nothing to wait for.
  await Promise.race([busy.promise, Promise.all(clients)]);
  await app[Symbol.asyncDispose]();
  await Promise.all(clients);
  agent.destroy();
  assert.deepEqual(failures, []);
  assert.ok(answers > 50, `${answers} answers`);
});

test('an idle connection does not hold it up', async () => {
  // So long that nobody takes for it what a busy machine needs to stop.
  const timeoutMs = 60_000;
  const app = await startTestApp({}, { drainTimes: { acceptGraceMs: 0, idleGraceMs: 20, timeoutMs } });
  const socket = await open(app.port);
  const answered = new Promise((resolve) => socket.once('data', resolve));
  socket.write(`${GET}\r\n`);
  await answered;
  const closed = new Promise((resolve) => socket.once('close', resolve));
  const startedMs = performance.now();
  await app[Symbol.asyncDispose]();
  assert.ok(performance.now() - startedMs < timeoutMs / 2);
  await closed;
});

test('what does not end in time is cut, and the diagnostics say how many', async () => {
  const slow = slowOperation();
  const drainTimes = { acceptGraceMs: 0, idleGraceMs: 10, timeoutMs: 200 };
  const app = await startTestApp({}, { authenticate: believeKey, operations: slow.operations, drainTimes });
  const answered = exchangeRaw(app.port, slow.request);
  await slow.started;
  await app[Symbol.asyncDispose]();
  assert.deepEqual(await answered, []);
  assert.equal(app.lines.find(({ level }) => level === 'Warn')?.['connections'], 1);
  slow.finish();
});

test('stopping twice does no harm', async () => {
  const app = await startTestApp();
  await Promise.all([app[Symbol.asyncDispose](), app[Symbol.asyncDispose]()]);
  await app[Symbol.asyncDispose]();
});
