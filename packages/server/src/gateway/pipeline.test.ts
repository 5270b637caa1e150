import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AuditError, operationNamed } from '@tallystick/contract';
import { createHealth } from '../admin/health.ts';
import { createLifecycle } from '../admin/lifecycle.ts';
import type { Call } from '../call.ts';
import { bindOperations } from '../operations.ts';
import { createFakeClock } from '../runtime/fake-clock.ts';
import { ALLOWED, believeKey, boundOperations, EVENT } from '../testing/bound-operations.ts';
import { type Arrival, type Gateway, passThrough } from './pipeline.ts';
import { createValidate } from './validate.ts';

const HEADERS = Object.fromEntries(
  Object.entries(ALLOWED).map(([name, value]) => [name.toLowerCase(), value]),
);
const ACTIVE = { state: 'Active', deprecationDate: undefined, sunsetDate: undefined } as const;

function build(more: Partial<Gateway> = {}): Gateway {
  const clock = createFakeClock();
  const lifecycle = createLifecycle();
  return {
    clock,
    lifecycle,
    versionStates: { v1: ACTIVE, v2: ACTIVE },
    authenticate: believeKey,
    validate: createValidate(),
    operations: { ...bindOperations({ health: createHealth(clock, lifecycle) }), ...boundOperations() },
    ...more,
  };
}

function arrive(more: Partial<Arrival> = {}): Arrival {
  return {
    operation: operationNamed('events.ingest'),
    version: 'v1',
    correlation: { correlationId: 'c', correlationIsGiven: true, traceId: 't', requestId: 'r' },
    headers: HEADERS,
    receive: () =>
      Promise.resolve({ input: { event: structuredClone(EVENT) }, violations: [], placeOf: () => 'Body' }),
    ...more,
  };
}

async function codeOf(arrival: Arrival, gateway: Gateway): Promise<string> {
  try {
    return (await passThrough(arrival, gateway)).kind;
  } catch (error) {
    return error instanceof AuditError ? error.code : String(error);
  }
}

test('while the service starts, probes are answered and everything else waits', async () => {
  const gateway = build();
  const probe = arrive({
    operation: operationNamed('health.live'),
    receive: () => Promise.resolve({ input: {}, violations: [], placeOf: () => 'Query' }),
  });
  assert.equal(await codeOf(arrive(), gateway), 'SERVICE_UNAVAILABLE');
  assert.equal(await codeOf(probe, gateway), 'Done');
  gateway.lifecycle.moveTo('Serving');
  assert.equal(await codeOf(arrive(), gateway), 'Created');
  gateway.lifecycle.moveTo('Draining');
  assert.equal(await codeOf(arrive(), gateway), 'Created', 'what is accepted is served to the end');
});

test('nobody whose call is refused has their body read', async () => {
  const receive = () => assert.fail('the body was read');
  const refused: [Partial<Arrival>, string][] = [
    [{ headers: {} }, 'UNAUTHENTICATED'],
    [{ headers: { ...HEADERS, 'x-correlation-id': '' } }, 'INVALID_HEADER'],
    [{ headers: { ...HEADERS, 'x-tenant-id': 'other' } }, 'TENANT_MISMATCH'],
    [{ operation: operationNamed('events.redact') }, 'FORBIDDEN'],
  ];
  const gateway = build();
  gateway.lifecycle.moveTo('Serving');
  for (const [more, expected] of refused) {
    assert.equal(await codeOf(arrive({ ...more, receive }), gateway), expected);
  }
});

test('an operation gets the call that was made of the request, and a sound input', async () => {
  let seen: { call: Call; input: unknown } | undefined;
  const operations = boundOperations({
    'events.ingest': (call, input) => {
      seen = { call, input };
      return Promise.reject(new AuditError('RATE_LIMITED', 'enough seen'));
    },
  });
  const gateway = build({ operations });
  gateway.lifecycle.moveTo('Serving');
  const input = { event: { ...EVENT, context: null } };
  const receive: Arrival['receive'] = () => Promise.resolve({ input, violations: [], placeOf: () => 'Body' });
  assert.equal(await codeOf(arrive({ receive, version: 'v2' }), gateway), 'RATE_LIMITED');
  const { caller, deadline, ...call } = seen!.call;
  assert.deepEqual(call, {
    operation: 'events.ingest',
    version: 'v2',
    tenant: 'acme',
    correlationId: 'c',
    correlationIsGiven: true,
    traceId: 't',
    requestId: 'r',
  });
  assert.equal(caller?.name, 'key:01KE0000000000000000000042');
  assert.equal(deadline.aborted, false);
  assert.equal('context' in (seen!.input as { event: object }).event, false, 'null means absent');
});

test('an operation that takes too long is answered with its own error, others with 503', async () => {
  const never = () => new Promise<never>(() => {});
  const clock = createFakeClock();
  const gateway = build({
    clock,
    operations: boundOperations({ 'events.ingest': never, 'events.ingestBatch': never }),
  });
  gateway.lifecycle.moveTo('Serving');
  const batch = arrive({
    operation: operationNamed('events.ingestBatch'),
    receive: () =>
      Promise.resolve({ input: { batch: { events: [{}] } }, violations: [], placeOf: () => 'Body' }),
  });
  const codes = Promise.all([codeOf(arrive(), gateway), codeOf(batch, gateway)]);
  await clock.advance(35_000);
  assert.equal(clock.pending(), 1, 'the batch has more time');
  await clock.advance(25_000);
  assert.deepEqual(await codes, ['SERVICE_UNAVAILABLE', 'BATCH_TIMEOUT']);
});
