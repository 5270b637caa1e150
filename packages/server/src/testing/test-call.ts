// A call as the gateway would make it, and the tenant that it is about, for tests of operations.

import type { TenantRecord } from '../access/tenants.ts';
import type { Call, Correlation } from '../call.ts';
import { Deadline } from '../runtime/deadline.ts';

export const TENANT: TenantRecord = {
  tenantId: 'acme',
  tier: 'Standard',
  region: undefined,
  status: 'Active',
  defaultClassification: 'Internal',
  defaultRetention: 'P7Y',
  fourEyes: false,
  createdAtMs: 0,
  updatedAtMs: 0,
  version: 0,
  policies: [],
  holds: [],
  holdsAsOf: '0',
  fingerprintKey: new Uint8Array(32).fill(1),
};

export const CORRELATION: Correlation = {
  correlationId: '7d3f0c52-6a3e-4b51-9a0e-2f6b1f3c9d11',
  correlationIsGiven: false,
  traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
  requestId: '01KE0000000000000000000007',
};

export function testCall(more: Partial<Call> = {}): Call {
  return {
    correlation: CORRELATION,
    operation: 'events.ingest',
    version: 'v1',
    path: '/api/v1/audit-events',
    caller: {
      name: 'key:01KE0000000000000000000042',
      identity: 'key:01KE0000000000000000000042',
      tenant: 'acme',
      namesTenant: false,
      roles: ['Admin'],
      clearance: 'Secret',
      refusal: () => undefined,
    },
    tenant: 'acme',
    tenantRecord: TENANT,
    once: undefined,
    deadline: new Deadline(),
    ...more,
  };
}
