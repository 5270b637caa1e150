// Claims about many jobs in one commit, each of which is what it would be alone, and about more than one commit takes.

import assert from 'node:assert/strict';
import { LIMITS } from '@tallystick/contract';
import type { Claim, Finished, Job, JobOutcome } from '../../work/jobs.ts';
import type { LaneRef } from '../../work/lanes.ts';
import { type Claims, nextId, openWith } from './claims.ts';
import { jobOf, refOf, WISH } from './work.ts';

const KEEP_MS = 60_000;
const LANE: LaneRef = { kind: 'Verification', lane: 'one' };
const LETTERS = { isWaiting: true, isRetried: false, kinds: ['Verification'] as const };

function kept(claim: Claim, name: string): Finished {
  const outcome = { status: 'Done', keepMs: KEEP_MS, result: `{"is":"${name} Ä\\u0000"}` } as const;
  return { ...refOf(claim), outcome: { ...outcome, progress: `of ${name}` } };
}

function shown(job: Job | undefined) {
  return job && [job.state, job.result, job.progress, job.attempts];
}

export const jobBatchClaims: Claims = {
  'of many jobs that end in one commit, in any order, each ends as it says, unless it is not held': async (
    place,
  ) => {
    await using storage = await openWith(place, 'acme', 'other');
    const of = { acme: storage.work.forTenant('acme'), other: storage.work.forTenant('other') };
    await of.acme.enqueueAll(Array.from({ length: 5 }, () => jobOf()));
    await of.other.enqueueAll([jobOf(), jobOf()]);
    const claims = await storage.work.claim(WISH);
    const [first, second, third, fourth, fifth] = claims.filter(({ job }) => job.tenant === 'acme');
    const [theirs, gone] = claims.filter(({ job }) => job.tenant === 'other');
    const failed: JobOutcome = { status: 'Failed', reason: 'r', againInMs: KEEP_MS, progress: 'failed' };
    const saved = await storage.work.finish([
      kept(fifth!, 'fifth'),
      kept(theirs!, 'theirs'),
      { ...refOf(third!), outcome: failed },
      { ...kept(second!, 'second'), token: second!.token + 1 },
      kept(first!, 'first'),
      kept(first!, 'first again'),
      { ...refOf(gone!), outcome: { status: 'Done' } },
      { ...kept(fourth!, 'fourth'), tenant: 'other' },
    ]);
    assert.deepEqual(saved, [true, true, true, false, true, false, true, false]);
    const found = await Promise.all(
      [first, second, third, fourth, fifth].map((claim) => of.acme.find(claim!.job.jobId)),
    );
    assert.deepEqual(found.map(shown), [
      ['Done', '{"is":"first Ä\\u0000"}', 'of first', 1],
      ['Held', undefined, undefined, 1],
      ['Later', undefined, 'failed', 1],
      ['Held', undefined, undefined, 1],
      ['Done', '{"is":"fifth Ä\\u0000"}', 'of fifth', 1],
    ]);
    assert.ok(found[0]!.expiresAtMs! >= found[0]!.endedAtMs! + KEEP_MS);
    assert.equal((await of.other.find(theirs!.job.jobId))?.state, 'Done');
    assert.equal(await of.other.find(gone!.job.jobId), undefined);
  },

  'of many jobs that are enqueued together each is stored once, whatever is in the way of others': async (
    place,
  ) => {
    await using storage = await openWith(place, 'acme');
    const jobs = storage.work.forTenant('acme');
    const uniqueKey = nextId();
    const there = jobOf({ uniqueKey, lane: 'lane' });
    assert.equal(await jobs.enqueueAll([there]), 1);
    const later = jobOf({ dueInMs: KEEP_MS, place: 7, lane: 'lane' });
    const many = Array.from({ length: 1100 }, () => jobOf());
    const count = await jobs.enqueueAll([later, jobOf({ uniqueKey }), there, ...many, many[3]!]);
    assert.equal(count, 1101);
    assert.equal((await jobs.find(later.jobId))?.state, 'Later');
    assert.equal((await jobs.find(many.at(-1)!.jobId))?.body, many[0]!.body);
    assert.equal((await jobs.backlog('Verification')).open, 1102);
  },

  'many jobs end while their leases are renewed': async (place) => {
    await using storage = await openWith(place, 'acme');
    const jobs = storage.work.forTenant('acme');
    for (let round = 0; round < 8; round++) {
      // The last lane has the first job: whoever goes by lanes meets them in the other order.
      const many = Array.from({ length: 200 }, (_, i) => jobOf({ lane: String(999 - i) }));
      await jobs.enqueueAll(many);
      const claims = [];
      while (claims.length < many.length)
        claims.push(...(await storage.work.claim({ ...WISH, max: many.length })));
      const [saved] = await Promise.all([
        storage.work.finish(claims.map((claim) => kept(claim, 'many'))),
        storage.work.renew(claims.map(refOf), KEEP_MS),
        storage.work.renew(claims.map(refOf), KEEP_MS),
      ]);
      assert.equal(saved.filter(Boolean).length, many.length);
    }
  },

  'of very many letters a total tells that there are more, and a portion is changed at a time': async (
    place,
  ) => {
    await using storage = await openWith(place, 'acme');
    const jobs = storage.work.forTenant('acme');
    const { listExactTotalMax } = LIMITS;
    const count = listExactTotalMax + 2;
    const dead = { reason: 'r', attempts: 1 };
    await jobs.enqueueAll(Array.from({ length: count }, () => jobOf({ lane: LANE.lane, dead })));
    assert.equal(await jobs.jobCountOfLane(LANE), listExactTotalMax + 1);
    assert.equal(await jobs.jobCountOfLane({ ...LANE, states: ['Held'] }), 0);
    for (const lane of [undefined, 'one'])
      assert.equal(await jobs.letterCount({ ...LETTERS, lane }), listExactTotalMax + 1);
    assert.equal(await jobs.letterCountOfTenant(), count);
    const retried = await jobs.retryAll(['Rebuild', 'Verification'], undefined);
    const removed = await jobs.removeLetters('Verification', Number.MAX_SAFE_INTEGER);
    for (const portion of [retried, removed]) assert.ok(portion > 0 && portion < count / 4, String(portion));
    assert.equal(await jobs.letterCount({ ...LETTERS, isWaiting: false, isRetried: true }), retried);
    assert.equal(await jobs.letterCountOfTenant(), count - removed);
    let portions = 1;
    while (await jobs.removeLane(LANE)) portions += 1;
    assert.ok(portions > 4, String(portions));
    assert.equal(await jobs.letterCountOfTenant(), 0);
  },
};
