// Claims about event ids that clients choose, and about requests that are appended as a whole or not at all.

import assert from 'node:assert/strict';
import { CLASSIFICATIONS } from '@tallystick/contract';
import {
  append,
  type Claims,
  draftOf,
  fingerprint,
  now,
  openWith,
  placedIn,
  request,
  statusesOf,
} from './claims.ts';
import { recompute } from './log-chain.ts';

const sent = (n: number, eventId?: string) =>
  draftOf(
    { payload: { n } },
    { sentFingerprint: fingerprint(n), ...(eventId === undefined ? {} : { eventId }) },
  );

export const idClaims: Claims = {
  'an id that comes again with the same fields is a duplicate, at its first place': async (place) => {
    await using storage = await openWith(place, 'acme');
    const draft = sent(1);
    await append(storage, request('acme', [draftOf(), draft]));
    const [again] = placedIn(await append(storage, request('acme', [sent(1, draft.eventId)]), now(9e12)));
    assert.equal(again!.status, 'Duplicate');
    assert.deepEqual([again!.index, again!.eventId], [1, draft.eventId]);
    assert.ok(again!.receivedAtMs < 9e12);
    assert.equal((await place.rows('acme')).length, 2);
  },

  'an id that comes again with other fields is a conflict, also when it was not chosen by the client': async (
    place,
  ) => {
    await using storage = await openWith(place, 'acme');
    const [chosen, given] = [sent(1), draftOf()];
    await append(storage, request('acme', [chosen, given]));
    const result = await append(
      storage,
      request('acme', [sent(2, chosen.eventId), sent(2, given.eventId), sent(3)]),
    );
    assert.deepEqual(statusesOf(result), ['Conflict', 'Conflict', 'Appended']);
  },

  'an id whose content was removed is a conflict': async (place) => {
    await using storage = await openWith(place, 'acme');
    const draft = sent(1);
    await append(storage, request('acme', [draft]));
    await place.removeContent('acme', 0);
    assert.deepEqual(statusesOf(await append(storage, request('acme', [draft]))), ['Conflict']);
    const stored = await storage.log.forTenant('acme').event(draft.eventId, CLASSIFICATIONS);
    assert.ok(stored);
    assert.equal(stored.content, undefined);
  },

  'an id that stands twice in a request or a pool is recognised there too': async (place) => {
    await using storage = await openWith(place, 'acme');
    const draft = sent(1);
    const requests = [
      request('acme', [draft, sent(5), sent(1, draft.eventId), sent(2, draft.eventId)]),
      request('acme', [sent(1, draft.eventId), sent(3, draft.eventId)]),
    ];
    const results = await storage.log.append(requests, now());
    assert.deepEqual(results.map(statusesOf), [
      ['Appended', 'Appended', 'Duplicate', 'Conflict'],
      ['Duplicate', 'Conflict'],
    ]);
    const placed = results.flatMap((result) => ('outcomes' in result ? result.outcomes : []));
    assert.deepEqual(
      placed.map((outcome) => ('index' in outcome ? outcome.index : undefined)),
      [0, 1, 0, undefined, 0, undefined],
    );
    assert.equal(recompute(await place.rows('acme'), 'acme', 'audit.example.com'), 2);
  },

  'an atomic request with a conflict appends nothing; one without appends all': async (place) => {
    await using storage = await openWith(place, 'acme');
    const taken = sent(1);
    await append(storage, request('acme', [taken]));
    const bad = request('acme', [draftOf(), sent(2, taken.eventId), taken, draftOf()], { atomic: true });
    assert.deepEqual(statusesOf(await append(storage, bad)), [
      'NotAppended',
      'Conflict',
      'NotAppended',
      'NotAppended',
    ]);
    assert.equal((await place.rows('acme')).length, 1);
    const twice = sent(3);
    const good = request('acme', [draftOf(), taken, twice, sent(3, twice.eventId)], { atomic: true });
    assert.deepEqual(statusesOf(await append(storage, good)), [
      'Appended',
      'Duplicate',
      'Appended',
      'Duplicate',
    ]);
    const conflictInside = request(
      'acme',
      [sent(4, '01KE0000000000000000000042'), sent(5, '01KE0000000000000000000042')],
      { atomic: true },
    );
    assert.deepEqual(statusesOf(await append(storage, conflictInside)), ['NotAppended', 'Conflict']);
    assert.equal(recompute(await place.rows('acme'), 'acme', 'audit.example.com'), 3);
  },
};
