// Claims about expired content: it is found in its stream and with what has decided about it, also under a notice that was
// not carried out, and never before its time. A stream is purged once it is sealed and marked.

import assert from 'node:assert/strict';
import type { Duration, TenantId } from '@tallystick/contract';
import type { DueStream, IndexSpan } from '../../streams/removal/removal.ts';
import type { Storage } from '../storage.ts';
import { append, type Claims, draftOf, now, NOW_MS, openWith, request } from './claims.ts';
import { openLimited } from './streams-of.ts';

const FAR_MS = NOW_MS + 10 * 365 * 86_400_000;
const span = (firstIndex: number, endIndex: number): IndexSpan => ({ firstIndex, endIndex });

async function store(
  storage: Storage,
  tenant: TenantId,
  events: readonly [retention: Duration | undefined, decidedBy?: string][],
): Promise<void> {
  const drafts = events.map(([retention, decidedBy]) => draftOf({}, { retention, decidedBy }));
  await append(storage, request(tenant, drafts), now());
}

async function allDue(storage: Storage, untilMs: number): Promise<DueStream[]> {
  const found: DueStream[] = [];
  for (let from: string | undefined, isFirst = true; isFirst || from !== undefined; isFirst = false) {
    const portion = await storage.removal.dueStreams(untilMs, from);
    found.push(...portion.due);
    from = portion.next;
  }
  return found.toSorted((a, b) => (a.tenant < b.tenant ? -1 : a.tenant > b.tenant ? 1 : 0));
}

export const expiryClaims: Claims = {
  async 'expired content is found in runs of one decision, and nothing before its time'(place) {
    await using storage = await openWith(place, 'acme', 'other');
    const [one, two] = ['{"a":1}', '{"a":2}'];
    await store(storage, 'acme', [
      ['PT2S', one],
      ['PT2S', one],
      ['PT2S', two],
      ['PT2S'],
      ['P10Y'],
      [undefined],
      ['PT2S'],
      ['PT2S', one],
      ['P40D', one],
    ]);
    await store(storage, 'other', [['P20Y']]);
    const expired = (from: number, end: number, ms: number) =>
      storage.removal.expired('acme', span(from, end), ms);
    assert.deepEqual(await expired(0, 100, NOW_MS + 1999), []);
    const runs = [
      { ...span(0, 2), decidedBy: one },
      { ...span(2, 3), decidedBy: two },
      { ...span(3, 4), decidedBy: undefined },
      { ...span(6, 7), decidedBy: undefined },
      { ...span(7, 8), decidedBy: one },
    ];
    assert.deepEqual(await expired(0, 100, NOW_MS + 2000), runs);
    assert.deepEqual(await expired(1, 4, NOW_MS + 2000), [
      { ...span(1, 2), decidedBy: one },
      ...runs.slice(1, 3),
    ]);
    const later = NOW_MS + 41 * 86_400_000;
    assert.deepEqual((await expired(0, 100, later)).at(-1), { ...span(7, 9), decidedBy: one });
    const bounds = await storage.removal.expirySpan('acme', NOW_MS + 2000);
    assert.ok(bounds !== undefined && bounds.firstIndex === 0 && bounds.endIndex >= 8);
    assert.equal(await storage.removal.expirySpan('other', later), undefined);
    assert.equal(await storage.removal.expirySpan('nobody', later), undefined);
    assert.deepEqual(await storage.removal.expired('nobody', span(0, 100), later), []);
    assert.deepEqual(await allDue(storage, NOW_MS + 1999), []);
    const due = { tenant: 'acme', streamFirstIndex: 0 };
    assert.deepEqual(await allDue(storage, NOW_MS + 2000), [{ ...due, span: span(0, 8) }]);
    assert.deepEqual(await allDue(storage, later), [{ ...due, span: span(0, 9) }]);
  },

  async 'expired content is found in every stream and tenant, until it is gone'(place) {
    await using storage = await openLimited(place, { sealAfterEvents: 2 }, 'acme', 'other');
    for (const tenant of ['acme', 'other'])
      for (let i = 0; i < 3; i++) await store(storage, tenant, [['PT1S']]);
    // Two events, the seal of their stream, and one more.
    const streams = [
      { streamFirstIndex: 0, span: span(0, 2) },
      { streamFirstIndex: 3, span: span(3, 4) },
    ];
    const all = ['acme', 'other'].flatMap((tenant) => streams.map((each) => ({ tenant, ...each })));
    assert.deepEqual(await allDue(storage, FAR_MS), all);
    await place.removeContent('acme', 0);
    await place.removeContent('acme', 1);
    assert.deepEqual(await allDue(storage, FAR_MS), all.slice(1));
    await place.removeContent('acme', 3);
    assert.deepEqual(await allDue(storage, FAR_MS), all.slice(2));
  },

  async 'a marked stream is purged if it is sealed, and is listed and counted as that'(place) {
    await using storage = await openLimited(place, { sealAfterEvents: 2 }, 'acme');
    for (let i = 0; i < 5; i++) await store(storage, 'acme', [['PT1S']]);
    const log = storage.log.forTenant('acme');
    const states = async (...wanted: ('Open' | 'Sealed' | 'Purged')[]) =>
      (await log.streams({ after: undefined }, 9, wanted)).map(({ firstIndex }) => firstIndex);
    assert.deepEqual(await states('Sealed'), [0, 3]);
    for (const first of [0, 6, 99]) await storage.removal.markPurged('acme', first, NOW_MS);
    assert.deepEqual(await states('Purged'), [0]);
    assert.deepEqual(await states('Sealed'), [3]);
    assert.deepEqual(await states('Open', 'Purged'), [0, 6]);
    assert.deepEqual(await states('Open', 'Sealed', 'Purged'), [0, 3, 6]);
    assert.deepEqual([await log.streamCount(), await log.purgedStreamCount()], [3, 1]);
    const all = await log.streams({ before: undefined }, 9);
    assert.deepEqual(
      all.map(({ isPurged }) => isPurged),
      [false, false, true],
    );
    assert.deepEqual(await log.stream(all[2]!.streamId), all[2]);
  },
};
