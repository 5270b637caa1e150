import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LIMITS } from '@tallystick/contract';
import type { HoldRecord } from './hold.ts';
import { holdBudgetFaults } from './hold-faults.ts';

function holdOf(more: Partial<HoldRecord> = {}): HoldRecord {
  return {
    holdId: '01KE0000000000000000000001',
    tenantId: 'acme',
    version: 1,
    name: 'Case 7',
    reason: 'Court order',
    conditions: undefined,
    range: undefined,
    status: 'Active',
    createdAtMs: 0,
    createdBy: 'key',
    release: undefined,
    ...more,
  };
}

const manyOf = (count: number, more: Partial<HoldRecord> = {}) =>
  Array.from({ length: count }, () => holdOf(more));
const issues = (hold: HoldRecord, all: readonly HoldRecord[]) =>
  holdBudgetFaults(hold, all).map(({ field, issue }) => `${field} ${issue}`.trim());

test('a tenant has a limit of active holds, and released ones do not count', () => {
  const released = manyOf(500, { status: 'Released' });
  assert.deepEqual(issues(holdOf(), [...manyOf(LIMITS.activeHoldsMax - 1), ...released]), []);
  assert.deepEqual(issues(holdOf(), manyOf(LIMITS.activeHoldsMax)), [
    'must leave at most 200 active holds of a tenant; there would be 201',
  ]);
});

test('all holds of a tenant together have limits of number and length', () => {
  const released = manyOf(LIMITS.holdRecordsMax, { status: 'Released' });
  assert.match(issues(holdOf(), released)[0]!, /10000 holds of a tenant, with those that are released/);
  const long = manyOf(5, { status: 'Released', reason: 'x'.repeat(1024 * 1024) });
  assert.match(issues(holdOf(), long)[0]!, /^conditions must leave at most 4194304 characters of JSON/);
});

test('the conditions of active holds have the limits that those of active policies have', () => {
  const detecting = { conditions: { payload: { detects: 'Iban' } } } as const;
  assert.deepEqual(issues(holdOf(detecting), manyOf(LIMITS.activeDetectorsMax - 1, detecting)), []);
  assert.match(
    issues(holdOf(detecting), manyOf(20, detecting))[0]!,
    /20 conditions with detects in the active holds/,
  );
  const searching = {
    conditions: Object.fromEntries(
      Array.from({ length: 50 }, (_, i) => [`payload.a${i}`, { contains: 'x' }]),
    ),
  };
  assert.match(issues(holdOf(searching), manyOf(4, searching))[0]!, /200 conditions with contains or \[\*\]/);
});
