// Claims about streams that are sealed on request, and about idle streams.

import assert from 'node:assert/strict';
import type { StreamId } from '@tallystick/contract';
import type { Once, SealResult } from '../../streams/log.ts';
import type { Storage } from '../storage.ts';
import { append, type Claims, draftOf, fingerprint, now, NOW_MS, once, openWith, request } from './claims.ts';
import { openLimited, openStreamOf, shapesOf } from './streams-of.ts';

const DAY_MS = 86_400_000;
const one = () => [draftOf()];
const NO_STREAM: StreamId = '01KE0000000000000000000042';

function seal(
  storage: Storage,
  streamId: StreamId,
  more: { readonly once?: Once; readonly tenant?: string; readonly nowMs?: number } = {},
): Promise<SealResult> {
  const { tenant = 'acme', nowMs = NOW_MS, ...key } = more;
  return storage.log.seal({ tenant, streamId, ...key }, now(nowMs));
}

const sealOnce = (key: string, more: Partial<Once> = {}) => once(key, { operation: 'streams.seal', ...more });

export const sealRequestClaims: Claims = {
  'an open stream with something in it is sealed by its id, and the next one opens': async (place) => {
    await using storage = await openWith(place, 'acme');
    await append(storage, request('acme', [draftOf(), draftOf()]));
    const { streamId } = await openStreamOf(storage, 'acme');
    const result = await seal(storage, streamId, { nowMs: NOW_MS + 5 });
    assert.ok(result.status === 'Sealed');
    assert.deepEqual([result.notice.index, result.notice.receivedAtMs], [2, NOW_MS + 5]);
    const notice = await storage.log.forTenant('acme').event(result.notice.eventId, ['Internal']);
    assert.deepEqual([notice?.index, notice?.streamId], [2, streamId]);
    assert.deepEqual(await shapesOf(place, storage, 'acme'), [
      [2, 'Request'],
      [0, undefined],
    ]);
    await append(storage, request('acme', one()), now(NOW_MS - 1));
    assert.deepEqual(await shapesOf(place, storage, 'acme'), [
      [2, 'Request'],
      [1, undefined],
    ]);
  },

  'a stream is sealed once, also when many ask at the same time': async (place) => {
    await using storage = await openWith(place, 'acme');
    await append(storage, request('acme', one()));
    const { streamId } = await openStreamOf(storage, 'acme');
    const results = await Promise.all(Array.from({ length: 5 }, () => seal(storage, streamId)));
    assert.deepEqual(results.map(({ status }) => status).toSorted(), [
      'Sealed',
      ...Array<string>(4).fill('SealedBefore'),
    ]);
    await append(storage, request('acme', one()));
    assert.deepEqual(await seal(storage, streamId), { status: 'SealedBefore' });
    assert.deepEqual(await shapesOf(place, storage, 'acme'), [
      [1, 'Request'],
      [1, undefined],
    ]);
  },

  'an empty stream is not sealed, and one that the tenant does not have is unknown': async (place) => {
    await using storage = await openWith(place, 'acme', 'other', 'idle');
    await append(storage, request('acme', one()));
    await append(storage, request('other', one()));
    const { streamId } = await openStreamOf(storage, 'acme');
    const unknown = { status: 'Unknown' };
    assert.deepEqual(await seal(storage, streamId, { tenant: 'other' }), unknown);
    assert.deepEqual(await seal(storage, streamId, { tenant: 'idle' }), unknown);
    assert.deepEqual(await seal(storage, streamId, { tenant: 'nobody' }), unknown);
    assert.deepEqual(await seal(storage, NO_STREAM), unknown);
    await seal(storage, streamId);
    assert.deepEqual(await seal(storage, streamId, { tenant: 'other' }), unknown);
    const { streamId: empty } = await openStreamOf(storage, 'acme');
    assert.deepEqual(await seal(storage, empty, { nowMs: NOW_MS + 9 * DAY_MS }), { status: 'Empty' });
    assert.deepEqual(await shapesOf(place, storage, 'acme'), [
      [1, 'Request'],
      [0, undefined],
    ]);
    assert.deepEqual(await shapesOf(place, storage, 'other'), [[1, undefined]]);
  },

  'a seal that is repeated under its key gets what was answered first, and seals nothing more': async (
    place,
  ) => {
    let streamId: StreamId;
    let first: SealResult;
    {
      await using storage = await openWith(place, 'acme');
      await append(storage, request('acme', one()));
      ({ streamId } = await openStreamOf(storage, 'acme'));
      first = await seal(storage, streamId, { once: sealOnce('k') });
    }
    assert.ok(first.status === 'Sealed');
    await using storage = await place.open();
    await append(storage, request('acme', one()));
    const again = await seal(storage, streamId, { once: sealOnce('k') });
    assert.ok(again.status === 'Repeated');
    assert.deepEqual([again.used.outcomes, again.used.note], [[first.notice], 'note of k']);
    assert.deepEqual(await storage.log.forTenant('acme').usedKey('streams.seal', 'k', NOW_MS), again.used);
    const other = sealOnce('k', { fingerprint: fingerprint(2) });
    const { streamId: open } = await openStreamOf(storage, 'acme');
    assert.deepEqual(await seal(storage, open, { once: other }), { status: 'KeyReused' });
    assert.deepEqual(await shapesOf(place, storage, 'acme'), [
      [1, 'Request'],
      [1, undefined],
    ]);
    const later = NOW_MS + DAY_MS;
    assert.equal((await seal(storage, open, { once: other, nowMs: later })).status, 'Sealed');
  },

  'a key is not used up by a seal that was not done, and belongs to its operation': async (place) => {
    await using storage = await openWith(place, 'acme');
    await append(storage, request('acme', one(), { once: once('k', { fingerprint: fingerprint(7) }) }));
    const { streamId } = await openStreamOf(storage, 'acme');
    await seal(storage, NO_STREAM, { once: sealOnce('k', { fingerprint: fingerprint(3) }) });
    assert.equal((await seal(storage, streamId, { once: sealOnce('k') })).status, 'Sealed');
    const { streamId: empty } = await openStreamOf(storage, 'acme');
    for (const refused of [streamId, empty]) {
      await seal(storage, refused, { once: sealOnce('l', { fingerprint: fingerprint(3) }) });
    }
    await append(storage, request('acme', one()));
    assert.equal((await seal(storage, empty, { once: sealOnce('l') })).status, 'Sealed');
  },

  'idle streams are sealed when their day is over, all others stay open': async (place) => {
    await using storage = await openLimited(place, { sealAfterEvents: 3 }, 'acme', 'young', 'empty', 'idle');
    await append(storage, request('acme', [draftOf(), draftOf()]));
    await append(storage, request('empty', [draftOf(), draftOf(), draftOf()]));
    const nextMs = NOW_MS + DAY_MS;
    await append(storage, request('young', one()), now(nextMs));
    assert.equal(await storage.log.sealAged(now(NOW_MS + 1)), false);
    assert.deepEqual(await shapesOf(place, storage, 'acme'), [[2, undefined]]);
    for (let i = 0; i < 3; i++) assert.equal(await storage.log.sealAged(now(nextMs)), false);
    assert.deepEqual(await shapesOf(place, storage, 'acme'), [
      [2, 'Age'],
      [0, undefined],
    ]);
    assert.deepEqual(await shapesOf(place, storage, 'young'), [[1, undefined]]);
    assert.deepEqual(await shapesOf(place, storage, 'empty'), [
      [3, 'Size'],
      [0, undefined],
    ]);
    assert.deepEqual(await shapesOf(place, storage, 'idle'), []);
  },

  'many such streams are sealed in portions, each once, while events are appended': async (place) => {
    const tenants = Array.from({ length: 250 }, (_, i) => `t${i}`);
    await using storage = await openWith(place, ...tenants);
    await storage.log.append(
      tenants.map((tenant) => request(tenant, one())),
      now(),
    );
    const nextMs = NOW_MS + DAY_MS;
    let portions = 1;
    while (await storage.log.sealAged(now(nextMs))) {
      portions += 1;
      await append(storage, request('t240', one()), now(nextMs));
    }
    assert.ok(portions > 1, `${portions} portions`);
    for (const tenant of ['t0', 't99', 't100', 't249']) {
      assert.deepEqual(await shapesOf(place, storage, tenant), [
        [1, 'Age'],
        [0, undefined],
      ]);
    }
    assert.deepEqual(await shapesOf(place, storage, 't240'), [
      [1, 'Age'],
      [portions - 1, undefined],
    ]);
    const sizes = await Promise.all(tenants.map(async (tenant) => (await place.rows(tenant)).length));
    assert.equal(sizes.filter((size) => size === 2).length, 249);
  },
};
