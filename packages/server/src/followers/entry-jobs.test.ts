// A follower of the test's own, on the real store: the index knows nothing of it.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { systemClock } from '../runtime/clock.ts';
import { createUlids } from '../runtime/ids.ts';
import { createSystemRandom } from '../runtime/random.ts';
import { append, draftOf, openWith, request, soundContent, STREAMS } from '../storage/conformance/claims.ts';
import { openSqliteStorage } from '../storage/sqlite/sqlite-storage.ts';
import type { Storage } from '../storage/storage.ts';
import type { StoredEvent } from '../streams/log.ts';
import type { Job, NewJob } from '../work/jobs.ts';
import { createEntryJobs } from './entry-jobs.ts';

const folder = mkdtempSync(join(tmpdir(), 'tallystick-follower-'));
after(() => rmSync(folder, { recursive: true }));
const random = createSystemRandom();
const nextId = createUlids(systemClock, random);
const CLAIM = { kind: 'Verification', max: 1000, perLane: 1000, leaseMs: 60_000 } as const;

function openIn(directory: string): Promise<Storage> {
  const onFatal = (error: Error) => {
    throw error;
  };
  const options = { logOrigin: 'follower.test', streams: STREAMS, clock: systemClock, random, onFatal };
  return openSqliteStorage({ ...options, directory, threads: false, exclusive: true });
}

function actionOf(event: StoredEvent): string {
  return String(JSON.parse(soundContent(event).texts[0]).action);
}

/** Makes a job of each event, and fails at those whose action is Fail. */
function followerOn(storage: Storage, isMended = () => false) {
  return createEntryJobs({
    name: 'watcher',
    from: 'Beginning',
    follows: storage.follows,
    log: storage.log,
    nextId,
    async handle(tenant, events) {
      return events.map((event): NewJob => {
        const action = actionOf(event);
        if (action === 'Fail' && !isMended()) throw new Error('cannot take it');
        return { tenant, jobId: nextId(), kind: 'Verification', body: JSON.stringify([event.index, action]) };
      });
    },
  });
}

async function log(storage: Storage, tenant: string, ...actions: string[]): Promise<void> {
  await append(
    storage,
    request(
      tenant,
      actions.map((action) => draftOf({ action })),
    ),
  );
}

async function jobs({ work }: Storage): Promise<string[]> {
  return (await work.claim(CLAIM)).map(({ job }) => `${job.tenant} ${job.body}`);
}

async function letters({ work }: Storage): Promise<Job[]> {
  const rows = { way: 'Rising', beyond: undefined, limit: 10, isWaiting: true, isRetried: true } as const;
  return work.forTenant('acme').letters(rows);
}

test('every entry of every log is taken once, in order, also after a restart', async () => {
  const directory = mkdtempSync(join(folder, 'data-'));
  const place = { open: () => openIn(directory) };
  {
    await using storage = await openWith({ ...place } as never, 'acme', 'other');
    await log(storage, 'acme', 'A', 'B');
    await log(storage, 'other', 'X');
    const turn = await followerOn(storage).turn();
    assert.deepEqual(turn, { isMore: false, taken: 3, setAside: [] });
    assert.deepEqual((await jobs(storage)).sort(), ['acme [0,"A"]', 'acme [1,"B"]', 'other [0,"X"]']);
    await log(storage, 'acme', 'C');
  }
  await using storage = await place.open();
  const follower = followerOn(storage);
  assert.equal((await follower.turn()).taken, 1);
  assert.equal((await follower.turn()).taken, 0);
  assert.equal((await jobs(storage)).filter((job) => job.endsWith('"C"]')).length, 1);
});

test('more than a portion is taken in several turns', async () => {
  await using storage = await openWith(
    { open: () => openIn(mkdtempSync(join(folder, 'data-'))) } as never,
    'acme',
  );
  await log(storage, 'acme', ...Array.from({ length: 1200 }, (_, i) => `A${i}`));
  const follower = followerOn(storage);
  const turns = [await follower.turn(), await follower.turn(), await follower.turn()];
  assert.deepEqual(
    turns.map(({ isMore, taken }) => [isMore, taken]),
    [
      [true, 500],
      [true, 500],
      [false, 200],
    ],
  );
});

test('an entry that cannot be taken is set aside alone, and can be taken later', async () => {
  await using storage = await openWith(
    { open: () => openIn(mkdtempSync(join(folder, 'data-'))) } as never,
    'acme',
  );
  await log(storage, 'acme', 'A', 'Fail', 'B');
  let isMended = false;
  const follower = followerOn(storage, () => isMended);
  const { setAside, taken } = await follower.turn();
  assert.deepEqual([taken, setAside], [3, [{ tenantId: 'acme', sequence: 2, reason: 'cannot take it' }]]);
  assert.deepEqual(await jobs(storage), ['acme [0,"A"]', 'acme [2,"B"]']);
  const [letter] = await letters(storage);
  assert.deepEqual([letter?.kind, letter?.attempts], ['Followed.watcher', 3]);
  isMended = true;
  await storage.work.forTenant('acme').retry(letter!.jobId);
  const [claim] = await storage.work.claim({ ...CLAIM, kind: 'Followed.watcher' });
  const held = { signal: new AbortController().signal, progress() {} };
  const outcome = await follower.retryWork.handle(claim!.job, held);
  const { tenant, jobId } = claim!.job;
  await storage.work.finish([{ tenant, jobId, token: claim!.token, outcome }]);
  assert.deepEqual([await jobs(storage), await letters(storage)], [['acme [1,"Fail"]'], []]);
});
