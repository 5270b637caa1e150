import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFakeClock } from '../testing/fake-clock.ts';
import type { Finished } from './jobs.ts';
import { OutcomeSaver } from './outcome-saver.ts';

const finished = (jobId: string): Finished => ({
  tenant: 'acme',
  jobId,
  token: 1,
  outcome: { status: 'Done' },
});

test('an outcome that can never be saved keeps none waiting that comes later, and is given up', async () => {
  const clock = createFakeClock(0);
  const saved: string[] = [];
  const errors: string[] = [];
  const saver = new OutcomeSaver({
    store: {
      async finish(all) {
        if (all.some(({ jobId }) => jobId === 'bad')) throw new Error('out of range');
        saved.push(...all.map(({ jobId }) => jobId));
        return all.map(() => true);
      },
    },
    clock,
    telemetry: { error: (message) => void errors.push(message) },
    stopped: new AbortController().signal,
  });
  let isGivenUp = false;
  const bad = saver.save(finished('bad')).then(() => (isGivenUp = true));
  for (let i = 0; i < 10; i++) {
    // The clock stands still: nothing is saved that has to wait.
    await saver.save(finished(`good ${i}`));
    await clock.advance(5000);
  }
  assert.equal(saved.length, 10);
  assert.equal(isGivenUp, false);
  await clock.advance(600_000);
  await bad;
  assert.equal(errors.at(-1), 'the result of a job is given up; the job runs again');
});
