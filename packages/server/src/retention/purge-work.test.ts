import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Job } from '../work/jobs.ts';
import { type PurgeParts, purgeWork } from './purge-work.ts';

function outOfAttempts(body: 'Tidy' | { readonly stream: number }) {
  const errors: string[] = [];
  const telemetry = { error: (what: string) => void errors.push(what) };
  const parts = { telemetry, nextId: () => 'next' } as unknown as PurgeParts;
  const job = { tenant: 'acme', body: JSON.stringify(body), reason: 'a reader is in the way' } as Job;
  return { outcome: purgeWork(parts).outOfAttempts!(job), errors };
}

const AGAIN = { tenant: 'acme', jobId: 'next', kind: 'Purge', uniqueKey: 'Tidy', body: '"Tidy"' };

test('what a purge has left in files is removed later, however often that has failed', () => {
  const { outcome, errors } = outOfAttempts('Tidy');
  assert.deepEqual(errors, ['traces of removed content stay for now']);
  assert.deepEqual(outcome, { status: 'Done', jobs: [{ ...AGAIN, dueInMs: 60_000 }] });
});

test('a stream whose purge fails is left to the next sweep; of what was removed of it nothing is left in files', () => {
  const { outcome, errors } = outOfAttempts({ stream: 0 });
  assert.deepEqual(errors, ['expired content could not be removed']);
  assert.deepEqual(outcome, { status: 'Done', jobs: [{ ...AGAIN, dueInMs: 60_000 }] });
});
