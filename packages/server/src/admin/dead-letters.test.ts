// Dead letters on a real store, without a service.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type AccessStore, openAccessStore } from '../testing/access-store.ts';
import { testCall } from '../testing/test-call.ts';
import type { JobKind } from '../work/jobs.ts';
import { createDeadLetters, type LetterParts } from './dead-letters.ts';

const TENANT = 'acme';

let store: AccessStore;
before(async () => {
  store = await openAccessStore();
  await store.access.tenants.ensure(TENANT, store.clock.now());
});
after(() => store[Symbol.asyncDispose]());

async function letter(kind: JobKind, lane: string): Promise<string> {
  const { storage, nextId } = store;
  const jobId = nextId();
  await storage.work.forTenant(TENANT).enqueue({ jobId, kind, lane, body: '{}' });
  const [claim] = await storage.work.claim({ kind, max: 1, perLane: 1, leaseMs: 60_000 });
  const outcome = { status: 'Dead', reason: 'no answer' } as const;
  await storage.work.finish([{ tenant: TENANT, jobId, token: claim!.token, outcome }]);
  return jobId;
}

function letters() {
  const { storage, clock, nextId } = store;
  const woken: string[] = [];
  const parts = {
    work: storage.work,
    clock,
    steadyNowMs: () => clock.now(),
    nextId,
    wake: (kind: string) => void woken.push(kind),
  };
  return { ...createDeadLetters(parts as unknown as LetterParts), woken };
}

test('a letter that is tried again already is accepted once more, and one that is over is gone', async () => {
  const messageId = await letter('Export', 'e');
  const { 'deadLetters.reprocess': reprocess, woken } = letters();
  const ask = () => reprocess.perform(testCall({ operation: 'deadLetters.reprocess' }), { messageId });
  const answers = [await ask(), await ask()];
  for (const { kind, body } of answers)
    assert.deepEqual([kind, body.status, body.exportId], ['Accepted', 'Reprocessing', 'e']);
  assert.deepEqual(woken, ['Export'], 'it is tried once');
  const [claim] = await store.storage.work.claim({ kind: 'Export', max: 1, perLane: 1, leaseMs: 60_000 });
  assert.equal((await ask()).kind, 'Accepted', 'it is under way');
  const outcome = { status: 'Done' } as const;
  await store.storage.work.finish([{ tenant: TENANT, jobId: messageId, token: claim!.token, outcome }]);
  await assert.rejects(ask(), { code: 'MESSAGE_NOT_FOUND' });
});
