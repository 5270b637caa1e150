// Claims about the work that a change causes: it is stored with the change, or not at all.

import assert from 'node:assert/strict';
import type { CausedJob } from '../../work/jobs.ts';
import { append, type Claims, nextId, once, openWith } from './claims.ts';
import { changeOf, nextVersion, recordOf } from './records.ts';
import { finish, idsOf, WISH } from './work.ts';

function caused(more: Partial<CausedJob> = {}): CausedJob {
  return { jobId: nextId(), kind: 'Verification', body: '{"cause":"Ä"}', ...more };
}

export const causedJobClaims: Claims = {
  'a change and the job that it causes are stored together, and the job is there at once': async (place) => {
    const made = recordOf('acme');
    const [first, second] = [caused({ lane: 'one' }), caused({ dueInMs: 60_000 })];
    {
      await using storage = await openWith(place, 'acme');
      await append(storage, changeOf([made], { jobs: [first, second] }));
      const found = await storage.work.forTenant('acme').find(first.jobId);
      assert.deepEqual([found?.kind, found?.lane, found?.body], [first.kind, 'one', first.body]);
      assert.equal((await storage.work.forTenant('acme').find(second.jobId))?.state, 'Later');
      await append(storage, changeOf([nextVersion(made)], { jobs: [caused({ jobId: 'not looked for' })] }));
    }
    await using storage = await place.open();
    const claims = await storage.work.claim(WISH);
    assert.deepEqual(idsOf(claims).sort(), [first.jobId, 'not looked for'].sort());
    for (const claim of claims) assert.ok(await finish(storage, claim, { status: 'Done' }));
    assert.deepEqual(await storage.work.claim(WISH), [], 'none is there again');
  },

  'a change that is refused, or repeated, causes no job': async (place) => {
    await using storage = await openWith(place, 'acme', 'other');
    const made = recordOf('acme');
    const key = once('k', { operation: 'apiKeys.create' });
    const first = caused();
    const others = [caused(), caused(), caused()];
    await append(storage, changeOf([made], { jobs: [first], once: key }));
    assert.equal((await append(storage, changeOf([made], { jobs: [others[0]!] }))).status, 'Stale');
    const again = await append(storage, changeOf([nextVersion(made)], { jobs: [others[1]!], once: key }));
    assert.equal(again.status, 'Repeated');
    await append(storage, changeOf([recordOf('other')], { jobs: [others[2]!] }));
    const claims = await storage.work.claim(WISH);
    assert.deepEqual(
      claims.map(({ job }) => [job.tenant, job.jobId]),
      [
        ['acme', first.jobId],
        ['other', others[2]!.jobId],
      ],
    );
  },
};
