import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Rule } from '@tallystick/contract';
import { policyRecord } from '../policies/testing/policy-record.ts';
import { testCall } from '../testing/test-call.ts';
import { isPolicyInUse, type PolicyUseParts } from './policy-use.ts';

const HOLDING = {
  ruleId: 'r',
  enabled: true,
  conditions: { action: 'Close.Order' },
  effect: { retentionPeriod: 'P1D', legalHold: true },
} as unknown as Rule;

/** An index of so many events that nothing holds, of which a portion takes so long to ask. */
function useOf(events: number, portionMs: number) {
  let [nowMs, asked] = [0, 0];
  const find = async ({ decidedBy, rowsMax }: { decidedBy?: string; rowsMax: number }) => {
    if (decidedBy !== undefined) return { total: 0, events: [] };
    nowMs += portionMs;
    const found = Math.min(rowsMax, events - asked);
    asked += found;
    const stored = { index: 0, entry: new Uint8Array(0), content: undefined };
    return {
      total: events,
      isCut: false,
      events: Array.from({ length: found }, () => ({ stored, place: [1] })),
    };
  };
  const parts = {
    index: { forTenant: () => ({ find }) },
    clock: { monotonicNs: () => nowMs * 1e6 },
  } as unknown as PolicyUseParts;
  const { caller } = testCall();
  const call = testCall({ caller: { ...caller!, clearance: 'Secret' } });
  return isPolicyInUse(call, policyRecord({ policyType: 'Retention', rules: [HOLDING] }), parts);
}

test('a policy that holds nothing is not in use, however many events there are, as long as all can be asked', async () => {
  assert.equal(await useOf(50_000, 10), false);
  assert.equal(await useOf(50_000, 1000), true, 'ten seconds were not enough');
});
