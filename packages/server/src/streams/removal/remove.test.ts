import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CLASSIFICATIONS } from '@tallystick/contract';
import { KINDS, type NoticePayload, parseJson } from '@tallystick/evidence';
import { systemClock } from '../../runtime/clock.ts';
import { Deadline } from '../../runtime/deadline.ts';
import { append, nextId } from '../../storage/conformance/claims.ts';
import { changeOf, recordOf } from '../../storage/conformance/records.ts';
import { type CheckpointedStore as Store, checkpointedStores } from '../../testing/checkpointed-store.ts';
import type { RemovalStore } from './removal.ts';
import { remove, type RemovalParts, type RemovalRequest } from './remove.ts';
import { createSequencer, type Sequencer } from '../append/sequencer.ts';
import type { AppendRequest, AppendResult } from '../log.ts';

const { newPlace, open } = checkpointedStores();

const span = (firstIndex: number, endIndex: number) => ({ firstIndex, endIndex });

function requestFor(...spans: RemovalRequest['spans']): RemovalRequest {
  const correlationId = '7d3f0c52-6a3e-4b51-9a0e-2f6b1f3c9d11';
  return { tenant: 'acme', spans, cause: 'Retention', correlationId, deadline: new Deadline() };
}

function partsOf({ storage, checkpointer }: Store, more: Partial<RemovalParts> = {}): RemovalParts {
  const sequencer = createSequencer({
    writer: storage.log,
    clock: systemClock,
    steadyNowMs: () => systemClock.now(),
  });
  const { removal, tree: trees } = storage;
  return {
    removal,
    trees,
    sequencer,
    checkpointer,
    clock: systemClock,
    nextId,
    forget: async () => {},
    ...more,
  };
}

async function storeWith(count: number): Promise<Store> {
  const store = await open(newPlace());
  await store.fill('acme', count);
  await store.covers('acme', count);
  return store;
}

/** The state of each entry's content: present, or how far it is purged. */
async function contentsOf({ storage }: Store): Promise<string> {
  const events = await storage.log.forTenant('acme').events(0, 10_000, 10_000);
  return events
    .map(({ content }) => {
      if (content === undefined || 'fault' in content) return '?';
      return 'texts' in content ? '.' : content.isDeleted ? 'D' : 'P';
    })
    .join('');
}

async function payloadAt({ storage }: Store, index: number): Promise<NoticePayload<typeof KINDS.purge>> {
  const [notice] = await storage.log.forTenant('acme').events(index, index + 1, 1);
  assert.ok(notice?.content !== undefined && 'texts' in notice.content);
  return (parseJson(notice.content.texts[1]) as { payload: NoticePayload<typeof KINDS.purge> }).payload;
}

test('content is removed under a notice that names the deciding policy, and a repeat adds no notice', async () => {
  const store = await storeWith(10);
  const policy = { policyId: nextId(), policyVersion: 3 };
  const request = { ...requestFor(span(2, 5), span(7, 8)), policy };
  const removed = await remove(request, partsOf(store));
  assert.deepEqual(removed, { noticeIndexes: [10] });
  assert.equal(await contentsOf(store), '..DDD..D...');
  const { subtrees, ...payload } = await payloadAt(store, 10);
  const ranges = [span(2, 5), span(7, 8)].map(({ firstIndex, endIndex }) => [firstIndex, endIndex]);
  assert.deepEqual(payload, { ...policy, cause: 'Retention', ranges, count: 4 });
  assert.equal(subtrees.length, 3);
  assert.deepEqual(await remove(request, partsOf(store)), removed);
  assert.equal((await contentsOf(store)).length, 11, 'there is no second notice');
  await store.close();
});

test('a removal that overlaps an earlier one removes the remaining content and finishes the earlier one', async () => {
  const store = await storeWith(10);
  await remove(requestFor(span(2, 4)), partsOf(store));
  assert.deepEqual(await remove(requestFor(span(0, 6)), partsOf(store)), { noticeIndexes: [10, 11] });
  assert.deepEqual((await payloadAt(store, 11)).ranges, [
    [0, 2],
    [4, 6],
  ]);
  assert.equal(await contentsOf(store), 'DDDDDD......');
  await store.close();
});

test('nothing is deleted before the notice is signed, and a repeat finishes it under the same notice', async () => {
  const store = await storeWith(10);
  const unsigned = {
    checkpointer: {
      refusalOf: () => undefined,
      covers: () => Promise.reject(new Error('nothing is signed at the moment')),
    },
    // The service signs the notice sooner or later.
    trees: signedUpTo(store, 10),
  };
  await assert.rejects(remove(requestFor(span(2, 5)), partsOf(store, unsigned)), /nothing is signed/);
  assert.equal(await contentsOf(store), '..PPP......');
  const broken: RemovalStore = {
    ...store.storage.removal,
    deleteContents: async (tenant, notice, from) =>
      notice === 10
        ? store.storage.removal.deleteContents(tenant, notice, from)
        : Promise.reject(new Error('disk')),
  };
  const twice = requestFor(span(2, 5), span(7, 9));
  await assert.rejects(remove(twice, partsOf(store, { removal: broken })), /disk/);
  assert.equal((await contentsOf(store)).slice(0, 10), '..DDD..PP.');
  assert.deepEqual(await remove(twice, partsOf(store)), { noticeIndexes: [10, 11] });
  assert.equal(await contentsOf(store), '..DDD..DD...');
  await store.close();
});

/** Says that no more than so many entries are signed. */
function signedUpTo({ storage }: Store, size: number): RemovalParts['trees'] {
  return {
    forTenant(tenant) {
      const trees = storage.tree.forTenant(tenant);
      return {
        tree: (index) => trees.tree(index),
        async head(index) {
          const head = await trees.head(index);
          const latest = head?.latest;
          return head && { ...head, latest: latest && { ...latest, size: Math.min(size, latest.size) } };
        },
      };
    },
  };
}

test('spans that exceed one notice go into a second one', async () => {
  const store = await storeWith(1500);
  const spans = Array.from({ length: 1400 }, (_, i) => i)
    .filter((index) => index % 7 !== 0)
    .map((index) => span(index, index + 1));
  const { noticeIndexes } = await remove(requestFor(...spans), partsOf(store));
  assert.equal(noticeIndexes.length, 2);
  const counts = await Promise.all(noticeIndexes.map(async (index) => (await payloadAt(store, index)).count));
  // The first stream's seal is among the first thousand entries.
  assert.deepEqual(counts, [999, 200]);
  await store.close();
});

test('a hold that was placed meanwhile refuses the notices behind it, and those before it are finished', async () => {
  const store = await storeWith(1500);
  const { storage } = store;
  const asOf = async () => (await storage.tenants.find('acme'))!.holdsAsOf;
  // More than one notice names.
  const spans = Array.from({ length: 1400 }, (_, i) => span(i, i + 1)).filter((_, i) => i % 7 !== 0);
  const request = requestFor(...spans);
  const parts = partsOf(store);
  const holdsAsOf = await asOf();
  let notices = 0;
  const sequencer: Sequencer = {
    ...parts.sequencer,
    append: async (one: AppendRequest) => {
      if (++notices === 2) await append(storage, changeOf([recordOf('acme', { kind: 'LegalHold' })]));
      return parts.sequencer.append(one) as Promise<AppendResult>;
    },
  } as Sequencer;
  const deleted = async () => (await contentsOf(store)).replaceAll(/[^D]/g, '').length;
  const refused = await remove({ ...request, holdsAsOf }, { ...parts, sequencer });
  assert.deepEqual(refused, { noticeIndexes: [1501], holdsChanged: true });
  assert.equal(await deleted(), 999);
  assert.equal((await remove({ ...request, holdsAsOf }, parts)).holdsChanged, true);
  const { noticeIndexes, holdsChanged } = await remove({ ...request, holdsAsOf: await asOf() }, parts);
  assert.deepEqual([noticeIndexes.length, holdsChanged], [2, undefined]);
  assert.equal(await deleted(), 1199);
  await store.close();
});

test('without content there is no notice, and unsigned or missing entries are refused', async () => {
  const store = await storeWith(4);
  assert.deepEqual(await remove(requestFor(), partsOf(store)), { noticeIndexes: [] });
  await assert.rejects(remove(requestFor(span(2, 5)), partsOf(store)), /is signed up to 4, and index 4 is/);
  await assert.rejects(
    remove({ ...requestFor(span(0, 1)), tenant: 'nobody' }, partsOf(store)),
    /there is no tenant nobody/,
  );
  const checkpointer = { ...store.checkpointer, covers: assert.fail, refusalOf: () => 'it was put back' };
  await assert.rejects(remove(requestFor(span(0, 1)), partsOf(store, { checkpointer })), /it was put back/);
  assert.equal(await contentsOf(store), '....');
  await store.close();
});

test('nothing is removed from a log that ended with a restore: no notice can follow in it', async () => {
  const store = await storeWith(4);
  const anchored = { origin: 'audit.example.com/t/acme', size: 9, root: new Uint8Array(32) };
  const nowMs = systemClock.now();
  const begun = await store.storage.log.beginEpoch(
    { tenant: 'acme', anchored },
    { nowMs, steadyNowMs: nowMs },
  );
  assert.equal(begun.status, 'Begun');
  await assert.rejects(remove(requestFor(span(1, 2)), partsOf(store)), /a log that ended with a restore/);
  const { eventId } = begun.status === 'Begun' ? begun.notice : assert.fail();
  assert.ok((await store.storage.log.forTenant('acme').event(eventId, CLASSIFICATIONS)) !== undefined);
  await store.close();
});
