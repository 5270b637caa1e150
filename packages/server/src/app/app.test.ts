// The whole server over real HTTP: what every answer has in common.

import assert from 'node:assert/strict';
import { mkdirSync, rmSync } from 'node:fs';
import { after, test } from 'node:test';
import { ULID_PATTERN } from '@tallystick/contract';
import type { Lifecycle } from '../admin/lifecycle.ts';
import type { Gateway } from '../gateway/pipeline.ts';
import { ALLOWED, believeKey, boundOperations, EVENT, EVENT_ID } from '../testing/bound-operations.ts';
import { startTestApp, type TestApp } from '../testing/test-app.ts';

const JSON_TYPE = 'application/json; charset=utf-8';
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const SPAN = /^([01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{7}$/;

interface Seen {
  status: number;
  headers: Headers;
  body: Record<string, unknown>;
}

async function ask(app: TestApp, path: string, init: RequestInit = {}): Promise<Seen> {
  const response = await fetch(app.url + path, init);
  const text = await response.text();
  const body = text === '' ? {} : (JSON.parse(text) as Record<string, unknown>);
  return { status: response.status, headers: response.headers, body };
}

const posted = {
  method: 'POST',
  headers: { ...ALLOWED, 'Content-Type': 'application/json' },
  body: JSON.stringify(EVENT),
};

const codeOf = ({ status, body }: Seen) =>
  `${status} ${(body['error'] as { code?: string } | undefined)?.code ?? ''}`;

function assertStandardHeaders({ headers }: Seen, what: string): void {
  assert.match(headers.get('x-correlation-id') ?? '', /^[\x21-\x7e]{1,128}$/, what);
  const expected = {
    'api-supported-versions': '1.0, 2.0',
    'cache-control': 'no-store',
    'content-security-policy': "default-src 'none'",
    'x-content-type-options': 'nosniff',
    server: null,
    'x-powered-by': null,
    'strict-transport-security': null,
  };
  for (const [name, value] of Object.entries(expected))
    assert.equal(headers.get(name), value, `${what}: ${name}`);
  // More, where the path does not name the version.
  assert.match(headers.get('vary') ?? '', /^Accept-Encoding, Authorization, X-API-Key, X-Tenant-Id(?:$|, )/);
}

/** For tests that leave nothing behind; a test that changes the service or reads its diagnostics has one of its own. */
const plain = await startTestApp();
const believing = await startTestApp({}, { authenticate: believeKey, operations: boundOperations() });
after(() => Promise.all([plain[Symbol.asyncDispose](), believing[Symbol.asyncDispose]()]));

test('health is answered in both versions, without a version, and at the root', async () => {
  const paths = ['/api/v1', '/api/v2', '/api'].flatMap((at) =>
    ['', '/live', '/ready'].map((probe) => `${at}/health${probe}`),
  );
  for (const path of [...paths, '/health/live', '/health/ready', '/health/startup']) {
    const seen = await ask(plain, path, {
      headers: { Authorization: 'Bearer nonsense', 'X-Tenant-Id': '!!' },
    });
    assert.equal(seen.status, 200, path);
    assert.equal(seen.headers.get('content-type'), JSON_TYPE);
    assert.equal(seen.body['status'], 'Healthy');
    assert.match(String(seen.body['totalDuration']), SPAN);
    assert.ok(typeof seen.body['entries'] === 'object');
    assertStandardHeaders(seen, path);
  }
  const { body } = await ask(plain, '/api/v1/health');
  assert.deepEqual(Object.keys(body['entries'] as object), [
    'lifecycle',
    'storage',
    'log',
    'views',
    'webhooks',
    'exports',
  ]);
});

test('ready and health are 503 with a report while the data directory is gone; live stays 200', async () => {
  await using app = await startTestApp();
  rmSync(app.dataDirectory, { recursive: true });
  const statuses = async () =>
    Promise.all(
      ['/api/v1/health', '/health/ready', '/health/live', '/health/startup'].map(
        async (path) => (await ask(app, path)).status,
      ),
    );
  assert.deepEqual(await statuses(), [503, 503, 200, 200]);
  const seen = await ask(app, '/api/v1/health/ready');
  assert.equal(seen.body['status'], 'Unhealthy');
  const entries = seen.body['entries'] as Record<string, { exception?: string }>;
  assert.equal(entries['storage']?.exception, 'ENOENT');
  assertStandardHeaders(seen, 'an unhealthy report');
  mkdirSync(app.dataDirectory);
  assert.deepEqual(await statuses(), [200, 200, 200, 200]);
});

test('an error has the one body, with nothing but what the specification names', async () => {
  const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
  const seen = await ask(plain, '/api/v1/nothing?token=secret', {
    headers: { traceparent, 'X-Correlation-Id': 'order-42' },
  });
  assert.equal(codeOf(seen), '404 ROUTE_NOT_FOUND');
  assert.equal(seen.headers.get('content-type'), JSON_TYPE);
  assert.equal(seen.headers.get('x-correlation-id'), 'order-42');
  assert.deepEqual(Object.keys(seen.body), ['error']);
  const { timestamp, requestId, message, ...rest } = seen.body['error'] as Record<string, string>;
  assert.deepEqual(rest, {
    code: 'ROUTE_NOT_FOUND',
    details: [],
    traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
    path: '/api/v1/nothing',
  });
  assert.match(requestId ?? '', new RegExp(ULID_PATTERN));
  assert.ok(Math.abs(Date.parse(timestamp ?? '') - Date.now()) < 60_000);
  assert.match(timestamp ?? '', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  assert.doesNotMatch(String(message), /secret/);
  assertStandardHeaders(seen, 'a 404');
});

test('an unknown path or method is 404, with any header or body', async () => {
  const table: [method: string, path: string][] = [
    ['GET', '/'],
    ['GET', '/api'],
    ['GET', '/api/v1'],
    ['GET', '/api/v1/'],
    ['GET', '/api/v1/health/'],
    ['GET', '/api/v1//health'],
    ['GET', '/API/v1/health'],
    ['GET', '/api/v3/health'],
    ['GET', '/api/v0/health'],
    ['GET', '/api/v1.0/health'],
    ['GET', '/api/v1/health/startup'],
    ['GET', '/health'],
    ['GET', '/api/v1/%zz'],
    ['PUT', '/api/v1/audit-events'],
    ['POST', '/api/v1/health'],
    ['PUT', '/api/v1/health'],
    ['DELETE', '/api/v1/health'],
    ['PATCH', '/api/v1/health'],
    ['OPTIONS', '/api/v1/health'],
    ['PROPFIND', '/api/v1/health'],
    ['QUERY', '/api/v1/health'],
  ];
  for (const [method, path] of table) {
    const body = ['GET', 'OPTIONS'].includes(method) ? null : 'not json';
    const seen = await ask(plain, path, { method, body, headers: { 'Content-Type': 'no media type' } });
    assert.equal(codeOf(seen), '404 ROUTE_NOT_FOUND', `${method} ${path}`);
    assertStandardHeaders(seen, `${method} ${path}`);
  }
  const head = await fetch(`${plain.url}/api/v1/nothing`, { method: 'HEAD' });
  assert.equal(head.status, 404);
});

test('a correlation id is carried through, made where absent, and refused where it is not allowed', async () => {
  for (const path of ['/health/live', '/api/v1/nothing']) {
    const given = await ask(plain, path, { headers: { 'X-Correlation-Id': '~'.repeat(128) } });
    assert.equal(given.headers.get('x-correlation-id'), '~'.repeat(128));
    assert.match((await ask(plain, path)).headers.get('x-correlation-id') ?? '', UUID);
  }
  for (const id of ['', 'a b', 'é', '~'.repeat(129)]) {
    const seen = await ask(plain, '/api/v1/health', { headers: { 'X-Correlation-Id': id } });
    assert.equal(codeOf(seen), '400 INVALID_HEADER', JSON.stringify(id));
    assert.match(seen.headers.get('x-correlation-id') ?? '', UUID, 'a new one');
    assertStandardHeaders(seen, 'a refused correlation id');
  }
});

test('the version is read from path, query, header and Accept, and must be one', async () => {
  const table: [path: string, headers: Record<string, string>, expected: string][] = [
    ['/api/health', {}, '200 '],
    ['/api/health?api-version=1.0', {}, '200 '],
    ['/api/health?api-version=2', { 'X-Version': '2.0' }, '200 '],
    ['/api/health', { Accept: 'application/json; ver=2.0' }, '200 '],
    ['/api/v1/health?api-version=1', { 'X-Version': '1.0', Accept: '*/*;ver=1' }, '200 '],
    ['/api/health?api-version=3.0', {}, '400 UNSUPPORTED_API_VERSION'],
    ['/api/health?api-version=', {}, '400 UNSUPPORTED_API_VERSION'],
    ['/api/health?api-version=1&api-version=2', {}, '400 UNSUPPORTED_API_VERSION'],
    ['/api/health', { 'X-Version': 'one' }, '400 UNSUPPORTED_API_VERSION'],
    ['/api/health', { Accept: 'application/json;ver=9' }, '400 UNSUPPORTED_API_VERSION'],
    ['/api/health?api-version=1', { 'X-Version': '2' }, '400 UNSUPPORTED_API_VERSION'],
    ['/api/v1/health', { 'X-Version': '2.0' }, '400 UNSUPPORTED_API_VERSION'],
    ['/api/v2/health?api-version=1.0', {}, '400 UNSUPPORTED_API_VERSION'],
    ['/api/v3/health', { 'X-Version': '3.0' }, '404 ROUTE_NOT_FOUND'],
    ['/api/v1/nothing', { 'X-Version': '9' }, '404 ROUTE_NOT_FOUND'],
    ['/health/live?api-version=9', { 'X-Version': '9' }, '200 '],
  ];
  for (const [path, headers, expected] of table) {
    const seen = await ask(plain, path, { headers });
    assert.equal(codeOf(seen), expected, `${path} ${JSON.stringify(headers)}`);
    assertStandardHeaders(seen, path);
  }
});

test('a version in decline warns, then refuses writes, then is gone', async () => {
  const overrides = { authenticate: believeKey, operations: boundOperations() };
  const expectations: [state: string, reading: string, writing: string][] = [
    ['Active', '200 ', '201 '],
    ['Deprecated', '200 ', '201 '],
    ['Sunset', '200 ', '403 API_VERSION_SUNSET'],
    ['Retired', '404 API_VERSION_RETIRED', '404 API_VERSION_RETIRED'],
  ];
  for (const [state, reading, writing] of expectations) {
    const dates = {
      ApiVersions__V1__DeprecationDate: '2027-01-01',
      ApiVersions__V1__SunsetDate: '2027-06-30T00:00:00Z',
    };
    await using app = await startTestApp({ ApiVersions__V1__State: state, ...dates }, overrides);
    for (const base of ['/api/v1', '/api']) {
      const read = await ask(app, `${base}/health`);
      const write = await ask(app, `${base}/audit-events`, posted);
      assert.deepEqual([codeOf(read), codeOf(write)], [reading, writing], state);
      const names = ['x-api-deprecated', 'x-api-deprecation-date', 'x-api-sunset-date'];
      const warned = state === 'Active' ? [null, null, null] : ['true', '2027-01-01', '2027-06-30T00:00:00Z'];
      for (const seen of [read, write])
        assert.deepEqual(
          names.map((name) => seen.headers.get(name)),
          warned,
          state,
        );
    }
    const other = await ask(app, '/api/v2/audit-events', posted);
    assert.equal(codeOf(other), '201 ');
    assert.equal(other.headers.get('x-api-deprecated'), null);
    assert.equal((await ask(app, '/health/live')).status, 200);
  }
});

test('no query parameter goes unread', async () => {
  const seen = await ask(plain, '/api/v1/health?verbose=1&deep&api-version=1');
  assert.equal(codeOf(seen), '400 INVALID_PARAMETER');
  const { details } = seen.body['error'] as { details: { field: string }[] };
  assert.deepEqual(
    details.map(({ field }) => field),
    ['verbose', 'deep'],
  );
  assert.equal(codeOf(await ask(plain, '/api/v1/health?%zz=1')), '400 INVALID_PARAMETER');
  assert.equal(codeOf(await ask(plain, '/api/v1/health?a=%ff')), '400 INVALID_PARAMETER');
  assert.equal(codeOf(await ask(plain, '/api/v1/health?')), '200 ');
});

test('the checks come in the order of the contract', async () => {
  const bad = { body: '{', headers: { 'Content-Type': 'text/plain' } };
  const post = async (path: string, headers: Record<string, string> = {}, body = bad.body) =>
    codeOf(await ask(believing, path, { method: 'POST', headers: { ...bad.headers, ...headers }, body }));
  const redact = `/api/v1/audit-events/${EVENT_ID}/redact`;
  assert.equal(await post('/api/v1/nothing', { 'X-Version': '9' }), '404 ROUTE_NOT_FOUND');
  assert.equal(await post('/api/v1/audit-events', { 'X-Version': '9' }), '400 UNSUPPORTED_API_VERSION');
  assert.equal(await post('/api/v1/audit-events', { 'X-Tenant-Id': '!' }), '401 UNAUTHENTICATED');
  assert.equal(await post('/api/v1/audit-events', { 'X-API-Key': 'wrong' }), '401 UNAUTHENTICATED');
  assert.equal(await post('/api/v1/audit-events', { ...ALLOWED, 'X-Tenant-Id': '!' }), '400 INVALID_HEADER');
  assert.equal(await post(redact, { ...ALLOWED, 'X-Tenant-Id': 'other' }), '403 TENANT_MISMATCH');
  assert.equal(await post(redact, ALLOWED), '403 FORBIDDEN');
  assert.equal(await post('/api/v1/audit-events', ALLOWED), '400 UNSUPPORTED_MEDIA_TYPE');
  const json = { ...ALLOWED, 'Content-Type': 'application/json' };
  assert.equal(await post('/api/v1/audit-events', json, ' '.repeat(1_048_577)), '400 REQUEST_TOO_LARGE');
  assert.equal(await post('/api/v1/audit-events', json), '400 MALFORMED_JSON');
  assert.equal(await post('/api/v1/audit-events', json, '{"tenantId":"!"}'), '403 TENANT_MISMATCH');
  assert.equal(await post('/api/v1/audit-events', json, '{}'), '422 VALIDATION_FAILED');
  assert.equal(await post('/api/v1/audit-events', json, JSON.stringify(EVENT)), '201 ');
});

test('a 401 says how to authenticate', async () => {
  await using app = await startTestApp({}, { operations: boundOperations() });
  const seen = await ask(app, '/api/v1/audit-events', { method: 'POST', headers: ALLOWED, body: '{}' });
  assert.equal(codeOf(seen), '401 UNAUTHENTICATED', 'nobody can authenticate, so nobody is let in');
  assert.equal(seen.headers.get('www-authenticate'), 'Bearer');
  assertStandardHeaders(seen, 'a 401');
});

test('answers have the headers that their operation names', async () => {
  for (const [base, prefix] of [
    ['/api/v1', '/api/v1'],
    ['/api/v2', '/api/v2'],
    ['/api', '/api/v1'],
  ]) {
    const made = await ask(believing, `${base}/audit-events`, posted);
    assert.equal(made.status, 201);
    const eventId = String(made.body['eventId']);
    assert.equal(made.headers.get('location'), `${prefix}/audit-events/${eventId}`);
    assert.equal(made.headers.get('x-event-id'), eventId);
    assertStandardHeaders(made, 'a 201');
  }
  const removed = await fetch(`${believing.url}/api/v1/policies/${EVENT_ID.toLowerCase()}`, {
    method: 'DELETE',
    headers: ALLOWED,
  });
  assert.equal(removed.status, 204);
  assert.equal(removed.headers.get('content-type'), null);
  assert.equal(await removed.text(), '');
});

test('an identifier that is not well formed names nothing', async () => {
  for (const id of ['x', '8'.repeat(26), 'a'.repeat(300), '%20', EVENT_ID.slice(1)]) {
    const seen = await ask(believing, `/api/v1/policies/${id}`, { method: 'DELETE', headers: ALLOWED });
    assert.equal(codeOf(seen), '404 POLICY_NOT_FOUND', id);
  }
});

test('a failure nobody foresaw is a 500 that tells the caller nothing and the operator everything', async () => {
  await using app = await startTestApp({}, { authenticate: believeKey, operations: boundOperations() });
  const seen = await ask(app, '/api/v1/status', { headers: ALLOWED });
  assert.equal(codeOf(seen), '500 INTERNAL_ERROR');
  assert.doesNotMatch(JSON.stringify(seen.body), /SELECT|passwd|app\.ts/);
  assertStandardHeaders(seen, 'a 500');
  const { traceId } = seen.body['error'] as { traceId: string };
  const line = app.lines.find(({ level }) => level === 'Error');
  assert.equal(line?.['traceId'], traceId);
  assert.match(String(line?.['stack']), /SELECT secret/);
});

test('a header that cannot be sent is such a failure, too', async () => {
  const operations = boundOperations({
    'events.get': () => Promise.resolve({ kind: 'Done', body: {} as never, facts: { etag: '"a\nb"' } }),
  });
  await using app = await startTestApp({}, { authenticate: believeKey, operations });
  const seen = await ask(app, `/api/v1/audit-events/${EVENT_ID}`, { headers: ALLOWED });
  assert.equal(codeOf(seen), '500 INTERNAL_ERROR');
  assertStandardHeaders(seen, 'a 500');
});

test('an answer with an entity tag may be kept and must be asked for again', async () => {
  const operations = boundOperations({
    'events.get': () => Promise.resolve({ kind: 'Done', body: {} as never, facts: { etag: '"3"' } }),
  });
  await using app = await startTestApp({}, { authenticate: believeKey, operations });
  const { headers } = await ask(app, `/api/v1/audit-events/${EVENT_ID}`, { headers: ALLOWED });
  assert.deepEqual([headers.get('etag'), headers.get('cache-control')], ['"3"', 'private, no-cache']);
});

test('a request leaves one line at debug, without query string, headers or body', async () => {
  await using app = await startTestApp({}, { authenticate: believeKey, operations: boundOperations() });
  await ask(app, '/api/v1/audit-events?api-version=1&x=hunter2', {
    method: 'POST',
    headers: ALLOWED,
    body: '"hunter2"',
  });
  const [line, ...more] = app.lines.filter(({ message }) => message === 'request');
  assert.deepEqual(more, []);
  assert.deepEqual(
    [line?.['method'], line?.['path'], line?.['status']],
    ['POST', '/api/v1/audit-events', 400],
  );
  assert.doesNotMatch(JSON.stringify(app.lines), /hunter2|the-only-key/);
});

test('behind TLS the answers ask for TLS from then on', async () => {
  await using app = await startTestApp({ Server__PublicUrl: 'https://audit.example.com' });
  const { headers } = await ask(app, '/health/live');
  assert.equal(headers.get('strict-transport-security'), 'max-age=31536000');
});

test('a stop is told to probes before anything is waited for', async () => {
  let lifecycle: Lifecycle | undefined;
  const mounts = (gateway: Gateway) => {
    ({ lifecycle } = gateway);
    return [];
  };
  const app = await startTestApp({}, { mounts });
  assert.equal(lifecycle?.phase, 'Serving');
  const ended = app[Symbol.asyncDispose]();
  assert.equal(lifecycle?.phase, 'Draining');
  await ended;
});
