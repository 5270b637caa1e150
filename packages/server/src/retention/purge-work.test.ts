import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSystemRandom } from '../runtime/random.ts';
import { systemClock } from '../runtime/clock.ts';
import { append, draftOf, nextId, NOW_MS, request } from '../storage/conformance/claims.ts';
import { createSequencer } from '../streams/append/sequencer.ts';
import type { IndexSpan } from '../streams/removal/removal.ts';
import { checkpointedStores } from '../testing/checkpointed-store.ts';
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

/** Of a store whose rows nobody has altered. */
const BELIEVING = {
  trees: {
    forTenant: () => ({
      provenContents: async ({ spans }: { spans: readonly IndexSpan[] }) => ({
        contents: spans.flatMap(({ firstIndex, endIndex }) =>
          Array.from({ length: endIndex - firstIndex }, (_, i) => ({
            index: firstIndex + i,
            expiresAtMs: 0,
          })),
        ),
        unproven: [],
        nextIndex: spans.at(-1)!.endIndex,
      }),
    }),
  },
  signing: { publicKeys: () => [] },
  histories: {
    of: () => ({
      readTo: async () => {},
      asksNothing: async () => true,
      at: () => ({ endOf: () => ({ atMs: 0 }) }),
    }),
  },
};

const stores = checkpointedStores();

test('a purge that is told to stop has what it has removed tidied up, and goes on with the rest later', async () => {
  const { storage, checkpointer, covers } = await stores.open(stores.newPlace());
  await storage.tenants.ensure('acme', NOW_MS);
  // Spans of one event each: there is more than one portion of them.
  const drafts = Array.from({ length: 5200 }, (_, i) =>
    draftOf({}, { retention: i % 4 === 0 ? 'PT1S' : undefined }),
  );
  for (let i = 0; i < drafts.length; i += 1000)
    await append(storage, request('acme', drafts.slice(i, i + 1000)));
  await covers('acme', drafts.length);
  await using sequencer = createSequencer({
    writer: storage.log,
    clock: systemClock,
    steadyNowMs: () => systemClock.now(),
  });
  const stop = new AbortController();
  let noticesDone = 0;
  const untilMs = NOW_MS + 60_000;
  const parts = {
    ...storage,
    trees: storage.tree,
    checkpointer,
    sequencer,
    clock: systemClock,
    random: createSystemRandom(),
    nextId,
    tenants: {
      find: () => Promise.resolve({ tenantId: 'acme', holds: [], policies: [], holdsAsOf: undefined }),
    },
    untilMs: () => Promise.resolve(untilMs),
    kept: { without: (_: string, runs: unknown) => runs, keep() {} },
    judging: BELIEVING,
    removal: {
      ...storage.removal,
      async deleteContents(...asked: Parameters<typeof storage.removal.deleteContents>) {
        const next = await storage.removal.deleteContents(...asked);
        // The first portion has two notices, and a removal that is cut off between them begins again.
        if (next === undefined && ++noticesDone === 2) stop.abort(new Error('the service stops'));
        return next;
      },
    },
  } as unknown as PurgeParts;
  const task = { stream: 0, span: { firstIndex: 0, endIndex: drafts.length } };
  const job = { tenant: 'acme', body: JSON.stringify(task), attempts: 1 } as Job;
  const progress: string[] = [];
  const holding = { signal: stop.signal, progress: (text: string) => void progress.push(text) };
  const outcome = await purgeWork(parts).handle(job, holding);
  assert.ok(progress.length > 1 && new Set(progress).size === progress.length, progress.join(' '));
  const left = await storage.removal.countContents('acme', [task.span]);
  assert.ok(left < drafts.length && left > (drafts.length * 3) / 4, `${left} are left`);
  assert.equal(outcome.status, 'Done');
  const jobs = 'jobs' in outcome ? (outcome.jobs ?? []) : [];
  assert.deepEqual(
    jobs.map(({ body }) => JSON.parse(body) as unknown),
    ['Tidy', task],
  );
});
