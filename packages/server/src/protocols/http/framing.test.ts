// Requests that no library sends: each gets our status, our body and the standard headers, or a closed connection.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, test } from 'node:test';
import { ALLOWED, believeKey, boundOperations } from '../../testing/bound-operations.ts';
import { exchangeRaw, exchangeSome, open, type RawAnswer, readAnswers } from '../../testing/raw-http.ts';
import { startTestApp, type TestApp } from '../../testing/test-app.ts';

let app: TestApp;
before(async () => {
  app = await startTestApp({}, { authenticate: believeKey, operations: boundOperations() });
});
after(() => app[Symbol.asyncDispose]());

const GET = 'GET /health/live HTTP/1.1\r\n';
const HOST = 'Host: x\r\n';
const CREDENTIALS = Object.entries(ALLOWED)
  .map(([name, value]) => `${name}: ${value}\r\n`)
  .join('');
const POST = `POST /api/v1/audit-events HTTP/1.1\r\n${HOST}${CREDENTIALS}`;

const bodyOf = (answer: RawAnswer | undefined) =>
  JSON.parse(answer?.body || '{}') as { error?: Record<string, unknown> };

function assertOurs(answer: RawAnswer, what: string): void {
  const { headers } = answer;
  assert.match(headers['x-correlation-id'] ?? '', /^[\x21-\x7e]{1,128}$/, what);
  assert.equal(headers['api-supported-versions'], '1.0, 2.0', what);
  assert.equal(headers['cache-control'], 'no-store', what);
  assert.equal(headers['x-content-type-options'], 'nosniff', what);
  assert.equal(headers['content-security-policy'], "default-src 'none'", what);
  assert.equal(headers['server'], undefined, what);
  assert.equal(headers['content-type'], 'application/json; charset=utf-8', what);
  if (answer.status < 400) return;
  const { error } = bodyOf(answer);
  const fields = ['code', 'message', 'details', 'traceId', 'timestamp', 'path', 'requestId'];
  assert.deepEqual(Object.keys(error ?? {}), fields, what);
  assert.match(String(error?.['path']), /^[^?]+$/, what);
}

const ODDITIES: [what: string, request: string | Buffer, expected: string][] = [
  ['a plain request', `${GET}${HOST}\r\n`, '200'],
  ['HTTP/1.0 without a host', 'GET /health/live HTTP/1.0\r\n\r\n', '200'],
  ['a target with scheme and host', `GET http://x/health/live HTTP/1.1\r\n${HOST}\r\n`, '200'],
  ['an upgrade that is not taken', `${GET}${HOST}Connection: Upgrade\r\nUpgrade: h2c\r\n\r\n`, '200'],
  ['100 header lines', `${GET}${HOST}${'a: b\r\n'.repeat(100)}\r\n`, '200'],
  ['2500 tiny header lines with Host last', `${GET}${'a:\r\n'.repeat(2500)}${HOST}\r\n`, '200'],
  ['a probe with a query that nobody knows', `GET /health/live?x=1&y=%zz HTTP/1.1\r\n${HOST}\r\n`, '200'],
  [
    'a report on health with one',
    `GET /api/v1/health/live?x=1 HTTP/1.1\r\n${HOST}\r\n`,
    '400 INVALID_PARAMETER',
  ],
  ['no host', `${GET}\r\n`, '400 INVALID_HEADER'],
  ['two hosts', `${GET}${HOST}Host: y\r\n\r\n`, '400 INVALID_HEADER'],
  ['two equal hosts', `${GET}${HOST}${HOST}\r\n`, '400 INVALID_HEADER'],
  ['a host with a path', `${GET}Host: x/y\r\n\r\n`, '400 INVALID_HEADER'],
  ['a host with credentials', `${GET}Host: u@x\r\n\r\n`, '400 INVALID_HEADER'],
  ['an unknown transfer coding', `${POST}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n`, '400 INVALID_HEADER'],
  ['two transfer codings', `${POST}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`, '400 INVALID_HEADER'],
  [
    'chunked twice',
    `${POST}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    '400 INVALID_HEADER',
  ],
  [
    'length and transfer coding',
    `${POST}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    '400 INVALID_HEADER',
  ],
  ['two lengths', `${POST}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}`, '400 INVALID_HEADER'],
  ['two equal lengths', `${POST}Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}`, '400 INVALID_HEADER'],
  ['a negative length', `${POST}Content-Length: -1\r\n\r\n`, '400 INVALID_HEADER'],
  ['a length that is no number', `${POST}Content-Length: 2a\r\n\r\n{}`, '400 INVALID_HEADER'],
  ['a length past all numbers', `${POST}Content-Length: 99999999999999999999\r\n\r\n`, '400 INVALID_HEADER'],
  [
    'a chunk size that is none',
    `${POST}Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n`,
    '400 MALFORMED_JSON',
  ],
  [
    'an expectation we cannot meet',
    `${POST}Expect: tea\r\nContent-Length: 2\r\n\r\n{}`,
    '400 INVALID_HEADER',
  ],
  [
    'an expectation we can meet',
    `${POST}Expect: 100-continue\r\nContent-Length: 2\r\n\r\n{}`,
    '422 VALIDATION_FAILED',
  ],
  ['an unknown method', `BREW /health/live HTTP/1.1\r\n${HOST}\r\n`, '404 ROUTE_NOT_FOUND'],
  ['a method in lower case', `get /health/live HTTP/1.1\r\n${HOST}\r\n`, '404 ROUTE_NOT_FOUND'],
  ['TRACE', `TRACE /health/live HTTP/1.1\r\n${HOST}\r\n`, '404 ROUTE_NOT_FOUND'],
  ['OPTIONS *', `OPTIONS * HTTP/1.1\r\n${HOST}\r\n`, '404 ROUTE_NOT_FOUND'],
  ['CONNECT', `CONNECT x:443 HTTP/1.1\r\n${HOST}\r\n`, '404 ROUTE_NOT_FOUND'],
  ['M-SEARCH', `M-SEARCH /health/live HTTP/1.1\r\n${HOST}\r\n`, '404 ROUTE_NOT_FOUND'],
  ['a header block over 16 KB', `${GET}${HOST}X-Long: ${'a'.repeat(16_500)}\r\n\r\n`, '400 INVALID_HEADER'],
  ['many headers over 16 KB', `${GET}${HOST}${'X-A: aaaaaaaa\r\n'.repeat(1600)}\r\n`, '400 INVALID_HEADER'],
  ['a target over 16 KB', `GET /${'a'.repeat(17_000)} HTTP/1.1\r\n${HOST}\r\n`, '400 INVALID_HEADER'],
  ['a long target within 16 KB', `GET /${'a'.repeat(8000)} HTTP/1.1\r\n${HOST}\r\n`, '404 ROUTE_NOT_FOUND'],
  ['a space in the target', `GET /health live HTTP/1.1\r\n${HOST}\r\n`, '400 INVALID_HEADER'],
  ['a space before the colon', `${GET}${HOST}X-A : b\r\n\r\n`, '400 INVALID_HEADER'],
  ['a folded header line', `${GET}${HOST}X-A: b\r\n c\r\n\r\n`, '400 INVALID_HEADER'],
  ['a control character in a header', `${GET}${HOST}X-A: b\u0001c\r\n\r\n`, '400 INVALID_HEADER'],
  ['a zero byte in a header', `${GET}${HOST}X-A: b\0c\r\n\r\n`, '400 INVALID_HEADER'],
  ['bare line feeds', 'GET /health/live HTTP/1.1\nHost: x\n\n', '400 INVALID_HEADER'],
  ['HTTP/2 spoken in clear', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', '400 INVALID_HEADER'],
  ['HTTP/3.0', `GET /health/live HTTP/3.0\r\n${HOST}\r\n`, '400 INVALID_HEADER'],
  ['HTTP/2.0 in the request line', `GET /health/live HTTP/2.0\r\n${HOST}\r\n`, '400 INVALID_HEADER'],
  ['an unknown method with signs', `X!#$%&'*+.^_|~-9 * HTTP/1.0\r\n${HOST}\r\n`, '404 ROUTE_NOT_FOUND'],
  ['an unknown method after an empty line', `\r\nBREW / HTTP/1.1\r\n${HOST}\r\n`, '404 ROUTE_NOT_FOUND'],
  ['an unknown method of which no more comes', 'BREW /health/li', '404 ROUTE_NOT_FOUND'],
  ['an unknown method and no version', 'BREW /health/live\r\n\r\n', '400 INVALID_HEADER'],
  ['an unknown method in HTTP/3.0', `BREW /health/live HTTP/3.0\r\n${HOST}\r\n`, '400 INVALID_HEADER'],
  ['an unknown method before bare line feeds', 'BREW / HTTP/1.1\nHost: x\n\n', '400 INVALID_HEADER'],
  ['an unknown method and two spaces', `BREW  / HTTP/1.1\r\n${HOST}\r\n`, '400 INVALID_HEADER'],
  ['a method that is no token', `GE(T / HTTP/1.1\r\n${HOST}\r\n`, '400 INVALID_HEADER'],
  ['a word', 'GARBAGE\r\n\r\n', '400 INVALID_HEADER'],
  ['words', 'hello my friend\r\n\r\n', '400 INVALID_HEADER'],
  ['a word that does not end', 'hello', '400 INVALID_HEADER'],
  ['the greeting of SSH', 'SSH-2.0-OpenSSH_9.6 Debian-3\r\n', '400 INVALID_HEADER'],
  ['the greeting of a mail client', 'EHLO mail.example.com\r\n', '400 INVALID_HEADER'],
  ['a TLS greeting', Buffer.from('16030100c8010000c40303', 'hex'), '400 INVALID_HEADER'],
  ['zero bytes', Buffer.alloc(1000), '400 INVALID_HEADER'],
  [
    'a bad correlation id, twice sent',
    `${GET}${HOST}X-Correlation-Id: a\r\nX-Correlation-Id: b\r\n\r\n`,
    '400 INVALID_HEADER',
  ],
  [
    'two API keys',
    `POST /api/v1/audit-events HTTP/1.1\r\n${HOST}X-API-Key: a\r\n${CREDENTIALS}\r\n`,
    '401 UNAUTHENTICATED',
  ],
  ['two tenants', `${POST}X-Tenant-Id: acme\r\nContent-Length: 2\r\n\r\n{}`, '400 INVALID_HEADER'],
];

test('random bytes: 400 INVALID_HEADER', async () => {
  for (let i = 0; i < 20; i++) {
    const noise = randomBytes(1 + 97 * i);
    // No method begins with such a byte, in no random case.
    noise[0]! |= 0x80;
    const [answer, ...more] = await exchangeRaw(app.port, noise);
    const found = [answer?.status, bodyOf(answer).error?.['code'], more];
    assert.deepEqual(found, [400, 'INVALID_HEADER', []], noise.toString('base64'));
  }
});

for (const [what, request, expected] of ODDITIES) {
  test(`${what}: ${expected}`, async () => {
    const [answer, ...more] = await exchangeRaw(app.port, request);
    assert.ok(answer !== undefined, 'there is an answer');
    assert.deepEqual(more, [], 'and only one');
    const code = bodyOf(answer).error?.['code'];
    assert.equal([answer.status, code].filter(Boolean).join(' '), expected, answer.body);
    assertOurs(answer, what);
  });
}

test('what is wrong with a header is said without its name, which the field has', async () => {
  const table: [request: string, field: string][] = [
    [`${GET}\r\n`, 'Host'],
    [`${GET}${HOST}Expect: tea\r\n\r\n`, 'Expect'],
    [`${POST}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`, 'Transfer-Encoding'],
    [`GET /health/live HTTP/2.0\r\n${HOST}\r\n`, 'HTTP'],
  ];
  for (const [request, field] of table) {
    const [answer] = await exchangeRaw(app.port, request);
    const { message, details } = bodyOf(answer).error as { message: string; details: { issue: string }[] };
    const [{ issue } = { issue: '' }] = details;
    assert.deepEqual([message, details], [`${field} ${issue}.`, [{ field, issue }]]);
  }
});

test('a refused connection is closed, and says so', async () => {
  const [answer] = await exchangeRaw(app.port, 'hello\r\n\r\n');
  assert.equal(answer?.headers['connection'], 'close');
});

test('the path of a refused request is shown as far as it is known, without its query', async () => {
  const [answer] = await exchangeRaw(app.port, `GET /some/path?key=secret HTTP/1.1\r\nX-A : b\r\n\r\n`);
  assert.equal(bodyOf(answer).error?.['path'], '/some/path');
});

test('requests sent one behind the other are answered in order; rubbish behind them takes no answer away', async () => {
  const one = `${GET}${HOST}X-Correlation-Id: one\r\n\r\n`;
  const two = `${GET}${HOST}X-Correlation-Id: two\r\n\r\n`;
  const answers = await exchangeSome(app.port, 2, `${one}${two}rubbish\r\n\r\n`);
  const ids = answers.slice(0, 2).map(({ status, headers }) => `${status} ${headers['x-correlation-id']}`);
  assert.deepEqual(ids, ['200 one', '200 two']);
});

test('a request that was answered before its body broke gets no second answer', async () => {
  const socket = await open(app.port);
  let received = '';
  socket.on('data', (chunk: Buffer) => {
    received += chunk.toString();
    socket.write('this is no chunk\r\n');
  });
  socket.on('error', () => {});
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.write(`POST /nowhere HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked\r\n\r\n`);
  await closed;
  assert.equal(received.split('HTTP/1.1 ').length - 1, 1, received);
  assert.match(received, /ROUTE_NOT_FOUND/);
});

test('a body that is not read does not spoil the next request on the connection', async () => {
  const refused = `POST /api/v1/audit-events HTTP/1.1\r\n${HOST}Content-Length: 20\r\n\r\nGET /x HTTP/1.1\r\n\r\n `;
  const answers = await exchangeSome(app.port, 2, `${refused}${GET}${HOST}\r\n`);
  assert.deepEqual(
    answers.map(({ status }) => status),
    [401, 200],
  );
});

test('nothing is served behind a request that asks for an upgrade, whose end nobody can tell', async () => {
  const upgrade = 'Connection: Upgrade\r\nUpgrade: x\r\n';
  const named = (name: string, more = '') => `${GET}${HOST}X-Correlation-Id: ${name}\r\n${more}\r\n`;
  const socket = await open(app.port);
  const received = readAnswers(socket);
  socket.write(named('one', upgrade) + named('two'));
  await new Promise((resolve) => setTimeout(resolve, 50));
  if (socket.writable) socket.write(named('three'));
  const answers = await received;
  assert.deepEqual(
    answers.map(({ headers }) => [headers['x-correlation-id'], headers['connection']]),
    [['one', 'close']],
  );
});
