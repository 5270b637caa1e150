// What every backend's index is held to when something is removed from the log: from the notice on no question finds it, and once it
// is forgotten nothing of it is left.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { boundLog } from './bound-ports.ts';
import { comparedSegments } from './compared-segments.ts';
import { asking, notes, noting } from './noted-events.ts';
import { type IndexBackend, TestIndex } from './open-index.ts';

/** `open` gives an empty store. */
export function claimRemovals(open: () => Promise<IndexBackend>): void {
  const withIndex = (work: (index: TestIndex, backend: IndexBackend) => Promise<void>) => async () => {
    await using backend = await open();
    await work(new TestIndex(backend), backend);
  };

  test(
    'what a notice says is removed is found and counted by no question, before its segments are made again and after',
    withIndex(async (index, backend) => {
      const { store } = backend.making;
      await index.append('acme', notes(12));
      await index.follow();
      await index.append('acme', notes(3));
      const before = (await store.manifest('acme'))!.segments;
      // In a segment, in the tail that was read already, and in the one that comes.
      assert.equal((await index.find('acme', asking('refund'))).total, 15);
      await index.appendPurge('acme', 2, 4);
      await index.appendPurge('acme', 11, 13);
      const requireFound = async () => {
        const found = await index.find('acme', { ...asking('refund'), aggregations: ['byAction'] });
        const indexes = found.events.map(({ stored }) => stored.index).sort((a, b) => a - b);
        assert.deepEqual([found.total, indexes], [11, [0, 1, 4, 5, 6, 7, 8, 9, 10, 13, 14]]);
        assert.equal(found.aggregations?.byAction?.[0]?.count, 11);
        assert.equal((await index.find('acme', { filters: { kinds: ['Notice'] } })).total, 2);
        assert.deepEqual((await comparedSegments(backend)).faults, []);
      };
      await requireFound();
      await index.upkeep().forget('acme');
      const manifest = (await store.manifest('acme'))!;
      assert.deepEqual([manifest.removalsTo, manifest.replaced], [17, []]);
      for (const { id } of before.filter((old) => !manifest.segments.some((now) => now.id === old.id)))
        assert.deepEqual(await store.get('acme', [{ segment: id, block: 0 }]), [undefined]);
      await requireFound();
      await index.append('acme', notes(10, 'other'));
      await index.follow();
      await requireFound();
    }),
  );

  test(
    'an event that lost a field is found by what is left of it and not by the field, before its segment is made again and after',
    withIndex(async (index, backend) => {
      const { store } = backend.making;
      await index.append('acme', notes(6));
      await index.append('acme', notes(3, 'canary'));
      await index.follow();
      // In the tail, which was read already.
      await index.append('acme', notes(3, 'canary'));
      assert.equal((await index.find('acme', asking('canary'))).total, 6);
      const actors = async () => {
        const { aggregations } = await index.find('acme', { aggregations: ['byActor'] });
        return aggregations?.byActor?.reduce(
          (sum, { key, count }) => sum + (key.startsWith('u-') ? count : 0),
          0,
        );
      };
      const [all, named] = [(await index.find('acme')).total, await actors()];
      for (const at of [7, 10]) await index.appendRedaction('acme', at, '/payload/note', '/actor/userId');
      const requireFound = async () => {
        const found = await index.find('acme', asking('canary'));
        const indexes = found.events.map(({ stored }) => stored.index).sort((a, b) => a - b);
        assert.deepEqual([found.total, indexes], [4, [6, 8, 9, 11]]);
        assert.equal((await index.find('acme')).total, all, 'nothing else is lost');
        assert.equal(await actors(), named! - 2);
        assert.deepEqual((await comparedSegments(backend)).faults, []);
      };
      await requireFound();
      await index.upkeep().forget('acme');
      assert.equal((await store.manifest('acme'))!.removalsTo, 14);
      await requireFound();
      await index.append('acme', notes(10, 'other'));
      await index.follow();
      assert.equal((await index.find('acme', asking('canary'))).total, 4);
      assert.deepEqual((await comparedSegments(backend)).faults, []);
    }),
  );

  test(
    'the name of an actor that only a purged event had is told by no count, before its segment is made again and after',
    withIndex(async (index) => {
      const user = { actorType: 'User', userId: 'u-77' } as const;
      const named = { ...user, userName: 'canary@acme.test' };
      await index.append('acme', [noting('a', { actor: user }), noting('b', { actor: named }), ...notes(3)]);
      await index.follow();
      assert.deepEqual(await index.segmentsOf('acme'), [5]);
      await index.append('acme', [noting('c', { actor: named })]);
      const actor = async () => {
        const { aggregations } = await index.find('acme', { aggregations: ['byActor'] });
        return aggregations?.byActor?.find(({ key }) => key === 'u-77');
      };
      assert.deepEqual(await actor(), { key: 'u-77', label: 'canary@acme.test', count: 3 });
      await index.appendPurge('acme', 1, 2);
      await index.appendPurge('acme', 5, 6);
      assert.deepEqual(await actor(), { key: 'u-77', count: 1 });
      await index.upkeep().forget('acme');
      assert.deepEqual(await actor(), { key: 'u-77', count: 1 });
    }),
  );

  test(
    'what was removed is told by the notices, from any of them on',
    withIndex(async (index, backend) => {
      await index.append('acme', notes(12));
      const { log } = backend.making;
      assert.deepEqual(await log.removedSince('acme', 0), []);
      await index.appendPurge('acme', 2, 4);
      const span = { firstIndex: 2, endIndex: 4 };
      assert.deepEqual(await log.removedSince('acme', 0), [{ noticeIndex: 12, spans: [span] }]);
      assert.deepEqual(await log.removedSince('acme', 13), []);
      const removed = (await log.between('acme', 0, 13, 1e6)).filter(({ event }) => event === undefined);
      assert.deepEqual(
        removed.map((each) => each.index),
        [2, 3],
      );
    }),
  );

  test(
    'of what is removed nothing is in a segment that is made at the same time, not even the first',
    withIndex(async (index, { making: { store, log } }) => {
      await index.append('acme', notes(7));
      let isRemoved = false;
      const between = async (...asked: Parameters<typeof log.between>) => {
        const read = await log.between(...asked);
        if (!isRemoved) {
          isRemoved = true;
          await index.appendPurge('acme', 2, 4);
          await index.upkeep().forget('acme');
        }
        return read;
      };
      await index.otherMaker(store, boundLog(log, between)).turn();
      assert.deepEqual(await index.segmentsOf('acme'), []);
      await index.follow();
      assert.equal((await store.manifest('acme'))!.removalsTo, 8);
      assert.equal((await index.find('acme', asking('refund'))).total, 5);
    }),
  );

  test(
    'what is removed while a segment is made again is found by no question, and goes the next time',
    withIndex(async (index, backend) => {
      const { store, log } = backend.making;
      await index.append('acme', notes(15));
      await index.follow();
      await index.appendPurge('acme', 2, 4);
      let isRemoved = false;
      const between = async (...asked: Parameters<typeof log.between>) => {
        const read = await log.between(...asked);
        if (!isRemoved) await index.appendPurge('acme', 6, 8);
        isRemoved = true;
        return read;
      };
      for (const removalsTo of [16, 17]) {
        await index.upkeep(boundLog(log, between)).forget('acme');
        assert.equal((await store.manifest('acme'))!.removalsTo, removalsTo);
        assert.equal((await index.find('acme', asking('refund'))).total, 11);
      }
    }),
  );

  test(
    'what is removed during a rebuild is not in it, though the first segment is damaged and made at the same time',
    withIndex(async (index, { making: { store } }) => {
      await index.append('acme', notes(45));
      await index.follow();
      await index.maker.build('acme');
      const [first] = (await store.manifest('acme'))!.segments;
      await index.maker.discard('acme', first!.id);
      await index.appendPurge('acme', 2, 4);
      await index.follow();
      await index.upkeep().forget('acme');
      await index.rebuild('acme');
      assert.equal((await index.find('acme', asking('refund'))).total, 43);
    }),
  );

  test(
    'of what is removed nothing is left in a segment that was discarded before',
    withIndex(async (index, { making: { store } }) => {
      await index.append('acme', notes(15));
      await index.follow();
      const [first] = (await store.manifest('acme'))!.segments;
      await index.maker.discard('acme', first!.id);
      await index.appendPurge('acme', 2, 4);
      await index.follow();
      await index.upkeep().forget('acme');
      assert.deepEqual(await store.get('acme', [{ segment: first!.id, block: 0 }]), [undefined]);
      assert.equal((await store.manifest('acme'))!.removalsTo, 16);
      assert.equal((await index.find('acme', asking('refund'))).total, 13);
    }),
  );

  test(
    'a notice that comes while a segment is compared is no difference, and one before that leaves it out',
    withIndex(async (index, backend) => {
      const { log } = backend.making;
      await index.append('acme', notes(15));
      await index.follow();
      const between = async (...asked: Parameters<typeof log.between>) => {
        await index.appendPurge('acme', 2, 4);
        return log.between(...asked);
      };
      const upkeep = index.upkeep(boundLog(log, between));
      assert.deepEqual(await upkeep.checkNext(), { isRoundDone: false, fault: undefined });
      assert.deepEqual(await comparedSegments(backend), { faults: [], events: 0, eventsLeftOut: 15 });
      await index.upkeep().forget('acme');
      assert.deepEqual(await comparedSegments(backend), { faults: [], events: 15 });
    }),
  );
}
