import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AuditError, operationNamed, type OperationName } from '@tallystick/contract';
import type { Call, Received } from '../call.ts';
import type { LogOwner, UsedIdempotencyKey } from '../operations.ts';
import { believeKey, boundOperations, EVENT, EVENT_ID, KEY } from '../testing/bound-operations.ts';
import { createFakeClock } from '../testing/fake-clock.ts';
import { TENANT } from '../testing/test-call.ts';
import {
  ACTIVE,
  arrive,
  build,
  codeOf,
  correlationOf,
  NOBODY,
  RECEIPT,
  received,
} from '../testing/test-gateway.ts';
import { type Arrival } from './pipeline.ts';
import { createMeter } from '../admin/meter.ts';

test('while the service starts, probes are answered and everything else waits', async () => {
  const gateway = build();
  const probe = arrive({
    operation: operationNamed('health.live'),
    receive: () => received({}, 'Query'),
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
    [{ credentials: NOBODY }, 'UNAUTHENTICATED'],
    [{ correlation: correlationOf('') }, 'INVALID_HEADER'],
    [{ tenant: 'other' }, 'TENANT_MISMATCH'],
    [{ operation: operationNamed('events.redact') }, 'FORBIDDEN'],
  ];
  const gateway = build();
  gateway.lifecycle.moveTo('Serving');
  for (const [more, expected] of refused) {
    assert.equal(await codeOf(arrive({ ...more, receive }), gateway), expected);
  }
});

test('a sunset version refuses a write to those who may write, and tells others what they lack', async () => {
  const receive = () => assert.fail('the body was read');
  const refused: [Partial<Arrival>, string][] = [
    [{ credentials: NOBODY }, 'UNAUTHENTICATED'],
    [{ credentials: { ...NOBODY, apiKey: 'another' } }, 'UNAUTHENTICATED'],
    [{ tenant: undefined }, 'MISSING_TENANT'],
    [{ tenant: 'other' }, 'TENANT_MISMATCH'],
    [{ operation: operationNamed('events.redact') }, 'FORBIDDEN'],
    [{}, 'API_VERSION_SUNSET'],
  ];
  const gateway = build({ versionStates: { v1: { ...ACTIVE, state: 'Sunset' }, v2: ACTIVE } });
  gateway.lifecycle.moveTo('Serving');
  for (const [more, expected] of refused) {
    assert.equal(await codeOf(arrive({ ...more, receive }), gateway), expected);
  }
  assert.equal(await codeOf(arrive({ version: 'v2' }), gateway), 'Created');
});

test('a retired version is gone for everyone, with or without a credential', async () => {
  const gateway = build({ versionStates: { v1: { ...ACTIVE, state: 'Retired' }, v2: ACTIVE } });
  gateway.lifecycle.moveTo('Serving');
  for (const credentials of [NOBODY, arrive().credentials]) {
    assert.equal(await codeOf(arrive({ credentials }), gateway), 'API_VERSION_RETIRED');
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
  const receive = () => received({ event: { ...EVENT, context: null } });
  assert.equal(await codeOf(arrive({ receive, version: 'v2' }), gateway), 'RATE_LIMITED');
  const { caller, deadline, correlation, ...call } = seen!.call;
  assert.deepEqual(call, {
    operation: 'events.ingest',
    version: 'v2',
    path: '/api/v1/audit-events',
    tenant: 'acme',
    tenantRecord: TENANT,
    once: undefined,
  });
  assert.deepEqual([correlation.correlationId, correlation.correlationIsGiven], ['c', true]);
  assert.equal(caller?.name, 'key:01KE0000000000000000000042');
  deadline.throwIfPassed();
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
    receive: () => received({ batch: { events: [{}] } }),
  });
  const codes = Promise.all([codeOf(arrive(), gateway), codeOf(batch, gateway)]);
  await clock.advance(35_000);
  assert.equal(clock.pending(), 1, 'the batch has more time');
  await clock.advance(25_000);
  assert.deepEqual(await codes, ['SERVICE_UNAVAILABLE', 'BATCH_TIMEOUT']);
});

test('a key is read after the body and before anything in it is judged', async () => {
  const gateway = build();
  gateway.lifecycle.moveTo('Serving');
  const idempotencyKey = 'a b';
  assert.equal(
    await codeOf(arrive({ idempotencyKey, receive: () => received({ event: 5 }) }), gateway),
    'INVALID_HEADER',
  );
  const broken = () => Promise.reject(new AuditError('MALFORMED_JSON', 'no'));
  assert.equal(await codeOf(arrive({ idempotencyKey, receive: broken }), gateway), 'MALFORMED_JSON');
});

test('an operation that honours keys is asked once, others do not look at the key', async () => {
  const asked: string[] = [];
  const answerAgain = () => ({ kind: 'Repeated', body: RECEIPT }) as const;
  const perform = () => Promise.resolve({ kind: 'Created', body: RECEIPT } as const);
  const gateway = build({
    operations: boundOperations({ 'events.ingest': { perform, answerAgain } }),
    answerOnce: (call, _, __, performNow) => {
      asked.push(call.once!.key);
      return performNow();
    },
  });
  gateway.lifecycle.moveTo('Serving');
  const idempotencyKey = 'k-1';
  assert.equal(await codeOf(arrive({ idempotencyKey }), gateway), 'Created');
  assert.deepEqual(asked, ['k-1']);
  const status = arrive({
    operation: operationNamed('policies.delete'),
    idempotencyKey: 'a b',
    receive: () => received({ policyId: EVENT_ID }, 'Path'),
  });
  assert.equal(await codeOf(status, gateway), 'Removed');
});

test('a key is looked up in the log that the operation writes to, and the call keeps its own tenant', async () => {
  const other = { ...TENANT, tenantId: 'other' };
  const seen: unknown[] = [];
  const bound = (writesTo: LogOwner | undefined) => ({
    writesTo: () => Promise.resolve(writesTo),
    answerAgain: () => assert.fail('it was not done before'),
    perform: (call: Call) => {
      seen.push([call.tenant, call.tenantRecord]);
      return Promise.resolve({ kind: 'Created', body: RECEIPT } as const);
    },
  });
  const absent = { tenant: 'absent', tenantRecord: undefined };
  for (const writesTo of [{ tenant: 'other', tenantRecord: other }, undefined, absent]) {
    const gateway = build({
      operations: boundOperations({ 'events.ingest': bound(writesTo) }),
      answerOnce: (log, _, __, performNow) => {
        seen.push([log.tenant, log.tenantRecord]);
        return performNow();
      },
    });
    gateway.lifecycle.moveTo('Serving');
    assert.equal(await codeOf(arrive({ idempotencyKey: 'k-1' }), gateway), 'Created');
  }
  const own = ['acme', TENANT];
  assert.deepEqual(seen, [['other', other], own, own, own, ['absent', undefined], own]);
});

test('a repeat is read as the first request was: validated, or as it came where the operation judges that', async () => {
  const seen: unknown[] = [];
  const answerAgain = (_: Call, { input }: Received) => {
    seen.push(input);
    return { kind: 'Repeated', body: RECEIPT } as const;
  };
  const never = () => assert.fail('it was done before');
  const used: UsedIdempotencyKey = {
    fingerprint: new Uint8Array(),
    classification: 'Public',
    expiresAtMs: 0,
    note: '',
    outcomes: [],
  };
  const event = { ...EVENT, payload: null };
  for (const bound of [
    { perform: never, answerAgain },
    { performUnvalidated: never, answerAgain },
  ]) {
    const gateway = build({
      operations: boundOperations({ 'events.ingest': bound }),
      answerOnce: async (_, __, repeat) => repeat(used),
    });
    gateway.lifecycle.moveTo('Serving');
    const idempotencyKey = 'k-1';
    assert.equal(
      await codeOf(arrive({ idempotencyKey, receive: () => received({ event }) }), gateway),
      'Repeated',
    );
  }
  const { payload: _, ...rest } = event;
  assert.deepEqual(seen, [{ event: { ...rest, outcome: 'Success' } }, { event }]);
});

test("the body's correlation id goes into the call and into every answer", async () => {
  const seen: string[] = [];
  const gateway = build({
    operations: boundOperations({
      'events.ingest': (call) => {
        seen.push(call.correlation.correlationId);
        return Promise.resolve({ kind: 'Created', body: RECEIPT });
      },
    }),
  });
  gateway.lifecycle.moveTo('Serving');
  const correlationId = '7d3f0c52-6a3e-4b51-9a0e-2f6b1f3c9d11';
  const sound = arrive({
    correlation: correlationOf(),
    receive: () => received({ event: { ...EVENT, correlationId } }),
  });
  assert.equal(await codeOf(sound, gateway), 'Created');
  const refused = arrive({
    correlation: correlationOf(),
    receive: () => received({ event: { correlationId } }),
  });
  assert.equal(await codeOf(refused, gateway), 'VALIDATION_FAILED');
  assert.deepEqual(
    [seen, sound.correlation.correlationId, refused.correlation.correlationId],
    [[correlationId], correlationId, correlationId],
  );
});

test('a tenant is made by a write that is sound, and by no other call', async () => {
  const provided: string[] = [];
  const gateway = build({
    tenancy: {
      admit: () => Promise.resolve(undefined),
      provide: (tenantId) => {
        provided.push(tenantId);
        return Promise.resolve(TENANT);
      },
    },
  });
  gateway.lifecycle.moveTo('Serving');
  assert.equal(
    await codeOf(arrive({ receive: () => received({ event: {} }) }), gateway),
    'VALIDATION_FAILED',
  );
  assert.deepEqual(provided, []);
  assert.equal(await codeOf(arrive(), gateway), 'Created');
  assert.deepEqual(provided, ['acme']);
});

test('every call is noted once, with how it ended, for the tenant that it concerns alone', async () => {
  const clock = createFakeClock();
  const meter = createMeter(clock);
  const fails = () => Promise.reject(new Error('ours'));
  const done = () => Promise.resolve({ kind: 'Created', body: RECEIPT } as const);
  let outcome: typeof done | typeof fails = done;
  const operations = boundOperations({ 'events.ingest': () => outcome(), 'tenants.list': fails });
  const platform = { ...(await believeKey({ apiKey: KEY, authorization: undefined })), tenant: '*' as const };
  const gateway = build({ clock, meter, operations });
  gateway.lifecycle.moveTo('Serving');
  const byPlatform = { ...gateway, authenticate: () => Promise.resolve(platform) };
  const at = (name: OperationName) =>
    arrive({ operation: operationNamed(name), receive: () => received({}, 'Query') });

  await codeOf(arrive(), gateway);
  outcome = fails;
  await codeOf(arrive(), gateway);
  await codeOf(arrive({ receive: () => received({ event: {} }) }), gateway);
  await codeOf(arrive({ credentials: NOBODY }), gateway);
  await codeOf(arrive({ tenant: 'other' }), gateway);
  await codeOf(at('status.get'), gateway);
  await codeOf(at('status.get'), byPlatform);
  await codeOf(at('tenants.list'), byPlatform);
  outcome = done;
  await codeOf(arrive(), byPlatform);

  const counted = ({ requests }: ReturnType<typeof meter.ofProcess>) =>
    requests.map(({ operation, status, count }) => `${operation} ${status} ${count}`);
  assert.deepEqual(counted(meter.ofTenant('acme')), [
    'events.ingest 2xx 2',
    'events.ingest 4xx 1',
    'events.ingest 5xx 1',
    'status.get 5xx 1',
  ]);
  assert.deepEqual(
    counted(meter.ofTenant('other')),
    [],
    'a caller who may not name it leaves no trace there',
  );
  assert.deepEqual(counted(meter.ofProcess()), [
    'events.ingest 2xx 2',
    'events.ingest 4xx 3',
    'events.ingest 5xx 1',
    'status.get 5xx 2',
    'tenants.list 5xx 1',
  ]);
  const { answered, failed } = meter.ofProcess().availability;
  assert.deepEqual([answered, failed], [7, 4], 'without the two whose callers may not make them');
});

test('the time that a client takes to send its request is no time of the service', async () => {
  const clock = createFakeClock();
  const meter = createMeter(clock);
  const gateway = build({ clock, meter });
  gateway.lifecycle.moveTo('Serving');
  const receive: Arrival['receive'] = async (_, onSent) => {
    const beganNs = clock.monotonicNs();
    await clock.advance(5000);
    onSent(clock.monotonicNs() - beganNs);
    return await received({ event: EVENT });
  };
  assert.equal(await codeOf(arrive({ receive }), gateway), 'Created');
  const { count, sumSeconds } = meter.ofTenant('acme').ingest;
  assert.deepEqual([count, sumSeconds], [1, 0]);
});
