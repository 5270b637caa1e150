import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Rule } from '@tallystick/contract';
import { policyRecord } from '../policies/testing/policy-record.ts';
import { TENANT, testCall } from '../testing/test-call.ts';
import { createViolationOperations } from './violation-operations.ts';
import type { StoredViolation, TenantViolations } from './violations.ts';

const none = async (): Promise<never> => assert.fail('not asked for');

/** The newest of so many, of events that nobody may see. */
function violationAt(at: number): StoredViolation {
  return {
    tenant: 'acme',
    violationId: String(at).padStart(26, '0'),
    kind: 'Violation',
    policyId: 'p',
    policyName: 'Watch',
    policyVersion: 1,
    ruleId: 'r',
    violationType: 'Anomaly',
    severity: 'Low',
    eventId: 'e',
    classification: 'Internal',
    highest: 'Internal',
    detectedAtMs: 0,
    acknowledged: undefined,
  };
}

test('a list costs no more the more violations are withheld by rules, and says that there may be more', async () => {
  const rule = { ruleId: 'r', enabled: true, conditions: {}, effect: { access: 'Deny', roles: ['Admin'] } };
  const policies = [policyRecord({ policyType: 'Access', rules: [rule as unknown as Rule] })];
  let read = 0;
  const violations: TenantViolations = {
    windows: none,
    count: none,
    find: none,
    acknowledge: none,
    forgetValues: none,
    withValues: none,
    removeOf: none,
    removeWindows: none,
    async list(_, { limit }) {
      read += limit;
      return Array.from({ length: limit }, (__, i) => violationAt(1e9 - read - i));
    },
  };
  const event = async () => undefined;
  const parts = {
    violations: { forTenant: () => violations },
    log: { forTenant: () => ({ event }) },
    cursors: { make: () => 'cursor', read: none },
    sequencer: { append: none },
  };
  const { perform } = createViolationOperations(
    parts as unknown as Parameters<typeof createViolationOperations>[0],
  )['violations.list'];
  const call = testCall({ operation: 'violations.list', tenantRecord: { ...TENANT, policies } });
  const { body } = await perform(call, {});
  assert.ok(read < 12_000, `${read} are read`);
  assert.deepEqual(
    [body.data, body.pagination.totalRelation, body.pagination.hasMore],
    [[], 'AtLeast', false],
  );
});
