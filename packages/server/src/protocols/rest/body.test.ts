// Bodies over real HTTP: media types, sizes, codings, JSON, time.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { LIMITS } from '@tallystick/contract';
import { UnreadValue } from '../../call.ts';
import { createFakeClock, type FakeClock } from '../../testing/fake-clock.ts';
import { ALLOWED, believeKey, boundOperations, EVENT } from '../../testing/bound-operations.ts';
import { exchangeRaw, exchangeSome, open, readAnswers } from '../../testing/raw-http.ts';
import { startTestApp, type TestApp } from '../../testing/test-app.ts';

let app: TestApp;
const batches: unknown[] = [];
before(async () => {
  const operations = boundOperations({
    'events.ingestBatch': (_, { batch }) => {
      const events = batch.events.map((event) => (event instanceof UnreadValue ? event.read() : event));
      batches.push({ ...batch, events });
      return Promise.reject(new Error('only the input matters here'));
    },
    'events.search': (_, input) =>
      Promise.resolve({
        kind: 'Done',
        body: {
          results: [],
          totalCount: input.search === undefined ? 0 : 1,
          totalCountRelation: 'Exact',
          nextCursor: null,
          hasMore: false,
          metadata: { queryTimeMs: 0, indexVersion: 'none', projectionLagMs: 0, truncated: false },
        },
      }),
  });
  app = await startTestApp({}, { authenticate: believeKey, operations });
});
after(() => app[Symbol.asyncDispose]());

async function post(
  body: string | Uint8Array<ArrayBuffer> | null,
  headers: Record<string, string> = {},
  path = '/audit-events',
) {
  const response = await fetch(`${app.url}/api/v1${path}`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...ALLOWED, ...headers },
    body,
  });
  const answer = (await response.json()) as {
    error?: { code: string; message: string; details: { field: string }[] };
  };
  return { status: response.status, answer, code: `${response.status} ${answer.error?.code ?? ''}`.trim() };
}

const text = JSON.stringify(EVENT);

/** The event, padded with blanks to so many bytes. */
const padded = (bytes: number) => text + ' '.repeat(bytes - text.length);

test('JSON is accepted under its names and under none', async () => {
  for (const type of [
    'application/json',
    'Application/JSON',
    'application/json; charset=utf-8',
    'application/json;charset="UTF-8"',
    'application/json ; profile=x; charset=utf8',
    'application/vnd.audit+json',
    'application/cloudevents+json; charset=UTF-8',
  ]) {
    assert.equal((await post(text, { 'Content-Type': type })).code, '201', type);
  }
  const head = Object.entries(ALLOWED)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('');
  const [bare] = await exchangeRaw(
    app.port,
    `POST /api/v1/audit-events HTTP/1.1\r\nHost: x\r\n${head}Content-Length: ${text.length}\r\n\r\n${text}`,
  );
  assert.equal(bare?.status, 201, 'no media type');
});

test('any other media type is refused', async () => {
  for (const type of [
    'text/plain',
    'text/json',
    'application/xml',
    'application/jsonp',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/json; charset=latin1',
    'application/json; charset=utf-16',
    'application/json, application/json',
    'json',
    '/',
    '+json',
    'application/+json',
  ]) {
    assert.equal((await post(text, { 'Content-Type': type })).code, '400 UNSUPPORTED_MEDIA_TYPE', type);
  }
});

test('a body is limited to 1 MB, to the byte, announced or in chunks', async () => {
  assert.equal((await post(padded(LIMITS.requestBytesMax))).code, '201');
  assert.equal((await post(padded(LIMITS.requestBytesMax + 1))).code, '400 REQUEST_TOO_LARGE');
  const head = Object.entries(ALLOWED)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('');
  const chunk = `${(1 << 20).toString(16)}\r\n${' '.repeat(1 << 20)}\r\n`;
  const [answer] = await exchangeRaw(
    app.port,
    `POST /api/v1/audit-events HTTP/1.1\r\nHost: x\r\n${head}Transfer-Encoding: chunked\r\n\r\n`,
    chunk,
    chunk,
    '0\r\n\r\n',
  );
  assert.match(answer?.body ?? '', /REQUEST_TOO_LARGE/);
});

test('a batch may have 10 MB and two more levels', async () => {
  const wide = JSON.stringify({ events: [EVENT] });
  assert.equal(
    (await post(wide + ' '.repeat(LIMITS.batchBytesMax - wide.length), {}, '/audit-events/batch')).status,
    500,
  );
  assert.equal(
    (await post(wide + ' '.repeat(LIMITS.batchBytesMax + 1 - wide.length), {}, '/audit-events/batch')).code,
    '400 REQUEST_TOO_LARGE',
  );
  const nested = (levels: number) => `${'{"a":'.repeat(levels - 1)}{}${'}'.repeat(levels - 1)}`;
  const batch = (levels: number) => `{"events":[{"payload":${nested(levels - 1)}}]}`;
  assert.equal((await post(batch(32), {}, '/audit-events/batch')).status, 500, 'an event of 32 levels');
  assert.equal((await post(batch(33), {}, '/audit-events/batch')).code, '422 VALIDATION_FAILED');
});

test('what is left to the operation reaches it unjudged; the rest of the body is judged', async () => {
  batches.length = 0;
  await post('{"events":[{"nonsense":true},5]}', {}, '/audit-events/batch');
  assert.deepEqual(batches, [{ events: [{ nonsense: true }, 5], transactional: false }]);
  assert.equal((await post('{"events":[]}', {}, '/audit-events/batch')).code, '400 BATCH_SIZE_INVALID');
  assert.equal(
    (await post('{"events":[{}],"x":1}', {}, '/audit-events/batch')).code,
    '422 VALIDATION_FAILED',
  );
});

test('a body may be compressed; the limit counts what comes out', async () => {
  const coded: [string, (bytes: string) => Buffer][] = [
    ['gzip', (bytes) => gzipSync(bytes)],
    ['GZIP', (bytes) => gzipSync(bytes)],
    ['br', (bytes) => brotliCompressSync(bytes)],
    ['identity', (bytes) => Buffer.from(bytes)],
  ];
  for (const [coding, code] of coded) {
    const send = (bytes: string) => post(Uint8Array.from(code(bytes)), { 'Content-Encoding': coding });
    assert.equal((await send(text)).code, '201', coding);
    assert.equal((await send(padded(LIMITS.requestBytesMax))).code, '201', coding);
    assert.equal((await send(padded(LIMITS.requestBytesMax + 1))).code, '400 REQUEST_TOO_LARGE', coding);
  }
});

test('a bomb is refused long before it is unpacked', async () => {
  const bomb = gzipSync(Buffer.alloc(64 << 20));
  const before = process.memoryUsage().rss;
  assert.equal(
    (await post(Uint8Array.from(bomb), { 'Content-Encoding': 'gzip' })).code,
    '400 REQUEST_TOO_LARGE',
  );
  assert.ok(process.memoryUsage().rss - before < 48 << 20, 'memory stays bounded');
});

test('after a refused body the connection goes on with the next request', async () => {
  const head = Object.entries(ALLOWED)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('');
  const bomb = gzipSync(Buffer.alloc(64 << 20));
  const plain = Buffer.alloc(3 << 20, ' ');
  for (const [coding, bytes] of [
    ['gzip', bomb],
    ['identity', plain],
  ] as const) {
    const answers = await exchangeSome(
      app.port,
      2,
      `POST /api/v1/audit-events HTTP/1.1\r\nHost: x\r\n${head}Content-Encoding: ${coding}\r\nContent-Length: ${bytes.length}\r\n\r\n`,
      bytes,
      'GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n',
    );
    assert.deepEqual(
      answers.map(({ status }) => status),
      [400, 200],
      coding,
    );
  }
});

test('other codings and broken ones are refused', async () => {
  const deflated = Uint8Array.from(deflateSync(text));
  assert.equal((await post(deflated, { 'Content-Encoding': 'deflate' })).code, '400 UNSUPPORTED_MEDIA_TYPE');
  assert.equal((await post(text, { 'Content-Encoding': 'gzip, br' })).code, '400 UNSUPPORTED_MEDIA_TYPE');
  assert.equal((await post(text, { 'Content-Encoding': 'gzip' })).code, '400 MALFORMED_JSON');
  for (const [coding, packed] of [
    ['gzip', gzipSync(text)],
    ['br', brotliCompressSync(text)],
  ] as const) {
    for (const more of ['z', 'zzzz', text, 'z'.repeat(300_000)]) {
      const body = Uint8Array.from(Buffer.concat([packed, Buffer.from(more)]));
      const { code } = await post(body, { 'Content-Encoding': coding });
      assert.equal(code, '400 MALFORMED_JSON', `${coding} and ${more.length} bytes more`);
    }
  }
  const cut = Uint8Array.from(gzipSync(text).subarray(0, 30));
  assert.equal((await post(cut, { 'Content-Encoding': 'gzip' })).code, '400 MALFORMED_JSON');
});

test('what is not JSON is refused with its place', async () => {
  for (const body of [
    '{',
    '{"a":1,}',
    '{"a":01}',
    "{'a':1}",
    '\ufeff{}',
    'nul',
    '{} {}',
    '[1,2',
    '"\u0001"',
  ]) {
    const { code, answer } = await post(body);
    assert.equal(code, '400 MALFORMED_JSON', body);
    assert.match(answer.error?.message ?? '', /line \d+, column \d+/, body);
  }
  assert.equal((await post(Uint8Array.of(0x22, 0xff, 0x22))).code, '400 MALFORMED_JSON', 'no UTF-8');
  assert.equal((await post('['.repeat(1 << 20))).code, '400 MALFORMED_JSON', 'a million brackets');
  assert.equal(
    (await post('['.repeat(1 << 19) + ']'.repeat(1 << 19))).code,
    '400 REQUEST_TOO_LARGE',
    'closed, half a million values',
  );
});

test('a body may have a hundred thousand values outside of context and payload, and a batch is counted first', async () => {
  const count = LIMITS.requestValuesMax;
  const numbers = (length: number) => `[${'0,'.repeat(length - 1)}0]`;
  const wide = (members: string) => `${text.slice(0, -1)},${members}}`;
  const large = JSON.stringify({ padding: ' '.repeat(2 * count) });
  assert.equal(
    (await post(wide(`"payload":{"a":${numbers(32_000)}},"context":${large}`))).code,
    '422 PAYLOAD_TOO_LARGE',
  );
  assert.equal((await post(wide(`"payload":{"a":${numbers(2 * count)}}`))).code, '422 PAYLOAD_TOO_LARGE');
  const { code, answer } = await post(wide(`"x":${numbers(count)}`));
  assert.equal(code, '400 REQUEST_TOO_LARGE');
  assert.match(
    answer.error!.message,
    /^The body has 100010 JSON values outside of context and payload; the limit is 100000\.$/,
  );
  const search = (length: number) => post(`{"sort":${numbers(length)}}`, {}, '/audit-events/search');
  assert.equal((await search(count - 2)).code, '422 VALIDATION_FAILED', 'to the value');
  assert.equal((await search(count - 1)).code, '400 REQUEST_TOO_LARGE');
  const batch = (body: string) => post(body, {}, '/audit-events/batch');
  const many = await batch(`{"x":${numbers(2 * count)},"events":[${'[],'.repeat(1000)}[]]}`);
  assert.equal(many.code, '400 BATCH_SIZE_INVALID');
  assert.equal(many.answer.error!.message, 'events must have 1 to 1000 items; it has 1001.');
  assert.equal((await batch(`{"x":${numbers(2 * count)},"events":[${text}]}`)).code, '400 REQUEST_TOO_LARGE');
});

test('nesting too deep to be read at all is refused like any other, however its keys are written', async () => {
  for (const key of ['"a"', '"\\u0061"']) {
    for (const levels of [40, 300, 5000]) {
      const deep = `${`{${key}:`.repeat(levels)}1${'}'.repeat(levels)}`;
      for (const [path, body] of [
        ['/audit-events', deep],
        ['/audit-events/search', deep],
        ['/audit-events/batch', `{"events":[${deep}],"x":1}`],
      ] as const) {
        const { code, answer } = await post(body, {}, path);
        assert.equal(code, '422 VALIDATION_FAILED', `${path} ${key} ${levels}`);
        assert.ok((answer.error?.details.length ?? 0) > 0);
      }
    }
  }
});

test('JSON that means two things, and fields that break rules, are listed together', async () => {
  const { code, answer } = await post(
    '{"timestamp":"2025-02-30T00:00:00Z","actor":{"actorType":"Robot","actorType":"User","x":1},' +
      '"action":"Delete","resource":{"resourceId":"1"},"payload":{"n":9007199254740993},"more":true}',
  );
  assert.equal(code, '422 VALIDATION_FAILED');
  const fields = answer.error?.details.map(({ field }) => field).sort();
  const expected = [
    'actor.actorType',
    'actor.x',
    'action',
    'more',
    'payload.n',
    'resource.resourceType',
    'timestamp',
  ];
  assert.deepEqual(fields, expected.sort());
});

test('a body that is needed must be there; one that is optional need not', async () => {
  assert.equal((await post(null)).code, '400 MALFORMED_JSON');
  assert.equal((await post('')).code, '400 MALFORMED_JSON');
  assert.equal((await post(null, {}, '/audit-events/search')).code, '200');
  assert.equal((await post('{}', {}, '/audit-events/search')).code, '200');
});

/** Lets time pass until the work is done, for work that waits for nothing else. */
async function asTimePasses<T>(work: PromiseLike<T>, clock: FakeClock): Promise<T> {
  const over = new AbortController();
  const result = Promise.resolve(work).finally(() => over.abort());
  while (!over.signal.aborted) await clock.advance(1000);
  return result;
}

test('a body that stops arriving is refused when its time is over', async () => {
  const clock = createFakeClock();
  await using slow = await startTestApp(
    {},
    { clock, authenticate: believeKey, operations: boundOperations() },
  );
  const socket = await open(slow.port);
  const received = readAnswers(socket);
  const head = Object.entries(ALLOWED)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('');
  socket.write(`POST /api/v1/audit-events HTTP/1.1\r\nHost: x\r\n${head}Content-Length: 100\r\n\r\n{"time`);
  const [answer] = await asTimePasses(received, clock);
  assert.match(answer?.body ?? '', /MALFORMED_JSON.*did not arrive within 35 seconds/);
  await asTimePasses(slow[Symbol.asyncDispose](), clock);
});

test('an operation that takes too long is stopped, told so, and answered 503 with Retry-After', async () => {
  const clock = createFakeClock();
  let told: unknown;
  const operations = boundOperations({
    'status.get': (call) =>
      new Promise(() =>
        call.deadline.signal.addEventListener('abort', () => (told = call.deadline.signal.reason)),
      ),
  });
  await using slow = await startTestApp({}, { clock, authenticate: believeKey, operations });
  const asked = fetch(`${slow.url}/api/v1/status`, { headers: ALLOWED });
  const response = await asTimePasses(asked, clock);
  assert.equal(response.status, 503);
  assert.equal(response.headers.get('retry-after'), '1');
  assert.match(await response.text(), /SERVICE_UNAVAILABLE/);
  assert.match(String(told), /took over 35 seconds/);
  await asTimePasses(slow[Symbol.asyncDispose](), clock);
});
