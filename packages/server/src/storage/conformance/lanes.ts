// Claims about lanes: what closes and opens them, in which order their jobs come, and what is left of them.

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TenantId } from '@tallystick/contract';
import { systemClock } from '../../runtime/clock.ts';
import type { Claim, ClaimRequest, JobOutcome, NewJob } from '../../work/jobs.ts';
import type { LaneNews, LaneRef } from '../../work/lanes.ts';
import type { Storage } from '../storage.ts';
import { type Claims, fingerprint, openWith } from './claims.ts';
import { enqueue, idsOf, jobOf, refOf, WISH } from './work.ts';

const DAY_MS = 86_400_000;
export const LANE = { kind: 'Verification', lane: 'one' } as const satisfies LaneRef;
const OF_LANE = { lane: 'one' } as const;
export const PARKING = { waitMs: DAY_MS, letterMs: DAY_MS, reason: 'it has waited for too long' };
export const MANY: ClaimRequest = { ...WISH, max: 100, perLane: 100, parking: PARKING };
const DONE: JobOutcome = { status: 'Done' };
const KEPT: JobOutcome = { status: 'Done', keepMs: DAY_MS };
const LETTERS = { isWaiting: true, isRetried: false, kinds: ['Verification'] as const };

export async function end(
  { work }: Storage,
  claim: Claim,
  outcome: JobOutcome,
  ...lanes: readonly LaneNews[]
): Promise<boolean> {
  const [isSaved] = await work.finish([{ ...refOf(claim), outcome: { ...outcome, lanes } }]);
  return isSaved!;
}

export async function add(
  storage: Storage,
  tenant: TenantId,
  count: number,
  lane = 'one',
): Promise<string[]> {
  const ids: string[] = [];
  for (let i = 0; i < count; i++) ids.push(await enqueue(storage, tenant, { lane }));
  return ids;
}

async function laneOf({ work }: Storage, tenant: TenantId) {
  const [lane] = await work.forTenant(tenant).lanes(LANE.kind, [LANE.lane]);
  return lane!;
}

/** Ends them all with these news. */
async function tell(storage: Storage, tenant: TenantId, ...news: readonly LaneNews[]): Promise<void> {
  const [id] = await add(storage, tenant, 1, 'teller');
  const [claim] = (await storage.work.claim(MANY)).filter(({ job }) => job.jobId === id);
  assert.ok(await end(storage, claim!, DONE, ...news));
}

const FAILS = (jobs: readonly NewJob[]): LaneNews => ({
  ...LANE,
  status: 'Fails',
  failuresMax: 2,
  note: 'Fails',
  jobs,
});

export const laneClaims: Claims = {
  'jobs of a closed lane are not claimed; they come when it is opened, the oldest first': async (place) => {
    const ids: string[] = [];
    {
      await using storage = await openWith(place, 'acme', 'other');
      const jobs = storage.work.forTenant('acme');
      assert.deepEqual(await laneOf(storage, 'acme'), {
        isOpen: true,
        failures: 0,
        sinceMs: undefined,
        note: undefined,
      });
      ids.push(...(await add(storage, 'acme', 3)));
      assert.equal(await jobs.changeLane(LANE, { status: 'Closes', note: 'n' }), true);
      await add(storage, 'other', 1);
      const claims = await storage.work.claim(MANY);
      assert.deepEqual(
        claims.map(({ job }) => job.tenant),
        ['other'],
      );
      assert.ok(await end(storage, claims[0]!, DONE));
      ids.push(...(await add(storage, 'acme', 2)));
      assert.deepEqual(await storage.work.claim(MANY), []);
      const states = (await Promise.all(ids.map((id) => jobs.find(id)))).map((job) => job?.state);
      assert.deepEqual(states, ['Parked', 'Parked', 'Parked', 'Parked', 'Parked']);
    }
    await using storage = await place.open();
    const jobs = storage.work.forTenant('acme');
    const closed = await laneOf(storage, 'acme');
    assert.deepEqual([closed.isOpen, closed.note], [false, 'n']);
    assert.ok(Math.abs(closed.sinceMs! - systemClock.now()) < 60_000);
    assert.equal(await storage.work.forTenant('other').changeLane(LANE, { status: 'Opens' }), false);
    assert.deepEqual(await storage.work.claim(MANY), []);
    assert.equal(await jobs.changeLane(LANE, { status: 'Opens', ifNote: 'other' }), false);
    const open = { ...LANE, lane: 'never closed' };
    assert.equal(await jobs.changeLane(open, { status: 'Closes', note: 'late', ifNote: 'n' }), false);
    assert.equal(await jobs.changeLane(LANE, { status: 'Opens', ifNote: 'n' }), true);
    assert.equal(await jobs.changeLane(LANE, { status: 'Opens' }), false);
    assert.deepEqual(idsOf(await storage.work.claim(MANY)), ids);
    assert.equal((await laneOf(storage, 'acme')).note, undefined);
  },

  'a lane is closed once, with the jobs that this causes, when so many fail in a row': async (place) => {
    await using storage = await openWith(place, 'acme');
    await add(storage, 'acme', 6);
    const claims = await storage.work.claim(MANY);
    const probe = { ...jobOf({ lane: 'probes' }), tenant: 'acme' };
    const again: JobOutcome = { status: 'Failed', reason: 'r', againInMs: DAY_MS };
    const works: LaneNews = { ...LANE, status: 'Works' };
    await end(storage, claims[0]!, again, FAILS([probe]));
    assert.equal((await laneOf(storage, 'acme')).failures, 1);
    await end(storage, claims[1]!, DONE, works);
    assert.equal((await laneOf(storage, 'acme')).failures, 0);
    await end(storage, claims[2]!, again, FAILS([probe]));
    assert.deepEqual(await storage.work.claim(MANY), [], 'it is not closed yet');
    await end(storage, claims[3]!, again, FAILS([probe]));
    assert.deepEqual(idsOf(await storage.work.claim(MANY)), [probe.jobId]);
    const closed = await laneOf(storage, 'acme');
    assert.deepEqual([closed.isOpen, closed.failures, closed.note], [false, 2, 'Fails']);
    // One that was under way says nothing new.
    await end(storage, claims[4]!, again, FAILS([{ ...probe, jobId: jobOf().jobId }]));
    await end(storage, claims[5]!, DONE, works);
    assert.deepEqual(await laneOf(storage, 'acme'), closed);
    assert.deepEqual(await storage.work.claim(MANY), []);
    await tell(storage, 'acme', { ...LANE, status: 'Closes', note: 'late', ifOpen: true });
    assert.equal((await laneOf(storage, 'acme')).note, 'Fails');
    await tell(storage, 'acme', { ...LANE, status: 'Closes', note: 'Gone', ifNote: 'Fails' });
    assert.equal((await laneOf(storage, 'acme')).note, 'Gone');
    await tell(storage, 'acme', { ...LANE, status: 'Opens', ifNote: 'Fails' });
    assert.equal((await laneOf(storage, 'acme')).isOpen, false);
    await tell(storage, 'acme', { ...LANE, status: 'Opens' });
    assert.deepEqual([(await laneOf(storage, 'acme')).isOpen, closed.failures], [true, 2]);
  },

  'a holder that has lost its job says nothing about a lane': async (place) => {
    await using storage = await openWith(place, 'acme');
    await add(storage, 'acme', 1);
    const [first] = await storage.work.claim({ ...MANY, leaseMs: 50 });
    await sleep(100);
    const [second] = await storage.work.claim(MANY);
    assert.equal(await end(storage, first!, DONE, { ...LANE, status: 'Closes', note: 'n' }), false);
    assert.equal((await laneOf(storage, 'acme')).isOpen, true);
    assert.equal(await end(storage, second!, DONE, { ...LANE, status: 'Closes', note: 'n' }), true);
    assert.equal((await laneOf(storage, 'acme')).isOpen, false);
  },

  'in a lane that rests its first job is the next one, however often it fails': async (place) => {
    await using storage = await openWith(place, 'acme');
    for (const placed of [5, 3, 4]) await enqueue(storage, 'acme', { ...OF_LANE, place: placed });
    const one = { ...MANY, max: 1, perLane: 1 };
    const rest: LaneNews = { ...LANE, status: 'Rests', forMs: 150 };
    const order: (number | undefined)[] = [];
    const bodies = new Map<string, number>();
    for (let turn = 0; turn < 2; turn++) {
      const [claim] = await storage.work.claim(one);
      bodies.set(claim!.job.jobId, turn);
      assert.ok(await end(storage, claim!, { status: 'Failed', reason: 'r', againInMs: 0 }, rest));
      assert.deepEqual(await storage.work.claim(one), []);
      await sleep(200);
    }
    assert.equal(bodies.size, 1, 'it was the same job twice');
    for (let turn = 0; turn < 3; turn++) {
      const [claim] = await storage.work.claim(one);
      order.push(bodies.get(claim!.job.jobId));
      assert.ok(await end(storage, claim!, DONE));
    }
    assert.deepEqual(order, [1, undefined, undefined]);
  },

  'of a lane those that have failed and fresh ones take turns': async (place) => {
    await using storage = await openWith(place, 'acme');
    const failed = await add(storage, 'acme', 4);
    for (const claim of await storage.work.claim(MANY))
      await end(storage, claim, { status: 'Failed', reason: 'r', againInMs: 0 });
    const fresh = await add(storage, 'acme', 4);
    const some = idsOf(await storage.work.claim({ ...MANY, max: 4 }));
    assert.deepEqual([some.filter((id) => failed.includes(id)).length, some.length], [2, 4]);
    const rest = idsOf(await storage.work.claim(MANY));
    assert.deepEqual([...some, ...rest].toSorted(), [...failed, ...fresh].toSorted());
  },

  'jobs of a lane that have a place are done one at a time, in that order': async (place) => {
    await using storage = await openWith(place, 'acme');
    const ids: string[] = [];
    for (const placed of [30, 10, 20])
      ids.push(await enqueue(storage, 'acme', { ...OF_LANE, place: placed }));
    const order: string[] = [];
    for (const _ of ids) {
      const [claim, ...more] = await storage.work.claim(MANY);
      assert.deepEqual([more, await storage.work.claim(MANY)], [[], []]);
      order.push(claim!.job.jobId);
      assert.ok(await end(storage, claim!, DONE));
    }
    assert.deepEqual(order, [ids[1], ids[2], ids[0]]);
  },

  'a claim takes no more of a tenant, and of a lane, than it may': async (place) => {
    await using storage = await openWith(place, 'acme', 'other');
    for (const lane of ['one', 'two', 'three']) await add(storage, 'acme', 5, lane);
    await add(storage, 'other', 5);
    const laneLimits = [
      { tenant: 'acme', lane: 'one', max: 1 },
      { tenant: 'acme', lane: 'two', max: 0 },
    ];
    const claims = await storage.work.claim({ ...MANY, perTenant: 4, laneLimits });
    const of = (tenant: TenantId, lane: string) =>
      claims.filter(({ job }) => job.tenant === tenant && job.lane === lane).length;
    assert.deepEqual(
      [of('acme', 'one'), of('acme', 'two'), of('acme', 'three'), of('other', 'one')],
      [1, 0, 3, 4],
    );
    assert.deepEqual(await storage.work.claim({ ...MANY, perTenant: 4 }), []);
    const none = [{ tenant: 'other', lane: 'one', max: 0 }];
    const [more, ...others] = await storage.work.claim({ ...MANY, perTenant: 5, laneLimits: none });
    assert.deepEqual([more?.job.tenant, others], ['acme', []]);
  },

  'a key that is kept is taken for as long as the job is': async (place) => {
    await using storage = await openWith(place, 'acme', 'other');
    const jobs = storage.work.forTenant('acme');
    const keyed = { ...OF_LANE, uniqueKey: 'k', keepsKey: true } as const;
    const first = jobOf(keyed);
    const all = [first, jobOf(keyed), jobOf({ ...keyed, uniqueKey: 'l' })];
    assert.equal(await jobs.enqueueAll(all), 2);
    assert.equal(await storage.work.forTenant('other').enqueueAll([jobOf(keyed)]), 1);
    const claims = await storage.work.claim(MANY);
    for (const claim of claims) assert.ok(await end(storage, claim, KEPT));
    assert.equal(await jobs.enqueueAll([jobOf(keyed)]), 0);
    const found = await jobs.findUnique('Verification', 'k');
    assert.deepEqual([found?.jobId, found?.state], [first.jobId, 'Done']);
    assert.equal(await jobs.findUnique('Rebuild', 'k'), undefined);
    assert.equal(await jobs.findUnique('Verification', 'm'), undefined);
  },

  'whatever became of a job, it can begin again, once for an idempotency key': async (place) => {
    await using storage = await openWith(place, 'acme');
    const jobs = storage.work.forTenant('acme');
    const ids = await add(storage, 'acme', 3);
    const [done, dead, later] = ids;
    for (const claim of await storage.work.claim(MANY)) {
      const { jobId } = claim.job;
      const reason = 'r';
      if (jobId === done) await end(storage, claim, { ...KEPT, result: '1' });
      else if (jobId === dead) await end(storage, claim, { status: 'Dead', reason, keepMs: 1000 });
      else await end(storage, claim, { status: 'Failed', reason, againInMs: DAY_MS });
    }
    const dying = await jobs.find(dead!);
    assert.ok(dying!.expiresAtMs! - systemClock.now() < 60_000);
    const once = {
      operation: 'streams.verify',
      key: 'k',
      fingerprint: fingerprint(1),
      classification: 'Public',
      expiresAtMs: systemClock.now() + DAY_MS,
      answer: '{}',
    } as const;
    assert.deepEqual(await jobs.doAgain(done!, once), { status: 'Retried' });
    assert.equal((await jobs.doAgain(later!, once)).status, 'KeyUsed');
    assert.deepEqual(await jobs.doAgain(dead!), { status: 'Retried' });
    assert.deepEqual(await jobs.doAgain(later!), { status: 'Retried' });
    assert.deepEqual(await jobs.doAgain('none'), { status: 'Unknown' });
    const held = await storage.work.claim(MANY);
    for (const { job } of held) assert.deepEqual(await jobs.doAgain(job.jobId), { status: 'Retried' });
    for (const claim of held) assert.equal(await end(storage, claim, DONE), false, 'it is not held any more');
    const claims = await storage.work.claim(MANY);
    assert.deepEqual(idsOf(claims).toSorted(), ids.toSorted());
    for (const { job } of claims)
      assert.deepEqual([job.attempts, job.result, job.expiresAtMs], [1, undefined, undefined]);
  },

  'the jobs of a lane are listed by state, and dead ones retried together': async (place) => {
    await using storage = await openWith(place, 'acme', 'other');
    const jobs = storage.work.forTenant('acme');
    const ids = await add(storage, 'acme', 4);
    const [elsewhere] = await add(storage, 'acme', 1, 'two');
    await add(storage, 'other', 1);
    const progress = '{"attempts":[1]}';
    for (const claim of await storage.work.claim(MANY))
      if (claim.job.jobId !== ids[3])
        await storage.work.finish([{ ...refOf(claim), outcome: { status: 'Dead', reason: 'r', progress } }]);
    const asked = { ...LANE, way: 'Falling', beyond: undefined, limit: 2 } as const;
    const page = await jobs.jobsOfLane(asked);
    assert.deepEqual(
      page.map(({ jobId }) => jobId),
      [ids[3], ids[2]],
    );
    assert.deepEqual(
      page.map((job) => job.progress),
      [undefined, progress],
    );
    const next = await jobs.jobsOfLane({ ...asked, beyond: ids[2] });
    assert.deepEqual(
      next.map(({ jobId }) => jobId),
      [ids[1], ids[0]],
    );
    const back = await jobs.jobsOfLane({ ...asked, way: 'Rising', beyond: ids[1], states: ['Dead'] });
    assert.deepEqual(
      back.map(({ jobId }) => jobId),
      [ids[2]],
    );
    assert.equal(await jobs.jobCountOfLane(LANE), 4);
    assert.equal(await jobs.jobCountOfLane({ ...LANE, states: ['Dead', 'Done'] }), 3);
    const letters = await jobs.letters({
      ...asked,
      limit: 10,
      ...LETTERS,
      lane: 'one',
    });
    assert.equal(letters.length, 3);
    assert.equal(await jobs.letterCount({ ...LETTERS, kinds: ['Rebuild'] }), 0);
    assert.equal(await jobs.retryAll(['Rebuild'], undefined), 0);
    assert.equal(await jobs.retryAll(['Verification'], 'one'), 3);
    assert.equal((await jobs.find(elsewhere!))?.state, 'Dead');
    assert.equal(await jobs.letterCount({ ...LETTERS, isWaiting: false, isRetried: true }), 3);
  },

  'a backlog tells what is not done, since when it waits, and which lanes are closed': async (place) => {
    await using storage = await openWith(place, 'acme', 'other');
    const jobs = storage.work.forTenant('acme');
    const none = await jobs.backlog('Verification');
    assert.deepEqual([none.open, none.waitingSinceMs, none.closedLanes], [0, undefined, []]);
    await add(storage, 'acme', 3);
    await add(storage, 'acme', 2, 'two');
    await add(storage, 'other', 1);
    const [first, second] = (await storage.work.claim({ ...MANY, max: 6 })).filter(
      ({ job: { tenant, lane } }) => tenant === 'acme' && lane === 'one',
    );
    await end(storage, first!, KEPT);
    await end(storage, second!, { status: 'Failed', reason: 'r', againInMs: DAY_MS });
    await jobs.changeLane(LANE, { status: 'Closes', note: 'why' });
    await add(storage, 'acme', 1);
    const { open, waitingSinceMs, nowMs, closedLanes } = await jobs.backlog('Verification');
    assert.deepEqual([open, closedLanes], [5, [{ note: 'why', count: 1 }]]);
    assert.ok(waitingSinceMs! <= nowMs && nowMs - waitingSinceMs! < 60_000);
    assert.equal((await storage.work.backlogOfAll('Verification')).open, 6);
    assert.equal((await jobs.backlog('Rebuild')).open, 0);
  },

  'what is over is neither shown nor tried again, also before it is swept': async (place) => {
    await using storage = await openWith(place, 'acme');
    const jobs = storage.work.forTenant('acme');
    const [dead, done] = await add(storage, 'acme', 2);
    for (const claim of await storage.work.claim(MANY))
      await end(
        storage,
        claim,
        claim.job.jobId === dead ? { status: 'Dead', reason: 'r', keepMs: 1 } : { ...KEPT, keepMs: 1 },
      );
    await sleep(5);
    const asked = { ...LANE, way: 'Falling', beyond: undefined, limit: 10 } as const;
    assert.deepEqual(await jobs.jobsOfLane(asked), []);
    assert.equal(await jobs.jobCountOfLane(LANE), 0);
    assert.deepEqual(await jobs.letters({ ...asked, ...LETTERS }), []);
    assert.equal(await jobs.letterCount(LETTERS), 0);
    assert.equal(await storage.work.letterCountOfAll(), 0);
    assert.deepEqual(await jobs.retry(dead!), { status: 'Unknown' });
    assert.equal(await jobs.retryAll(['Verification'], undefined), 0);
    assert.equal((await jobs.find(done!))?.state, 'Done', 'it is not swept yet');
  },

  'a lane is removed with all of its jobs but those that are held': async (place) => {
    await using storage = await openWith(place, 'acme', 'other');
    const jobs = storage.work.forTenant('acme');
    await add(storage, 'acme', 1);
    const [held] = await storage.work.claim(MANY);
    await add(storage, 'acme', 3);
    const [other] = await add(storage, 'acme', 1, 'two');
    await add(storage, 'other', 1);
    await jobs.changeLane(LANE, { status: 'Closes', note: 'n' });
    assert.equal(await jobs.removeLane(LANE), false);
    assert.equal((await laneOf(storage, 'acme')).isOpen, true);
    assert.equal(await jobs.jobCountOfLane(LANE), 1);
    assert.equal(await storage.work.forTenant('other').jobCountOfLane(LANE), 1);
    assert.ok(await end(storage, held!, DONE));
    assert.equal((await jobs.find(other!))?.state, 'Waiting');
  },
};
