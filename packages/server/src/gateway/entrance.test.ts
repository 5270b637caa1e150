// Requests that say only in their body which operations they ask for: they enter once, and each operation passes the
// other steps by itself.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AuditError, operationNamed } from '@tallystick/contract';
import type { Authenticate } from '../access/credentials.ts';
import type { Call } from '../call.ts';
import { believeKey, boundOperations, EVENT_ID, KEY } from '../testing/bound-operations.ts';
import { createFakeClock } from '../testing/fake-clock.ts';
import { ACTIVE, arrive, build, codeOf, correlationOf, NOBODY, received } from '../testing/test-gateway.ts';
import { type Entrance, enter, type Gateway } from './pipeline.ts';

const entrance = (more: Partial<Entrance> = {}): Entrance => ({ ...arrive(), ...more });

function serving(more: Partial<Gateway> = {}): Gateway {
  const gateway = build(more);
  gateway.lifecycle.moveTo('Serving');
  return gateway;
}

/** Limits that count what they admit. */
function counted() {
  const taken = { requests: 0, ingestions: 0 };
  const rates: Gateway['rates'] = {
    admit: () => void taken.requests++,
    admitIngestion: () => void taken.ingestions++,
  };
  return { taken, rates };
}

async function codeAtEntrance(asked: Entrance, gateway: Gateway): Promise<string> {
  try {
    return (await enter(asked, gateway)).tenant ?? 'no tenant';
  } catch (error) {
    return error instanceof AuditError ? error.code : String(error);
  }
}

test('a request is refused at the entrance for the first thing that is wrong with it', async () => {
  const retired = { v1: { ...ACTIVE, state: 'Retired' }, v2: ACTIVE } as const;
  const noPermit = { ...counted().rates, admit: () => Promise.reject(new AuditError('RATE_LIMITED', 'no')) };
  const faults: [Partial<Entrance>, Partial<Gateway>, string][] = [
    [{}, { versionStates: retired }, 'API_VERSION_RETIRED'],
    [{ correlation: correlationOf('') }, {}, 'INVALID_HEADER'],
    [{}, { rates: noPermit }, 'RATE_LIMITED'],
    [{ credentials: NOBODY }, {}, 'UNAUTHENTICATED'],
    [{ tenant: 'a b' }, {}, 'INVALID_HEADER'],
    [{ tenant: 'other' }, {}, 'TENANT_MISMATCH'],
  ];
  for (let first = 0; first < faults.length; first++) {
    const [asked, parts, code] = faults
      .slice(first)
      .toReversed()
      .reduce((all, each) => [{ ...all[0], ...each[0] }, { ...all[1], ...each[1] }, each[2]]);
    assert.equal(await codeAtEntrance(entrance(asked), serving(parts)), code);
  }
  assert.equal(await codeAtEntrance(entrance(), build()), 'SERVICE_UNAVAILABLE', 'the service is starting');
  assert.equal(await codeAtEntrance(entrance(), serving()), 'acme');
  // Some operations concern no tenant: those that do say so.
  assert.equal(await codeAtEntrance(entrance({ tenant: undefined }), serving()), 'no tenant');
});

test('five operations of one request take one permit, and its credential is looked at once', async () => {
  const { taken, rates } = counted();
  let isRevoked = false;
  let authenticated = 0;
  const authenticate: Authenticate = (credentials) => {
    authenticated += 1;
    return isRevoked ? Promise.reject(new AuditError('UNAUTHENTICATED', 'revoked')) : believeKey(credentials);
  };
  const gateway = serving({ rates, authenticate });
  const entered = await enter(entrance(), gateway);
  isRevoked = true;
  for (let i = 0; i < 5; i++) assert.equal(await codeOf(arrive({ entered }), gateway), 'Created');
  assert.deepEqual({ ...taken, authenticated }, { requests: 1, ingestions: 5, authenticated: 1 });
  assert.equal(await codeAtEntrance(entrance(), gateway), 'UNAUTHENTICATED');
});

test('each operation is still judged by its own rules', async () => {
  const gateway = serving({ versionStates: { v1: { ...ACTIVE, state: 'Sunset' }, v2: ACTIVE } });
  const entered = await enter(entrance(), gateway);
  const redact = operationNamed('events.redact');
  assert.equal(await codeOf(arrive({ entered }), gateway), 'API_VERSION_SUNSET');
  assert.equal(await codeOf(arrive({ entered, operation: redact, version: 'v2' }), gateway), 'FORBIDDEN');
  const noTenant = await enter(entrance({ tenant: undefined }), gateway);
  assert.equal(await codeOf(arrive({ entered: noTenant, tenant: undefined }), gateway), 'MISSING_TENANT');
  const health = arrive({ entered, operation: operationNamed('health.live'), receive: () => received({}) });
  assert.equal(await codeOf(health, gateway), 'Done');
});

test('a suspended tenant is let in by no operation', async () => {
  const admit = () => Promise.reject(new AuditError('TENANT_SUSPENDED', 'suspended'));
  const gateway = serving({ tenancy: { admit, provide: () => assert.fail('not reached') } });
  const entered = await enter(entrance(), gateway);
  assert.equal(await codeOf(arrive({ entered }), gateway), 'TENANT_SUSPENDED');
});

test('work for which nobody waits any more stops', async () => {
  const clock = createFakeClock();
  let call: Call | undefined;
  const operations = boundOperations({
    'events.get': (given) => {
      call = given;
      return new Promise<never>(() => {});
    },
  });
  const gateway = serving({ clock, operations });
  const leaving = new AbortController();
  const arrival = arrive({
    operation: operationNamed('events.get'),
    credentials: { ...NOBODY, apiKey: KEY },
    receive: () => received({ eventId: EVENT_ID }),
    gone: leaving.signal,
  });
  const code = codeOf(arrival, gateway);
  await clock.advance(1);
  call!.deadline.throwIfPassed();
  leaving.abort();
  assert.equal(await code, 'SERVICE_UNAVAILABLE');
  assert.throws(() => call!.deadline.throwIfPassed(), { message: 'Nobody waits for the answer.' });
  assert.equal(clock.pending(), 0);
  call = undefined;
  assert.equal(await codeOf(arrival, gateway), 'SERVICE_UNAVAILABLE');
  assert.equal(call, undefined, 'who has left before is not served');
});
