// Claims about followers: each takes every entry of every log once and in order, also after failures and restarts.

import assert from 'node:assert/strict';
import type { LogBehind, FollowStep } from '../../followers/follow-store.ts';
import type { RecordKind } from '../../records/records.ts';
import type { NewJob } from '../../work/jobs.ts';
import type { Storage } from '../storage.ts';
import { append, type Claims, draftOf, openWith, request } from './claims.ts';
import { changeOf, nextVersion, recordOf } from './records.ts';
import { jobOf, WISH } from './work.ts';

async function log(storage: Storage, tenant: string, count: number): Promise<void> {
  const drafts = Array.from({ length: count }, () => draftOf());
  await append(storage, request(tenant, drafts));
}

async function behind({ follows }: Storage, name = 'watcher', having?: RecordKind): Promise<LogBehind[]> {
  const logs = await follows.behind(name, 10, having);
  return logs.toSorted((a, b) => (a.tenant < b.tenant ? -1 : 1));
}

function step(tenant: string, nextIndex: number, endIndex: number, jobs: readonly NewJob[] = []): FollowStep {
  return { tenant, nextIndex, endIndex, jobs };
}

export const followClaims: Claims = {
  'a follower learns which logs have grown beyond its position, and continues there after a restart': async (
    place,
  ) => {
    {
      await using storage = await openWith(place, 'acme', 'other', 'empty');
      await log(storage, 'acme', 3);
      await storage.follows.begin('watcher', 'Beginning');
      await log(storage, 'other', 1);
      const both = [
        { tenant: 'acme', nextIndex: 0, endIndex: 3 },
        { tenant: 'other', nextIndex: 0, endIndex: 1 },
      ];
      assert.deepEqual(await behind(storage), both);
      assert.deepEqual(await behind(storage), both, 'until it has moved');
      const moved = await storage.follows.advance('watcher', [step('acme', 0, 2), step('other', 0, 1)]);
      assert.deepEqual(moved, [true, true]);
      assert.deepEqual(await behind(storage), [{ tenant: 'acme', nextIndex: 2, endIndex: 3 }]);
      await storage.follows.begin('second', 'Beginning');
      assert.deepEqual(await behind(storage, 'second'), both, 'each for itself');
      await log(storage, 'other', 1);
    }
    await using storage = await place.open();
    await storage.follows.begin('watcher', 'End');
    assert.deepEqual(await behind(storage), [
      { tenant: 'acme', nextIndex: 2, endIndex: 3 },
      { tenant: 'other', nextIndex: 1, endIndex: 2 },
    ]);
  },

  'a follower that begins at the end takes new entries, also of new tenants': async (place) => {
    await using storage = await openWith(place, 'acme', 'other');
    await log(storage, 'acme', 3);
    await storage.follows.begin('watcher', 'End');
    assert.deepEqual(await behind(storage), []);
    await log(storage, 'acme', 1);
    await storage.tenants.ensure('new', 0);
    await log(storage, 'new', 2);
    assert.deepEqual(await behind(storage), [
      { tenant: 'acme', nextIndex: 3, endIndex: 4 },
      { tenant: 'new', nextIndex: 0, endIndex: 2 },
    ]);
  },

  'a follower that began at the end of nothing goes on from there after a restart': async (installation) => {
    {
      await using storage = await installation.open();
      await storage.follows.begin('watcher', 'End');
      await storage.tenants.ensure('acme', 0);
      await log(storage, 'acme', 2);
    }
    await using storage = await installation.open();
    await storage.follows.begin('watcher', 'End');
    assert.deepEqual(await behind(storage), [{ tenant: 'acme', nextIndex: 0, endIndex: 2 }]);
  },

  'jobs are stored with the position, unless another process has moved it': async (place) => {
    await using storage = await openWith(place, 'acme', 'other');
    await storage.follows.begin('watcher', 'Beginning');
    await log(storage, 'acme', 2);
    await log(storage, 'other', 1);
    const jobs = (body: string, tenant: string) => [{ ...jobOf({ body }), tenant }];
    const { follows } = storage;
    assert.deepEqual(await follows.advance('watcher', [step('acme', 0, 1, jobs('1', 'acme'))]), [true]);
    const steps = [step('acme', 0, 2, jobs('wrong', 'acme')), step('other', 0, 1, jobs('2', 'other'))];
    assert.deepEqual(await follows.advance('watcher', steps), [false, true]);
    assert.deepEqual(await behind(storage), [{ tenant: 'acme', nextIndex: 1, endIndex: 2 }]);
    const bodies = (await storage.work.claim(WISH)).map(({ job }) => job.body);
    assert.deepEqual(bodies.sort(), ['1', '2']);
    assert.deepEqual(await follows.advance('watcher', [step('acme', 1, 2)]), [true]);
    assert.deepEqual(await behind(storage), []);
  },

  'a follower of tenants with records of a kind learns of no other log, and of theirs from the beginning':
    async (place) => {
      const ofPolicies = (storage: Storage) => behind(storage, 'watcher', 'Policy');
      const policy = recordOf('acme', { kind: 'Policy' });
      {
        await using storage = await openWith(place, 'acme', 'other', 'third');
        await storage.follows.begin('watcher', 'Beginning');
        await log(storage, 'acme', 2);
        await log(storage, 'third', 1);
        await append(storage, changeOf([recordOf('other')]));
        assert.deepEqual(await ofPolicies(storage), []);
        await append(storage, changeOf([policy]));
        const first = [{ tenant: 'acme', nextIndex: 0, endIndex: 3 }];
        assert.deepEqual(await ofPolicies(storage), first);
        assert.deepEqual(await ofPolicies(storage), first, 'until it has moved');
        assert.deepEqual(await storage.follows.advance('watcher', [step('acme', 0, 3)]), [true]);
        await log(storage, 'other', 1);
        assert.deepEqual(await ofPolicies(storage), []);
        await append(storage, changeOf([nextVersion(policy, { state: 'Deleted' })]));
        await append(storage, changeOf([recordOf('other', { kind: 'Policy' })]));
        assert.deepEqual(await ofPolicies(storage), [
          { tenant: 'acme', nextIndex: 3, endIndex: 4 },
          { tenant: 'other', nextIndex: 0, endIndex: 3 },
        ]);
        assert.equal((await storage.follows.behind('watcher', 1, 'Policy')).length, 1);
      }
      await using storage = await place.open();
      await storage.follows.begin('watcher', 'Beginning');
      const known = [
        { tenant: 'acme', nextIndex: 3, endIndex: 4 },
        { tenant: 'other', nextIndex: 0, endIndex: 3 },
      ];
      assert.deepEqual(await ofPolicies(storage), known);
      // Its entries before the restart are older than all that is read now.
      await append(storage, changeOf([recordOf('third', { kind: 'Policy' })]));
      const third = { tenant: 'third', nextIndex: 0, endIndex: 2 };
      assert.deepEqual(await ofPolicies(storage), [...known, third]);
      const steps = [step('acme', 3, 4), step('other', 0, 2), step('third', 0, 2)];
      assert.deepEqual(await storage.follows.advance('watcher', steps), [true, true, true]);
      assert.deepEqual(await ofPolicies(storage), [{ tenant: 'other', nextIndex: 2, endIndex: 3 }]);
      assert.deepEqual(await behind(storage), [{ tenant: 'other', nextIndex: 2, endIndex: 3 }]);
    },
};
