// What every backend's index is held to while it is kept: it is compared with the log.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { BlockKeys } from '../store/block-codec.ts';
import { compareSegments } from '../store/compare.ts';
import { makeSegment } from '../store/make-segment.ts';
import type { ListedSegment, Manifest } from '../store/manifest.ts';
import { Searches } from '../store/searches.ts';
import { SegmentOutput } from '../store/segment-output.ts';
import type { IndexedLog } from '../store/segment-store.ts';
import { createSystemRandom } from '../../../runtime/random.ts';
import { said } from './any-question.ts';
import { boundLog } from './bound-ports.ts';
import { asking, notes, noting } from './noted-events.ts';
import { type IndexBackend, TestIndex } from './open-index.ts';
import { questionOf } from './plain-definition.ts';

/** `open` gives an empty store. */
export function claimUpkeep(open: () => Promise<IndexBackend>): void {
  const withIndex = (work: (index: TestIndex, backend: IndexBackend) => Promise<void>) => async () => {
    await using backend = await open();
    await work(new TestIndex(backend), backend);
  };
  const compared = async ({ making }: IndexBackend) => {
    let events = 0;
    const { faults, eventsLeftOut } = await compareSegments('acme', making, (count) => (events += count));
    return { faults, events, ...(eventsLeftOut === 0 ? {} : { eventsLeftOut }) };
  };

  test(
    'segments that were made, merged or made again are what the log makes of them',
    withIndex(async (index, backend) => {
      for (let round = 0; round < 5; round++) {
        await index.append('acme', fc.sample(said, 13));
        await index.follow();
      }
      assert.deepEqual(await compared(backend), { faults: [], events: 65 });
      await index.rebuild('acme');
      assert.deepEqual(await compared(backend), { faults: [], events: 65 });
    }),
  );

  test(
    'a segment that was made in pieces is the same as one that was made at once',
    withIndex(async (index, { making: { log } }) => {
      await index.append('acme', fc.sample(said, 30));
      const range = { tenant: 'acme', firstIndex: 0, docs: 30 };
      const made = async (pieceEvents: number) => {
        const blocks: Buffer[] = [];
        const footer = await makeSegment(range, { log }, (raw) => blocks.push(raw), { pieceEvents });
        return { blocks, footer };
      };
      assert.deepEqual(await made(7), await made(30));
    }),
  );

  test(
    'an event that somebody has left out of a segment, or put words into, is named',
    withIndex(async (index, backend) => {
      const { store, log } = backend.making;
      await index.append('acme', notes(15));
      await index.follow();
      const [listed] = (await store.manifest('acme'))!.segments;
      const altered = async (change: (event: object | undefined) => object | undefined) => {
        const between = async (...asked: Parameters<typeof log.between>) =>
          (await log.between(...asked)).map((each) =>
            each.index === 4 ? { ...each, event: change(each.event) as typeof each.event } : each,
          );
        const keys = new BlockKeys(...(await log.secrets('acme')));
        const random = createSystemRandom();
        const output = new SegmentOutput('acme', await store.newSegment(), { store, keys, random });
        const range = { tenant: 'acme', ...listed! };
        await output.end(await makeSegment(range, { log: boundLog(log, between) }, output.take));
        const manifest = (await store.manifest('acme'))!;
        const segments = [{ ...listed!, id: output.id }];
        await store.swap('acme', manifest.version, { ...manifest, version: manifest.version + 1, segments });
        const { total } = await index.find('acme', asking('refund'));
        return { total, faults: (await compared(backend)).faults };
      };
      const message = 'the index differs from the log at event 4';
      const faults = [{ index: 4, message }];
      assert.deepEqual(await altered(() => undefined), { total: 14, faults });
      const words = (event: object | undefined) => ({ ...event!, payload: { note: 'returned' } });
      assert.deepEqual(await altered(words), { total: 14, faults });
      assert.deepEqual(await altered((event) => event), { total: 15, faults: [] });
    }),
  );

  test(
    'segments open as before when the key of fingerprints is replaced',
    withIndex(async (index, backend) => {
      await index.append('acme', [...notes(4), noting('xylophone', { classification: 'Secret' })]);
      await index.follow();
      for (let i = 0; i < 2; i++) {
        await backend.storage.tenants.replaceFingerprintKey('acme');
        assert.deepEqual(await compared(backend), { faults: [], events: 5 });
        assert.equal((await new TestIndex(backend).find('acme', asking('xylophone'))).total, 1);
      }
    }),
  );

  test(
    'a segment whose blocks are gone is named by its events, and a list that nobody can read lists nothing',
    withIndex(async (index, backend) => {
      const { store } = backend.making;
      await index.append('acme', notes(15));
      await index.follow();
      const manifest = (await store.manifest('acme'))!;
      const { id } = manifest.segments[0]!;
      await store.remove('acme', id);
      const [fault] = (await compared(backend)).faults;
      assert.match(fault!.message, /^the index of the events from 0 to 14 is damaged: block \d+ of segment/);
      const broken = {
        ...manifest,
        version: manifest.version + 1,
        segments: [{ id, firstIndex: 0, docs: 0 }],
      };
      await store.swap('acme', manifest.version, broken as unknown as typeof manifest);
      assert.deepEqual(await compared(backend), { faults: [], events: 0 });
      assert.equal((await index.find('acme', asking('refund'))).total, 15);
      index.maker.hint('acme');
      await index.follow();
      assert.deepEqual(await compared(backend), { faults: [], events: 15 });
    }),
  );

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
        assert.deepEqual((await compared(backend)).faults, []);
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
        assert.deepEqual((await compared(backend)).faults, []);
      };
      await requireFound();
      await index.upkeep().forget('acme');
      assert.equal((await store.manifest('acme'))!.removalsTo, 14);
      await requireFound();
      await index.append('acme', notes(10, 'other'));
      await index.follow();
      assert.equal((await index.find('acme', asking('canary'))).total, 4);
      assert.deepEqual((await compared(backend)).faults, []);
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
    'one segment after the other is compared in turn; one that differs is made again, and what was left over goes',
    withIndex(async (index, backend) => {
      const { store } = backend.making;
      for (const tenant of ['acme', 'globex']) await index.append(tenant, notes(15));
      await index.follow();
      const upkeep = index.upkeep();
      const round = async () => {
        const faults: unknown[] = [];
        for (let isRoundDone = false; !isRoundDone; ) {
          const step = await upkeep.checkNext();
          if (step.fault !== undefined) faults.push([step.fault.tenant, step.fault.index]);
          isRoundDone = step.isRoundDone;
        }
        return faults;
      };
      assert.deepEqual(await round(), []);
      const manifest = (await store.manifest('globex'))!;
      const [listed] = manifest.segments;
      await store.remove('globex', listed!.id);
      assert.deepEqual(await round(), [['globex', undefined]]);
      assert.deepEqual(await round(), []);
      assert.equal((await index.find('globex', asking('refund'))).total, 15);
    }),
  );

  test(
    'segments that are smaller than others, because of large events, are merged, too',
    withIndex(async (index) => {
      for (let i = 0; i < 9; i++) {
        await index.append('acme', notes(2));
        index.maker.hint('acme');
        await index.follow();
      }
      assert.deepEqual(await index.segmentsOf('acme'), [18]);
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
      assert.deepEqual(await compared(backend), { faults: [], events: 0, eventsLeftOut: 15 });
      await index.upkeep().forget('acme');
      assert.deepEqual(await compared(backend), { faults: [], events: 15 });
    }),
  );

  test(
    'one that is not of this log ends the list, though a later one is; all are asked for at once, and once',
    withIndex(async (index, { making: { store }, searching }) => {
      await index.append('acme', notes(22));
      await index.follow();
      const manifest = (await store.manifest('acme'))!;
      assert.equal(manifest.segments.length, 2);
      let asked: (readonly number[])[] = [];
      const { log } = searching;
      const leaves: IndexedLog['leaves'] = (tenant, indexes) => {
        asked.push(indexes);
        return log.leaves(tenant, indexes);
      };
      const watched = { ...boundLog(log, (...given) => log.between(...given)), leaves };
      const never = { throwIfPassed() {} };
      const search = async (searches: Searches) =>
        (await searches.find('acme', questionOf(asking('refund')), 0, never)).found.total;
      const searches = new Searches(searching.store, watched);
      for (let i = 0; i < 3; i++) assert.equal(await search(searches), 22);
      assert.deepEqual(asked, [[14, 19]]);
      const [first, second] = manifest.segments;
      const segments = [{ ...first!, lastLeaf: 'ab'.repeat(32) }, second!];
      await store.swap('acme', manifest.version, { ...manifest, segments, version: manifest.version + 1 });
      asked = [];
      // Its blocks would be read if it were listed: they are gone.
      await store.remove('acme', second!.id);
      assert.equal(await search(new Searches(searching.store, watched)), 22);
      assert.deepEqual(asked, [[14, 19]]);
      assert.deepEqual(await log.leaves('acme', []), []);
      assert.deepEqual(await log.leaves('acme', [99, 99]), [undefined, undefined]);
    }),
  );

  test(
    'a list of segments with a gap, with one twice or with one that is none is followed up to there',
    withIndex(async (index, backend) => {
      const { store } = backend.making;
      await index.append('acme', notes(22));
      await index.follow();
      const manifest = (await store.manifest('acme'))!;
      const [first, second] = manifest.segments as [ListedSegment, ListedSegment];
      let { version } = manifest;
      const listing = async (segments: readonly unknown[], more: object = {}) => {
        const next = { ...manifest, ...more, version: version + 1, segments };
        assert.ok(await store.swap('acme', version++, next as Manifest));
        const { total } = await index.find('acme', asking('refund'));
        return { total, ...(await compared(backend)) };
      };
      const whole = { total: 22, faults: [] };
      assert.deepEqual(await listing([first, second]), { ...whole, events: 20 });
      assert.deepEqual(await listing([second]), { ...whole, events: 0 });
      assert.deepEqual(await listing([first, first, second]), { ...whole, events: 15 });
      const beyond = { id: second.id, firstIndex: 15, docs: 50_000 };
      assert.deepEqual(await listing([first, beyond]), { ...whole, events: 15 });
      for (const removalsTo of [{}, [], 'x', null])
        assert.deepEqual(await listing([first, second], { removalsTo }), { ...whole, events: 20 });
    }),
  );

  test(
    'a rebuild that was begun before a log was put back begins again',
    withIndex(async (index, { making: { store } }) => {
      await index.append('acme', notes(45));
      await index.follow();
      await index.maker.build('acme');
      const manifest = (await store.manifest('acme'))!;
      const ofAnother = { ...manifest.building![0]!, lastLeaf: 'ab'.repeat(32) };
      await store.swap('acme', manifest.version, {
        ...manifest,
        building: [ofAnother],
        version: manifest.version + 1,
      });
      const fresh = new TestIndex(index.backend);
      for (let isDone = false; !isDone; ) ({ isDone } = await fresh.maker.build('acme'));
      const { segments, replaced } = (await store.manifest('acme'))!;
      assert.ok(segments.every(({ id }) => id !== ofAnother.id));
      assert.ok(replaced.some(({ id }) => id === ofAnother.id));
      await fresh.requireFound('acme', questionOf({}));
    }),
  );
}
