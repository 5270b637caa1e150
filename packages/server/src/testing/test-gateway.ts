// A gateway of nothing but functions, and requests to it as a protocol hands them over, for tests.

import assert from 'node:assert/strict';
import { AuditError, operationNamed } from '@tallystick/contract';
import { createHealth } from '../admin/health.ts';
import { createLifecycle } from '../admin/lifecycle.ts';
import { createLogGrowth } from '../admin/log-growth.ts';
import { createMeter } from '../admin/meter.ts';
import type { InputPlace } from '../call.ts';
import { RequestCorrelation } from '../gateway/correlation.ts';
import { type Arrival, type Gateway, passThrough } from '../gateway/pipeline.ts';
import { createValidate } from '../gateway/validate.ts';
import { bindOperations } from '../operations.ts';
import { createSystemRandom } from '../runtime/random.ts';
import { believeKey, boundOperations, EVENT, EVENT_ID, KEY } from './bound-operations.ts';
import { createFakeClock } from './fake-clock.ts';
import { TENANT } from './test-call.ts';

export const NOBODY = { apiKey: undefined, authorization: undefined };
export const ACTIVE = { state: 'Active', deprecationDate: undefined, sunsetDate: undefined } as const;

export const received = (input: Record<string, unknown>, place: InputPlace = 'Body') =>
  Promise.resolve({
    input,
    violations: [],
    unlisted: 0,
    text: undefined,
    fingerprinted: ['what was asked'],
    placeOf: () => place,
  });

export const RECEIPT = {
  eventId: EVENT_ID,
  tenantId: 'acme',
  status: 'Accepted',
  timestamp: '2026-01-02T03:04:05.000Z',
  message: 'Event accepted.',
  idempotent: false,
} as const;

export function build(more: Partial<Gateway> = {}): Gateway {
  const clock = createFakeClock();
  const lifecycle = createLifecycle();
  return {
    clock,
    lifecycle,
    growth: createLogGrowth(),
    meter: createMeter(clock),
    versionStates: { v1: ACTIVE, v2: ACTIVE },
    authenticate: believeKey,
    rates: undefined,
    tenancy: { admit: () => Promise.resolve(TENANT), provide: () => assert.fail('it is there') },
    answerOnce: () => assert.fail('no key was sent'),
    validate: createValidate(),
    operations: {
      ...bindOperations({ health: createHealth(clock, lifecycle) }),
      ...boundOperations({ 'events.ingest': () => Promise.resolve({ kind: 'Created', body: RECEIPT }) }),
    },
    ...more,
  };
}

const ids = { random: createSystemRandom(), nextId: () => EVENT_ID };
export const correlationOf = (given?: string) => new RequestCorrelation(given, undefined, ids);

export function arrive(more: Partial<Arrival> = {}): Arrival {
  return {
    operation: operationNamed('events.ingest'),
    version: 'v1',
    correlation: correlationOf('c'),
    credentials: { ...NOBODY, apiKey: KEY },
    tenant: 'acme',
    addressedTenant: undefined,
    idempotencyKey: undefined,
    sender: { partition: () => 'x', isGone: () => false, onRate: () => {} },
    path: '/api/v1/audit-events',
    receive: () => received({ event: structuredClone(EVENT) }),
    ...more,
  };
}

export async function codeOf(arrival: Arrival, gateway: Gateway): Promise<string> {
  try {
    return (await passThrough(arrival, gateway)).kind;
  } catch (error) {
    return error instanceof AuditError ? error.code : String(error);
  }
}
