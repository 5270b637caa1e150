// Claims about the chain: no gap, no fork, time that never runs backwards, and leaves that can be recomputed from the
// stored rows.

import assert from 'node:assert/strict';
import { CLASSIFICATIONS, type TenantId } from '@tallystick/contract';
import {
  contentOf,
  decodeEntry,
  genesisHash,
  groupRootOf,
  leafHash,
  openEvent,
  parseJson,
  splitGroup,
} from '@tallystick/evidence';
import { saltsOf } from '../pool/commitments.ts';
import type { Draft } from '../../streams/log.ts';
import {
  append,
  bytesOf,
  type Claims,
  draftOf,
  type LogRow,
  now,
  NOW_MS,
  once,
  openWith,
  placedIn,
  request,
  soundContent,
  textsOf,
} from './claims.ts';

export const chainClaims: Claims = {
  'events of a tenant are numbered without a gap, over requests, pools and restarts': async (place) => {
    const indexes: number[] = [];
    for (const round of [0, 1]) {
      await using storage = await openWith(place, 'acme', 'other');
      for (const sizes of [[1], [2, 1, 3], [5]]) {
        const requests = sizes.flatMap((size) => [
          request(
            'acme',
            Array.from({ length: size }, () => draftOf()),
          ),
          request('other', [draftOf()]),
        ]);
        const results = await storage.log.append(requests, now(NOW_MS + round));
        for (const [i, result] of results.entries()) {
          if (requests[i]!.tenant === 'acme') indexes.push(...placedIn(result).map(({ index }) => index));
        }
      }
    }
    assert.deepEqual(
      indexes,
      Array.from({ length: 24 }, (_, i) => i),
    );
    assert.equal(recompute(await place.rows('acme'), 'acme', 'audit.example.com'), 24);
    assert.equal(recompute(await place.rows('other'), 'other', 'audit.example.com'), 10);
  },

  'acknowledged events are unchanged after reopening, byte for byte': async (place) => {
    const drafts = [
      draftOf({ payload: { note: 'späť €', '': 0, 'a/b~c': [1.5, null, { z: '\u{1f600}"\\\n' }] } }),
      draftOf(
        { context: {}, payload: {} },
        { classification: 'Secret', retention: undefined, decidedBy: '{"späť":1}' },
      ),
      draftOf({ actor: { userId: 'u', actorType: 'User' } }, { classification: 'Public', kind: 9 }),
    ];
    {
      await using storage = await openWith(place, 'acme');
      await append(storage, request('acme', drafts));
    }
    await using storage = await place.open();
    const log = storage.log.forTenant('acme');
    const streams = new Set<string>();
    for (const [i, draft] of drafts.entries()) {
      const stored = await log.event(draft.eventId, CLASSIFICATIONS);
      assert.ok(stored);
      const entry = decodeEntry(stored.entry);
      assert.deepEqual([entry.kind, entry.index, entry.eventId], [draft.kind, i, draft.eventId]);
      assert.deepEqual(stored.leaf, leafHash(stored.entry));
      assert.equal(stored.classification, draft.classification);
      const expiresAtMs = draft.retention === undefined ? undefined : NOW_MS + 1000;
      assert.deepEqual(stored.content, { texts: textsOf(draft), expiresAtMs, decidedBy: draft.decidedBy });
      streams.add(stored.streamId);
    }
    assert.equal(streams.size, 1, 'all are in the first stream');
    assert.deepEqual(
      (await place.rows('acme')).map(({ texts }) => texts),
      drafts.map(({ texts }) => texts),
    );
  },

  'receivedAt is the wall clock, and stands still while the clock is behind': async (place) => {
    await using storage = await openWith(place, 'acme');
    const received: number[] = [];
    for (const nowMs of [NOW_MS, NOW_MS - 86_400_000, NOW_MS + 3_600_000, NOW_MS, NOW_MS + 3_600_001]) {
      const [placed] = placedIn(await append(storage, request('acme', [draftOf()]), now(nowMs)));
      received.push(placed!.receivedAtMs - NOW_MS);
    }
    assert.deepEqual(received, [0, 0, 3_600_000, 3_600_000, 3_600_001]);
    const stored = (await place.rows('acme')).map(({ entry }) => decodeEntry(entry).receivedAtMs - NOW_MS);
    assert.deepEqual(stored, received);
  },

  'content expires its retention after receivedAt, by the calendar, also when the clock is months behind':
    async (place) => {
      await using storage = await openWith(place, 'acme', 'other');
      const log = storage.log.forTenant('acme');
      const expiryOf = async (draft: Draft) =>
        new Date(soundContent(await log.event(draft.eventId, CLASSIFICATIONS)).expiresAtMs!).toISOString();
      const keyed = request('acme', [draftOf()], { once: once('k') });
      await storage.log.append([request('other', [draftOf()]), keyed], now(Date.UTC(2026, 0, 31, 12)));
      const [short, long, again] = ['P1M', 'P1Y', 'P1M'].map((retention) => draftOf({}, { retention }));
      for (const draft of [short, long]) {
        await append(storage, request('acme', [draft!, draftOf()]), now(Date.UTC(2025, 9, 1)));
      }
      await append(storage, request('acme', [again!]), now(Date.UTC(2026, 1, 28, 13)));
      assert.deepEqual(await Promise.all([short!, long!, again!].map(expiryOf)), [
        '2026-02-28T12:00:00.000Z',
        '2027-01-31T12:00:00.000Z',
        '2026-03-28T13:00:00.000Z',
      ]);
    },

  'tenants are isolated: their logs, ids and reads are independent': async (place) => {
    await using storage = await openWith(place, 'acme', 'other');
    const draft = draftOf({ payload: { of: 'acme' } });
    const same = draftOf({ payload: { of: 'other' } }, { eventId: draft.eventId });
    const results = await storage.log.append([request('acme', [draft]), request('other', [same])], now());
    assert.deepEqual(
      results.flatMap((result) => placedIn(result).map(({ status, index }) => [status, index])),
      [
        ['Appended', 0],
        ['Appended', 0],
      ],
    );
    const read = (tenant: TenantId) => storage.log.forTenant(tenant).event(draft.eventId, CLASSIFICATIONS);
    assert.deepEqual(soundContent(await read('acme')).texts, textsOf(draft));
    assert.deepEqual(soundContent(await read('other')).texts, textsOf(same));
    assert.equal(await read('nobody'), undefined);
    assert.equal(await storage.log.forTenant('other').event(draftOf().eventId, CLASSIFICATIONS), undefined);
  },

  'an event of a classification that the reader may not know of is not there for them': async (place) => {
    await using storage = await openWith(place, 'acme');
    const log = storage.log.forTenant('acme');
    const drafts = CLASSIFICATIONS.map((classification) => draftOf({}, { classification }));
    await append(storage, request('acme', drafts));
    for (const visible of [[], ['Internal'], ['Public', 'Confidential'], CLASSIFICATIONS] as const) {
      const found = await Promise.all(drafts.map(({ eventId }) => log.event(eventId, visible)));
      assert.deepEqual(
        found.flatMap((stored) => stored?.classification ?? []),
        visible,
      );
    }
  },

  'a request with a fault of its own is left out, and the others of its pool are appended': async (place) => {
    await using storage = await openWith(place, 'acme');
    const requests = [
      request('acme', [draftOf()]),
      request('nobody', [draftOf()]),
      request('acme', [draftOf(), draftOf({}, { texts: bytesOf('{"action": 1}', '{}') })]),
      request('acme', [draftOf({}, { texts: bytesOf('{"unheardOf":1}', '{}') })]),
      request('acme', [draftOf()]),
    ];
    const results = await storage.log.append(requests, now());
    assert.deepEqual(
      results.map(({ status }) => status),
      ['Done', 'Faulty', 'Faulty', 'Faulty', 'Done'],
    );
    assert.equal(recompute(await place.rows('acme'), 'acme', 'audit.example.com'), 2);
  },

  'a probe commits and leaves no event': async (place) => {
    await using storage = await openWith(place, 'acme');
    await storage.log.probe();
    await storage.log.probe();
    assert.equal((await place.rows('acme')).length, 0);
  },
};

/** Recomputes every leaf of a log from texts and seeds, without the writer's code; returns the size. */
export function recompute(rows: readonly LogRow[], tenant: TenantId, logOrigin: string): number {
  let previous = genesisHash(`${logOrigin}/t/${tenant}`);
  for (const [i, row] of rows.entries()) {
    const entry = decodeEntry(row.entry);
    assert.equal(row.index, i);
    assert.equal(entry.index, i);
    assert.deepEqual(entry.previous, previous, `entry ${i} names the leaf before it`);
    assert.deepEqual(entry.content, contentIn(row), `entry ${i} has the hash of its content`);
    assert.deepEqual(row.leaf, leafHash(row.entry));
    previous = row.leaf;
  }
  return rows.length;
}

function contentIn({ texts, seeds, roots }: LogRow): Uint8Array {
  const event = Object.assign({}, ...texts.map((text) => parseJson(Buffer.from(text).toString()))) as Record<
    string,
    unknown
  >;
  const salts = texts.map((text, g) => {
    const { units } = splitGroup(text, g === 0 ? 1 : 2);
    const all = saltsOf(seeds[g as 0 | 1], units.length);
    return new Map(units.map(({ path }, i) => [path, all.subarray(16 * i, 16 * i + 16)]));
  });
  const shown = openEvent(event, (path) => salts[0]!.get(path) ?? salts[1]!.get(path)!);
  assert.deepEqual(groupRootOf(1, shown[0]), roots[0]);
  assert.deepEqual(groupRootOf(2, shown[1]), roots[1]);
  return contentOf(shown);
}
