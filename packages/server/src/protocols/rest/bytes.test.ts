// Answers that are bytes, over real HTTP: files and texts of their own format, whole or as a stream.

import assert from 'node:assert/strict';
import { setTimeout as wait } from 'node:timers/promises';
import { after, before, beforeEach, test } from 'node:test';
import type { AnswerFacts, ByteAnswer, OperationName } from '@tallystick/contract';
import type { Call } from '../../call.ts';
import type { Operations } from '../../operations.ts';
import { type Clock, systemClock } from '../../runtime/clock.ts';
import { ALLOWED, believeKey, EVENT_ID } from '../../testing/bound-operations.ts';
import { open } from '../../testing/raw-http.ts';
import { startTestApp, type TestApp } from '../../testing/test-app.ts';

/** Long waits are over soon. */
const clock: Clock = {
  ...systemClock,
  after: (delayMs, run) => systemClock.after(isHasty && delayMs === READ_MS_MAX ? 50 : delayMs, run),
};
const READ_MS_MAX = 60_000;
let isHasty = false;

/** What the operations are asked and give; each test sets what it needs. */
let asked: [OperationName, object][] = [];
let file: ByteAnswer;
let facts: AnswerFacts;

const answer = (call: Call, input: object) => {
  asked.push([call.operation, input]);
  return Promise.resolve({ kind: 'Done', body: file, facts } as const);
};

const operations: Operations = {
  'log.checkpoint': answer,
  'log.tile': answer,
  'log.entries': answer,
  'exports.download': answer,
};

let app: TestApp;
before(async () => {
  app = await startTestApp({}, { clock, authenticate: believeKey, operations });
});
after(() => app[Symbol.asyncDispose]());
beforeEach(() => {
  asked = [];
  facts = {};
  file = { mediaType: 'application/octet-stream', bytes: new Uint8Array() };
});

const LOG = '/api/v1/log/t/acme';
const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  fetch(app.url + path, { method, headers: { ...ALLOWED, ...headers } });

/** As its steps were taken. */
interface Source {
  steps: number;
  isClosed: boolean;
}

/** So many chunks, and then the error, if there is one. */
async function* chunks(count: number, size: number, source: Source, error?: Error) {
  try {
    for (; source.steps < count; source.steps++) {
      await wait(0);
      yield new Uint8Array(size).fill(source.steps);
    }
    if (error !== undefined) throw error;
  } finally {
    source.isClosed = true;
  }
}

const newSource = (): Source => ({ steps: 0, isClosed: false });

test('bytes are sent as they are, with their type and length, and kept as the binding says', async () => {
  const bytes = Uint8Array.from({ length: 8192 }, (_, i) => i & 0xff);
  file = { mediaType: 'application/octet-stream', bytes };
  const got = await get(`${LOG}/tile/0/000`, { 'Accept-Encoding': 'gzip, br', Accept: 'application/json' });
  assert.deepEqual(
    ['content-type', 'content-length', 'content-encoding', 'cache-control', 'content-disposition'].map(
      (name) => got.headers.get(name),
    ),
    ['application/octet-stream', '8192', null, 'private, max-age=31536000, immutable', null],
  );
  assert.equal(got.headers.get('x-content-type-options'), 'nosniff');
  assert.deepEqual(new Uint8Array(await got.arrayBuffer()), bytes);
});

test('a long text of its own format is not compressed either', async () => {
  file = { mediaType: 'text/plain; charset=utf-8', bytes: Buffer.from('€'.repeat(2000)) };
  const got = await get(`${LOG}/checkpoint`, { 'Accept-Encoding': 'gzip' });
  assert.equal(got.headers.get('content-encoding'), null);
  assert.equal(got.headers.get('content-length'), '6000');
  assert.equal(got.headers.get('content-type'), 'text/plain; charset=utf-8');
  assert.equal(await got.text(), '€'.repeat(2000));
});

test('a stream comes whole, chunked or with the length that is known', async () => {
  for (const byteLength of [undefined, 50 * 1000]) {
    const source = newSource();
    file = {
      mediaType: 'text/csv',
      bytes: chunks(50, 1000, source),
      ...(byteLength === undefined ? {} : { byteLength }),
    };
    const got = await get(`/api/v1/exports/${EVENT_ID}/download`, { 'Accept-Encoding': 'gzip' });
    assert.equal(got.headers.get('transfer-encoding'), byteLength === undefined ? 'chunked' : null);
    assert.equal(got.headers.get('content-length'), byteLength === undefined ? null : '50000');
    const bytes = new Uint8Array(await got.arrayBuffer());
    assert.equal(bytes.length, 50_000);
    assert.ok(bytes.every((byte, i) => byte === Math.floor(i / 1000)));
    assert.ok(source.isClosed);
  }
});

test('HEAD has the headers of GET, and a stream is not begun for it', async () => {
  const source = newSource();
  file = { mediaType: 'text/csv', bytes: chunks(5, 10, source), byteLength: 50, fileName: 'a.csv' };
  const head = await get(`/api/v1/exports/${EVENT_ID}/download`, {}, 'HEAD');
  assert.equal(head.status, 200);
  assert.equal(head.headers.get('content-length'), '50');
  assert.equal(head.headers.get('content-disposition'), 'attachment; filename="a.csv"');
  assert.equal(source.steps, 0);
  file = { mediaType: 'application/octet-stream', bytes: new Uint8Array(32) };
  assert.equal((await get(`${LOG}/tile/0/000`, {}, 'HEAD')).headers.get('content-length'), '32');
});

test('no more is read from a source than its reader takes', async () => {
  const source = newSource();
  file = { mediaType: 'text/csv', bytes: chunks(1000, 1 << 20, source) };
  const socket = await open(app.port);
  socket.pause();
  socket.write(request(`/api/v1/exports/${EVENT_ID}/download`));
  let before = -1;
  while (source.steps === 0 || before !== source.steps) {
    before = source.steps;
    await wait(100);
  }
  assert.ok(source.steps > 0 && source.steps < 100, `${source.steps} chunks of 1 MB were read`);
  socket.destroy();
  while (!source.isClosed) await wait(5);
  assert.ok(source.steps < 100);
  assert.deepEqual(reported(), [], 'a reader that goes away is no failure');
});

test('a reader that takes nothing any more is let go', async () => {
  isHasty = true;
  const source = newSource();
  file = { mediaType: 'text/csv', bytes: chunks(1000, 1 << 20, source) };
  const socket = await open(app.port);
  socket.pause();
  socket.write(request(`/api/v1/exports/${EVENT_ID}/download`));
  while (!source.isClosed) await wait(5);
  assert.ok(source.steps > 0 && source.steps < 100);
  socket.destroy();
  isHasty = false;
});

test('a source that fails midway cuts the connection, and the failure is reported', async () => {
  const lengths = [undefined, 5000];
  for (const byteLength of lengths) {
    app.lines.length = 0;
    file = {
      mediaType: 'text/csv',
      bytes: chunks(3, 1000, newSource(), new Error('the disk is gone')),
      ...(byteLength === undefined ? {} : { byteLength }),
    };
    const text = await rawAnswer(`/api/v1/exports/${EVENT_ID}/download?expires=1`);
    assert.match(text, /^HTTP\/1\.1 200 OK\r\n/);
    assert.doesNotMatch(text, /\r\n0\r\n\r\n$/, 'no end of the body');
    const [line, ...others] = reported();
    assert.deepEqual(others, []);
    assert.match(JSON.stringify(line), /the disk is gone/);
    assert.match(JSON.stringify(line), new RegExp(`"/api/v1/exports/${EVENT_ID}/download"`));
  }
});

test('a stream that is longer or shorter than was said is cut', async () => {
  for (const byteLength of [2999, 3001]) {
    app.lines.length = 0;
    file = { mediaType: 'text/csv', bytes: chunks(3, 1000, newSource()), byteLength };
    const text = await rawAnswer(`/api/v1/exports/${EVENT_ID}/download`);
    assert.ok(text.length - text.indexOf('\r\n\r\n') - 4 < byteLength);
    assert.match(JSON.stringify(reported()), new RegExp(`an answer of ${byteLength} bytes`));
  }
});

test('after a stream the connection goes on with the next request', async () => {
  file = { mediaType: 'text/csv', bytes: chunks(3, 10, newSource()) };
  const socket = await open(app.port);
  let received = '';
  socket.on('data', (chunk: Buffer) => (received += chunk.toString('latin1')));
  socket.write(request(`/api/v1/exports/${EVENT_ID}/download`, 'keep-alive'));
  socket.write('GET /health/live HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
  await new Promise((resolve) => socket.once('close', resolve));
  assert.match(received, /\r\n0\r\n\r\nHTTP\/1\.1 200 OK\r\n[^]+"Healthy"/);
});

test('a reader that knows no chunks gets the stream until the connection ends', async () => {
  file = { mediaType: 'text/csv', bytes: chunks(3, 10, newSource()) };
  const text = await rawAnswer(`/api/v1/exports/${EVENT_ID}/download`, '1.0');
  assert.doesNotMatch(text, /transfer-encoding/i);
  assert.equal(text.length - text.indexOf('\r\n\r\n') - 4, 30);
});

test('a file has a name that is safe to send', async () => {
  file = { mediaType: 'text/csv', bytes: Buffer.from('a'), fileName: 'účet "1"\r\nX: y.csv' };
  const got = await get(`/api/v1/exports/${EVENT_ID}/download`);
  assert.equal(
    got.headers.get('content-disposition'),
    `attachment; filename="__et _1___X_ y.csv"; filename*=UTF-8''%C3%BA%C4%8Det%20%221%22%0D%0AX%3A%20y.csv`,
  );
});

test('bytes whose binding has a tag are read conditionally: by their hash, or by the tag of the operation', async () => {
  const path = `/api/v1/exports/${EVENT_ID}/download`;
  file = { mediaType: 'text/csv', bytes: Buffer.from('a,b') };
  const tag = (await get(path)).headers.get('etag') ?? '';
  assert.match(tag, /^"[\w-]{22}"$/);
  const same = await get(path, { 'If-None-Match': tag });
  assert.deepEqual([same.status, await same.text()], [304, '']);

  const source = newSource();
  file = { mediaType: 'text/csv', bytes: chunks(3, 10, source) };
  assert.equal((await get(path)).headers.get('etag'), null, 'a stream has no hash before its end');
  facts = { etag: '"7"' };
  file = { mediaType: 'text/csv', bytes: chunks(3, 10, newSource()) };
  assert.equal((await get(path, { 'If-None-Match': '"7"' })).status, 304);
});

test('tiles and entries are told apart, and reach the operation as they were sent', async () => {
  const table: [path: string, operation: OperationName, input: object][] = [
    ['tile/0/000', 'log.tile', { level: '0', tile: '000' }],
    ['tile/63/x001/x234/067.p/12', 'log.tile', { level: '63', tile: 'x001/x234/067.p/12' }],
    ['tile/entries/x001/067', 'log.entries', { tile: 'x001/067' }],
    ['tile/entries/000.p/5', 'log.entries', { tile: '000.p/5' }],
    ['tile/0/%78001/067', 'log.tile', { level: '0', tile: '%78001/067' }],
    ['tile/0/x001%2F067', 'log.tile', { level: '0', tile: 'x001%2F067' }],
    ['tile/entries/x001%2f067', 'log.entries', { tile: 'x001%2f067' }],
    ['tile/0/../000', 'log.tile', { level: '0', tile: '../000' }],
    ['tile/0//000', 'log.tile', { level: '0', tile: '/000' }],
    ['tile/0/000/', 'log.tile', { level: '0', tile: '000/' }],
    ['tile/entries/', 'log.entries', { tile: '' }],
  ];
  for (const [path, operation, input] of table) {
    asked = [];
    const text = await rawAnswer(`${LOG}/${path}`);
    assert.match(text, /^HTTP\/1\.1 200 /, path);
    assert.deepEqual(asked, [[operation, { tenantId: 'acme', ...input }]], path);
  }
  asked = [];
  for (const path of ['tile/64/000', 'tile/00/000', 'tile/%30/000', 'tile/entry/000', 'tile/-1/000']) {
    assert.match(await rawAnswer(`${LOG}/${path}`), /^HTTP\/1\.1 404 [^]+TILE_NOT_FOUND/, path);
  }
  for (const path of ['tile/0', 'tile/entries', 'tile/0/%zz', 'tile']) {
    assert.match(await rawAnswer(`${LOG}/${path}`), /^HTTP\/1\.1 404 [^]+ROUTE_NOT_FOUND/, path);
  }
  assert.deepEqual(asked, []);
});

function request(path: string, connection = 'close', version = '1.1'): string {
  const headers = Object.entries({ Host: 'x', Connection: connection, ...ALLOWED });
  return `GET ${path} HTTP/${version}\r\n${headers.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`;
}

/** All that comes until the connection ends, however it ends. */
async function rawAnswer(path: string, version?: string): Promise<string> {
  const socket = await open(app.port);
  const received: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => received.push(chunk));
  socket.on('error', () => {});
  socket.write(request(path, 'close', version));
  await new Promise((resolve) => socket.once('close', resolve));
  return Buffer.concat(received).toString('latin1');
}

const reported = () => app.lines.filter(({ level }) => level === 'Error');
