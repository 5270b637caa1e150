// The guarded client against real servers on loopback, plain and over TLS.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, createServer as createNetServer, type Server } from 'node:net';
import { describe, it } from 'node:test';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { type Clock, systemClock } from '../../runtime/clock.ts';
import { createFakeClock } from '../../testing/fake-clock.ts';
import { CERTIFICATE, KEY } from '../../testing/self-signed.ts';
import { until } from '../../testing/until.ts';
import { anyAddress, type AddressRule, loopbackOnly, noAddress } from './address-rules.ts';
import { createOutboundHttp, type OutboundHttpOptions } from './guarded-http.ts';
import type { OutboundFault } from './outbound-error.ts';
import type { OutboundAnswer, OutboundRequest } from './outbound-http.ts';
import type { Resolve } from './resolve.ts';

async function serve(server: Server) {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const sockets = new Set<{ destroy(): void }>();
  server.on('connection', (socket) => void sockets.add(socket));
  return {
    port,
    connections: () => sockets.size,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const plain = (listener: RequestListener) => serve(createServer(listener));
const tls = (listener: RequestListener) => serve(createTlsServer({ cert: CERTIFICATE, key: KEY }, listener));
const says =
  (body: string): RequestListener =>
  (_, response) =>
    void response.end(body);

const resolvesTo =
  (...addresses: string[]): Resolve =>
  () =>
    Promise.resolve(addresses);

async function send(
  url: string,
  options: Partial<OutboundHttpOptions> = {},
  more: Partial<OutboundRequest> = {},
): Promise<OutboundAnswer> {
  using http = createOutboundHttp({ clock: systemClock, https: anyAddress, http: anyAddress, ...options });
  return await http.send({ url, answerBytesMax: 1000, timeoutMs: 60_000, ...more });
}

const textOf = ({ body }: OutboundAnswer) => Buffer.from(body).toString();
const faultOf = async (sent: Promise<unknown>): Promise<OutboundFault> => {
  const { fault, message } = await sent.then(
    () => assert.fail('there was an answer'),
    (error: { fault?: OutboundFault; message: string }) => error,
  );
  assert.ok(fault !== undefined, message);
  return fault;
};

describe('the guarded client', () => {
  it('sends what it is given, and gives status, headers and body as they are', async () => {
    await using server = await plain((request, response) => {
      response.writeHead(418, {
        'x-seen': `${request.method} ${request.url} ${String(request.headers['x-a'])}`,
      });
      request.pipe(response);
    });
    const url = `http://127.0.0.1:${server.port}/a?b`;
    const answer = await send(url, {}, { method: 'POST', headers: { 'x-a': 'c' }, body: 'grüß' });
    assert.deepEqual([answer.status, answer.headers['x-seen'], textOf(answer)], [418, 'POST /a?b c', 'grüß']);
  });

  it('keeps the connection for the next request', async () => {
    await using server = await plain(says('ok'));
    using http = createOutboundHttp({ clock: systemClock, https: noAddress, http: loopbackOnly });
    const request = { url: `http://127.0.0.1:${server.port}`, answerBytesMax: 10, timeoutMs: 60_000 };
    for (let i = 0; i < 3; i++) assert.equal(textOf(await http.send(request)), 'ok');
    assert.equal(server.connections(), 1);
  });

  it('opens a new connection where the peer said that it closes idle ones soon, and none where it said later', async () => {
    for (const [hint, connections] of [
      ['timeout=1', 2],
      ['timeout=60, max=99', 1],
    ] as const) {
      await using server = await plain((_, response) => {
        response.writeHead(200, { connection: 'keep-alive', 'keep-alive': hint, 'content-length': 0 }).end();
      });
      using http = createOutboundHttp({ clock: systemClock, https: noAddress, http: loopbackOnly });
      const request = { url: `http://127.0.0.1:${server.port}`, answerBytesMax: 10, timeoutMs: 60_000 };
      for (let i = 0; i < 2; i++) await http.send(request);
      assert.equal(server.connections(), connections, hint);
    }
  });

  it('uses no connection for longer than a minute, since names move, nor one that was idle for long', async () => {
    await using server = await plain(says('ok'));
    const clock = {
      ...createFakeClock(),
      after: (...[ms, run]: Parameters<Clock['after']>) => systemClock.after(ms, run),
    };
    using http = createOutboundHttp({ clock, https: noAddress, http: loopbackOnly });
    const request = { url: `http://127.0.0.1:${server.port}`, answerBytesMax: 10, timeoutMs: 60_000 };
    const after = async (ms: number) => {
      await clock.advance(ms);
      await http.send(request);
      return server.connections();
    };
    assert.deepEqual([await after(0), await after(3900), await after(3900), await after(4100)], [1, 1, 1, 2]);
    for (let ms = 0; ms <= 63_000; ms += 3000) await after(3000);
    assert.equal(server.connections(), 3);
  });

  it('sends the host as it is written, one of each header, and a length where there is a body', async () => {
    await using server = await plain((request, response) => response.end(JSON.stringify(request.rawHeaders)));
    const url = `http://127.0.0.1:${server.port}`;
    const sentBy = async (more: Partial<OutboundRequest>) => {
      const raw = JSON.parse(textOf(await send(url, {}, more))) as string[];
      return raw.map((each, i) => (i % 2 === 0 ? each.toLowerCase() : each));
    };
    const host = `127.0.0.1:${server.port}`;
    const usual = ['accept-encoding', 'identity', 'user-agent', 'tallystick', 'connection', 'keep-alive'];
    assert.deepEqual(await sentBy({}), ['host', host, ...usual]);
    assert.deepEqual(await sentBy({ method: 'POST', body: 'grüß' }), [
      'host',
      host,
      'content-length',
      '6',
      ...usual,
    ]);
    assert.deepEqual(await sentBy({ method: 'POST' }), ['host', host, 'content-length', '0', ...usual]);
    const own = { 'User-Agent': 'other', HOST: 'elsewhere.example', 'Content-Length': '1', 'X-A': 'b' };
    assert.deepEqual(await sentBy({ method: 'POST', body: Buffer.from('xyz'), headers: own }), [
      'host',
      host,
      'content-length',
      '3',
      'user-agent',
      'other',
      'x-a',
      'b',
      'accept-encoding',
      'identity',
      'connection',
      'keep-alive',
    ]);
  });

  it('sends no header that could hold another one', async () => {
    await using server = await plain(says('reached'));
    using http = createOutboundHttp({ clock: systemClock, https: noAddress, http: loopbackOnly });
    const request = { url: `http://127.0.0.1:${server.port}`, answerBytesMax: 100, timeoutMs: 60_000 };
    for (const headers of [
      { 'x-a': 'b\r\nx-c: d' },
      { 'x-a\r\nx-c': 'd' },
      { 'x a': 'b' },
      { 'x-a': 'ä€' },
    ]) {
      assert.equal(await faultOf(http.send({ ...request, headers })), 'NotAllowed');
    }
    assert.equal((await http.send(request)).status, 200, 'control');
  });

  it('says how long each phase took, and of a kept connection only what there was', async () => {
    await using server = await tls(says('ok'));
    const url = `https://localhost:${server.port}`;
    const resolve = resolvesTo('127.0.0.1');
    using http = createOutboundHttp({
      clock: systemClock,
      https: anyAddress,
      http: noAddress,
      resolve,
      authorities: CERTIFICATE,
    });
    const timingsOf = async () => (await http.send({ url, answerBytesMax: 100, timeoutMs: 60_000 })).timings;
    const { waitMs, totalMs, ...phases } = await timingsOf();
    assert.deepEqual(Object.keys(phases).toSorted(), ['connectMs', 'dnsMs', 'firstByteMs', 'tlsMs']);
    assert.ok(waitMs >= 0);
    assert.ok(phases.connectMs! > 0 && phases.tlsMs! > 0 && phases.firstByteMs! > 0);
    const sum = Object.values(phases).reduce((a, b) => a + b);
    assert.ok(sum <= totalMs + 0.01, `${sum} of ${totalMs}`);
    assert.deepEqual(Object.keys(await timingsOf()).toSorted(), ['firstByteMs', 'totalMs', 'waitMs']);
  });

  it('ends what is under way when it is closed', async () => {
    await using server = await serve(createNetServer(() => {}));
    const http = createOutboundHttp({ clock: systemClock, https: noAddress, http: loopbackOnly });
    const request = { url: `http://127.0.0.1:${server.port}`, answerBytesMax: 100, timeoutMs: 60_000 };
    const sent = assert.rejects(http.send(request), { fault: 'Reset', message: 'the client was closed' });
    await until(() => server.connections() === 1);
    http[Symbol.dispose]();
    await sent;
  });

  it('follows no redirect', async () => {
    await using elsewhere = await plain(says('followed'));
    const location = `http://127.0.0.1:${elsewhere.port}/`;
    await using server = await plain((_, response) => void response.writeHead(307, { location }).end());
    assert.equal((await send(`http://127.0.0.1:${server.port}`)).status, 307);
    assert.equal(elsewhere.connections(), 0);
  });

  it('reads no more than the limit, whether or not a length is announced', async () => {
    const body = 'x'.repeat(1001);
    for (const length of [{}, { 'content-length': '1001' }]) {
      await using server = await plain((_, response) => void response.writeHead(200, length).end(body));
      const url = `http://127.0.0.1:${server.port}`;
      assert.equal(await faultOf(send(url)), 'TooLarge');
      assert.equal(textOf(await send(url, {}, { answerBytesMax: 1001 })), body, 'control');
    }
  });

  it('does not ask for compression, nor undo it', async () => {
    await using server = await plain((request, response) =>
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(request.headers['accept-encoding']),
    );
    assert.equal(textOf(await send(`http://127.0.0.1:${server.port}`)), 'identity');
  });

  it('gives up at its deadline: without a word, within the headers, within a body that drips, within a TLS greeting', async () => {
    const drips = (first: string, more: string) =>
      createNetServer((socket) => {
        socket.write(first);
        const timer = setInterval(() => socket.write(more), 20);
        socket.on('close', () => clearInterval(timer));
        socket.on('error', () => {});
      });
    const silent = createNetServer(() => {});
    const headers = drips('HTTP/1.1 200 OK\r\n', 'x-a: b\r\n');
    const body = drips('HTTP/1.1 200 OK\r\n\r\n', '.');
    for (const [server, scheme] of [
      [silent, 'http'],
      [headers, 'http'],
      [body, 'http'],
      [silent, 'https'],
    ] as const) {
      await using running = await serve(server);
      const sent = send(`${scheme}://127.0.0.1:${running.port}`, {}, { timeoutMs: 150 });
      await assert.rejects(sent, { fault: 'Timeout', message: /gave no whole answer within 150 ms/ });
    }
  });

  it('gives up at its deadline while a name does not resolve', async () => {
    const resolve = () => new Promise<never>(() => {});
    const sent = send('http://nobody.example', { resolve }, { timeoutMs: 50 });
    assert.equal(await faultOf(sent), 'Timeout');
  });

  it('ends with the reason of the signal, before and during a request', async () => {
    await using server = await serve(createNetServer(() => {}));
    const url = `http://127.0.0.1:${server.port}`;
    const reason = new Error('the service stops');
    await assert.rejects(send(url, {}, { signal: AbortSignal.abort(reason) }), reason);
    const stop = new AbortController();
    setTimeout(() => stop.abort(reason), 30);
    await assert.rejects(send(url, {}, { signal: stop.signal }), reason);
  });

  it('says that there is no answer where nobody listens, where no name is found and where one breaks off', async () => {
    const gone = await plain(says(''));
    await gone[Symbol.asyncDispose]();
    await using broken = await serve(
      createNetServer((socket) => void socket.end('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf')),
    );
    for (const [url, fault] of [
      [`http://127.0.0.1:${gone.port}/secret`, 'Connect'],
      [`http://127.0.0.1:${broken.port}/secret`, 'Reset'],
      ['http://nobody.invalid/secret', 'Dns'],
    ] as const) {
      const error = await send(url).then(
        () => assert.fail(url),
        (thrown: Error & { fault?: string }) => thrown,
      );
      assert.equal(error.fault, fault);
      assert.doesNotMatch(error.message, /secret/);
    }
  });

  it('refuses an address before it connects, written out or behind any name', async () => {
    await using server = await plain(says('reached'));
    const { port } = server;
    const http: AddressRule = {
      words: '127.0.0.2',
      allows: (address) => address === '127.0.0.2',
      allowsName: () => true,
    };
    const rules = { http };
    for (const host of ['127.0.0.1', '2130706433', '0x7f.1', '[::ffff:127.0.0.1]', '[::1]', 'localhost']) {
      assert.equal(await faultOf(send(`http://${host}:${port}`, rules)), 'NotAllowed', host);
    }
    // One address of a name is enough to refuse it: which of them is taken is not ours to say.
    const resolve = resolvesTo('127.0.0.2', '127.0.0.1');
    const named = send(`http://name.example:${port}`, { ...rules, resolve });
    await assert.rejects(named, {
      fault: 'NotAllowed',
      message:
        'name.example leads to an address that is not 127.0.0.2, and must not be connected to over http:',
    });
    assert.equal(server.connections(), 0);
    const allowed = { http: loopbackOnly, resolve: resolvesTo('127.0.0.1') };
    assert.equal(textOf(await send(`http://name.example:${port}`, allowed)), 'reached', 'control');
  });

  it('speaks HTTP alone, and no address may hold a password', async () => {
    for (const url of ['ftp://127.0.0.1/', 'file:///etc/passwd', 'data:,x', 'nowhere', '//a.example/x']) {
      assert.equal(await faultOf(send(url)), 'NotAllowed', url);
    }
    await assert.rejects(send('https://me:hunter2@127.0.0.1/'), (error: Error) => {
      assert.doesNotMatch(error.message, /hunter2/);
      return true;
    });
  });

  it('verifies certificates, also where the environment says not to', async () => {
    await using server = await tls(says('trusted'));
    const url = `https://localhost:${server.port}`;
    const resolve = resolvesTo('127.0.0.1');
    process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0';
    try {
      assert.equal(await faultOf(send(url, { resolve })), 'Tls');
    } finally {
      delete process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
    }
    const before = getCACertificates('default');
    setDefaultCACertificates([...before, CERTIFICATE]);
    try {
      assert.equal(textOf(await send(url, { resolve })), 'trusted', 'control');
      const other = `https://other.example:${server.port}`;
      assert.equal(await faultOf(send(other, { resolve })), 'Tls', 'the certificate has another name');
    } finally {
      setDefaultCACertificates(before);
    }
  });
});
