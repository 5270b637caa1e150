// Claims about reading streams and their events by pages.

import assert from 'node:assert/strict';
import { CLASSIFICATIONS } from '@tallystick/contract';
import { decodeEntry } from '@tallystick/evidence';
import { append, type Claims, draftOf, request, soundContent, textsOf } from './claims.ts';
import { NEWEST, openLimited, shapesOf } from './streams-of.ts';

export const streamReadClaims: Claims = {
  'an event that is not what was hashed says so, alone and among others, and none of it is given': async (
    place,
  ) => {
    await using storage = await openLimited(place, {}, 'acme');
    const drafts = Array.from({ length: 3 }, (_, i) => draftOf({ payload: { i } }));
    await append(storage, request('acme', drafts));
    const log = storage.log.forTenant('acme');
    await place.alterContent('acme', 1, '{"payload":{"i":7}}');
    const [before, altered, behind] = await log.events(0, 3, 3);
    assert.deepEqual(soundContent(before).texts, textsOf(drafts[0]!));
    assert.deepEqual(Object.keys(altered!.content!), ['fault']);
    assert.deepEqual(soundContent(behind).texts, textsOf(drafts[2]!));
    assert.deepEqual(await log.event(drafts[1]!.eventId, CLASSIFICATIONS), altered);
    assert.deepEqual(await log.events(0, 3, 3, { isFromEnd: true }), [behind, altered, before]);
    await place.alterContent('acme', 1, '{"payload":{"i":1}}');
    assert.deepEqual(soundContent((await log.events(1, 2, 1))[0]).texts, textsOf(drafts[1]!));
  },

  'streams are listed newest first, page by page, and are those of the tenant alone': async (place) => {
    await using storage = await openLimited(place, { sealAfterEvents: 2 }, 'acme', 'other');
    const drafts = Array.from({ length: 9 }, () => draftOf());
    await append(storage, request('acme', drafts));
    await append(storage, request('other', [draftOf()]));
    const log = storage.log.forTenant('acme');
    const all = await log.streams(NEWEST, 100);
    assert.deepEqual(
      all.map(({ firstIndex, endIndex }) => [firstIndex, endIndex]),
      [
        [12, 13],
        [9, 12],
        [6, 9],
        [3, 6],
        [0, 3],
      ],
    );
    const first = await log.streams(NEWEST, 2);
    const second = await log.streams({ before: first.at(-1)!.firstIndex }, 2);
    assert.deepEqual([...first, ...second, ...(await log.streams({ before: 3 }, 2))], all);
    assert.deepEqual(await log.streams({ before: 0 }, 2), []);
    const oldest = all.toReversed();
    assert.deepEqual(await log.streams({ after: undefined }, 2), oldest.slice(0, 2));
    assert.deepEqual(await log.streams({ after: 3 }, 2), oldest.slice(2, 4));
    assert.deepEqual(await log.streams({ after: 12 }, 2), []);
    const other = storage.log.forTenant('other');
    assert.equal(await other.stream(all[0]!.streamId), undefined);
    assert.equal(await other.streamCount(), 1);
    const nobody = storage.log.forTenant('nobody');
    assert.deepEqual([await nobody.streams(NEWEST, 9), await nobody.streamCount()], [[], 0]);
    assert.equal(await nobody.stream(all[0]!.streamId), undefined);
  },

  'events are read in order and without a gap, notices among them, within any bounds': async (place) => {
    await using storage = await openLimited(place, { sealAfterEvents: 2 }, 'acme', 'other');
    const drafts = Array.from({ length: 5 }, (_, n) =>
      draftOf({ payload: { n } }, { classification: n % 2 === 0 ? 'Secret' : 'Public' }),
    );
    for (const draft of drafts) {
      await append(storage, request('acme', [draft]));
      await append(storage, request('other', [draftOf()]));
    }
    await place.removeContent('acme', 1);
    const log = storage.log.forTenant('acme');
    const all = await log.events(0, 100, 100);
    assert.deepEqual(
      all.map(({ index, entry }) => [index, decodeEntry(entry).kind]),
      [1, 1, 8, 1, 1, 8, 1].map((kind, index) => [index, kind]),
    );
    assert.deepEqual(
      all.map(({ classification }) => classification),
      ['Secret', 'Public', 'Internal', 'Secret', 'Public', 'Internal', 'Secret'],
    );
    assert.equal(all[1]!.content, undefined);
    assert.deepEqual(soundContent(all[3]).texts, textsOf(drafts[2]!));
    assert.equal(soundContent(all[2]).expiresAtMs, undefined, 'a notice stays');
    for (const [from, end, limit] of [
      [2, 5, 100],
      [2, 100, 3],
      [6, 7, 1],
      [7, 100, 100],
      [3, 3, 9],
      [0, 100, 0],
    ] as const) {
      assert.deepEqual(await log.events(from, end, limit), all.slice(from, Math.min(end, from + limit)));
    }
    assert.deepEqual(await storage.log.forTenant('nobody').events(0, 9, 9), []);
  },

  'reads of a stream and of the log see one state, also while events are appended': async (place) => {
    await using storage = await openLimited(place, { sealAfterEvents: 3 }, 'acme');
    await append(storage, request('acme', [draftOf()]));
    const log = storage.log.forTenant('acme');
    const appending = (async () => {
      for (let i = 0; i < 30; i++) await append(storage, request('acme', [draftOf(), draftOf()]));
    })();
    for (let i = 0; i < 20; i++) {
      const streams = (await log.streams(NEWEST, 1000)).toReversed();
      for (const [n, stream] of streams.entries()) {
        const next = streams[n + 1];
        assert.equal(next === undefined, stream.sealedAtMs === undefined);
        if (next !== undefined)
          assert.deepEqual([next.firstIndex, next.genesis], [stream.endIndex, stream.head]);
        else assert.ok(stream.endIndex - stream.firstIndex < 3, 'an open stream is not full');
      }
    }
    await appending;
    assert.equal((await shapesOf(place, storage, 'acme')).length, 21);
  },
};
