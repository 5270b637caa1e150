// Claims about streams that are sealed by their age or their size, inside the commit of the events themselves.

import assert from 'node:assert/strict';
import {
  append,
  type Claims,
  draftOf,
  fingerprint,
  now,
  NOW_MS,
  once,
  openWith,
  outcomesOf,
  placedIn,
  request,
  statusesOf,
} from './claims.ts';
import { NEWEST, openLimited, shapesOf } from './streams-of.ts';

const DAY_MS = 86_400_000;
/** The first moment of the UTC day after NOW_MS. */
const MIDNIGHT_MS = (Math.floor(NOW_MS / DAY_MS) + 1) * DAY_MS;
const drafts = (count: number) => Array.from({ length: count }, () => draftOf());
const indexesOf = (result: { readonly status: string } | undefined) =>
  placedIn(result).map(({ index }) => index);

export const streamSealClaims: Claims = {
  'a tenant without events has no stream, and the first event opens one': async (place) => {
    await using storage = await openWith(place, 'acme');
    assert.deepEqual(await shapesOf(place, storage, 'acme'), []);
    await append(storage, request('acme', drafts(1)));
    assert.deepEqual(await shapesOf(place, storage, 'acme'), [[1, undefined]]);
    const [first] = await storage.log.forTenant('acme').streams(NEWEST, 10);
    assert.equal(first!.createdAtMs, NOW_MS);
  },

  'the first event of another UTC day seals the stream before it and begins the next one': async (place) => {
    await using storage = await openWith(place, 'acme');
    await append(storage, request('acme', drafts(2)));
    await append(storage, request('acme', drafts(1)), now(MIDNIGHT_MS - 1));
    assert.deepEqual(await shapesOf(place, storage, 'acme'), [[3, undefined]]);
    const [index] = indexesOf(await append(storage, request('acme', drafts(1)), now(MIDNIGHT_MS)));
    assert.equal(index, 4, 'behind the notice');
    const later = await append(storage, request('acme', drafts(1)), now(MIDNIGHT_MS + 5 * DAY_MS));
    assert.deepEqual(indexesOf(later), [6]);
    assert.deepEqual(await shapesOf(place, storage, 'acme'), [
      [3, 'Age'],
      [1, 'Age'],
      [1, undefined],
    ]);
  },

  'streams are cut at whole multiples of any age, however young they are': async (place) => {
    await using storage = await openLimited(place, { sealAfter: { ms: 1000 } }, 'acme');
    for (const afterMs of [999, 999, 1000, 1001, 1999, 2000, 60_000]) {
      await append(storage, request('acme', drafts(1)), now(NOW_MS + afterMs));
    }
    assert.deepEqual(await shapesOf(place, storage, 'acme'), [
      [2, 'Age'],
      [3, 'Age'],
      [1, 'Age'],
      [1, undefined],
    ]);
  },

  'a stream that holds as many events as it may is sealed at once, and the next one is open and empty':
    async (place) => {
      await using storage = await openLimited(place, { sealAfterEvents: 3 }, 'acme');
      assert.deepEqual(indexesOf(await append(storage, request('acme', drafts(2)))), [0, 1]);
      assert.deepEqual(await shapesOf(place, storage, 'acme'), [[2, undefined]]);
      assert.deepEqual(indexesOf(await append(storage, request('acme', drafts(1)))), [2]);
      assert.deepEqual(await shapesOf(place, storage, 'acme'), [
        [3, 'Size'],
        [0, undefined],
      ]);
      assert.deepEqual(indexesOf(await append(storage, request('acme', drafts(7)))), [4, 5, 6, 8, 9, 10, 12]);
      assert.deepEqual(await shapesOf(place, storage, 'acme'), [
        [3, 'Size'],
        [3, 'Size'],
        [3, 'Size'],
        [1, undefined],
      ]);
    },

  'streams of one event each are sealed one by one, and their notices seal nothing more': async (place) => {
    await using storage = await openLimited(place, { sealAfterEvents: 1 }, 'acme');
    assert.deepEqual(indexesOf(await append(storage, request('acme', drafts(3)))), [0, 2, 4]);
    const shapes = await shapesOf(place, storage, 'acme');
    assert.deepEqual(shapes, [
      [1, 'Size'],
      [1, 'Size'],
      [1, 'Size'],
      [0, undefined],
    ]);
    while (await storage.log.sealAged(now(NOW_MS + 10 * DAY_MS)));
    assert.deepEqual(await shapesOf(place, storage, 'acme'), shapes);
  },

  'an empty stream has no age: it takes the next event, whenever that comes': async (place) => {
    await using storage = await openLimited(place, { sealAfterEvents: 2 }, 'acme');
    await append(storage, request('acme', drafts(2)));
    await append(storage, request('acme', drafts(1)), now(MIDNIGHT_MS + 9 * DAY_MS));
    assert.deepEqual(await shapesOf(place, storage, 'acme'), [
      [2, 'Size'],
      [1, undefined],
    ]);
  },

  'boundaries of several tenants in one pool leave the others alone': async (place) => {
    await using storage = await openLimited(place, { sealAfterEvents: 2 }, 'acme', 'other', 'third');
    await append(storage, request('third', drafts(1)));
    const pool = ['acme', 'other', 'acme', 'third', 'acme', 'other', 'nobody'];
    const requests = pool.map((tenant) => request(tenant, drafts(1)));
    const results = await storage.log.append(requests, now(MIDNIGHT_MS));
    assert.deepEqual(results.slice(0, 6).flatMap(indexesOf), [0, 0, 1, 2, 3, 1]);
    assert.equal(results[6]!.status, 'Faulty');
    const sealed = [2, 'Size'];
    assert.deepEqual(await shapesOf(place, storage, 'acme'), [sealed, [1, undefined]]);
    assert.deepEqual(await shapesOf(place, storage, 'other'), [sealed, [0, undefined]]);
    assert.deepEqual(await shapesOf(place, storage, 'third'), [
      [1, 'Age'],
      [1, undefined],
    ]);
  },

  'a clock that goes back seals nothing, and one that comes again seals nothing twice': async (place) => {
    await using storage = await openWith(place, 'acme');
    for (const nowMs of [MIDNIGHT_MS, MIDNIGHT_MS - 1, NOW_MS - 9 * DAY_MS, MIDNIGHT_MS + 1]) {
      await append(storage, request('acme', drafts(1)), now(nowMs));
      assert.equal(await storage.log.sealAged(now(nowMs)), false);
    }
    assert.deepEqual(await shapesOf(place, storage, 'acme'), [[4, undefined]]);
    for (const nowMs of [MIDNIGHT_MS + DAY_MS, MIDNIGHT_MS + 1, MIDNIGHT_MS + DAY_MS]) {
      await append(storage, request('acme', drafts(1)), now(nowMs));
    }
    assert.deepEqual(await shapesOf(place, storage, 'acme'), [
      [4, 'Age'],
      [3, undefined],
    ]);
  },

  'a stream goes on where it was after opening again, also with other limits': async (place) => {
    const open = (sealAfterEvents: number) => openLimited(place, { sealAfterEvents }, 'acme');
    for (const limit of [3, 3, 3]) {
      await using storage = await open(limit);
      await append(storage, request('acme', drafts(2)));
    }
    await using storage = await open(1);
    assert.deepEqual(await shapesOf(place, storage, 'acme'), [
      [3, 'Size'],
      [3, 'Size'],
      [0, undefined],
    ]);
    await append(storage, request('acme', drafts(1)));
    assert.equal((await shapesOf(place, storage, 'acme')).length, 4);
  },

  'a stream that is larger than a limit which came later is sealed behind the next event': async (place) => {
    {
      await using storage = await openWith(place, 'acme');
      await append(storage, request('acme', drafts(5)));
    }
    await using storage = await openLimited(place, { sealAfterEvents: 2 }, 'acme');
    await append(storage, request('acme', drafts(1)));
    assert.deepEqual(await shapesOf(place, storage, 'acme'), [
      [6, 'Size'],
      [0, undefined],
    ]);
  },

  'a batch over a boundary is divided: every outcome names the place where the event is': async (place) => {
    await using storage = await openLimited(place, { sealAfterEvents: 4 }, 'acme');
    await append(storage, request('acme', drafts(2)));
    const batch = drafts(5);
    const result = await append(
      storage,
      request('acme', batch, { atomic: true, once: once('k') }),
      now(MIDNIGHT_MS),
    );
    assert.deepEqual(statusesOf(result), Array(5).fill('Appended'));
    assert.deepEqual(indexesOf(result), [3, 4, 5, 6, 8]);
    const rows = await place.rows('acme');
    assert.deepEqual(
      indexesOf(result).map((index) => rows[index]!.texts),
      batch.map(({ texts }) => texts),
    );
    const again = await append(storage, request('acme', drafts(5), { atomic: true, once: once('k') }));
    assert.ok(again.status === 'Repeated');
    assert.deepEqual(again.used.outcomes, outcomesOf(result));
    assert.deepEqual(await shapesOf(place, storage, 'acme'), [
      [2, 'Age'],
      [4, 'Size'],
      [1, undefined],
    ]);
  },

  'recognised or refused drafts seal nothing': async (place) => {
    await using storage = await openLimited(place, { sealAfterEvents: 2 }, 'acme');
    const sent = (n: number, eventId?: string) =>
      draftOf(
        { payload: { n } },
        { sentFingerprint: fingerprint(n), ...(eventId === undefined ? {} : { eventId }) },
      );
    const draft = sent(1);
    await append(storage, request('acme', [draft]));
    const nextDay = now(MIDNIGHT_MS);
    const recognised = request('acme', [sent(1, draft.eventId), sent(2, draft.eventId)]);
    assert.deepEqual(statusesOf(await append(storage, recognised, nextDay)), ['Duplicate', 'Conflict']);
    const refused = request('acme', [sent(3), sent(2, draft.eventId)], { atomic: true });
    assert.deepEqual(statusesOf(await append(storage, refused, nextDay)), ['NotAppended', 'Conflict']);
    assert.deepEqual(await shapesOf(place, storage, 'acme'), [[1, undefined]]);
    const last = sent(5);
    const mixed = request('acme', [sent(1, draft.eventId), sent(4), sent(1, draft.eventId), last]);
    assert.deepEqual(indexesOf(await append(storage, mixed, nextDay)), [0, 2, 0, 3]);
    assert.deepEqual(await shapesOf(place, storage, 'acme'), [
      [1, 'Age'],
      [2, 'Size'],
      [0, undefined],
    ]);
    const inSealed = await append(storage, request('acme', [sent(5, last.eventId), draft]), nextDay);
    assert.deepEqual(statusesOf(inSealed), ['Duplicate', 'Duplicate']);
    assert.deepEqual(indexesOf(inSealed), [3, 0]);
  },
};
