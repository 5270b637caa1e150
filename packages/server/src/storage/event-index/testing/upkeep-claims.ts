// What every backend's index is held to while it is kept: it is compared with the log.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { BlockKeys } from '../store/block-codec.ts';
import { makeSegment } from '../store/make-segment.ts';
import type { ListedSegment, Manifest } from '../store/manifest.ts';
import { Searches } from '../store/searches.ts';
import { SegmentOutput } from '../store/segment-output.ts';
import type { IndexedLog } from '../store/segment-store.ts';
import { createSystemRandom } from '../../../runtime/random.ts';
import { said } from './any-question.ts';
import { boundLog } from './bound-ports.ts';
import { comparedSegments } from './compared-segments.ts';
import { asking, notes, noting } from './noted-events.ts';
import { type IndexBackend, TestIndex } from './open-index.ts';
import { questionOf } from './plain-definition.ts';

/** `open` gives an empty store. */
export function claimUpkeep(open: () => Promise<IndexBackend>): void {
  const withIndex = (work: (index: TestIndex, backend: IndexBackend) => Promise<void>) => async () => {
    await using backend = await open();
    await work(new TestIndex(backend), backend);
  };

  test(
    'segments that were made, merged or made again are what the log makes of them',
    withIndex(async (index, backend) => {
      for (let round = 0; round < 5; round++) {
        await index.append('acme', fc.sample(said, 13));
        await index.follow();
      }
      assert.deepEqual(await comparedSegments(backend), { faults: [], events: 65 });
      await index.rebuild('acme');
      assert.deepEqual(await comparedSegments(backend), { faults: [], events: 65 });
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
        return { total, faults: (await comparedSegments(backend)).faults };
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
        assert.deepEqual(await comparedSegments(backend), { faults: [], events: 5 });
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
      const [fault] = (await comparedSegments(backend)).faults;
      assert.match(fault!.message, /^the index of the events from 0 to 14 is damaged: block \d+ of segment/);
      const broken = {
        ...manifest,
        version: manifest.version + 1,
        segments: [{ id, firstIndex: 0, docs: 0 }],
      };
      await store.swap('acme', manifest.version, broken as unknown as typeof manifest);
      assert.deepEqual(await comparedSegments(backend), { faults: [], events: 0 });
      assert.equal((await index.find('acme', asking('refund'))).total, 15);
      index.maker.hint('acme');
      await index.follow();
      assert.deepEqual(await comparedSegments(backend), { faults: [], events: 15 });
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
        return { total, ...(await comparedSegments(backend)) };
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
