// Claims about what jobs have heard: kept with their outcome, and forgotten where content is removed, also what is heard at that moment.

import assert from 'node:assert/strict';
import type { Claim, JobOutcome } from '../../work/jobs.ts';
import type { Storage } from '../storage.ts';
import { type Claims, openWith } from './claims.ts';
import { enqueue, finish, jobOf, WISH } from './work.ts';

const KEEP_MS = 60_000;

function saying(heard: string): readonly JobOutcome[] {
  return [
    { status: 'Done', keepMs: KEEP_MS, heard },
    { status: 'Failed', reason: 'r', againInMs: 0, heard },
    { status: 'Dead', reason: 'r', heard },
  ];
}

async function claimed({ work }: Storage, count: number): Promise<Claim[]> {
  const claims = await work.claim({ ...WISH, max: count });
  assert.equal(claims.length, count);
  return claims;
}

async function heardOf({ work }: Storage, claims: readonly Claim[]): Promise<(string | undefined)[]> {
  const jobs = await Promise.all(
    claims.map(({ job: { tenant, jobId } }) => work.forTenant(tenant).find(jobId)),
  );
  return jobs.map((job) => job?.heard);
}

export const heardClaims: Claims = {
  'what a job has heard is kept with its outcome, until it hears something else': async (place) => {
    await using storage = await openWith(place, 'acme');
    for (const outcome of saying('{"at":"no Ä"}')) {
      await enqueue(storage, 'acme');
      const [claim] = await claimed(storage, 1);
      assert.ok(await finish(storage, claim!, outcome));
      assert.deepEqual(await heardOf(storage, [claim!]), ['{"at":"no Ä"}']);
      if (outcome.status !== 'Failed') continue;
      const [again] = await claimed(storage, 1);
      assert.equal(again!.job.heard, '{"at":"no Ä"}');
      assert.ok(await finish(storage, again!, { status: 'Done', keepMs: KEEP_MS }));
      assert.deepEqual(await heardOf(storage, [again!]), ['{"at":"no Ä"}']);
    }
  },

  'what jobs of a tenant and a kind have heard is forgotten, and so is what those that are held hear then':
    async (place) => {
      await using storage = await openWith(place, 'acme', 'other');
      const { work } = storage;
      for (const tenant of ['acme', 'other']) for (let i = 0; i < 6; i++) await enqueue(storage, tenant);
      const claims = await claimed(storage, 12);
      const of = (tenant: string) => claims.filter(({ job }) => job.tenant === tenant);
      const [ended, held] = [of('acme').slice(0, 3), of('acme').slice(3)];
      const outcomes = saying('canary');
      for (const [i, outcome] of outcomes.entries()) {
        assert.ok(await finish(storage, ended[i]!, outcome));
        assert.ok(await finish(storage, of('other')[i]!, outcome));
      }
      while (await work.forTenant('acme').forgetHeard('Verification'));
      while (await work.forTenant('other').forgetHeard('Rebuild'));
      assert.deepEqual(await heardOf(storage, ended), [undefined, undefined, undefined]);
      assert.deepEqual(await heardOf(storage, of('other').slice(0, 3)), ['canary', 'canary', 'canary']);
      for (const [i, outcome] of outcomes.entries()) {
        assert.ok(await finish(storage, held[i]!, outcome));
        assert.ok(await finish(storage, of('other')[i + 3]!, outcome));
      }
      assert.deepEqual(await heardOf(storage, held), [undefined, undefined, undefined]);
      assert.deepEqual(await heardOf(storage, of('other').slice(3)), ['canary', 'canary', 'canary']);
    },

  'a job that was put off since is heard again, by its next holder': async (place) => {
    await using storage = await openWith(place, 'acme');
    await enqueue(storage, 'acme');
    const [first] = await claimed(storage, 1);
    assert.equal(await storage.work.forTenant('acme').forgetHeard('Verification'), false);
    assert.ok(await finish(storage, first!, { status: 'PutOff' }));
    const [second] = await claimed(storage, 1);
    assert.ok(await finish(storage, second!, { status: 'Done', keepMs: KEEP_MS, heard: 'yes' }));
    assert.deepEqual(await heardOf(storage, [second!]), ['yes']);
  },

  'of very many jobs a portion forgets at a time': async (place) => {
    await using storage = await openWith(place, 'acme');
    const { work } = storage;
    const jobs = work.forTenant('acme');
    const count = 1100;
    await jobs.enqueueAll(Array.from({ length: count }, () => jobOf()));
    const claims: Claim[] = [];
    while (claims.length < count) claims.push(...(await work.claim({ ...WISH, max: count, perLane: count })));
    const outcome = { status: 'Done', keepMs: KEEP_MS, heard: 'canary' } as const;
    await work.finish(claims.map(({ job: { tenant, jobId }, token }) => ({ tenant, jobId, token, outcome })));
    assert.equal(await jobs.forgetHeard('Verification'), true);
    const left = (await heardOf(storage, claims)).filter((each) => each === 'canary').length;
    assert.ok(left > 0 && left < count / 2, String(left));
    assert.equal(await jobs.forgetHeard('Verification'), false);
    assert.ok((await heardOf(storage, claims)).every((each) => each === undefined));
  },
};
