// P14: requests that want to exhaust something. Memory stays bounded, others are still answered, and each gets a
// refusal of the closed list.

import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { Client, event } from './client.ts';
import { KEY, type Service, startService, temporaryFolder } from './running.ts';
import { SIZE } from './size.ts';
import { peakMb, processorMs, residentMb } from './usage.ts';

const MB = 1024 * 1024;
/** How long the head of a request may take to arrive. */
const HEAD_MS_MAX = 10_000;
/** However slow the machine is. */
const PATIENCE_MS = 120_000;
const folder = temporaryFolder();
let service: Service;
let client: Client;

before(async () => {
  service = await startService({ dataDirectory: join(folder.path, 'data') });
  client = new Client(service.url);
});
after(async () => {
  client[Symbol.dispose]();
  await service[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

async function post(
  body: Uint8Array | string,
  headers: Record<string, string>,
  path = '/api/v1/audit-events',
) {
  const response = await fetch(`${service.url}${path}`, {
    method: 'POST',
    body: body as string,
    headers: {
      'X-API-Key': KEY,
      'X-Tenant-Id': 'acme',
      'Content-Type': 'application/json',
      ...headers,
    },
  });
  const { error } = (await response.json()) as { error?: { code: string } };
  return { status: response.status, code: error?.code };
}

test('64 MB of zeros in a few KB of gzip or br are refused without being held', async () => {
  const zeros = Buffer.alloc(64 * MB, 0x20);
  const bombs = [
    ['gzip', gzipSync(zeros)],
    ['br', brotliCompressSync(zeros)],
  ] as const;
  const beforeMb = residentMb(service);
  for (const path of ['/api/v1/audit-events', '/api/v1/audit-events/batch']) {
    for (const [coding, bomb] of bombs) {
      const answers = await Promise.all(
        Array.from({ length: 8 }, () => post(bomb, { 'Content-Encoding': coding }, path)),
      );
      for (const answer of answers) assert.deepEqual(answer, { status: 400, code: 'REQUEST_TOO_LARGE' });
    }
  }
  assert.ok(peakMb(service) - beforeMb < 400, `grew by ${peakMb(service) - beforeMb} MB`);
});

test('many that unpack to much and then stall are refused together, and the memory comes back', async () => {
  const packed = gzipSync(Buffer.alloc(9 * MB, 0x20));
  const sockets: Socket[] = [];
  const seen = { refused: 0 };
  for (let i = 0; i < 60; i++) {
    const socket = connect(service.port, '127.0.0.1');
    socket.on('error', () => {});
    socket.on('data', (chunk) => (seen.refused += String(chunk).includes(' 503 ') ? 1 : 0));
    socket.write(
      `POST /api/v1/audit-events/batch HTTP/1.1\r\nHost: a\r\nX-API-Key: ${KEY}\r\nX-Tenant-Id: acme\r\n` +
        `Content-Encoding: gzip\r\nContent-Length: ${packed.length + 1}\r\n\r\n`,
    );
    socket.write(packed);
    sockets.push(socket);
  }
  const startedAt = performance.now();
  while (seen.refused < 40 && performance.now() - startedAt < PATIENCE_MS) {
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  for (const socket of sockets) socket.destroy();
  assert.ok(seen.refused >= 40, `only ${seen.refused} of 60 were refused`);
  await new Promise((resolve) => setTimeout(resolve, 200));
  assert.equal((await client.ask({ body: event('after the flood') })).status, 201);
});

test('nesting, keys and numbers without end are refused in no time', async () => {
  const n = 200_000;
  const keys = Array.from({ length: n / 10 }, (_, i) => `"k${i}":0`).join(',');
  const table: [string, string][] = [
    ['an array a hundred thousand deep', `${'['.repeat(n)}${']'.repeat(n)}`],
    ['an object a hundred thousand deep', `${'{"a":'.repeat(n / 2)}1${'}'.repeat(n / 2)}`],
    ['an unclosed one', '['.repeat(n)],
    ['many unknown keys', `{${keys}}`],
    ['one key many times', `{${Array.from({ length: n / 10 }, () => '"a":1').join(',')}}`],
    ['a number of a million digits', `{"payload":${'9'.repeat(900_000)}}`],
    ['a number of a million zeros', `{"payload":0.${'0'.repeat(900_000)}1}`],
    ['escapes alone', `{"action":"${'\\u0041'.repeat(n / 2)}"}`],
    ['lone surrogates alone', `{"action":"${'\\ud800'.repeat(n / 2)}"}`],
  ];
  for (const [name, body] of table) {
    const beforeMs = processorMs(service);
    const { status } = await post(body, {});
    assert.ok(status === 400 || status === 422, `${name}: ${status}`);
    assert.ok(processorMs(service) - beforeMs < 2000, `${name} took ${processorMs(service) - beforeMs} ms`);
  }
});

test('connections that send a byte now and then do not keep others from being answered, and are cut', async () => {
  const idle: Socket[] = [];
  let cut = 0;
  for (let i = 0; i < 300; i++) {
    const socket = connect(service.port, '127.0.0.1');
    socket.on('error', () => {});
    socket.on('close', () => (cut += 1));
    socket.resume();
    socket.write(
      i % 2 === 0 ? 'POST /api/v1/audit-events HT' : 'POST /api/v1/audit-events HTTP/1.1\r\nHost: a\r\nX-A: ',
    );
    idle.push(socket);
  }
  const drip = setInterval(() => idle.forEach((socket) => socket.writable && socket.write('a')), 500);
  try {
    for (let i = 0; i < 20; i++) {
      const startedAt = performance.now();
      const { status } = await client.ask({ body: event(`beside-${i}`) });
      assert.equal(status, 201);
      // While none of them is gone it cannot have waited for them.
      assert.ok(cut === 0 || performance.now() - startedAt < HEAD_MS_MAX / 2, 'it waits for the others');
    }
    const startedAt = performance.now();
    while (cut < idle.length && performance.now() - startedAt < PATIENCE_MS)
      await new Promise((resolve) => setTimeout(resolve, 100));
    assert.equal(cut, idle.length, 'headers have ten seconds');
  } finally {
    clearInterval(drip);
    for (const socket of idle) socket.destroy();
  }
});

test('connections whose request was refused, and which hold back its body, are closed within seconds', async () => {
  const sockets: Socket[] = [];
  let [refused, closed] = [0, 0];
  for (let i = 0; i < 60; i++) {
    const socket = connect({ port: service.port, host: '127.0.0.1', allowHalfOpen: true });
    socket.on('error', () => {});
    socket.on('data', (chunk) => (refused += String(chunk).includes(' 401 ') ? 1 : 0));
    for (const end of ['end', 'close']) socket.once(end, () => socket.destroy());
    socket.once('close', () => (closed += 1));
    const framing = i % 2 === 0 ? 'Content-Length: 1000' : 'Transfer-Encoding: chunked';
    socket.write(`POST /api/v1/audit-events HTTP/1.1\r\nHost: a\r\n${framing}\r\n\r\n`);
    sockets.push(socket);
  }
  const drip = setInterval(() => {
    for (const [i, socket] of sockets.entries()) socket.write(i % 2 === 0 ? 'a' : '1\r\na\r\n');
  }, 200);
  try {
    const startedAt = performance.now();
    // A request has 35 seconds as a whole: a connection that waits for that shows.
    while (closed < sockets.length && performance.now() - startedAt < 3 * HEAD_MS_MAX)
      await new Promise((resolve) => setTimeout(resolve, 50));
    assert.deepEqual({ refused, closed }, { refused: sockets.length, closed: sockets.length });
  } finally {
    clearInterval(drip);
    for (const socket of sockets) socket.destroy();
  }
});

test('connections that ask for a tunnel and are reset end nothing but themselves', async () => {
  for (let i = 0; i < 20; i++) {
    const socket = connect(service.port, '127.0.0.1');
    socket.on('error', () => {});
    await new Promise((resolve) => socket.once('connect', resolve));
    socket.write('CONNECT x:443 HTTP/1.1\r\nHost: x\r\n\r\n', () => socket.resetAndDestroy());
    await new Promise((resolve) => socket.once('close', resolve));
  }
  assert.equal((await client.ask({ body: event('still there') })).status, 201);
});

test(`memory stays flat while events and refusals go on for ${SIZE.soakMs / 1000} seconds`, async (t) => {
  const run = async (ms: number) => {
    const endsAt = performance.now() + ms;
    const one = async () => {
      while (performance.now() < endsAt) {
        const sound = await client.ask({ body: event('soak') });
        const wrong = await client.ask({
          body: { ...event('soak'), action: 'wrong', payload: { blob: 'x'.repeat(20_000) } },
        });
        const absent = await client.ask({
          method: 'GET',
          path: '/api/v1/audit-events/01KE0000000000000000000042',
        });
        assert.deepEqual([sound.status, wrong.status, absent.status], [201, 422, 404]);
      }
    };
    await Promise.all(Array.from({ length: 16 }, one));
  };
  await run(SIZE.soakMs / 2);
  const warmMb = residentMb(service);
  await run(SIZE.soakMs / 2);
  const grownMb = residentMb(service) - warmMb;
  t.diagnostic(`resident ${Math.round(warmMb)} MB, then ${grownMb >= 0 ? '+' : ''}${Math.round(grownMb)} MB`);
  assert.ok(grownMb < 64, `grew by ${grownMb} MB`);
});
