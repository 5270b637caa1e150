import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type CircuitRecord, standingOf } from './circuits.ts';

const AT_MS = Date.UTC(2026, 0, 2);
const OPEN: CircuitRecord = {
  round: 3,
  state: 'Open',
  consecutiveFailures: 10,
  openedAtMs: AT_MS,
  nextAttemptAtMs: AT_MS + 1000,
  isFailed: false,
};
const CLOSED = { state: 'Closed', consecutiveFailures: 0 };

test('what the deliverer has found out decides, and an open or half-open circuit is shown as paused', () => {
  const wanted = { isActive: true, round: 3 };
  assert.deepEqual(standingOf(wanted, undefined), { status: 'Active', circuit: CLOSED });
  const circuit = {
    state: 'Open',
    consecutiveFailures: 10,
    openedAt: '2026-01-02T00:00:00.000Z',
    nextAttemptAt: '2026-01-02T00:00:01.000Z',
  };
  assert.deepEqual(standingOf(wanted, OPEN), { status: 'Paused', circuit });
  const halfOpen = standingOf(wanted, { ...OPEN, state: 'HalfOpen' });
  assert.deepEqual([halfOpen.status, halfOpen.circuit.state], ['Paused', 'HalfOpen']);
  const failing = { ...OPEN, state: 'Closed', consecutiveFailures: 4, openedAtMs: undefined } as const;
  const few = standingOf(wanted, { ...failing, nextAttemptAtMs: undefined });
  assert.deepEqual(few, { status: 'Active', circuit: { state: 'Closed', consecutiveFailures: 4 } });
  assert.equal(standingOf(wanted, { ...OPEN, isFailed: true }).status, 'Failed');
});

test('a caller who pauses or resumes begins a new round, and what is known of an older one counts no more', () => {
  assert.deepEqual(standingOf({ isActive: true, round: 4 }, { ...OPEN, isFailed: true }), {
    status: 'Active',
    circuit: CLOSED,
  });
  assert.deepEqual(standingOf({ isActive: false, round: 4 }, OPEN), { status: 'Paused', circuit: CLOSED });
});

test('one that its callers have paused is paused with a closed circuit, and a failed one stays failed', () => {
  assert.deepEqual(standingOf({ isActive: false, round: 3 }, OPEN), { status: 'Paused', circuit: CLOSED });
  assert.equal(standingOf({ isActive: false, round: 3 }, { ...OPEN, isFailed: true }).status, 'Failed');
});
