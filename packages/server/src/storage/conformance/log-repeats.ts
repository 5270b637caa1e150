// Claims about who may learn of a repeat: its sender, and readers with enough clearance. To others equal content is
// like any other.

import assert from 'node:assert/strict';
import type { Classification } from '@tallystick/contract';
import type { RepeatClearance } from '../../repeats.ts';
import type { AppendRequest, Draft } from '../../streams/log.ts';
import {
  append,
  type Claims,
  draftOf,
  fingerprint,
  now,
  NOW_MS,
  once,
  openWith,
  request,
  statusesOf,
} from './claims.ts';

const [SENDER, OTHER] = [1, 2];
const LATER_MS = NOW_MS + 86_400_000;

const sent = (
  n: number,
  caller: number,
  { eventId, classification = 'Confidential' }: Partial<Draft> = {},
): Draft =>
  draftOf(
    { payload: { n } },
    { sentFingerprint: fingerprint(n, caller), classification, ...(eventId && { eventId }) },
  );

const by = (clearance: RepeatClearance, drafts: readonly Draft[], more: Partial<AppendRequest> = {}) =>
  request('acme', drafts, { clearance, ...more });

export const repeatClaims: Claims = {
  'an id is recognised for its sender and its readers; for others it is a conflict': async (place) => {
    await using storage = await openWith(place, 'acme');
    const first = sent(1, SENDER);
    await append(storage, by('Internal', [first]));
    const statusOf = async (clearance: RepeatClearance, n: number, caller: number) =>
      statusesOf(await append(storage, by(clearance, [sent(n, caller, first)])))[0];
    assert.equal(await statusOf('None', 1, SENDER), 'Duplicate');
    assert.equal(await statusOf('Public', 1, SENDER), 'Duplicate');
    assert.equal(await statusOf('Confidential', 1, OTHER), 'Duplicate');
    assert.equal(await statusOf('Secret', 1, OTHER), 'Duplicate');
    for (const clearance of ['None', 'Public', 'Internal'] as const)
      for (const n of [1, 2]) assert.equal(await statusOf(clearance, n, OTHER), 'Conflict');
    for (const caller of [SENDER, OTHER]) assert.equal(await statusOf('Secret', 2, caller), 'Conflict');
  },

  'the stored event decides how far an id is recognised, not the sent one': async (place) => {
    await using storage = await openWith(place, 'acme');
    const closed = sent(1, SENDER);
    await append(storage, by('Internal', [closed]));
    const { eventId } = closed;
    const open = sent(1, OTHER, { eventId, classification: 'Public' });
    assert.deepEqual(statusesOf(await append(storage, by('Internal', [open]))), ['Conflict']);
  },

  'of several ids in a request each is recognised for itself; an atomic one fails by a right guess as by a wrong one':
    async (place) => {
      await using storage = await openWith(place, 'acme');
      const [open, closed] = [sent(1, SENDER, { classification: 'Internal' }), sent(2, SENDER)];
      await append(storage, by('Internal', [open, closed]));
      for (const n of [2, 3]) {
        const guess = [sent(1, OTHER, open), sent(n, OTHER, closed), sent(n, OTHER, closed)];
        const apart = by('Internal', [...guess, sent(9, OTHER)]);
        assert.deepEqual(statusesOf(await append(storage, apart)), [
          'Duplicate',
          'Conflict',
          'Conflict',
          'Appended',
        ]);
        const atomic = by('Internal', [...guess, sent(9, OTHER)], { atomic: true });
        assert.deepEqual(statusesOf(await append(storage, atomic)), [
          'NotAppended',
          'Conflict',
          'Conflict',
          'NotAppended',
        ]);
      }
      assert.equal((await place.rows('acme')).length, 4);
    },

  'earlier requests of the same pool are no exception': async (place) => {
    await using storage = await openWith(place, 'acme');
    const first = sent(1, SENDER);
    const key = (caller: number) => ({
      once: once('k', { fingerprint: fingerprint(5, caller), classification: 'Confidential' }),
    });
    const pool = [
      by('Internal', [first]),
      by('Internal', [sent(1, OTHER, first)]),
      by('Internal', [sent(1, SENDER, first)]),
      by('Internal', [draftOf()], key(SENDER)),
      by('Internal', [draftOf()], key(OTHER)),
      by('Confidential', [draftOf()], key(OTHER)),
    ];
    const results = await storage.log.append(pool, now());
    assert.deepEqual(results.slice(0, 3).map(statusesOf), [['Appended'], ['Conflict'], ['Duplicate']]);
    assert.deepEqual(
      results.slice(3).map(({ status }) => status),
      ['Done', 'KeyReused', 'Repeated'],
    );
  },

  'a request under a used key is a repeat for its sender and for readers of the events': async (place) => {
    {
      await using storage = await openWith(place, 'acme');
      const classification = 'Confidential';
      await append(storage, by('Internal', [draftOf()], { once: once('k', { classification }) }));
    }
    await using storage = await place.open();
    const statusOf = async (clearance: Classification, n: number, caller: number) => {
      // Its own classification does not count.
      const asked = once('k', { fingerprint: fingerprint(n, caller), classification: 'Public' });
      return (await append(storage, by(clearance, [draftOf()], { once: asked }))).status;
    };
    assert.equal(await statusOf('Public', 1, SENDER), 'Repeated');
    assert.equal(await statusOf('Confidential', 1, OTHER), 'Repeated');
    for (const n of [1, 2]) assert.equal(await statusOf('Internal', n, OTHER), 'KeyReused');
    assert.equal(await statusOf('Secret', 2, OTHER), 'KeyReused');
    assert.equal((await place.rows('acme')).length, 1);
  },

  'a key has the classification of what was stored, also where that would be lower now': async (place) => {
    await using storage = await openWith(place, 'acme');
    const first = sent(1, SENDER);
    await append(storage, by('Internal', [first]));
    const { eventId } = first;
    const lower = sent(1, SENDER, { eventId, classification: 'Internal' });
    const recognised = await append(storage, by('Internal', [lower], { once: once('k') }));
    assert.deepEqual(statusesOf(recognised), ['Duplicate']);
    const used = await storage.log.forTenant('acme').usedKey('events.ingest', 'k', NOW_MS);
    assert.equal(used?.classification, 'Confidential');
  },

  'a key that is used anew has the sender and the classification of its new use': async (place) => {
    await using storage = await openWith(place, 'acme');
    await append(storage, by('Internal', [draftOf()], { once: once('k', { classification: 'Secret' }) }));
    const fresh = once('k', { fingerprint: fingerprint(1, OTHER), expiresAtMs: LATER_MS + 1000 });
    const later = now(LATER_MS);
    assert.equal((await append(storage, by('Internal', [draftOf()], { once: fresh }), later)).status, 'Done');
    const used = await storage.log.forTenant('acme').usedKey('events.ingest', 'k', LATER_MS);
    assert.deepEqual([used?.classification, used?.fingerprint], ['Internal', fresh.fingerprint]);
    const old = by('Internal', [draftOf()], { once: once('k') });
    assert.equal((await append(storage, old, later)).status, 'Repeated');
  },

  'a request without a sender is recognised only for readers of the events': async (place) => {
    await using storage = await openWith(place, 'acme');
    const bare = fingerprint(1).subarray(0, 32);
    const first = draftOf({}, { sentFingerprint: bare, classification: 'Confidential' });
    const unknown = once('k', { fingerprint: bare, classification: 'Secret' });
    await append(storage, by('Internal', [first], { once: unknown }));
    for (const [clearance, status, id] of [
      ['Internal', 'KeyReused', 'Conflict'],
      ['Secret', 'Repeated', 'Duplicate'],
    ] as const) {
      const again = by(clearance, [sent(1, SENDER, first)]);
      assert.deepEqual(statusesOf(await append(storage, again)), [id]);
      assert.equal((await append(storage, { ...again, once: once('k') })).status, status);
    }
    // Not even a request without a sender.
    assert.deepEqual(statusesOf(await append(storage, by('Internal', [first]))), ['Conflict']);
  },
};
