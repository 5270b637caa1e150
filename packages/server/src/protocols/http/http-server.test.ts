// The limits of single connections, on real sockets: idle time, number, and how long a refusal may linger.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { connect, type Server as NetServer, type Socket } from 'node:net';
import { test } from 'node:test';
import { type Clock, systemClock } from '../../runtime/clock.ts';
import { createFakeClock } from '../../testing/fake-clock.ts';
import { createHttpServer, type HttpServerOptions, type Serve } from './http-server.ts';
import { listen } from './listen.ts';

const HOST = { host: '127.0.0.1', port: 0 };
const REFUSED = 'HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n';
const GET = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';

const answerOk: Serve = (_, response) => {
  response.writeHead(200, ['Content-Length', '2']);
  response.end('ok');
};

async function startServer(serve: Serve, options: Partial<HttpServerOptions> = {}) {
  const clock: Clock = options.clock ?? systemClock;
  const server = createHttpServer(serve, { tls: undefined, refuseRaw: () => REFUSED, ...options, clock });
  const port = Number(new URL(await listen(server, HOST)).port);
  return {
    server,
    port,
    [Symbol.dispose]() {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** A client that closes only when it is told to. */
async function openHalf(port: number): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  socket.on('error', () => {});
  await new Promise((resolve) => socket.once('connect', resolve));
  return socket;
}

/** Fails when the connection is not closed in time. */
const closing = (socket: Socket) =>
  new Promise<void>((resolve, reject) => {
    const tooLate = setTimeout(() => reject(new Error('the connection is still open')), 60_000);
    socket.once('close', () => {
      clearTimeout(tooLate);
      resolve();
    });
  });
const firstData = (socket: Socket) =>
  new Promise<string>((resolve) => socket.once('data', (chunk) => resolve(String(chunk))));
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** The server's end of the next connection. */
const accepted = (server: { once(name: 'connection', take: (socket: Socket) => void): unknown }) =>
  new Promise<Socket>((resolve) => server.once('connection', resolve));

const connectionsOf = (server: NetServer) =>
  new Promise<number>((resolve) => server.getConnections((_, count) => resolve(count)));

const LARGE = Buffer.alloc(64 << 20, 0x20);
const answerMuch: Serve = (_, response) => {
  response.writeHead(200, ['Content-Length', String(LARGE.length)]);
  response.end(LARGE);
};

test('a client that does not read its answer is cut off when nothing has passed for the idle limit', async () => {
  const stillMs = 300;
  using running = await startServer(answerMuch, { limits: { stillMs, connectionsMax: 10 } });
  const arriving = accepted(running.server);
  const client = await openHalf(running.port);
  const ours = await arriving;
  client.pause();
  client.write(GET);
  const startedMs = performance.now();
  await closing(ours);
  const heldMs = performance.now() - startedMs;
  assert.ok(heldMs >= stillMs - 50, `held for ${heldMs} ms`);
  client.destroy();
});

test('a client that reads its answer with pauses shorter than the idle limit gets all of it', async () => {
  // The pauses are short beside the limit, and together longer: a busy machine makes each of them somewhat longer.
  const [stillMs, pauseMs] = [3000, 600];
  using running = await startServer(answerMuch, { limits: { stillMs, connectionsMax: 10 } });
  const client = await openHalf(running.port);
  client.write(GET);
  let bytes = 0;
  let unpaused = 0;
  await new Promise<void>((resolve) => {
    client.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      unpaused += chunk.length;
      if (bytes >= LARGE.length) resolve();
      if (unpaused < LARGE.length / 6) return;
      unpaused = 0;
      client.pause();
      setTimeout(() => client.resume(), pauseMs);
    });
  });
  assert.ok(bytes > LARGE.length);
  client.destroy();
});

test('connections over the limit are closed at once, the others are served, and room that is left is used', async () => {
  using running = await startServer(answerOk, { limits: { stillMs: 60_000, connectionsMax: 3 } });
  const clients = [];
  for (let i = 0; i < 3; i++) clients.push(await openHalf(running.port));
  const surplus = await openHalf(running.port);
  surplus.resume();
  await new Promise((resolve) => surplus.once('end', resolve));
  surplus.destroy();
  for (const client of clients) {
    client.write(GET);
    assert.match(await firstData(client), /^HTTP\/1\.1 200 /);
  }
  clients[0]!.destroy();
  while ((await connectionsOf(running.server)) === 3) await pause(5);
  const next = await openHalf(running.port);
  next.write(GET);
  assert.match(await firstData(next), /^HTTP\/1\.1 200 /);
  for (const client of [...clients, next]) client.destroy();
});

test('a refused connection is closed within two seconds of the refusal, for any behaviour of its client', async () => {
  const clock = createFakeClock();
  using running = await startServer(answerOk, { clock });
  const table = [
    'hello\r\n\r\n',
    `GET / HTTP/1.1\r\nX: ${'a'.repeat(17_000)}\r\n`,
    'CONNECT x:1 HTTP/1.1\r\n\r\n',
  ];
  for (const request of table) {
    for (const more of ['', 'more '.repeat(100_000)]) {
      const arriving = accepted(running.server);
      const client = await openHalf(running.port);
      const ours = await arriving;
      client.write(request);
      assert.equal(await firstData(client), REFUSED);
      client.write(more);
      await clock.advance(1900);
      assert.equal(ours.destroyed, false, 'closing at once would take the answer back');
      const closed = closing(ours);
      await clock.advance(100);
      await closed;
      client.destroy();
    }
  }
  assert.equal(clock.pending(), 0);
});

test('a refused connection that its client closes is gone at once, and nothing waits for it', async () => {
  const clock = createFakeClock();
  using running = await startServer(answerOk, { clock });
  for (const request of ['hello\r\n\r\n', 'CONNECT x:1 HTTP/1.1\r\n\r\n']) {
    const arriving = accepted(running.server);
    const client = await openHalf(running.port);
    const closed = closing(await arriving);
    client.write(request);
    assert.equal(await firstData(client), REFUSED);
    client.end('more '.repeat(100_000));
    await closed;
    assert.equal(clock.pending(), 0);
  }
});

test('rubbish sent while a request is being answered adds up to nothing', async () => {
  const { promise: asked, resolve: ask } = Promise.withResolvers<ServerResponse>();
  using running = await startServer((_, response) => ask(response));
  const client = await openHalf(running.port);
  client.write(GET);
  const answer = await asked;
  for (let i = 0; i < 30; i++) {
    client.write('rubbish\r\n\r\n');
    await pause(3);
  }
  assert.ok(answer.listenerCount('finish') < 5, `${answer.listenerCount('finish')} listeners`);
  const closed = closing(client);
  const received = firstData(client);
  client.once('end', () => client.end());
  answerOk(answer.req, answer);
  assert.match(await received, /^HTTP\/1\.1 200 .*ok$/s);
  await closed;
});

test('of requests that a connection sends at once one is served at a time, and none after it is closed', async () => {
  const begun: (() => void)[] = [];
  using server = await startServer((request, response) => begun.push(() => answerOk(request, response)));
  const coming = accepted(server.server);
  const socket = await openHalf(server.port);
  const theirs = await coming;
  const answers: string[] = [];
  socket.on('data', (chunk) => answers.push(...String(chunk).split('HTTP/1.1 ').slice(1)));
  socket.write(GET.repeat(5));
  for (let served = 1; served <= 3; served++) {
    while (begun.length < served) await pause(5);
    await pause(30);
    assert.equal(begun.length, served, 'the others wait');
    begun.at(-1)!();
    while (answers.length < served) await pause(5);
  }
  while (begun.length < 4) await pause(5);
  const closed = once(theirs, 'close');
  socket.destroy();
  await closed;
  begun.at(-1)!();
  await pause(50);
  assert.equal(begun.length, 4, 'the fifth is served for nobody');
});

test('a connection that sends without end and waits for no answer is closed', async () => {
  let served = 0;
  using server = await startServer(() => served++);
  const socket = await openHalf(server.port);
  socket.resume();
  socket.write(GET.repeat(3000));
  await closing(socket);
  assert.equal(served, 1);
});
