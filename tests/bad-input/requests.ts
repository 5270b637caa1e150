// Headers, media types, routes, versions, framing: what is wrong before anybody looks at a body.

import { deflateSync, gzipSync } from 'node:zlib';
import { type BadRequest, GOOD, SINGLE } from './case.ts';

const good = Buffer.from(JSON.stringify(GOOD));

const headerCases = (name: string, values: readonly string[], code: string): BadRequest[] =>
  values.map((value) => ({
    name: `${name}: ${JSON.stringify(value).slice(0, 40)}`,
    headers: { [name]: value },
    body: GOOD,
    status: 400,
    code,
  }));

const GET = (path: string, status: number, code: string, name = path): BadRequest => ({
  name,
  method: 'GET',
  path,
  status,
  code,
});

export const REQUEST_CASES: readonly BadRequest[] = [
  {
    name: 'no tenant',
    headers: { 'X-Tenant-Id': undefined },
    body: GOOD,
    status: 400,
    code: 'MISSING_TENANT',
  },
  ...headerCases(
    'X-Tenant-Id',
    ['', 'a b', '-a', '.a', '_a', '../x', 'a/b', 'a,b', 'x'.repeat(65), '*', 'a\u00e4', '%61'],
    'INVALID_HEADER',
  ),
  ...headerCases('X-Correlation-Id', ['', 'a b', 'x'.repeat(129), 'a\u00e4', 'a\tb'], 'INVALID_HEADER'),
  ...headerCases('Idempotency-Key', ['', 'a b', 'x'.repeat(256), 'a\u00e4'], 'INVALID_HEADER'),
  ...headerCases(
    'Content-Type',
    [
      '',
      'text/plain',
      'json',
      'application/xml',
      'multipart/form-data; boundary=x',
      'application/json; charset=iso-8859-1',
      'application/jsonx',
      'application/json, application/json',
      'application/x-www-form-urlencoded',
    ],
    'UNSUPPORTED_MEDIA_TYPE',
  ),
  ...headerCases(
    'Content-Encoding',
    ['deflate', 'zstd', 'gzip, br', 'compress', 'x'],
    'UNSUPPORTED_MEDIA_TYPE',
  ),
  {
    name: 'gzip in name only',
    headers: { 'Content-Encoding': 'gzip' },
    body: good,
    status: 400,
    code: 'MALFORMED_JSON',
  },
  {
    name: 'gzip that is deflate',
    headers: { 'Content-Encoding': 'gzip' },
    body: deflateSync(good),
    status: 400,
    code: 'MALFORMED_JSON',
  },
  {
    name: 'gzip cut short',
    headers: { 'Content-Encoding': 'gzip' },
    body: gzipSync(good).subarray(0, 40),
    status: 400,
    code: 'MALFORMED_JSON',
  },
  {
    name: 'br that is gzip',
    headers: { 'Content-Encoding': 'br' },
    body: gzipSync(good),
    status: 400,
    code: 'MALFORMED_JSON',
  },

  ...['PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE'].map(
    (method): BadRequest => ({
      name: `${method} of events`,
      method,
      path: SINGLE,
      status: 404,
      code: 'ROUTE_NOT_FOUND',
    }),
  ),
  GET('/', 404, 'ROUTE_NOT_FOUND'),
  GET('/api/v1', 404, 'ROUTE_NOT_FOUND'),
  GET('/api/v1/nothing', 404, 'ROUTE_NOT_FOUND'),
  GET('/api/v3/audit-events/01KE0000000000000000000042', 404, 'ROUTE_NOT_FOUND'),
  GET('/api/v1.0/audit-events/01KE0000000000000000000042', 404, 'ROUTE_NOT_FOUND'),
  GET('/API/V1/audit-events/01KE0000000000000000000042', 404, 'ROUTE_NOT_FOUND'),
  GET('/api/v1/audit-events/%zz', 404, 'ROUTE_NOT_FOUND'),
  GET('/api/audit-events/01KE0000000000000000000042?api-version=3.0', 400, 'UNSUPPORTED_API_VERSION'),
  GET('/api/v1/audit-events/01KE0000000000000000000042?api-version=2.0', 400, 'UNSUPPORTED_API_VERSION'),
  {
    ...GET(
      '/api/v2/audit-events/01KE0000000000000000000042',
      400,
      'UNSUPPORTED_API_VERSION',
      'a header that contradicts the path',
    ),
    headers: { 'X-Version': '1.0' },
  },
  {
    ...GET(
      '/api/audit-events/01KE0000000000000000000042',
      400,
      'UNSUPPORTED_API_VERSION',
      'readers that disagree',
    ),
    headers: { 'X-Version': '1.0', Accept: 'application/json;ver=2.0' },
  },

  GET('/api/v1/audit-events/01KE0000000000000000000042', 404, 'EVENT_NOT_FOUND', 'an id that names nothing'),
  GET('/api/v1/audit-events/01ke0000000000000000000042', 404, 'EVENT_NOT_FOUND', 'the same in lower case'),
  GET('/api/v1/audit-events/x', 404, 'EVENT_NOT_FOUND', 'an id that is none'),
  GET('/api/v1/audit-events/81KE0000000000000000000042', 404, 'EVENT_NOT_FOUND', 'an id past the last ULID'),
  GET(`/api/v1/audit-events/${'0'.repeat(2000)}`, 404, 'EVENT_NOT_FOUND', 'an id without end'),
  GET('/api/v1/audit-events/01KE0000000000000000000042%00', 404, 'EVENT_NOT_FOUND', 'an id with a NUL'),
  GET("/api/v1/audit-events/'%20OR%201=1%20--", 404, 'EVENT_NOT_FOUND', 'an id that is SQL'),
  GET(
    '/api/v1/audit-events/01KE0000000000000000000042?x=1',
    400,
    'INVALID_PARAMETER',
    'a query parameter that nobody knows',
  ),
  GET(
    '/api/v1/audit-events/01KE0000000000000000000042?x=%zz',
    400,
    'INVALID_PARAMETER',
    'a query that cannot be decoded',
  ),
  GET('/api/v1/health?x=1', 400, 'INVALID_PARAMETER', 'a query parameter that health does not know'),
  {
    ...GET('/health/live?x=1', 400, 'INVALID_HEADER', 'a probe with a correlation id that is none'),
    headers: { 'X-Correlation-Id': 'a b' },
  },
  {
    name: 'a query parameter on a POST',
    path: `${SINGLE}?dryRun=true`,
    body: GOOD,
    status: 400,
    code: 'INVALID_PARAMETER',
  },
];

const head = (line: string, ...headers: string[]) =>
  [line, 'Host: localhost', 'X-Tenant-Id: acme', 'Connection: close', ...headers, '', ''].join('\r\n');
const POST = 'POST /api/v1/audit-events HTTP/1.1';

/** Bytes on the wire; `{key}` is where the credential goes. */
export const WIRE_CASES: readonly BadRequest[] = [
  {
    name: 'two hosts',
    raw: head(POST, 'Host: other', 'X-API-Key: {key}', 'Content-Length: 0'),
    status: 400,
    code: 'INVALID_HEADER',
  },
  {
    name: 'no host',
    raw: `${POST}\r\nX-Tenant-Id: acme\r\nX-API-Key: {key}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`,
    status: 400,
    code: 'INVALID_HEADER',
  },
  {
    name: 'an unknown transfer coding',
    raw: head(POST, 'X-API-Key: {key}', 'Transfer-Encoding: xchunked'),
    status: 400,
    code: 'INVALID_HEADER',
  },
  {
    name: 'a length and a transfer coding',
    raw: head(POST, 'X-API-Key: {key}', 'Transfer-Encoding: chunked', 'Content-Length: 5'),
    status: 400,
    code: 'INVALID_HEADER',
  },
  {
    name: 'two lengths',
    raw: head(POST, 'X-API-Key: {key}', 'Content-Length: 5', 'Content-Length: 6'),
    status: 400,
    code: 'INVALID_HEADER',
  },
  {
    name: 'a length that is no number',
    raw: head(POST, 'X-API-Key: {key}', 'Content-Length: x'),
    status: 400,
    code: 'INVALID_HEADER',
  },
  {
    name: 'a chunk that is no chunk',
    raw: `${head(POST, 'X-API-Key: {key}', 'Transfer-Encoding: chunked')}zz\r\n{}\r\n0\r\n\r\n`,
    status: 400,
    code: 'MALFORMED_JSON',
  },
  {
    name: 'an unknown method',
    raw: head('BREW /api/v1/audit-events HTTP/1.1', 'X-API-Key: {key}'),
    status: 404,
    code: 'ROUTE_NOT_FOUND',
  },
  {
    name: 'HTTP/3.0',
    raw: head('POST /api/v1/audit-events HTTP/3.0', 'X-API-Key: {key}'),
    status: 400,
    code: 'INVALID_HEADER',
  },
  { name: 'no HTTP at all', raw: 'hello\r\n\r\n', status: 400, code: 'INVALID_HEADER' },
  {
    name: 'headers of over 16 KB',
    raw: head(POST, 'X-API-Key: {key}', `X-Long: ${'x'.repeat(17_000)}`),
    status: 400,
    code: 'INVALID_HEADER',
  },
  {
    name: 'an expectation that nobody meets',
    raw: head(POST, 'X-API-Key: {key}', 'Expect: miracles', 'Content-Length: 0'),
    status: 400,
    code: 'INVALID_HEADER',
  },
  {
    name: 'too much, of which nothing is sent before it is asked for',
    raw: head(POST, 'X-API-Key: {key}', 'Expect: 100-continue', 'Content-Length: 1048577'),
    status: 400,
    code: 'REQUEST_TOO_LARGE',
  },
  {
    name: 'a stranger who waits to be asked for a body',
    raw: head(POST, 'Expect: 100-continue', 'Content-Length: 2'),
    status: 401,
    code: 'UNAUTHENTICATED',
  },
  {
    name: 'the tenant twice',
    raw: head(POST, 'X-Tenant-Id: acme', 'X-API-Key: {key}', 'Content-Length: 2').concat('{}'),
    status: 400,
    code: 'INVALID_HEADER',
  },
  {
    name: 'the key twice',
    raw: head(POST, 'X-API-Key: {key}', 'X-API-Key: {key}', 'Content-Length: 2').concat('{}'),
    status: 401,
    code: 'UNAUTHENTICATED',
  },
  {
    name: 'the idempotency key twice',
    raw: head(
      POST,
      'X-API-Key: {key}',
      'Idempotency-Key: a',
      'Idempotency-Key: a',
      'Content-Length: 2',
    ).concat('{}'),
    status: 400,
    code: 'INVALID_HEADER',
  },
];
