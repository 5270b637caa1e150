// What every backend's index of events is held to.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Aggregation } from '@tallystick/contract';
import * as fc from 'fast-check';
import type { Found } from '../../../events/event-index.ts';
import type { QueriedEvent } from '../../../query/queried-event.ts';
import { NO_SUCH_EVENT } from '../index-letter.ts';
import { DamagedSegment } from '../store/block-cache.ts';
import type { Manifest } from '../store/manifest.ts';
import { Searches } from '../store/searches.ts';
import type { IndexedLog, SegmentStore } from '../store/segment-store.ts';
import { question, said } from './any-question.ts';
import { bound, boundLog, watching } from './bound-ports.ts';
import { asking, indexesOf, noting, notes } from './noted-events.ts';
import { type IndexBackend, TestIndex, type TestIndexOptions } from './open-index.ts';
import { expectedOf, questionOf } from './plain-definition.ts';

const KEY_OF: Record<Aggregation, (event: QueriedEvent) => string> = {
  byAction: ({ action }) => action,
  byActor: ({ actor }) =>
    actor.userId ?? actor.serviceId ?? actor.userName ?? actor.serviceName ?? actor.actorType,
  byResource: ({ resource }) => resource.resourceType,
  byClassification: ({ classification }) => classification,
  byActorType: ({ actor }) => actor.actorType,
  byOutcome: ({ outcome }) => outcome,
  byDay: ({ timestamp }) => timestamp.slice(0, 10),
  byHour: ({ timestamp }) => `${timestamp.slice(0, 13)}:00:00.000Z`,
};

/** `open` gives an empty store. */
export function claimIndex(open: () => Promise<IndexBackend>): void {
  const withIndex =
    (work: (index: TestIndex, backend: IndexBackend) => Promise<void>, options?: TestIndexOptions) =>
    async () => {
      await using backend = await open();
      await work(new TestIndex(backend, options), backend);
    };

  test(
    'finds what the plain definition finds, in segments and behind them, for every reader, query and filter',
    withIndex(async (index) => {
      await index.append('other', notes(3));
      for (let round = 0; round < 8; round++) {
        await index.append('acme', fc.sample(said, 9));
        if (round % 3 !== 2) await index.follow();
        for (const asked of fc.sample(question, 25)) await index.requireFound('acme', asked);
      }
      assert.ok((await index.segmentsOf('acme')).length > 2);
    }),
  );

  test(
    'finds the same where more match than are gathered or counted, and the order is walked instead',
    withIndex(
      async (index) => {
        await index.append('acme', fc.sample(said, 50));
        await index.follow();
        for (const asked of fc.sample(question, 100)) await index.requireFound('acme', asked, 3);
      },
      { gatheredMax: 2, totalMax: 3 },
    ),
  );

  test(
    'pages lead on and back through the same events, whatever the order',
    withIndex(async (index) => {
      await index.append('acme', fc.sample(said, 40));
      await index.follow();
      await index.append('acme', fc.sample(said, 10));
      for (const asked of fc.sample(question, 20)) {
        const all = await index.find('acme', asked);
        for (let i = 0; i < all.events.length; i += 7) {
          const page = { ...asked, beyond: all.events[i]!.place, rowsMax: 5 };
          assert.deepEqual(indexesOf(await index.find('acme', page)), indexesOf(all).slice(i + 1, i + 6));
          const back = await index.find('acme', { ...page, direction: 'Previous' });
          assert.deepEqual(
            indexesOf(back),
            indexesOf(all)
              .slice(Math.max(0, i - 5), i)
              .toReversed(),
          );
        }
      }
    }),
  );

  test(
    'an event is found as soon as it is stored, and nothing is behind',
    withIndex(async (index) => {
      for (let i = 0; i < 12; i++) {
        await index.append('acme', [noting(`stored n${i}`)]);
        const { total, state } = await index.find('acme', asking(`"stored n${i}"`));
        assert.deepEqual([total, state.pendingEvents, state.lagMs, state.indexedEvents], [1, 0, 0, i + 1]);
        if (i === 7) await index.follow();
      }
    }),
  );

  test(
    'a range of times that begins before 1970 counts no place of a tail where no event is yet',
    withIndex(async (index) => {
      const [one, two] = [noting('one'), noting('two')];
      await index.append('acme', [one, two]);
      const filters = { timeRange: { from: '1969-01-01T00:00:00.000Z', to: two.timestamp } };
      assert.equal((await index.find('acme', { filters })).total, 2);
    }),
  );

  test(
    'counts what is found by each of its properties, as this reader sees it',
    withIndex(async (index) => {
      await index.append('acme', fc.sample(said, 60));
      await index.follow();
      await index.append('acme', fc.sample(said, 20));
      const aggregations = Object.keys(KEY_OF) as Aggregation[];
      const logged = await index.logged('acme');
      for (const asked of fc.sample(question, 60)) {
        const { aggregations: counted, isApproximate } = await index.find('acme', { ...asked, aggregations });
        assert.equal(isApproximate, false);
        for (const aggregation of aggregations) {
          const counts = new Map<string, number>();
          for (const event of expectedOf(logged, asked)) {
            const key = KEY_OF[aggregation](event);
            counts.set(key, (counts.get(key) ?? 0) + 1);
          }
          const found = counted![aggregation]!.map(({ key, count }) => [key, count] as const);
          assert.deepEqual(new Map(found), counts, aggregation);
        }
      }
    }),
  );

  test(
    'segments are made of full tails, and merged in sizes; one who is behind makes large ones',
    withIndex(async (index) => {
      for (let i = 0; i < 7; i++) {
        await index.append('acme', notes(5));
        await index.follow();
      }
      assert.deepEqual(await index.segmentsOf('acme'), [15, 15, 5]);
      await index.append('acme', notes(19));
      await index.follow();
      // Three of a size become one, with a smaller one between them.
      assert.deepEqual(await index.segmentsOf('acme'), [50]);
      assert.equal((await index.find('acme', asking('refund'))).total, 54);
    }),
  );

  test(
    'several who make segments at once list each event once, and leave no block that nobody lists',
    withIndex(async (index, { making: { store } }) => {
      await index.append('acme', notes(40));
      const made: number[] = [];
      const watched: SegmentStore = watching(store, (segment) => made.push(segment));
      const makers = [index.otherMaker(watched), index.otherMaker(watched), index.otherMaker(watched)];
      for (let i = 0; i < 6; i++) await Promise.all(makers.map((maker) => maker.turn()));
      for (const maker of makers) await maker.settle();
      await index.requireFound('acme', asking('refund'));
      const { segments, replaced } = (await store.manifest('acme'))!;
      const listed = [...segments, ...replaced].map(({ id }) => id);
      for (const segment of made.filter((id) => !listed.includes(id)))
        assert.deepEqual(await store.get('acme', [{ segment, block: 0 }]), [undefined]);
    }),
  );

  test(
    'one that is killed before the manifest lists its segment leaves nothing that is read',
    withIndex(async (index, { making: { store } }) => {
      await index.append('acme', notes(12));
      const killed = { ...bound(store), swap: () => Promise.reject(new Error('killed')) };
      await assert.rejects(index.otherMaker(killed).turn(), /killed/);
      assert.deepEqual(await index.segmentsOf('acme'), []);
      await index.requireFound('acme', asking('refund'));
      await index.follow();
      await index.requireFound('acme', asking('refund'));
    }),
  );

  test(
    'an index is made again behind the one that answers, also with what is appended in between',
    withIndex(async (index) => {
      await index.append('acme', notes(32));
      await index.follow();
      const before = await index.backend.making.store.manifest('acme');
      assert.equal((await index.maker.build('acme')).isDone, false);
      assert.equal((await index.searches.state('acme', 0)).isRebuilding, true);
      await index.append('acme', notes(4));
      await index.requireFound('acme', asking('refund'));
      await index.rebuild('acme');
      const state = await index.searches.state('acme', 0);
      assert.deepEqual([state.generation, state.isRebuilding, state.indexedEvents], [2, false, 36]);
      await index.requireFound('acme', asking('refund'));
      const after = await index.backend.making.store.manifest('acme');
      const idsOf = (manifest: Manifest | undefined) => manifest!.segments.map(({ id }) => id);
      assert.ok(idsOf(after).every((id) => !idsOf(before).includes(id)));
    }),
  );

  test(
    'no word of content that is Confidential or Secret stands in a block, and none opens in another place',
    withIndex(async (index, { making: { store } }) => {
      await index.append('acme', [
        ...['Public', 'Internal', 'Confidential', 'Secret'].map((classification) =>
          noting(`xylophone${classification}`, { classification: classification as 'Public' }),
        ),
        noting('other'),
      ]);
      await index.follow();
      const { segments } = (await store.manifest('acme'))!;
      const { id: segment } = segments[0]!;
      const stored: Buffer[] = [];
      for (let block = 0; ; block++) {
        const [bytes] = await store.get('acme', [{ segment, block }]);
        if (bytes === undefined) break;
        stored.push(bytes);
      }
      const { zstdDecompressSync } = await import('node:zlib');
      const inTheClear = stored.map((bytes) => {
        try {
          return zstdDecompressSync(bytes).toString('latin1');
        } catch {
          return bytes.toString('latin1');
        }
      });
      const has = (word: string) => inTheClear.some((text) => text.includes(word));
      assert.ok(has('xylophoneinternal') && has('xylophonepublic'));
      assert.ok(!has('xylophoneconfidential') && !has('xylophonesecret'));
      for (const classification of ['internal', 'confidential', 'secret'])
        assert.equal((await index.find('acme', asking(`xylophone${classification}`))).total, 1);
    }),
  );

  test(
    'a segment that is damaged or gone is found out, and its events are found once it is discarded',
    withIndex(async (index, { making: { store } }) => {
      await index.append('acme', notes(22));
      await index.follow();
      const [first, second] = (await store.manifest('acme'))!.segments;
      await store.remove('acme', second!.id);
      const isOf = (id: number) => (error: unknown) =>
        error instanceof DamagedSegment && error.segment === id;
      await assert.rejects(index.find('acme', asking('refund')), isOf(second!.id));
      await index.maker.discard('acme', second!.id);
      await index.requireFound('acme', asking('refund'));
      await index.follow();
      assert.deepEqual(await index.segmentsOf('acme'), [15, 5]);
      await index.requireFound('acme', asking('refund'));
      await store.remove('acme', first!.id);
      await store.put('acme', first!.id, [{ block: 0, bytes: Buffer.from('no block') }]);
      const fresh = new TestIndex(index.backend);
      await assert.rejects(fresh.find('acme', asking('refund')), isOf(first!.id));
    }),
  );

  test(
    'a segment that a manifest lists for another tenant, or for another range, is not read',
    withIndex(async (index, { making: { store } }) => {
      await index.append('acme', notes(7));
      await index.append('other', notes(7, 'hidden'));
      await index.follow();
      const [own, others] = [(await store.manifest('acme'))!, (await store.manifest('other'))!];
      const relisted = async (change: Partial<Manifest['segments'][number]>) => {
        const { version } = (await store.manifest('acme'))!;
        const segments = [{ ...own.segments[0]!, ...change }];
        await store.swap('acme', version, { ...own, segments, version: version + 1 });
        await assert.rejects(new TestIndex(index.backend).find('acme', asking('hidden')), DamagedSegment);
      };
      await relisted({ id: others.segments[0]!.id });
      const [leaf] = await index.backend.making.log.leaves('acme', [3]);
      const lastLeaf = Buffer.from(leaf!).toString('hex');
      await relisted({ docs: 4, lastLeaf });
    }),
  );

  test(
    'segments of a log that was put back are left out, and made again',
    withIndex(async (index, { making: { store } }) => {
      await index.append('acme', notes(22));
      await index.follow();
      const manifest = (await store.manifest('acme'))!;
      const segments = manifest.segments.map((each, i) =>
        i === 1 ? { ...each, lastLeaf: 'ab'.repeat(32) } : each,
      );
      await store.swap('acme', manifest.version, { ...manifest, segments, version: manifest.version + 1 });
      const fresh = new TestIndex(index.backend);
      await fresh.requireFound('acme', asking('refund'));
      // As the search has it said.
      fresh.maker.hint('acme');
      await fresh.follow();
      await fresh.requireFound('acme', asking('refund'));
      assert.ok(
        (await store.manifest('acme'))!.segments.every(({ lastLeaf }) => lastLeaf !== 'ab'.repeat(32)),
      );
    }),
  );

  test(
    'a tenant finds nothing of another, whatever it asks',
    withIndex(async (index) => {
      await index.append('acme', notes(12));
      await index.append('other', notes(12, 'hidden'));
      await index.follow();
      for (const asked of fc.sample(question, 20)) await index.requireFound('acme', asked);
      assert.equal((await index.find('acme', asking('hidden'))).total, 0);
      assert.equal((await index.find('nobody', asking('refund'))).total, 0);
    }),
  );

  test(
    'an unreadable event is set aside with a reason, found by nothing, and holds up no other',
    withIndex(async (index) => {
      await index.append('acme', notes(12));
      await index.append('other', notes(12));
      const { log } = index.backend.making;
      const altered: ReadonlyMap<number, object> = new Map<number, object>([
        [1, { timestamp: 'x' }],
        [2, { outcome: 'Weird' }],
        [3, { action: 5 }],
        [4, { actor: { actorType: 'User', userId: { a: 1 } } }],
        [7, { resource: {} }],
      ]);
      const between: IndexedLog['between'] = async (tenant, ...range) =>
        (await log.between(tenant, ...range)).map((each) =>
          tenant === 'acme' && each.event !== undefined && altered.has(each.index)
            ? { ...each, event: { ...each.event, ...altered.get(each.index) } }
            : each,
        );
      const harmed = boundLog(log, between);
      const searches = new Searches(index.backend.searching.store, harmed);
      const never = { throwIfPassed() {} };
      const find = async () => (await searches.find('acme', questionOf(asking('-nothing')), 0, never)).found;
      const left = [0, 5, 6, 8, 9, 10, 11];
      const newestFirst = (found: Found) => indexesOf(found).toSorted((a, b) => a - b);
      assert.deepEqual(newestFirst(await find()), left, 'in the tail');
      const maker = index.otherMaker(undefined, harmed);
      while ((await maker.turn()).isMore);
      assert.deepEqual(
        index.unread.map((each) => each.index),
        [...altered.keys()],
      );
      assert.deepEqual(newestFirst(await find()), left, 'in segments');
      await index.requireFound('other', asking('refund'));
      assert.match((await maker.indexAgain('acme', 1)) ?? '', /no time/);
      // Control: as it was, each is found once it is tried again.
      for (const place of altered.keys())
        assert.equal(await index.maker.indexAgain('acme', place), undefined);
      await index.requireFound('acme', asking('refund'));
    }),
  );

  test(
    'an event that is tried again may be missing, or in the tail',
    withIndex(async (index) => {
      await index.append('acme', notes(7));
      await index.follow();
      assert.equal(await index.maker.indexAgain('acme', 99), NO_SUCH_EVENT);
      assert.equal(await index.maker.indexAgain('acme', 6), undefined);
      assert.equal(await index.maker.indexAgain('acme', 2), undefined);
      await index.requireFound('acme', asking('refund'));
    }),
  );

  test(
    'of large events few are read at once, all that are asked for are weighed, and the first is always read',
    withIndex(async (index) => {
      const words = 'refund '.repeat(9000);
      const large = Array.from({ length: 90 }, (_, i) => noting(`${words} ${i === 3 ? 'rare' : ''}`));
      for (let from = 0; from < large.length; from += 15)
        await index.append('acme', large.slice(from, from + 15));
      const indexes = [...large.keys()];
      const { log } = index.backend.searching;
      const { events, readCount } = await log.events('acme', indexes);
      assert.ok(readCount > 10 && readCount < 80, `${readCount}`);
      assert.deepEqual([...events.keys()], indexes.slice(0, readCount));
      assert.equal((await log.events('acme', [5])).readCount, 1);
      assert.equal((await log.events('acme', [99, 98])).readCount, 2);
      const found = await index.find('acme', { ...asking('refund OR rare'), order: 'Relevance' });
      assert.deepEqual([found.total, indexesOf(found)[0]], [90, 3]);
    }),
  );

  test(
    'a search that is told to stop stops',
    withIndex(async (index) => {
      await index.append('acme', notes(7));
      const stopping = {
        throwIfPassed() {
          throw new Error('stopped');
        },
      };
      await assert.rejects(index.searches.find('acme', questionOf({}), 0, stopping), /stopped/);
    }),
  );
}
