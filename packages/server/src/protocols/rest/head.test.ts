// HEAD over real HTTP: what GET would answer, without its body (RFC 9110, 9.3.2).

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ALLOWED, believeKey, boundOperations, EVENT } from '../../testing/bound-operations.ts';
import { open } from '../../testing/raw-http.ts';
import { startTestApp, type TestApp } from '../../testing/test-app.ts';

let app: TestApp;
let eventPath: string;
before(async () => {
  app = await startTestApp({}, { authenticate: believeKey, operations: boundOperations() });
  const made = await fetch(`${app.url}/api/v1/audit-events`, {
    method: 'POST',
    headers: { ...ALLOWED, 'Content-Type': 'application/json' },
    body: JSON.stringify({ ...EVENT, payload: { text: 'x'.repeat(4000) } }),
  });
  assert.equal(made.status, 201);
  eventPath = made.headers.get('location') ?? '';
  // Under a checkpoint, for which its proof waits: from then on every answer says the same of it.
  assert.equal((await fetch(`${app.url}${eventPath}/proof`, { headers: ALLOWED })).status, 200);
});
after(() => app[Symbol.asyncDispose]());

/** Status and headers, and the bytes behind them as they came over the wire. */
async function askRaw(method: string, path: string, headers: Readonly<Record<string, string>>) {
  const socket = await open(app.port);
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  const lines = Object.entries({ Host: 'x', Connection: 'close', ...headers });
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  socket.write(`${method} ${path} HTTP/1.1\r\n${head}\r\n`);
  await new Promise((resolve) => socket.once('close', resolve));
  const text = Buffer.concat(chunks).toString('latin1');
  const end = text.indexOf('\r\n\r\n');
  const [status, ...sent] = text.slice(0, end).split('\r\n');
  return { status, headers: sent, bytes: text.length - end - 4 };
}

/** Differs from request to request, for all methods. */
const OWN = /^(date|x-correlation-id): /i;

test('HEAD is answered as GET is, header by header, without a byte of a body', async () => {
  const gzip = { ...ALLOWED, 'Accept-Encoding': 'gzip' };
  const got = await askRaw('GET', eventPath, ALLOWED);
  const [tag = ''] = got.headers.flatMap((line) => /^ETag: (.+)/.exec(line)?.[1] ?? []);
  const tagged = { ...ALLOWED, 'If-None-Match': tag };
  const table: [path: string, headers: Record<string, string>, status: number][] = [
    ['/health/live', {}, 200],
    ['/health/ready', {}, 200],
    ['/api/v1/health/live', {}, 200],
    [eventPath, ALLOWED, 200],
    [eventPath.replace('/v1/', '/v2/'), ALLOWED, 200],
    [eventPath.replace('/v1/', '/'), ALLOWED, 200],
    [eventPath, gzip, 200],
    [eventPath, tagged, 304],
    [eventPath, {}, 401],
    [`${eventPath}?x=1`, ALLOWED, 400],
    ['/api/v1/audit-events/01KE0000000000000000000042', ALLOWED, 404],
    ['/api/v1/nothing', ALLOWED, 404],
    ['/api/v1/status', ALLOWED, 500],
  ];
  for (const [path, headers, status] of table) {
    const get = await askRaw('GET', path, headers);
    const head = await askRaw('HEAD', path, headers);
    const what = `${path} ${JSON.stringify(headers)}`;
    assert.match(get.status ?? '', new RegExp(` ${status} `), what);
    assert.equal(head.status, get.status, what);
    assert.equal(head.bytes, 0, what);
    assert.ok(get.bytes > 0 || status === 304, what);
    assert.deepEqual(shown(head.headers, path), shown(get.headers, path), what);
  }
});

/** A report on health tells how long it took, and an error which method it was: as long as it may differ. */
function shown(headers: readonly string[], path: string): string[] {
  const isMeasured = path.includes('health') || path.includes('nothing');
  return headers
    .filter((line) => !OWN.test(line))
    .map((line) => (isMeasured ? line.replace(/^(content-length): \d+$/i, '$1') : line));
}

test('the length of a HEAD answer is that of the body that GET sends', async () => {
  const get = await askRaw('GET', eventPath, ALLOWED);
  const head = await askRaw('HEAD', eventPath, ALLOWED);
  assert.ok(head.headers.includes(`Content-Length: ${get.bytes}`), head.headers.join('\n'));
  assert.ok(head.headers.some((line) => line.startsWith('ETag: "')));
});

test('what GET does not serve, HEAD does not either, and no write is done by it', async () => {
  const before = await askRaw('GET', eventPath, ALLOWED);
  for (const path of ['/api/v1/audit-events/batch', '/api/v1/audit-events/search', `${eventPath}/redact`]) {
    const { status, bytes } = await askRaw('HEAD', path, ALLOWED);
    assert.deepEqual([status, bytes], ['HTTP/1.1 404 Not Found', 0], path);
  }
  assert.equal((await askRaw('GET', eventPath, ALLOWED)).bytes, before.bytes);
});

test('after a HEAD the connection goes on with the next request', async () => {
  const socket = await open(app.port);
  let received = '';
  socket.on('data', (chunk: Buffer) => (received += chunk.toString()));
  socket.write('HEAD /health/live HTTP/1.1\r\nHost: x\r\n\r\n');
  socket.write('GET /health/live HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
  await new Promise((resolve) => socket.once('close', resolve));
  assert.match(received, /^HTTP\/1\.1 200 OK\r\n(?:[^\r]+\r\n)+\r\nHTTP\/1\.1 200 OK\r\n[^]+"Healthy"/);
});

test('a HEAD that is no HTTP is refused without a body, too', async () => {
  const { status, headers, bytes } = await askRaw('HEAD', '/health/live', { 'X-A ': 'b' });
  assert.deepEqual([status, bytes], ['HTTP/1.1 400 Bad Request', 0]);
  assert.ok(headers.includes('Connection: close'));
});
