// Claims about fairness: tenants take turns, and so do the lanes of a tenant.

import assert from 'node:assert/strict';
import type { Claim } from '../../work/jobs.ts';
import type { Storage } from '../storage.ts';
import { type Claims, openWith } from './claims.ts';
import { enqueue, finish, jobOf, WISH } from './work.ts';

const DONE = { status: 'Done' } as const;

/** Claims a few at a time until nothing is left; returns their owners, in order. */
async function inOrder(storage: Storage, max: number, nameOf: (claim: Claim) => string): Promise<string[]> {
  const order: string[] = [];
  for (;;) {
    const claims = await storage.work.claim({ ...WISH, max });
    if (claims.length === 0) return order;
    for (const claim of claims) assert.ok(await finish(storage, claim, DONE));
    order.push(...claims.map(nameOf));
  }
}

export const workTurnClaims: Claims = {
  'a tenant with many jobs does not delay others': async (place) => {
    const others = Array.from({ length: 6 }, (_, i) => `other${i}`);
    await using storage = await openWith(place, 'big', ...others);
    for (let i = 0; i < 30; i++) await enqueue(storage, 'big');
    for (const tenant of [...others, ...others]) await enqueue(storage, tenant);
    const order = await inOrder(storage, 3, ({ job }) => job.tenant);
    assert.equal(order.length, 42);
    // Fourteen jobs in two rounds of seven, three at a time.
    for (const tenant of others)
      assert.ok(order.lastIndexOf(tenant) < 18, `${tenant} was last at ${order.lastIndexOf(tenant)}`);
  },

  'a tenant alone gets all that is claimed, the oldest first': async (place) => {
    await using storage = await openWith(place, 'acme');
    const ids: string[] = [];
    for (let i = 0; i < 12; i++) ids.push(await enqueue(storage, 'acme'));
    assert.deepEqual(await inOrder(storage, 5, ({ job }) => job.jobId), ids);
  },

  'lanes of a tenant take turns, and none has more under way than it may': async (place) => {
    await using storage = await openWith(place, 'acme', 'other');
    for (let i = 0; i < 9; i++) await enqueue(storage, 'acme', { lane: 'slow' });
    for (const lane of ['a', 'b', undefined]) await enqueue(storage, 'acme', { lane });
    await enqueue(storage, 'other', { lane: 'slow' });
    const claims = await storage.work.claim({ ...WISH, max: 100, perLane: 2 });
    const lanes = claims.map(({ job }) => `${job.tenant} ${job.lane}`).sort();
    assert.deepEqual(lanes, ['acme ', 'acme a', 'acme b', 'acme slow', 'acme slow', 'other slow']);
    assert.deepEqual(await storage.work.claim({ ...WISH, max: 100, perLane: 2 }), []);
    const slow = claims.find(({ job }) => job.tenant === 'acme' && job.lane === 'slow')!;
    assert.ok(await finish(storage, slow, DONE));
    assert.equal((await storage.work.claim({ ...WISH, max: 100, perLane: 2 })).length, 1);
    const order = (await storage.work.claim({ ...WISH, max: 2, perLane: 100 })).map(({ job }) => job.lane);
    assert.deepEqual(order, ['slow', 'slow']);
  },

  'one claim takes as much of each lane as of any other, and the oldest of each': async (place) => {
    await using storage = await openWith(place, 'acme', 'other');
    const ids = new Map<string, string[]>();
    const lanes: [string, number][] = [
      ...Array.from({ length: 110 }, (_, i): [string, number] => [`few${i}`, 1]),
      ['a', 9],
      ['b', 9],
      ['c', 2],
    ];
    for (const [lane, count] of lanes) {
      const jobs = Array.from({ length: count }, () => jobOf({ lane }));
      ids.set(
        lane,
        jobs.map(({ jobId }) => jobId),
      );
      await storage.work.forTenant('acme').enqueueAll(jobs);
    }
    await enqueue(storage, 'other', { lane: 'a' });
    const claims = await storage.work.claim({ ...WISH, max: 123, perLane: 5 });
    const taken = Map.groupBy(claims, ({ job }) => `${job.tenant} ${job.lane}`);
    assert.deepEqual([taken.size, claims.length], [114, 123]);
    assert.equal(taken.get('other a')?.length, 1);
    for (const [lane, count] of lanes) {
      const most = count > 5 ? 5 : count;
      const its = taken.get(`acme ${lane}`)!.map(({ job }) => job.jobId);
      assert.deepEqual(its, ids.get(lane)!.slice(0, most), lane);
    }
  },

  'a tenant, or a lane, that is busy does not keep others waiting': async (place) => {
    await using storage = await openWith(place, 'busy', 'other', 'third');
    for (let i = 0; i < 5; i++) await enqueue(storage, 'busy', { lane: 'a' });
    await enqueue(storage, 'busy', { lane: 'b' });
    for (const tenant of ['other', 'third']) await enqueue(storage, tenant);
    const one = { ...WISH, max: 1, perLane: 1 };
    const order: string[] = [];
    for (let i = 0; i < 4; i++)
      order.push(...(await storage.work.claim(one)).map(({ job }) => `${job.tenant} ${job.lane}`));
    assert.deepEqual(order.toSorted(), ['busy a', 'busy b', 'other ', 'third ']);
    assert.deepEqual(await storage.work.claim(one), []);
  },

  'a lane with a name has its turn after the one without': async (place) => {
    await using storage = await openWith(place, 'acme');
    for (const lane of [undefined, undefined, undefined, 'a', 'b']) await enqueue(storage, 'acme', { lane });
    const order = await inOrder(storage, 1, ({ job }) => job.lane);
    assert.deepEqual(order.slice(0, 3).toSorted(), ['', 'a', 'b']);
    assert.equal(order.length, 5);
  },

  'concurrent claims never get the same job, and together respect the lane': async (place) => {
    await using storage = await openWith(place, 'acme', 'other');
    for (let i = 0; i < 20; i++) await enqueue(storage, i % 2 === 0 ? 'acme' : 'other');
    const many = await Promise.all(
      Array.from({ length: 6 }, () => storage.work.claim({ ...WISH, max: 3, perLane: 4 })),
    );
    const ids = many.flat().map(({ job }) => `${job.tenant} ${job.jobId}`);
    assert.equal(new Set(ids).size, ids.length);
    assert.ok(ids.length > 0 && ids.length <= 8, `${ids.length} are under way`);
  },
};
