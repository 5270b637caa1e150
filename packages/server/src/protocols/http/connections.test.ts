// Which connections hold up a stop, and for how long: real sockets, and a server with nothing behind it.

import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { describe, it } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { type Clock, systemClock } from '../../runtime/clock.ts';
import { CERTIFICATE, KEY } from '../../testing/self-signed.ts';
import { drain, type DrainTimes } from './drain.ts';
import { createHttpServer, type HttpServer, type Serve } from './http-server.ts';
import { listen } from './listen.ts';

const REFUSED = 'HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n';
const GET = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';
const TIMES = { acceptGraceMs: 0, idleGraceMs: 100, timeoutMs: 60_000 };
const TLS = { certificate: CERTIFICATE, key: KEY };

const answerOk: Serve = (_, response) => {
  response.writeHead(200, ['Content-Length', '2']);
  response.end('ok');
};

async function startServer(serve: Serve, tls?: typeof TLS) {
  const server = createHttpServer(serve, { tls, refuseRaw: () => REFUSED, clock: systemClock });
  const port = Number(new URL(await listen(server, { host: '127.0.0.1', port: 0 })).port);
  return {
    server,
    port,
    [Symbol.dispose]() {
      server.close();
      server.open.closeResting();
      server.closeAllConnections();
    },
  };
}

/** `waitedMs` is for how long it wanted to wait, all in all: on a busy machine that takes longer. */
async function stop(server: HttpServer, times: Partial<DrainTimes> = {}) {
  const startedMs = performance.now();
  let waitedMs = 0;
  const clock: Clock = {
    ...systemClock,
    after(delayMs, run) {
      waitedMs += delayMs;
      return systemClock.after(delayMs, run);
    },
  };
  const cut = await drain(server, { ...TIMES, ...times }, clock);
  return { cut, waitedMs, tookMs: performance.now() - startedMs };
}

/** A client that closes only when it is told to, and what it has received. */
async function open(port: number): Promise<{ socket: Socket; text: () => string; closed: Promise<unknown> }> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  socket.on('error', () => {});
  let received = '';
  socket.on('data', (chunk) => (received += String(chunk)));
  const closed = new Promise((resolve) => {
    for (const end of ['end', 'close']) socket.once(end, resolve);
  });
  await new Promise((resolve) => socket.once('connect', resolve));
  return { socket, text: () => received, closed };
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** However slow the machine is. */
const PATIENCE_MS = 60_000;

async function until(isSo: () => boolean): Promise<void> {
  const startedMs = performance.now();
  while (!isSo()) {
    assert.ok(performance.now() - startedMs < PATIENCE_MS, 'it does not come');
    await pause(5);
  }
}

/** Does something, and sees what comes of it only when so much time is over. */
async function standStill(ms: number, first: () => void): Promise<void> {
  // What comes next are the timers, and only then what has arrived.
  await new Promise((resolve) => setImmediate(resolve));
  first();
  // A connection is begun in the next tick.
  await new Promise<void>((resolve) => process.nextTick(resolve));
  for (const endMs = performance.now() + ms; performance.now() < endMs; );
}

describe('a stop of a process that stood still', () => {
  it('answers who had connected before it stopped accepting', async () => {
    using running = await startServer(answerOk);
    const received = Array.from({ length: 40 }, () => Promise.withResolvers<string>());
    let stopping: ReturnType<typeof stop> | undefined;
    await standStill(2 * TIMES.idleGraceMs, () => {
      stopping = stop(running.server, { acceptGraceMs: TIMES.idleGraceMs });
      for (const { resolve, reject } of received) {
        const socket = connect({ port: running.port, host: '127.0.0.1' });
        socket.on('error', (error) => reject(error));
        socket.once('data', (chunk) => resolve(String(chunk)));
        socket.end(GET);
      }
    });
    for (const { promise } of received) assert.match(await promise, /ok$/);
    await stopping;
  });

  it('answers what had arrived on a kept connection before its grace was over', async () => {
    using running = await startServer(answerOk);
    const { socket, text, closed } = await open(running.port);
    socket.write(GET);
    await until(() => text().endsWith('ok'));
    let stopping: ReturnType<typeof stop> | undefined;
    await standStill(2 * TIMES.idleGraceMs, () => {
      stopping = stop(running.server);
      socket.write(GET);
    });
    await closed;
    assert.match(text(), /ok.+ok$/s);
    socket.destroy();
    await stopping;
  });
});

describe('a stop', { concurrency: true }, () => {
  it('connections that have no request under way are closed after the grace for idle ones', async () => {
    const table: [what: string, sent: string, answer: RegExp | undefined][] = [
      ['nothing was said', '', undefined],
      ['one request was answered', GET, /ok$/],
      ['what came was no HTTP', 'hello\r\n\r\n', /^HTTP\/1\.1 400 /],
      ['a tunnel was asked for', 'CONNECT x:1 HTTP/1.1\r\n\r\n', /^HTTP\/1\.1 400 /],
      ['the rest of a body is held back', 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n1', /ok$/],
    ];
    using running = await startServer(answerOk);
    const { server, port } = running;
    const clients = [];
    for (const [, sent, answer] of table) {
      const client = await open(port);
      client.socket.write(sent);
      if (answer !== undefined) await until(() => answer.test(client.text()));
      clients.push(client);
    }
    const { cut, waitedMs, tookMs } = await stop(server);
    assert.equal(cut, 0);
    assert.ok(tookMs >= TIMES.idleGraceMs - 5 && waitedMs < 1000, `${waitedMs} ms, in ${tookMs} ms`);
    await Promise.all(clients.map(({ closed }) => closed));
    for (const { socket } of clients) socket.destroy();
  });

  it('a head that has begun to arrive has two seconds to become a request; one that drips is closed then', async () => {
    using running = await startServer(answerOk);
    const { server, port } = running;
    const [whole, again, dripping] = [await open(port), await open(port), await open(port)];
    again.socket.write(GET);
    await until(() => again.text().endsWith('ok'));
    whole.socket.write(GET.slice(0, 10));
    dripping.socket.write('GET / HTTP/1.1\r\nX-A: ');
    await until(() => [...server.open.bytesRead().values()].every((count) => count > 0));
    const stopping = stop(server);
    again.socket.write(GET.slice(0, 10));
    const drip = setInterval(() => dripping.socket.write('x'), 100);
    dripping.socket.once('close', () => clearInterval(drip));
    // Longer than the grace for idle ones, and much shorter than what a head has.
    await pause(3 * TIMES.idleGraceMs);
    whole.socket.write(GET.slice(10));
    again.socket.write(GET.slice(10));
    await until(() => whole.text().endsWith('ok') && /ok.+ok$/s.test(again.text()));
    whole.socket.end();
    again.socket.end();
    const { cut, waitedMs, tookMs } = await stopping;
    assert.equal(cut, 0);
    assert.ok(tookMs >= 1900 && waitedMs < 3000, `${waitedMs} ms, in ${tookMs} ms`);
    dripping.socket.destroy();
  });

  it('an answer that is read slowly is not cut off', async () => {
    const large = Buffer.alloc(32 << 20, 0x20);
    using running = await startServer((_, response) => {
      response.writeHead(200, ['Content-Length', String(large.length)]);
      response.end(large);
    });
    const { server, port } = running;
    const socket = connect({ port, host: '127.0.0.1' });
    socket.write(GET);
    await new Promise((resolve) => socket.once('readable', resolve));
    const stopping = stop(server);
    await pause(2500);
    let bytes = 0;
    socket.on('data', (chunk: Buffer) => (bytes += chunk.length));
    assert.equal((await stopping).cut, 0);
    await new Promise((resolve) => socket.once('close', resolve));
    assert.ok(bytes > large.length, `${bytes} bytes`);
  });

  it('a request that is being answered is waited for', async () => {
    let answer: ServerResponse | undefined;
    using running = await startServer((_, response) => (answer = response));
    const { server, port } = running;
    const { socket, text } = await open(port);
    socket.write(GET);
    await until(() => answer !== undefined);
    const stopping = stop(server);
    await pause(2300);
    answerOk(answer!.req, answer!);
    await until(() => text().endsWith('ok'));
    assert.equal((await stopping).cut, 0);
    socket.destroy();
  });

  it('with TLS, too: before the handshake, after it, and after an answer', async () => {
    using running = await startServer(answerOk, TLS);
    const { server, port } = running;
    const silent = await open(port);
    const halfway = await open(port);
    halfway.socket.write(Buffer.from('160301', 'hex'));
    const secured = [];
    for (const sent of ['', GET]) {
      const socket = connectTls({ port, host: '127.0.0.1', ca: CERTIFICATE, servername: 'localhost' });
      socket.on('error', () => {});
      await new Promise((resolve) => socket.once('secureConnect', resolve));
      if (sent !== '') {
        socket.write(sent);
        await new Promise((resolve) => socket.once('data', resolve));
      }
      secured.push(socket);
    }
    const { cut, waitedMs } = await stop(server);
    assert.equal(cut, 0);
    assert.ok(waitedMs < 3000, `${waitedMs} ms`);
    for (const socket of [silent.socket, halfway.socket, ...secured]) socket.destroy();
  });

  it('with TLS an answer under way is waited for', async () => {
    let answer: ServerResponse | undefined;
    using running = await startServer((_, response) => (answer = response), TLS);
    const { server, port } = running;
    const socket = connectTls({ port, host: '127.0.0.1', ca: CERTIFICATE, servername: 'localhost' });
    let received = '';
    socket.on('data', (chunk) => (received += String(chunk)));
    socket.write(GET);
    await until(() => answer !== undefined);
    const stopping = stop(server);
    await pause(2300);
    answerOk(answer!.req, answer!);
    await until(() => received.endsWith('ok'));
    assert.equal((await stopping).cut, 0);
    socket.destroy();
  });
});
