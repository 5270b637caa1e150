// `Expect: 100-continue`: nobody is asked for a body that will not be read.

import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { after, before, test } from 'node:test';
import { LIMITS } from '@tallystick/contract';
import { ALLOWED, believeKey, boundOperations, EVENT } from '../../testing/bound-operations.ts';
import { open } from '../../testing/raw-http.ts';
import { startTestApp, type TestApp } from '../../testing/test-app.ts';

let app: TestApp;
before(async () => {
  app = await startTestApp({}, { authenticate: believeKey, operations: boundOperations() });
});
after(() => app[Symbol.asyncDispose]());

const text = JSON.stringify(EVENT);

function head(
  headers: Readonly<Record<string, string | number>>,
  line = 'POST /api/v1/audit-events HTTP/1.1',
) {
  const all = { Host: 'x', Expect: '100-continue', ...headers };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${line}\r\n${lines.join('')}\r\n`;
}

/** Everything that comes until there is an answer that is final, and whether the connection was closed after it. */
async function statusesOf(
  socket: Socket,
): Promise<{ statuses: string[]; isClosed: boolean; received: string }> {
  let received = '';
  const closed = new Promise<boolean>((resolve) => socket.once('close', () => resolve(true)));
  const isFinal = new Promise<void>((resolve) => {
    socket.on('data', (chunk: Buffer) => {
      received += chunk.toString();
      if (/HTTP\/1\.1 [2-5]/.test(received)) resolve();
    });
  });
  await isFinal;
  // Who says that the connection is closed is given the time for it, however slow the machine is.
  const silenceMs = /^connection: close\r$/im.test(received) ? 60_000 : 500;
  const silence = new Promise<boolean>((resolve) => setTimeout(() => resolve(false), silenceMs).unref());
  const isClosed = await Promise.race([closed, silence]);
  return {
    statuses: [...received.matchAll(/^HTTP\/1\.1 (\d+)/gm)].map(([, status]) => status!),
    isClosed,
    received,
  };
}

test('a refusal comes without 100 Continue, and the connection is closed after it', async () => {
  const json = { 'Content-Length': text.length };
  const table: [what: string, request: string, status: string, code: string][] = [
    [
      'over the limit',
      head({ ...ALLOWED, 'Content-Length': LIMITS.requestBytesMax + 1 }),
      '400',
      'REQUEST_TOO_LARGE',
    ],
    [
      'a batch over its limit',
      head(
        { ...ALLOWED, 'Content-Length': LIMITS.batchBytesMax + 1 },
        'POST /api/v1/audit-events/batch HTTP/1.1',
      ),
      '400',
      'REQUEST_TOO_LARGE',
    ],
    ['no credential', head(json), '401', 'UNAUTHENTICATED'],
    ['a credential that is wrong', head({ ...ALLOWED, ...json, 'X-API-Key': 'x' }), '401', 'UNAUTHENTICATED'],
    ['another tenant', head({ ...ALLOWED, ...json, 'X-Tenant-Id': 'other' }), '403', 'TENANT_MISMATCH'],
    ['no JSON', head({ ...ALLOWED, ...json, 'Content-Type': 'text/plain' }), '400', 'UNSUPPORTED_MEDIA_TYPE'],
    ['a coding', head({ ...ALLOWED, ...json, 'Content-Encoding': 'zstd' }), '400', 'UNSUPPORTED_MEDIA_TYPE'],
    ['no such path', head({ ...ALLOWED, ...json }, 'POST /nowhere HTTP/1.1'), '404', 'ROUTE_NOT_FOUND'],
  ];
  for (const [what, request, status, code] of table) {
    const socket = await open(app.port);
    socket.write(request);
    const seen = await statusesOf(socket);
    assert.deepEqual(seen.statuses, [status], what);
    assert.match(seen.received, new RegExp(`"code":"${code}"`), what);
    // What comes next on it could be the body or another request; nobody can tell.
    assert.match(seen.received, /^connection: close\r$/im, what);
    assert.equal(seen.isClosed, true, what);
    socket.destroy();
  }
});

test('a body that is going to be read is asked for', async () => {
  const codings = [{ 'Content-Length': text.length }, { 'Transfer-Encoding': 'chunked' }];
  for (const framing of codings) {
    const socket = await open(app.port);
    socket.write(head({ ...ALLOWED, ...framing }));
    const [asked] = await new Promise<Buffer[]>((resolve) =>
      socket.once('data', (chunk) => resolve([chunk])),
    );
    assert.equal(String(asked), 'HTTP/1.1 100 Continue\r\n\r\n');
    const isChunked = 'Transfer-Encoding' in framing;
    socket.write(isChunked ? `${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n` : text);
    const seen = await statusesOf(socket);
    assert.deepEqual([seen.statuses, seen.isClosed], [['201'], false]);
    socket.destroy();
  }
});

test('a body that comes unasked is taken, and the connection goes on', async () => {
  const socket = await open(app.port);
  socket.write(head({ ...ALLOWED, 'Content-Length': text.length }) + text);
  const first = await statusesOf(socket);
  assert.deepEqual([first.statuses.at(-1), first.isClosed], ['201', false]);
  socket.write('GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n');
  assert.deepEqual((await statusesOf(socket)).statuses, ['200']);
  socket.destroy();
});

test('an HTTP/1.0 client knows no 100 Continue and is sent none', async () => {
  const socket = await open(app.port);
  socket.write(head({ ...ALLOWED, 'Content-Length': text.length }, 'POST /api/v1/audit-events HTTP/1.0'));
  socket.write(text);
  assert.deepEqual((await statusesOf(socket)).statuses, ['201']);
  socket.destroy();
});
