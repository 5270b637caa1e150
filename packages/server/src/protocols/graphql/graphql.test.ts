// GraphQL over real HTTP: what is refused, where and in which form; what is asked once; and what is said beside the data.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { getIntrospectionQuery } from 'graphql';
import { LIMITS } from '@tallystick/contract';
import { type AdminCaller, callerOf, WITH_PLATFORM_KEY } from '../../testing/admin-caller.ts';
import { EVENT } from '../../testing/bound-operations.ts';
import { startTestApp, type TestApp } from '../../testing/test-app.ts';
import { until } from '../../testing/until.ts';

let app: TestApp;
let rest: AdminCaller;
before(async () => {
  app = await startTestApp(WITH_PLATFORM_KEY);
  rest = await callerOf(app, 'acme');
});
after(() => app[Symbol.asyncDispose]());

const RESPONSE = 'application/graphql-response+json';
const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';

interface Asked {
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
  readonly version?: 'v1' | 'v2';
  readonly method?: string;
  readonly query?: string;
}

/** A header without a value is not sent. */
async function send({ body, headers = {}, version = 'v1', method = 'POST', query = '' }: Asked) {
  const all = {
    'X-API-Key': rest.key,
    'X-Tenant-Id': 'acme',
    'Content-Type': 'application/json',
    Accept: RESPONSE,
    traceparent: `00-${TRACE}-00f067aa0ba902b7-01`,
    ...headers,
  };
  const response = await fetch(`${app.url}/graphql/${version}${query}`, {
    method,
    headers: Object.fromEntries(Object.entries(all).filter(([, value]) => value !== '')),
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  const said = JSON.parse(text) as Said;
  return { ...said, status: response.status, headers: response.headers, text };
}

interface Said {
  readonly data?: Record<string, unknown> | null;
  readonly errors?: readonly {
    readonly message: string;
    readonly path?: unknown;
    readonly extensions: {
      readonly code: string;
      readonly details: readonly { readonly field: string; readonly issue: string }[];
      readonly traceId: string;
      readonly requestId: string;
    };
  }[];
  readonly extensions?: {
    readonly answers: Record<string, { readonly kind: string; readonly etag?: string }>;
  };
}

const ask = (query: string, variables: object = {}, more: Asked = {}) =>
  send({ body: { query, variables }, ...more });
/** Of an error: status, code and the fields that its details name. */
const refusal = ({ status, errors }: Awaited<ReturnType<typeof send>>) => [
  status,
  errors?.[0]?.extensions.code,
  errors?.[0]?.extensions.details.map(({ field }) => field),
];

const INGEST = 'mutation ($event: EventDraftInput!) { ingestEvent(event: $event) { eventId idempotent } }';

test('who is refused at the entrance is told so in the form of GraphQL, before the body is read', async () => {
  const table: [headers: Record<string, string>, status: number, code: string][] = [
    [{ 'X-API-Key': '' }, 401, 'UNAUTHENTICATED'],
    [{ 'X-API-Key': 'another' }, 401, 'UNAUTHENTICATED'],
    [{ 'X-Tenant-Id': 'other' }, 403, 'TENANT_MISMATCH'],
    [{ 'X-Correlation-Id': 'a b' }, 400, 'INVALID_HEADER'],
  ];
  for (const [headers, status, code] of table) {
    const told = await send({ body: 'no JSON at all', headers });
    assert.deepEqual([told.status, told.errors?.[0]?.extensions.code], [status, code]);
    assert.match(told.headers.get('Content-Type') ?? '', /^application\/graphql-response\+json/);
    assert.equal(told.errors?.[0]?.extensions.traceId, TRACE);
    assert.equal(told.headers.get('WWW-Authenticate'), status === 401 ? 'Bearer' : null);
  }
  assert.deepEqual(refusal(await ask('{ streams { totalCount } }', {}, { headers: { 'X-Tenant-Id': '' } })), [
    200,
    'MISSING_TENANT',
    [],
  ]);
});

test('a request that is none is refused for what is wrong with it', async () => {
  const table: [Asked, status: number, code: string, fields: string[]][] = [
    [{ body: '{"query":' }, 400, 'MALFORMED_JSON', []],
    [
      { body: { query: '{ __typename }' }, headers: { 'Content-Type': 'text/plain' } },
      400,
      'UNSUPPORTED_MEDIA_TYPE',
      ['Content-Type'],
    ],
    [{ body: [{ query: '{ __typename }' }] }, 400, 'VALIDATION_FAILED', ['']],
    [{ body: {} }, 400, 'VALIDATION_FAILED', ['query']],
    [
      { body: { query: 5, variables: [], operationName: 1, extensions: 'x', more: 1 } },
      400,
      'VALIDATION_FAILED',
      ['more', 'query', 'operationName', 'variables', 'extensions'],
    ],
    [{ body: '{"query":"{__typename}","query":"{__typename}"}' }, 400, 'VALIDATION_FAILED', ['query']],
    [{ body: { query: 'x'.repeat(LIMITS.requestBytesMax) } }, 400, 'REQUEST_TOO_LARGE', []],
    [{ body: { query: '{ nonsense }' } }, 400, 'VALIDATION_FAILED', ['query']],
    [{ body: { query: '{ events(' } }, 400, 'VALIDATION_FAILED', ['query']],
    [
      { body: { query: 'query a { __typename } query b { __typename }' } },
      400,
      'VALIDATION_FAILED',
      ['query'],
    ],
    [{ body: { query: 'subscription { events { totalCount } }' } }, 400, 'VALIDATION_FAILED', ['query']],
    [{ method: 'GET', query: '?query={__typename}&query=x' }, 400, 'VALIDATION_FAILED', ['query']],
    [{ method: 'GET', query: '?query={__typename}&variables={' }, 400, 'MALFORMED_JSON', []],
  ];
  for (const [asked, ...expected] of table) {
    assert.deepEqual(refusal(await send(asked)), expected, JSON.stringify(asked).slice(0, 200));
  }
  const older = await ask('{ nonsense }', {}, { headers: { Accept: 'application/json' } });
  assert.deepEqual(refusal(older), [200, 'VALIDATION_FAILED', ['query']]);
  assert.match(older.headers.get('Content-Type') ?? '', /^application\/json/);
});

test('a GET reads, and changes nothing', async () => {
  const query = encodeURIComponent('query ($n: Int) { events(first: $n) { totalCount } }');
  const read = await send({ method: 'GET', query: `?query=${query}&variables={"n":1}` });
  assert.deepEqual([read.status, read.data], [200, { events: { totalCount: 0 } }]);
  const mutation = await send({ method: 'GET', query: '?query=mutation{deletePolicy(policyId:"x")}' });
  assert.deepEqual([mutation.status, mutation.headers.get('Allow')], [405, 'POST']);
  const put = await send({ method: 'PUT', body: {} });
  assert.deepEqual([put.status, put.headers.get('Allow')], [405, 'GET, POST']);
  const beside = await send({ body: { query: '{ __typename }' }, query: '/more' });
  assert.deepEqual(refusal(beside), [404, 'ROUTE_NOT_FOUND', []]);
});

test('variables that do not fit are named by their places, and never shown', async () => {
  const secret = 'hunter2-hunter2';
  const event = { actor: { userId: 5 }, action: 'a.b', resource: [], nonsense: secret, timestamp: secret };
  const bad = await ask(INGEST, { event });
  assert.deepEqual(refusal(bad), [
    400,
    'VALIDATION_FAILED',
    ['nonsense', 'actor.actorType', 'actor.userId', 'resource'],
  ]);
  assert.ok(!bad.text.includes(secret));
  const create = 'mutation ($e: ExportRequestInput!) { createExport(export: $e) { exportId } }';
  const destination = { type: 'Sftp', host: 'h', password: [secret], privateKey: { a: secret } };
  const told = await ask(create, { e: { format: 'CSV', destination } });
  assert.deepEqual(refusal(told)[2], ['destination.password', 'destination.privateKey']);
  assert.ok(!told.text.includes(secret), told.text);
  const inline = await ask(
    `mutation { createExport(export: { format: CSV, destination: { type: "Sftp", password: {a: "${secret}"} } }) { exportId } }`,
  );
  assert.equal(inline.errors?.[0]?.extensions.code, 'VALIDATION_FAILED');
  assert.ok(!inline.text.includes(secret), inline.text);
  const missing = await ask(INGEST, {});
  assert.deepEqual(refusal(missing), [400, 'VALIDATION_FAILED', ['']]);
});

test('numbers of JSON obey the same rules in a document as in a body', async () => {
  const withAmount = (amount: string) =>
    ask(`mutation { ingestEvent(event: { timestamp: "2026-01-02T03:04:05Z", actor: { actorType: User, userId: "u" },
      action: "a.b", resource: { resourceType: "r", resourceId: "1" }, payload: { amount: ${amount}, __proto__: 1 } }) { eventId } }`);
  const taken = await withAmount('1250.50');
  const { eventId } = taken.data!['ingestEvent'] as { eventId: string };
  const shown = await ask('query ($id: ID!) { event(eventId: $id) { payload } }', { id: eventId });
  assert.match(shown.text, /"payload":\{"__proto__":1,"amount":1250\.5\}/);
  for (const amount of ['9007199254740993', '1e400']) {
    const { errors } = await withAmount(amount);
    assert.equal(errors?.[0]?.extensions.code, 'VALIDATION_FAILED', amount);
  }
  const inBody = await send({
    body: `{"query":${JSON.stringify(INGEST)},"variables":{"event":{"payload":{"a":1e400}}}}`,
  });
  assert.deepEqual(refusal(inBody), [400, 'VALIDATION_FAILED', ['variables.event.payload.a']]);
});

test('each field has its own error, and the others their data', async () => {
  const id = '01KE0000000000000000000042';
  const { data, errors, status } = await ask(
    `{ a: event(eventId: "${id}") { __typename } health { status } policy(policyId: "${id}") { name } }`,
  );
  assert.equal(status, 200);
  assert.deepEqual(data, { a: null, health: { status: 'Healthy' }, policy: null });
  assert.deepEqual(errors?.map(({ path, extensions }) => [path, extensions.code]).toSorted(), [
    [['a'], 'EVENT_NOT_FOUND'],
    [['policy'], 'POLICY_NOT_FOUND'],
  ]);
});

test('a key names one mutation field, and what is done again is said beside the data', async () => {
  const by = { headers: { 'Idempotency-Key': 'graphql-1' } };
  const first = await ask(INGEST, { event: EVENT }, by);
  const again = await ask(INGEST, { event: EVENT }, by);
  assert.deepEqual(
    [first.extensions?.answers['ingestEvent']?.kind, again.extensions?.answers['ingestEvent']?.kind],
    ['Created', 'Repeated'],
  );
  const two = `mutation ($event: EventDraftInput!) { a: ingestEvent(event: $event) { eventId } b: ingestEvent(event: $event) { eventId } }`;
  assert.deepEqual(refusal(await ask(two, { event: EVENT }, by)), [
    400,
    'INVALID_HEADER',
    ['Idempotency-Key'],
  ]);
  const both = await ask(two, { event: EVENT });
  assert.notDeepEqual(both.data!['a'], both.data!['b']);
});

test('a version to change is in etag, in lists and alone, in both versions', async () => {
  const create = `mutation ($policy: PolicyConfigurationInput!) { createPolicy(policy: $policy) { policyId version etag } }`;
  const made = await ask(create, { policy: { name: 'tagged', policyType: 'Retention' } });
  const policy = made.data!['createPolicy'] as { policyId: string; etag: string };
  assert.deepEqual([policy.etag, made.extensions?.answers['createPolicy']?.kind], ['"1"', 'Created']);
  const listed = await ask(
    '{ policies { nodes { etag } edges { cursor node { policyId } } pageInfo { hasNextPage endCursor } } }',
  );
  assert.deepEqual((listed.data!['policies'] as { nodes: unknown }).nodes, [{ etag: '"1"' }]);
  const gone = await ask('mutation ($id: ID!, $tag: String) { deletePolicy(policyId: $id, ifMatch: $tag) }', {
    id: policy.policyId,
    tag: '"7"',
  });
  assert.equal(gone.errors?.[0]?.extensions.code, 'VERSION_CONFLICT');
  const done = await ask('mutation ($id: ID!, $tag: String) { deletePolicy(policyId: $id, ifMatch: $tag) }', {
    id: policy.policyId,
    tag: policy.etag,
  });
  assert.deepEqual(
    [done.data, done.extensions?.answers['deletePolicy']?.kind],
    [{ deletePolicy: true }, 'Removed'],
  );
});

test('links lead from an event to its stream and its relatives', async () => {
  const correlationId = '7d3f0c52-6a3e-4b51-9a0e-2f6b1f3c9d22';
  for (let i = 0; i < 2; i++) await ask(INGEST, { event: { ...EVENT, correlationId } });
  const query = `query ($c: [ID!]) { events(correlationId: $c) { nodes { eventId integrity { stream { status } } relatedEntities { relation event { action } } } } }`;
  await until(async () => {
    const { data } = await ask('query ($c: [ID!]) { events(correlationId: $c) { totalCount } }', {
      c: [correlationId],
    });
    return (data!['events'] as { totalCount: number }).totalCount === 2;
  });
  const { data, errors } = await ask(query, { c: [correlationId] }, { version: 'v2' });
  assert.equal(errors, undefined);
  const { nodes } = data!['events'] as {
    nodes: { integrity: unknown; relatedEntities: { relation: string; event: unknown }[] }[];
  };
  for (const { integrity, relatedEntities } of nodes) {
    assert.deepEqual(integrity, { stream: { status: 'Open' } });
    const related = relatedEntities.find(({ relation }) => relation === 'SameCorrelation');
    assert.deepEqual(related?.event, { action: EVENT.action });
  }
});

test('the schema can be asked for, unless the settings say no', async () => {
  const { data } = await ask(getIntrospectionQuery());
  assert.ok((data!['__schema'] as { types: unknown[] }).types.length > 100);
  await using closed = await startTestApp({ ...WITH_PLATFORM_KEY, GraphQL__Introspection: 'false' });
  const { key } = await callerOf(closed, 'acme');
  const headers = { 'X-API-Key': key, 'X-Tenant-Id': 'acme', 'Content-Type': 'application/json' };
  const said = async (query: string) => {
    const response = await fetch(`${closed.url}/graphql/v1`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ query }),
    });
    return response.text();
  };
  assert.match(await said('{ __schema { types { name } } }'), /VALIDATION_FAILED/);
  assert.match(await said('{ __typename }'), /"Query"/);
  const hint = await said('{ event5 { eventId } }');
  assert.match(hint, /VALIDATION_FAILED/);
  assert.doesNotMatch(hint, /Did you mean/);
});
