// Bad requests for every operation of an OpenAPI document, made by rule: each part of a request that the document describes, wrong
// in every way that it excludes; and what is wrong whatever the operation is.

import { gzipSync } from 'node:zlib';
import { type BadRequest } from './case.ts';
import { CANARY, type Schema, WrongValues } from './wrong-values.ts';

interface Parameter {
  readonly $ref?: string;
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly schema: Schema;
}

interface OperationObject {
  readonly operationId: string;
  readonly parameters: readonly Parameter[];
  readonly security: readonly object[];
  readonly requestBody?: {
    readonly required: boolean;
    readonly content: { readonly 'application/json': { readonly schema: Schema } };
  };
}

export interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly parameters: Readonly<Record<string, Parameter>>;
  };
}

export interface GeneratedRequest extends Omit<BadRequest, 'status' | 'code'> {
  readonly operationId: string;
  readonly isSecret?: boolean;
  /** `422 VALIDATION_FAILED`, or any of several. */
  readonly expected: RegExp;
}

export interface OperationCases {
  readonly name: string;
  readonly cases: readonly GeneratedRequest[];
}

const ID = '01KE0000000000000000000042';
/** What a path is filled with where an identifier would not do. */
const IN_PATH: Readonly<Record<string, string>> = {
  tenantId: 'acme',
  level: '0',
  tile: '000',
  version: '1',
  webhookId: '7d3f0c52-6a3e-4b51-9a0e-2f6b1f3c9d11',
};
const METHODS = ['get', 'post', 'put', 'patch', 'delete', 'trace', 'options'];
const BAD_IDS = [
  'x',
  '81KE0000000000000000000042',
  '%00',
  '__proto__',
  '0'.repeat(2000),
  '..%2f..%2fetc',
  '%F0%9F%98%80',
  ID.slice(1),
];
const MB = 1024 * 1024;
const BAD_PARAMETER = /^400 INVALID_PARAMETER$/;

export function casesOf(document: Document): OperationCases[] {
  const wrong = new WrongValues(document.components.schemas);
  return Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => {
      const place: Place = { path, method: method.toUpperCase(), operation, wrong, document };
      return {
        name: `${place.method} ${path}`,
        cases: [
          ...inPath(place),
          ...inQuery(place),
          ...inHeaders(place),
          ...inBody(place),
          ...inMethod(place),
        ],
      };
    }),
  );
}

interface Place {
  readonly path: string;
  readonly method: string;
  readonly operation: OperationObject;
  readonly wrong: WrongValues;
  readonly document: Document;
}

const filled = (path: string) => path.replace(/\{(\w+)\}/g, (_, name: string) => IN_PATH[name] ?? ID);

const parametersOf = ({ operation, document }: Place) =>
  operation.parameters.map(({ $ref, ...own }) =>
    $ref === undefined ? own : document.components.parameters[$ref.split('/').at(-1)!]!,
  );

function request(
  place: Place,
  name: string,
  expected: RegExp,
  more: Partial<GeneratedRequest> = {},
): GeneratedRequest {
  const { operation, method, path } = place;
  const needsBody = operation.requestBody?.required === true;
  return {
    operationId: operation.operationId,
    method,
    path: filled(path),
    ...(needsBody && { body: {} }),
    name,
    expected,
    ...more,
  };
}

function* inPath(place: Place): Generator<GeneratedRequest> {
  for (const name of place.path.matchAll(/\{(\w+)\}/g)) {
    // Without a header, so that the path alone says which tenant is meant.
    const headers = {
      'X-Tenant-Id': place.path.includes('/log/t/') && name[1] === 'tenantId' ? undefined : 'acme',
    };
    for (const id of BAD_IDS) {
      const path = filled(place.path.replace(name[0], id));
      // The body, which is empty, may be judged first.
      const expected =
        place.operation.requestBody?.required === true ? /^404 \w+_NOT_FOUND$|^422 / : /^404 \w+_NOT_FOUND$/;
      yield request(place, `${name[0]} = ${id.slice(0, 30)}`, expected, { path, headers });
    }
    for (const id of ['%ff', '%', '%C3%28'])
      yield request(place, `${name[0]} = ${id}`, /^404 ROUTE_NOT_FOUND$/, {
        path: filled(place.path.replace(name[0], id)),
      });
  }
}

function* inQuery(place: Place): Generator<GeneratedRequest> {
  const path = filled(place.path);
  // Probes at the root are asked for by machines that add parameters of their own.
  const isProbe = path.startsWith('/health');
  for (const query of isProbe
    ? []
    : ['unknown=1', '__proto__=1', 'constructor=1', '%00=1', 'a=%ff', 'a=%zz', `${'a'.repeat(5000)}=1`, '=1'])
    yield request(place, `?${query.slice(0, 20)}`, BAD_PARAMETER, { path: `${path}?${query}` });
  for (const { name, in: where, schema } of parametersOf(place)) {
    if (where !== 'query') continue;
    const isCursor = name === 'cursor';
    const texts = isCursor
      ? ['x', '', 'AAAA', '%00', 'a'.repeat(3000)].map((each) => [each, each] as const)
      : place.wrong.ofParameter(schema);
    for (const [what, text] of texts)
      yield request(
        place,
        `?${name}=${what.slice(0, 30)}`,
        isCursor ? /^400 CURSOR_INVALID$/ : /^400 INVALID_(?:PARAMETER|SORT)$/,
        { path: `${path}?${name}=${encodeURIComponent(text)}`, ...(!isCursor && { field: name }) },
      );
    if (place.wrong.resolved(schema).type !== 'array')
      yield request(place, `?${name} twice`, /^400 (?:INVALID_PARAMETER|CURSOR_INVALID)$/, {
        path: `${path}?${name}=1&${name}=1`,
        field: name,
      });
  }
}

function* inHeaders(place: Place): Generator<GeneratedRequest> {
  const bad = (name: string, value: string, expected = /^400 INVALID_HEADER$/) =>
    request(place, `${name}: ${JSON.stringify(value).slice(0, 30)}`, expected, {
      headers: { [name]: value },
    });
  const names = new Set(
    parametersOf(place)
      .filter((each) => each.in === 'header')
      .map(({ name }) => name),
  );
  for (const value of ['', 'a b', 'x'.repeat(129)]) yield bad('X-Correlation-Id', value);
  if (place.operation.security.length > 0) {
    yield bad('X-API-Key', `tsk_${CANARY}`, /^401 UNAUTHENTICATED$/);
    yield bad('Authorization', `Bearer ${CANARY}`, /^401 UNAUTHENTICATED$/);
    yield bad('Authorization', `Basic ${CANARY}`, /^401 UNAUTHENTICATED$/);
  }
  if (names.has('X-Tenant-Id'))
    for (const value of ['', '../x', '*', 'x'.repeat(65)]) yield bad('X-Tenant-Id', value);
  if (names.has('If-Match'))
    for (const value of ['1', '"', 'W/"1', '"1" "2"', 'x'.repeat(3000)]) yield bad('If-Match', value);
  if (names.has('Idempotency-Key'))
    for (const value of ['', 'a b', 'x'.repeat(256)]) yield bad('Idempotency-Key', value);
}

const MALFORMED: readonly (readonly [string, string | Buffer])[] = [
  ['an unclosed object', '{'],
  ['a word', 'nul'],
  ['two values', '{}{}'],
  ['a comma too many', '{"a":1,}'],
  ['a byte that UTF-8 never has', Buffer.from([0x22, 0xff, 0x22])],
  ['UTF-16', Buffer.from('{}', 'utf16le')],
  ['a byte order mark', Buffer.from('\ufeff{}')],
  ['lists that are never closed', '['.repeat(5000)],
  ['NaN', '{"a":NaN}'],
];

function* inBody(place: Place): Generator<GeneratedRequest> {
  const { requestBody } = place.operation;
  if (requestBody === undefined) return;
  const { schema } = requestBody.content['application/json'];
  for (const [what, body] of MALFORMED) yield request(place, what, /^400 MALFORMED_JSON$/, { body });
  const encoded = (name: string, value: string, expected: RegExp, body: string | Buffer = '{}') =>
    request(place, `${name}: ${value}`, expected, { headers: { [name]: value }, body });
  for (const type of [
    'text/plain',
    'application/xml',
    'application/json; charset=latin1',
    'multipart/form-data; boundary=a',
  ])
    yield encoded('Content-Type', type, /^400 UNSUPPORTED_MEDIA_TYPE$/);
  for (const coding of ['zstd', 'deflate', 'gzip, gzip'])
    yield encoded('Content-Encoding', coding, /^400 UNSUPPORTED_MEDIA_TYPE$/);
  for (const coding of ['gzip', 'br']) yield encoded('Content-Encoding', coding, /^400 MALFORMED_JSON$/);
  const bytes = place.path.endsWith('/batch') ? 10 * MB + 1 : MB + 1;
  yield encoded('Content-Encoding', 'gzip', /^400 REQUEST_TOO_LARGE$/, gzipSync(Buffer.alloc(bytes, ' ')));
  yield request(
    place,
    'over a hundred thousand values',
    /^400 (?:REQUEST_TOO_LARGE|BATCH_SIZE_INVALID)$|^422 /,
    { body: `{"unknown":[${'1,'.repeat(100_001)}1]}` },
  );
  yield request(place, 'a hundred levels', /^422 /, {
    body: `{"unknown":${'['.repeat(100)}${']'.repeat(100)}}`,
  });
  for (const { what, json, field, isSecret } of place.wrong.ofBody(schema))
    yield request(place, `${field === '' ? 'the body' : field}: ${what}`, refusalOf(place, field, what), {
      body: json,
      ...(field !== '' && { field }),
      ...(isSecret && { isSecret }),
    });
}

/** Of a batch, the number of its events is counted first; and that a body is for another tenant is told before what else it lacks. */
function refusalOf({ operation }: Place, field: string, what: string): RegExp {
  if (operation.operationId === 'eventsIngestBatch' && /empty list|too many/.test(what))
    return /^400 BATCH_SIZE_INVALID$/;
  if (operation.operationId === 'policiesValidate') return /^200$|^422 /;
  if (field === 'pagination.cursor') return /^422 |^400 CURSOR_INVALID$/;
  return field === 'tenantId' ? /^422 |^403 TENANT_MISMATCH$/ : /^422 /;
}

/** Whether a path of the document has room for another one. */
const fits = (template: string, path: string) =>
  new RegExp(`^${template.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path);

/** Methods that the path does not have. */
function* inMethod(place: Place): Generator<GeneratedRequest> {
  const own = Object.keys(place.document.paths[place.path]!);
  if (own[0] !== place.method.toLowerCase()) return;
  const path = filled(place.path);
  const known = Object.entries(place.document.paths).flatMap(([template, each]) =>
    fits(template, path) ? Object.keys(each) : [],
  );
  for (const method of METHODS.filter((each) => !known.includes(each)))
    yield {
      ...request(place, method.toUpperCase(), /^404 ROUTE_NOT_FOUND$/),
      method: method.toUpperCase(),
      body: undefined,
    };
}
