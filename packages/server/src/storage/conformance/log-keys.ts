// Claims about idempotency keys: one request is stored once, however often and wherever it is repeated.

import assert from 'node:assert/strict';
import type { UsedIdempotencyKey } from '../../streams/log.ts';
import {
  append,
  type Claims,
  draftOf,
  fingerprint,
  nextId,
  now,
  NOW_MS,
  once,
  openWith,
  outcomesOf,
  request,
  statusesOf,
} from './claims.ts';

const LATER_MS = NOW_MS + 86_400_000;

export const keyClaims: Claims = {
  'a request repeated under its key gets what was answered first, and stores nothing': async (place) => {
    const first = request('acme', [draftOf(), draftOf()], { once: once('k') });
    let outcomes;
    {
      await using storage = await openWith(place, 'acme');
      outcomes = outcomesOf(await append(storage, first));
    }
    await using storage = await place.open();
    const again = await append(
      storage,
      request('acme', [draftOf()], { once: once('k') }),
      now(NOW_MS + 5000),
    );
    const used: UsedIdempotencyKey = {
      fingerprint: fingerprint(1),
      classification: 'Internal',
      expiresAtMs: LATER_MS,
      note: 'note of k',
      outcomes,
    };
    assert.deepEqual(again, { status: 'Repeated', used });
    assert.deepEqual(await storage.log.forTenant('acme').usedKey('events.ingest', 'k', NOW_MS), used);
    assert.equal((await place.rows('acme')).length, 2);
  },

  'a request that changes nothing uses its key up': async (place) => {
    const first = request('acme', [], { once: once('k') });
    await using storage = await openWith(place, 'acme');
    assert.deepEqual(await append(storage, first), { status: 'Done', outcomes: [] });
    const used = await storage.log.forTenant('acme').usedKey('events.ingest', 'k', NOW_MS);
    assert.deepEqual([used?.note, used?.outcomes], ['note of k', []]);
    assert.equal(
      (await append(storage, request('acme', [draftOf()], { once: once('k') }))).status,
      'Repeated',
    );
    assert.equal((await place.rows('acme')).length, 0);
    assert.equal((await append(storage, request('acme', [draftOf()]))).status, 'Done');
  },

  'another request under a used key is told so, and stores nothing': async (place) => {
    await using storage = await openWith(place, 'acme');
    await append(storage, request('acme', [draftOf()], { once: once('k') }));
    const other = request('acme', [draftOf()], { once: once('k', { fingerprint: fingerprint(2) }) });
    assert.deepEqual(await append(storage, other), { status: 'KeyReused' });
    assert.equal((await place.rows('acme')).length, 1);
  },

  'of many that come at once under one key, exactly one stores': async (place) => {
    await using storage = await openWith(place, 'acme');
    const pool = Array.from({ length: 20 }, () => request('acme', [draftOf()], { once: once('k') }));
    const [one, two] = await Promise.all([storage.log.append(pool, now()), storage.log.append(pool, now())]);
    const statuses = [...one, ...two].map(({ status }) => status);
    assert.equal(statuses.filter((status) => status === 'Done').length, 1);
    assert.equal(statuses.filter((status) => status === 'Repeated').length, 39);
    assert.equal((await place.rows('acme')).length, 1);
  },

  'a key is of its tenant and its operation': async (place) => {
    await using storage = await openWith(place, 'acme', 'other');
    const results = await storage.log.append(
      [
        request('acme', [draftOf()], { once: once('k') }),
        request('other', [draftOf()], { once: once('k', { fingerprint: fingerprint(2) }) }),
        request('acme', [draftOf()], {
          once: once('k', { operation: 'events.ingestBatch', fingerprint: fingerprint(3) }),
        }),
        request('acme', [draftOf()], { once: once('K', { fingerprint: fingerprint(4) }) }),
      ],
      now(),
    );
    assert.deepEqual(
      results.map(({ status }) => status),
      ['Done', 'Done', 'Done', 'Done'],
    );
    assert.equal(await storage.log.forTenant('nobody').usedKey('events.ingest', 'k', NOW_MS), undefined);
  },

  'a key counts until its window ends by steady time, not by the wall clock': async (place) => {
    await using storage = await openWith(place, 'acme');
    const ask = (steadyNowMs: number) => {
      const expiresAtMs = steadyNowMs + 86_400_000;
      const wanted = request('acme', [draftOf()], { once: once('k', { expiresAtMs }) });
      return append(storage, wanted, now(steadyNowMs === NOW_MS ? NOW_MS : 1, steadyNowMs));
    };
    const statuses: string[] = [];
    for (const steadyNowMs of [NOW_MS, LATER_MS - 1, LATER_MS, LATER_MS + 1]) {
      statuses.push((await ask(steadyNowMs)).status);
    }
    assert.deepEqual(statuses, ['Done', 'Repeated', 'Done', 'Repeated']);
    const log = storage.log.forTenant('acme');
    assert.equal((await log.usedKey('events.ingest', 'k', LATER_MS))?.expiresAtMs, LATER_MS + 86_400_000);
    assert.equal(await log.usedKey('events.ingest', 'k', LATER_MS + 86_400_000), undefined);
  },

  'a key is not used up by a request of which nothing was appended or recognised': async (place) => {
    await using storage = await openWith(place, 'acme');
    const taken = draftOf({}, { sentFingerprint: fingerprint(7) });
    await append(storage, request('acme', [taken]));
    const conflicting = draftOf({}, { eventId: taken.eventId, sentFingerprint: fingerprint(8) });
    for (const atomic of [true, false]) {
      await append(storage, request('acme', [conflicting], { atomic, once: once('k') }));
      assert.equal(await storage.log.forTenant('acme').usedKey('events.ingest', 'k', NOW_MS), undefined);
    }
    const recognised = request('acme', [taken], { once: once('k') });
    assert.deepEqual(statusesOf(await append(storage, recognised)), ['Duplicate']);
    assert.equal((await append(storage, recognised)).status, 'Repeated');
  },

  'keys whose window has ended are swept away in portions, the others stay': async (place) => {
    await using storage = await openWith(place, 'acme');
    const ids = Array.from({ length: 2500 }, () => nextId());
    const expiresAtMs = NOW_MS + 1;
    const pool = ids.map((id) => request('acme', [draftOf()], { once: once(id, { expiresAtMs }) }));
    await storage.log.append([...pool, request('acme', [draftOf()], { once: once('stays') })], now());
    let portions = 1;
    while (await storage.log.sweepUsedKeys(expiresAtMs)) portions += 1;
    assert.ok(portions > 1, `${portions} portions`);
    const log = storage.log.forTenant('acme');
    assert.equal(await log.usedKey('events.ingest', ids[0]!, NOW_MS), undefined);
    assert.equal((await log.usedKey('events.ingest', 'stays', NOW_MS))?.note, 'note of stays');
    assert.equal((await place.rows('acme')).length, 2501);
  },

  'the keys of a tenant recognise nothing once their windows are ended; later ones and those of others do':
    async (place) => {
      await using storage = await openWith(place, 'acme', 'other');
      const ids = Array.from({ length: 1500 }, () => nextId());
      const expiresAtMs = LATER_MS - 1;
      const pool = ids.map((id) => request('acme', [draftOf()], { once: once(id, { expiresAtMs }) }));
      const stays = request('acme', [draftOf()], { once: once('stays') });
      const others = request('other', [draftOf()], { once: once('k', { expiresAtMs }) });
      await storage.log.append([stays, others, ...pool], now());
      while (await storage.log.endKeyWindows('acme', LATER_MS));
      const keyOf = (tenant: string, key: string) =>
        storage.log.forTenant(tenant).usedKey('events.ingest', key, NOW_MS);
      for (const id of [ids[0]!, ids.at(-1)!]) assert.equal(await keyOf('acme', id), undefined);
      assert.notEqual(await keyOf('acme', 'stays'), undefined);
      assert.notEqual(await keyOf('other', 'k'), undefined);
      const anew = request('acme', [draftOf()], { once: once(ids[0]!) });
      assert.equal((await append(storage, anew)).status, 'Done');
    },
};
