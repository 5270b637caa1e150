// Claims about jobs that nobody begins.

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ClaimRequest } from '../../work/jobs.ts';
import type { LaneRef } from '../../work/lanes.ts';
import { type Claims, openWith } from './claims.ts';
import { enqueue, refOf, WISH } from './work.ts';

const DAY_MS = 86_400_000;
const LANE: LaneRef = { kind: 'Verification', lane: 'one' };
const ONE: ClaimRequest = { ...WISH, max: 1, perLane: 100 };

export const overdueClaims: Claims = {
  'a job that is due and that nobody claims is overdue, unless its lane is closed or rests, or others are held':
    async (place) => {
      await using storage = await openWith(place, 'acme', 'other');
      const { work } = storage;
      const id = await enqueue(storage, 'acme', { lane: 'one' });
      await sleep(5);
      const overdue = () => work.overdue('Verification', 1);
      assert.deepEqual(await overdue(), { ...LANE, tenant: 'acme' });
      assert.equal(await work.overdue('Verification', DAY_MS), undefined);
      assert.equal(await work.overdue('Rebuild', 1), undefined);
      await enqueue(storage, 'other', { lane: 'one' });
      await sleep(5);
      const [held] = await work.claim(ONE);
      assert.equal(await overdue(), undefined);
      const rests = { ...LANE, status: 'Rests', forMs: DAY_MS } as const;
      await work.finish([{ ...refOf(held!), outcome: { status: 'Done', lanes: [rests] } }]);
      const left = held!.job.jobId === id ? 'other' : 'acme';
      assert.deepEqual(await overdue(), { ...LANE, tenant: left });
      await work.forTenant(left).changeLane(LANE, { status: 'Closes', note: 'why' });
      assert.equal(await overdue(), undefined);
      await enqueue(storage, held!.job.tenant, { lane: 'one' });
      await sleep(5);
      assert.equal(await overdue(), undefined, 'it rests');
    },
};
