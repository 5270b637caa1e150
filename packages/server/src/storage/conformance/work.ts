// Claims about jobs: stored before they are announced, held by one at a time, and ended once.

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TenantId } from '@tallystick/contract';
import type { Claim, ClaimRef, ClaimRequest, LetterStates, NewJob, JobOutcome } from '../../work/jobs.ts';
import { systemClock } from '../../runtime/clock.ts';
import type { Storage } from '../storage.ts';
import { type Claims, fingerprint, nextId, NOW_MS, openWith } from './claims.ts';

const DAY_MS = 86_400_000;
/** Long enough to do something within it, short enough to wait for its end. */
const LEASE_MS = 300;
const ALL: LetterStates = {
  isWaiting: true,
  isRetried: true,
  kinds: ['IndexEvent', 'Verification'],
};

export const WISH: ClaimRequest = { kind: 'Verification', max: 10, perLane: 10, leaseMs: 60_000 };

export function jobOf(more: Partial<NewJob> = {}): Omit<NewJob, 'tenant'> {
  return { jobId: nextId(), kind: 'Verification', body: '{"a":"Ä\\u0000"}', ...more };
}

/** Enqueues a job; returns its id. */
export async function enqueue(
  { work }: Storage,
  tenant: TenantId,
  more: Partial<NewJob> = {},
): Promise<string> {
  const job = jobOf(more);
  assert.equal((await work.forTenant(tenant).enqueue(job)).status, 'Enqueued');
  return job.jobId;
}

export function idsOf(claims: readonly Claim[]): string[] {
  return claims.map(({ job }) => job.jobId);
}

export function refOf({ job: { tenant, jobId }, token }: Claim): ClaimRef {
  return { tenant, jobId, token };
}

export async function finish({ work }: Storage, claim: Claim, outcome: JobOutcome): Promise<boolean> {
  const [isSaved] = await work.finish([{ ...refOf(claim), outcome }]);
  return isSaved!;
}

async function claimOne({ work }: Storage, more: Partial<ClaimRequest> = {}): Promise<Claim> {
  const [claim] = await work.claim({ ...WISH, ...more });
  assert.ok(claim !== undefined, 'there is a job to claim');
  return claim;
}

export const workClaims: Claims = {
  'a job is there as it was enqueued, for its tenant alone, and after a restart': async (place) => {
    const job = jobOf({ lane: 'one' });
    {
      await using storage = await openWith(place, 'acme', 'other');
      const enqueued = await storage.work.forTenant('acme').enqueue(job);
      assert.ok(enqueued.status === 'Enqueued');
      assert.deepEqual(await storage.work.forTenant('acme').find(job.jobId), enqueued.job);
      const { jobId, kind, body, lane, state, attempts, result } = enqueued.job;
      assert.deepEqual({ jobId, kind, body, lane }, { ...job });
      assert.deepEqual([state, attempts, result], ['Waiting', 0, undefined]);
    }
    await using storage = await place.open();
    assert.equal((await storage.work.forTenant('acme').find(job.jobId))?.body, job.body);
    assert.equal(await storage.work.forTenant('other').find(job.jobId), undefined);
    assert.deepEqual(await storage.work.forTenant('other').retry(job.jobId), { status: 'Unknown' });
    const again = await storage.work.forTenant('acme').enqueue(jobOf({ jobId: job.jobId, body: '{}' }));
    assert.ok(again.status === 'Known');
    assert.equal(again.job.body, job.body);
    // The id belongs to its tenant.
    await enqueue(storage, 'other', { jobId: job.jobId });
    assert.deepEqual(idsOf(await storage.work.claim(WISH)), [job.jobId, job.jobId]);
  },

  'an idempotency key of a job is used once, in its tenant and operation, until its time is over': async (
    place,
  ) => {
    await using storage = await openWith(place, 'acme', 'other');
    const jobs = storage.work.forTenant('acme');
    const key = {
      operation: 'streams.verify',
      key: 'k',
      fingerprint: fingerprint(1),
      classification: 'Public',
      expiresAtMs: NOW_MS + DAY_MS,
      answer: '{"first":true}',
    } as const;
    const first = await enqueue(storage, 'acme', { once: key });
    const used = await jobs.usedKey('streams.verify', 'k', NOW_MS);
    assert.equal(used?.job.jobId, first);
    assert.deepEqual(used.fingerprint, key.fingerprint);
    assert.deepEqual(
      [used.classification, used.expiresAtMs, used.answer],
      ['Public', key.expiresAtMs, key.answer],
    );
    const again = await jobs.enqueue(jobOf({ once: { ...key, fingerprint: fingerprint(2) } }));
    assert.ok(again.status === 'KeyUsed');
    assert.deepEqual(again.used, used);
    assert.equal(await jobs.usedKey('streams.verify', 'k', NOW_MS + DAY_MS), undefined);
    assert.equal(await jobs.usedKey('projections.rebuild', 'k', NOW_MS), undefined);
    await enqueue(storage, 'acme', { once: { ...key, operation: 'projections.rebuild' } });
    await enqueue(storage, 'other', { once: key });
    const later = { ...key, expiresAtMs: key.expiresAtMs + DAY_MS };
    const second = await enqueue(storage, 'acme', { once: later });
    assert.equal((await jobs.usedKey('streams.verify', 'k', NOW_MS))?.job.jobId, second);
    assert.ok((await jobs.find(first)) !== undefined);
  },

  'the keys of a tenant whose time ends before a moment are free at once': async (place) => {
    await using storage = await openWith(place, 'acme', 'other');
    const keyOf = (key: string, expiresAtMs: number) => ({
      operation: 'streams.verify' as const,
      key,
      fingerprint: fingerprint(1),
      classification: 'Public' as const,
      expiresAtMs,
      answer: '{}',
    });
    const [early, late] = [keyOf('early', NOW_MS + DAY_MS - 1), keyOf('late', NOW_MS + DAY_MS)];
    for (const once of [early, late]) {
      await enqueue(storage, 'acme', { once });
      await enqueue(storage, 'other', { once });
    }
    assert.equal(await storage.work.forTenant('acme').endKeyWindows(NOW_MS + DAY_MS), false);
    const used = async (tenant: string, { key }: typeof early) =>
      (await storage.work.forTenant(tenant).usedKey('streams.verify', key, NOW_MS)) !== undefined;
    assert.deepEqual([await used('acme', early), await used('acme', late)], [false, true]);
    assert.deepEqual([await used('other', early), await used('other', late)], [true, true]);
    await enqueue(storage, 'acme', { once: early });
  },

  'a job whose idempotency key is in force stays, however many others are done': async (place) => {
    await using storage = await openWith(place, 'acme');
    const jobs = storage.work.forTenant('acme');
    const facts = { operation: 'streams.verify', classification: 'Public', answer: '{}' } as const;
    const add = async (key: string, expiresAtMs: number) => {
      const once = { ...facts, key, fingerprint: fingerprint(1), expiresAtMs };
      const job = jobOf({ once });
      assert.equal((await jobs.enqueue(job, { doneMax: 0 })).status, 'Enqueued');
      return job.jobId;
    };
    const nowMs = systemClock.now();
    const ids = [await add('past', nowMs - DAY_MS), await add('in force', nowMs + DAY_MS)];
    for (const claim of await storage.work.claim(WISH))
      assert.ok(await finish(storage, claim, { status: 'Done', keepMs: DAY_MS }));
    await add('next', nowMs + DAY_MS);
    const found = await Promise.all(ids.map((id) => jobs.find(id)));
    assert.deepEqual(
      found.map((job) => job?.state),
      [undefined, 'Done'],
    );
    assert.equal((await jobs.usedKey('streams.verify', 'in force', nowMs))?.job.jobId, ids[1]);
  },

  'of jobs with one unique key there is one until it is done': async (place) => {
    await using storage = await openWith(place, 'acme', 'other');
    const { work } = storage;
    const unique = { kind: 'Rebuild', uniqueKey: 'events' } as const;
    const outcomes = await Promise.all(
      Array.from({ length: 8 }, () => work.forTenant('acme').enqueue(jobOf(unique))),
    );
    const statuses = outcomes.map(({ status }) => status).sort();
    assert.deepEqual(statuses, ['Enqueued', ...Array.from({ length: 7 }, () => 'Exists')]);
    await enqueue(storage, 'other', unique);
    await enqueue(storage, 'acme', { ...unique, kind: 'Verification' });
    const [claim] = (await work.claim({ ...WISH, kind: 'Rebuild' })).filter(
      ({ job }) => job.tenant === 'acme',
    );
    assert.equal((await work.forTenant('acme').enqueue(jobOf(unique))).status, 'Exists');
    assert.ok(await finish(storage, claim!, { status: 'Done', result: '{}', keepMs: DAY_MS }));
    await enqueue(storage, 'acme', unique);
  },

  'a tenant has no more waiting jobs of a kind than it may, and the oldest that are done go': async (
    place,
  ) => {
    await using storage = await openWith(place, 'acme');
    const jobs = storage.work.forTenant('acme');
    const limits = { waitingMax: 2, doneMax: 2 };
    const ids: string[] = [];
    const add = async () => {
      const job = jobOf();
      const { status } = await jobs.enqueue(job, limits);
      if (status === 'Enqueued') ids.push(job.jobId);
      return status;
    };
    assert.deepEqual([await add(), await add(), await add()], ['Enqueued', 'Enqueued', 'Full']);
    const claims = await storage.work.claim(WISH);
    assert.deepEqual(idsOf(claims), ids);
    assert.deepEqual([await add(), await add(), await add()], ['Enqueued', 'Enqueued', 'Full']);
    for (const claim of [...claims, ...(await storage.work.claim(WISH))])
      assert.ok(await finish(storage, claim, { status: 'Done', keepMs: DAY_MS }));
    assert.equal(await add(), 'Enqueued');
    const found = await Promise.all(ids.map((id) => jobs.find(id)));
    assert.deepEqual(
      found.map((job) => job?.state),
      [undefined, undefined, 'Done', 'Done', 'Waiting'],
    );
  },

  'a job is held by one at a time, and by the next one when its lease is over': async (place) => {
    await using storage = await openWith(place, 'acme');
    const jobId = await enqueue(storage, 'acme');
    const first = await claimOne(storage);
    assert.deepEqual([first.job.jobId, first.job.state, first.job.attempts], [jobId, 'Held', 1]);
    assert.deepEqual(await storage.work.claim(WISH), []);
    const progress = '{"done":1}';
    assert.deepEqual(await storage.work.renew([{ ...refOf(first), progress }], 60_000), [true]);
    await sleep(LEASE_MS + 20);
    assert.deepEqual(await storage.work.claim(WISH), [], 'it was held for longer');
    assert.deepEqual(await storage.work.renew([refOf(first)], LEASE_MS), [true]);
    await sleep(LEASE_MS + 20);
    const second = await claimOne(storage);
    assert.deepEqual([second.job.jobId, second.job.attempts], [jobId, 2]);
    assert.deepEqual([second.job.progress, second.job.startedAtMs], [progress, first.job.startedAtMs]);
    assert.ok(second.token > first.token);
    assert.deepEqual(await storage.work.renew([refOf(first), refOf(second)], LEASE_MS), [false, true]);
    assert.equal(await finish(storage, first, { status: 'Done', keepMs: DAY_MS }), false);
    assert.equal(await finish(storage, second, { status: 'Done', result: '"r"', keepMs: DAY_MS }), true);
    assert.equal(await finish(storage, second, { status: 'Dead', reason: 'late' }), false);
    const done = await storage.work.forTenant('acme').find(jobId);
    assert.deepEqual([done?.state, done?.result], ['Done', '"r"']);
    assert.ok(done?.endedAtMs !== undefined && done.endedAtMs >= done.createdAtMs);
  },

  'a job that failed comes again when it is due, and one that is put off has not been tried': async (
    place,
  ) => {
    await using storage = await openWith(place, 'acme');
    const jobId = await enqueue(storage, 'acme', { dueInMs: LEASE_MS });
    assert.deepEqual(await storage.work.claim(WISH), []);
    await sleep(LEASE_MS + 20);
    const failed = { status: 'Failed', reason: 'no answer', againInMs: LEASE_MS } as const;
    assert.ok(await finish(storage, await claimOne(storage), failed));
    const waiting = await storage.work.forTenant('acme').find(jobId);
    assert.deepEqual([waiting?.state, waiting?.reason, waiting?.attempts], ['Later', 'no answer', 1]);
    assert.equal(waiting?.firstFailedAtMs, waiting?.lastFailedAtMs);
    assert.deepEqual(await storage.work.claim(WISH), []);
    await sleep(LEASE_MS + 20);
    assert.ok(await finish(storage, await claimOne(storage), { status: 'PutOff' }));
    const last = await claimOne(storage);
    assert.equal(last.job.attempts, 2);
    assert.ok(await finish(storage, last, { status: 'Done' }));
    assert.equal(await storage.work.forTenant('acme').find(jobId), undefined, 'it was not to be kept');
  },

  'a job without attempts left is a dead letter, which is retried on request': async (place) => {
    await using storage = await openWith(place, 'acme', 'other');
    const jobs = storage.work.forTenant('acme');
    const newest = { ...ALL, way: 'Falling', beyond: undefined, limit: 10 } as const;
    const ids = [await enqueue(storage, 'acme'), await enqueue(storage, 'acme')];
    for (const claim of await storage.work.claim(WISH))
      assert.ok(await finish(storage, claim, { status: 'Dead', reason: 'gone' }));
    const letters = await jobs.letters(newest);
    assert.deepEqual(
      letters.map(({ jobId, state, reason, attempts }) => [jobId, state, reason, attempts]),
      ids.map((id) => [id, 'Dead', 'gone', 1]).toReversed(),
    );
    const rising = { ...ALL, way: 'Rising', beyond: ids[0], limit: 1 } as const;
    assert.deepEqual(await jobs.letters(rising), [letters[0]]);
    assert.equal(await jobs.letterCount(ALL), 2);
    assert.equal(await storage.work.letterCountOfAll(), 2);
    assert.equal(await storage.work.forTenant('other').letterCount(ALL), 0);
    assert.deepEqual(await storage.work.claim(WISH), []);
    assert.deepEqual(await jobs.retry(ids[0]!), { status: 'Retried' });
    assert.deepEqual(await jobs.retry(ids[0]!), { status: 'Unknown' }, 'it is being tried');
    assert.equal((await jobs.letters(newest))[1]?.state, 'Waiting');
    assert.equal((await jobs.letters({ ...newest, isWaiting: false })).length, 1);
    assert.equal(await jobs.letterCount({ ...ALL, isRetried: false }), 1);
    const again = await claimOne(storage);
    assert.deepEqual([again.job.jobId, again.job.attempts], [ids[0], 1]);
    assert.ok(await finish(storage, again, { status: 'Done' }));
    assert.deepEqual(await jobs.letters(newest), [letters[0]]);
  },

  'the key of the request that retries a letter is kept, even if the letter is removed': async (place) => {
    await using storage = await openWith(place, 'acme');
    const jobs = storage.work.forTenant('acme');
    const key = {
      operation: 'deadLetters.reprocess',
      key: 'k',
      fingerprint: fingerprint(1),
      classification: 'Public',
      expiresAtMs: NOW_MS + DAY_MS,
      answer: '1',
    } as const;
    const ids = [nextId(), nextId()];
    for (const jobId of ids) {
      const dead = { reason: 'gone', attempts: 1 };
      await jobs.enqueue(jobOf({ jobId, uniqueKey: jobId, dead }));
    }
    assert.deepEqual(await jobs.retry(nextId(), key), { status: 'Unknown' });
    assert.deepEqual(await jobs.retry(ids[0]!, key), { status: 'Retried' });
    assert.equal((await jobs.retry(ids[1]!, key)).status, 'KeyUsed');
    assert.ok(await finish(storage, await claimOne(storage), { status: 'Done' }));
    const used = await jobs.usedKey('deadLetters.reprocess', 'k', NOW_MS);
    assert.deepEqual([used?.answer, used?.job.jobId], ['1', ids[0]]);
    assert.equal(await jobs.letterCount(ALL), 1);
    const later = { ...key, expiresAtMs: key.expiresAtMs + DAY_MS };
    assert.deepEqual(await jobs.retry(ids[1]!, later), { status: 'Retried' });
  },

  'letters that have not failed again since a moment are let go': async (place) => {
    await using storage = await openWith(place, 'acme');
    const jobs = storage.work.forTenant('acme');
    const fail = (uniqueKey: string) =>
      jobs.enqueue(jobOf({ kind: 'IndexEvent', uniqueKey, dead: { reason: 'r', attempts: 1 } }));
    await fail('1');
    await fail('2');
    await enqueue(storage, 'acme');
    await sleep(5);
    const { job } = await claimOne(storage);
    await sleep(5);
    await fail('2');
    assert.equal(await jobs.removeLetters('Rebuild', job.startedAtMs!), 0);
    assert.equal(await jobs.removeLetters('IndexEvent', job.startedAtMs!), 1);
    const [left] = await jobs.letters({ ...ALL, way: 'Falling', beyond: undefined, limit: 10 });
    assert.equal(left?.attempts, 2);
  },

  'a message can be stored as a dead letter, and one that fails again is the same letter': async (place) => {
    await using storage = await openWith(place, 'acme');
    const jobs = storage.work.forTenant('acme');
    const newest = { ...ALL, way: 'Falling', beyond: undefined, limit: 10 } as const;
    const message = (reason: string) =>
      jobOf({ kind: 'IndexEvent', uniqueKey: '7', dead: { reason, attempts: 3 } });
    assert.equal((await jobs.enqueue(message('one'))).status, 'Enqueued');
    assert.equal((await jobs.enqueue(message('two'))).status, 'Known');
    const [letter, ...others] = await jobs.letters(newest);
    assert.deepEqual([letter?.state, letter?.reason, letter?.attempts], ['Dead', 'two', 6]);
    assert.deepEqual(others, []);
    await jobs.retry(letter!.jobId);
    assert.equal((await claimOne(storage, { kind: 'IndexEvent' })).job.jobId, letter!.jobId);
  },

  'a job that ends leads to others in the same commit, unless it is not held any more': async (place) => {
    await using storage = await openWith(place, 'acme');
    await enqueue(storage, 'acme');
    const claim = await claimOne(storage);
    const next = { ...jobOf({ kind: 'Rebuild' }), tenant: 'acme' };
    const outcome = { status: 'Done', jobs: [next] } as const;
    const saved = await storage.work.finish([
      { ...refOf(claim), token: claim.token - 1, outcome },
      { ...refOf(claim), outcome: { ...outcome, jobs: [{ ...next, body: '{"right":true}' }] } },
    ]);
    assert.deepEqual(saved, [false, true]);
    const [led] = await storage.work.claim({ ...WISH, kind: 'Rebuild' });
    assert.equal(led?.job.body, '{"right":true}');
  },

  'a reason with any character, of any length, is stored': async (place) => {
    await using storage = await openWith(place, 'acme');
    const jobs = storage.work.forTenant('acme');
    const reason = `\u0000\ud800${'x'.repeat(5000)}`;
    const jobId = await enqueue(storage, 'acme');
    await enqueue(storage, 'acme');
    const claims = await storage.work.claim(WISH);
    assert.ok(await finish(storage, claims[0]!, { status: 'Failed', reason, againInMs: 0 }));
    assert.equal((await jobs.find(jobId))?.reason?.length, 1000);
    assert.ok(await finish(storage, claims[1]!, { status: 'Dead', reason }));
    const dead = { reason, attempts: 1 };
    await jobs.enqueue(jobOf({ kind: 'IndexEvent', uniqueKey: '1', dead }));
    assert.equal((await jobs.enqueue(jobOf({ kind: 'IndexEvent', uniqueKey: '1', dead }))).status, 'Known');
  },

  'expired jobs are swept, and nothing else': async (place) => {
    await using storage = await openWith(place, 'acme');
    const { work } = storage;
    for (let i = 0; i < 3; i++) await enqueue(storage, 'acme');
    const claims = await work.claim(WISH);
    await finish(storage, claims[0]!, { status: 'Done', keepMs: 0 });
    await finish(storage, claims[1]!, { status: 'Done', keepMs: DAY_MS });
    await sleep(5);
    assert.equal(await work.sweep(), false);
    const left = await Promise.all(idsOf(claims).map((id) => work.forTenant('acme').find(id)));
    assert.deepEqual(
      left.map((job) => job?.state),
      [undefined, 'Done', 'Held'],
    );
  },
};
