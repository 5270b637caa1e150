import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AuditError, type TenantId } from '@tallystick/contract';
import { createFakeClock } from '../../testing/fake-clock.ts';
import { LastingAnswers } from './lasting-answers.ts';

const [ACME, OTHER, THIRD] = ['acme', 'other', 'third'] as [TenantId, TenantId, TenantId];
const LIMITED = { perOwnerMax: 2, owner: 'tenant', max: 3, ms: 3_600_000 };

const codeOf = (run: () => unknown): string => {
  try {
    run();
  } catch (error) {
    return error instanceof AuditError ? `${error.code}: ${error.message}` : String(error);
  }
  return 'none';
};

test('so many last for a tenant and for the process, and one that is over makes room', () => {
  const answers = new LastingAnswers(new AbortController().signal, createFakeClock(), LIMITED);
  const first = answers.begin(ACME);
  answers.begin(ACME);
  assert.match(
    codeOf(() => answers.begin(ACME)),
    /^RATE_LIMITED: .* of a tenant at a time is 2/,
  );
  answers.begin(OTHER);
  assert.match(
    codeOf(() => answers.begin(THIRD)),
    /^RATE_LIMITED: .* at a time is 3/,
  );
  for (let i = 0; i < 2; i++) first[Symbol.dispose]();
  answers.begin(ACME);
  assert.match(
    codeOf(() => answers.begin(THIRD)),
    /^RATE_LIMITED/,
  );
});

test('each ends when its reader leaves, after its time, and when the service drains', async () => {
  const clock = createFakeClock();
  const drain = new AbortController();
  const answers = new LastingAnswers(drain.signal, clock, LIMITED);
  const gone = answers.begin(ACME);
  gone.leave();
  gone[Symbol.dispose]();
  const old = answers.begin(ACME);
  await clock.advance(LIMITED.ms);
  const last = answers.begin(ACME);
  drain.abort();
  assert.deepEqual(
    [gone, old, last].map(({ signal }) => signal.reason as unknown),
    ['Gone', 'Over', 'Draining'],
  );
  assert.match(
    codeOf(() => answers.begin(ACME)),
    /^SERVICE_UNAVAILABLE/,
  );
  last[Symbol.dispose]();
  assert.equal(clock.pending(), 0);
});
