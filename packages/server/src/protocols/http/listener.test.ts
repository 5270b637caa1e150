// A second protocol under the listener: a client posts the input of an operation to `/toy/<operation>`, and the status is
// always 200. It uses the gateway that REST uses.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { AuditError, type OperationName, operationsIn } from '@tallystick/contract';
import { parseJson } from '@tallystick/evidence';
import { type Gateway, passThrough } from '../../gateway/pipeline.ts';
import { shownError } from '../../gateway/shown-error.ts';
import { type AdminCaller, callerOf, WITH_PLATFORM_KEY } from '../../testing/admin-caller.ts';
import { EVENT } from '../../testing/bound-operations.ts';
import { exchangeRaw } from '../../testing/raw-http.ts';
import { startTestApp, type TestApp } from '../../testing/test-app.ts';
import { messageBinding, receiveMessage } from '../input/message-input.ts';
import { BodyBudget } from './body-budget.ts';
import { readBytes } from './body-bytes.ts';
import type { Mount } from './mount.ts';
import { ratedSender } from './rated-sender.ts';
import { callFacts } from './request-headers.ts';

function toyMount(gateway: Gateway): Mount {
  const parts = {
    clock: gateway.clock,
    budget: new BodyBudget(100_000),
    parseElsewhere: () => Promise.reject(new Error('no body here is so large')),
  };
  const said = (status: number, value: unknown) =>
    ({ status, headers: { 'Content-Type': 'toy' }, body: JSON.stringify(value), coding: undefined }) as const;
  return {
    prefix: '/toy',
    standingHeaders: { 'Content-Security-Policy': "default-src 'self'" },
    async handle(exchange) {
      const { request, correlation, path } = exchange;
      const operation = operationsIn('v2').find(({ name }) => `/toy/${name}` === path);
      if (operation === undefined) throw new AuditError('ROUTE_NOT_FOUND', `There is no ${path}.`);
      const binding = messageBinding(operation);
      const isKeyed = request.headers['idempotency-key'] !== undefined;
      const receive = async (sender: string) => {
        const bytes = await readBytes({ request, sender }, { bytesMax: 10_000, timeoutMs: 1000 }, parts);
        const { [binding.bodyMember ?? '']: body, ...members } = parseJson(Buffer.from(bytes).toString()) as {
          readonly [member: string]: unknown;
        };
        const text = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
        return receiveMessage(binding, { members, body: text, address: path }, sender, isKeyed, parts);
      };
      const facts = callFacts(exchange);
      const addressed = { addressedTenant: undefined, path };
      const sender = ratedSender(exchange, gateway.clock);
      const arrival = {
        ...facts,
        ...addressed,
        operation,
        version: 'v2',
        correlation,
        sender,
        receive,
      } as const;
      const { kind, body } = await passThrough(arrival, gateway);
      return said(200, { kind, body });
    },
    refuse: (error, place) => said(200, { fault: shownError(error, place, gateway.clock.now()) }),
  };
}

let app: TestApp;
let rest: AdminCaller;
before(async () => {
  app = await startTestApp(WITH_PLATFORM_KEY, { mounts: (gateway) => [toyMount(gateway)] });
  rest = await callerOf(app, 'acme');
});
after(() => app[Symbol.asyncDispose]());

interface Said {
  readonly kind?: string;
  readonly body?: { readonly eventId: string };
  readonly fault?: ReturnType<typeof shownError>;
}

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const TRACED = { traceparent: `00-${TRACE}-00f067aa0ba902b7-01` };

/** A header without a value is not sent. */
async function ask(name: OperationName | 'nothing', input: unknown, headers: Record<string, string> = {}) {
  const all = { 'X-API-Key': rest.key, 'X-Tenant-Id': 'acme', ...TRACED, ...headers };
  const response = await fetch(`${app.url}/toy/${name}`, {
    method: 'POST',
    headers: Object.fromEntries(Object.entries(all).filter(([, value]) => value !== '')),
    body: JSON.stringify(input),
  });
  const said = (await response.json()) as Said;
  return { ...said, headers: response.headers, code: said.kind ?? said.fault?.code };
}

test('an operation does the same for every protocol', async () => {
  const { code, body } = await ask('events.ingest', { event: EVENT });
  assert.equal(code, 'Created');
  const read = await rest.get(`/api/v2/audit-events/${body!.eventId}`);
  assert.equal(read.status, 200);
  const { body: same } = await ask('events.get', { eventId: body!.eventId });
  assert.deepEqual(same, JSON.parse(read.text));
});

test('an idempotency key is honoured', async () => {
  const key = { 'Idempotency-Key': 'toy-1' };
  const first = await ask('events.ingest', { event: EVENT }, key);
  const again = await ask('events.ingest', { event: EVENT }, key);
  assert.deepEqual([first.code, again.code], ['Created', 'Repeated']);
  assert.equal(again.body!.eventId, first.body!.eventId);
  const other = await ask('events.ingest', { event: { ...EVENT, action: 'Read.Invoice' } }, key);
  assert.equal(other.code, 'IDEMPOTENCY_KEY_REUSED');
  assert.equal((await ask('events.ingest', {}, { 'Idempotency-Key': 'a b' })).code, 'INVALID_HEADER');
});

test('nobody comes in by the side: the same refusals, each with its code and trace id', async () => {
  const table: [code: string, input: unknown, headers: Record<string, string>][] = [
    ['UNAUTHENTICATED', { event: EVENT }, { 'X-API-Key': '' }],
    ['UNAUTHENTICATED', { event: EVENT }, { 'X-API-Key': 'another' }],
    ['MISSING_TENANT', { event: EVENT }, { 'X-Tenant-Id': '' }],
    ['TENANT_MISMATCH', { event: EVENT }, { 'X-Tenant-Id': 'other' }],
    ['TENANT_MISMATCH', { event: { ...EVENT, tenantId: 'other' } }, {}],
    ['INVALID_HEADER', { event: EVENT }, { 'X-Correlation-Id': 'a b' }],
    ['REQUEST_TOO_LARGE', { event: { ...EVENT, payload: { text: 'x'.repeat(10_000) } } }, {}],
  ];
  for (const [code, input, headers] of table) {
    const { fault } = await ask('events.ingest', input, headers);
    assert.deepEqual([fault?.code, fault?.traceId, fault?.path], [code, TRACE, '/toy/events.ingest'], code);
  }
  assert.equal((await ask('log.key', { tenantId: 'other' })).fault?.code, 'TENANT_MISMATCH');
  assert.equal((await ask('nothing', {})).fault?.code, 'ROUTE_NOT_FOUND');
});

test('what breaks a rule is named by its place in the message', async () => {
  const asked = { streamId: 5, unknown: 1 };
  const { fault } = await ask('streams.verify', asked);
  const search = await ask('events.search', { search: { query: 5 }, more: true });
  assert.deepEqual(
    [fault, search.fault].map((each) => [each?.code, each?.details.map(({ field }) => field)]),
    [
      ['VALIDATION_FAILED', ['unknown', 'streamId']],
      ['VALIDATION_FAILED', ['query']],
    ],
  );
});

test('each mount has its own headers, and refuses in its own form what is no HTTP', async () => {
  const policyOf = (headers: Headers) => headers.get('Content-Security-Policy');
  const toy = await ask('events.ingest', { event: EVENT }, { 'X-Correlation-Id': 'c-1' });
  assert.deepEqual(
    [policyOf(toy.headers), toy.headers.get('X-Correlation-Id')],
    ["default-src 'self'", 'c-1'],
  );
  assert.equal(toy.headers.get('api-supported-versions'), null);
  const beside = await rest.get('/toys');
  assert.deepEqual([beside.code, policyOf(beside.headers)], ['404 ROUTE_NOT_FOUND', "default-src 'none'"]);
  for (const [path, form] of [
    ['/toy/events.ingest', /^\{"fault":\{"code":"INVALID_HEADER"/],
    ['/api/v1/audit-events', /^\{"error":\{"code":"INVALID_HEADER"/],
  ] as const) {
    for (const head of ['Host: a\r\nHost: b\r\n\r\n', 'Host: a\r\nno header\r\n\r\n']) {
      const [answer] = await exchangeRaw(app.port, `POST ${path} HTTP/1.1\r\n${head}`);
      assert.match(answer!.body, form, head);
    }
  }
});
