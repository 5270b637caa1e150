// Claims about removed content: it is purged for every reader from the commit of the notice on, it is deleted only once
// that notice is signed, and content that no notice names never counts as purged. Entries and roots stay.

import assert from 'node:assert/strict';
import { CLASSIFICATIONS, type TenantId } from '@tallystick/contract';
import {
  decodeEntry,
  encodeNotice,
  KINDS,
  leafHash,
  parseCheckpoint,
  parseNote,
  toBase64,
  verifyInclusion,
} from '@tallystick/evidence';
import type { AppendOutcome, Draft } from '../../streams/log.ts';
import type { IndexSpan } from '../../streams/removal/removal.ts';
import type { ProvenEvent } from '../../streams/tree.ts';
import type { Storage } from '../storage.ts';
import {
  append,
  type Claims,
  draftOf,
  fingerprint,
  nextId,
  now,
  NOW_MS,
  openWith,
  type TestInstallation,
  placedIn,
  request,
  soundContent,
  statusesOf,
} from './claims.ts';
import { fill, publish, publishSigned, readAll } from './tree.ts';

const span = (firstIndex: number, endIndex: number): IndexSpan => ({ firstIndex, endIndex });

/** For spans of the current log that are all signed; the writer checks nothing else. */
async function purgeOf(storage: Storage, tenant: TenantId, spans: readonly IndexSpan[]): Promise<Draft> {
  const tree = (await storage.tree.forTenant(tenant).tree())!;
  const ranges = spans.map(({ firstIndex, endIndex }): [number, number] => [
    firstIndex - tree.firstIndex,
    endIndex - tree.firstIndex,
  ]);
  const count = await storage.removal.countContents(tenant, spans);
  return noticeOf(ranges, count, await tree.subtrees(ranges));
}

function noticeOf(ranges: [number, number][], count = 1, subtrees: readonly Uint8Array[] = []): Draft {
  const named = { policyId: null, policyVersion: null, cause: 'Retention' as const };
  const facts = {
    kind: KINDS.purge,
    action: 'Purge.Events',
    resource: { resourceType: 'Log', resourceId: 'any' },
    payload: { ...named, ranges, count, subtrees: subtrees.map(toBase64) },
    correlationId: '7d3f0c52-6a3e-4b51-9a0e-2f6b1f3c9d11',
  };
  return {
    kind: KINDS.purge,
    eventId: nextId(),
    texts: encodeNotice(facts, new Date(NOW_MS).toISOString()),
    classification: 'Internal',
    retention: undefined,
  };
}

async function appendPurge(storage: Storage, tenant: TenantId, spans: readonly IndexSpan[]): Promise<number> {
  const draft = await purgeOf(storage, tenant, spans);
  return placedIn(await append(storage, request(tenant, [draft]), now(NOW_MS + 5)))[0]!.index;
}

async function deleteAll(storage: Storage, tenant: TenantId, noticeIndex: number): Promise<void> {
  for (let from: number | undefined = 0; from !== undefined; )
    from = await storage.removal.deleteContents(tenant, noticeIndex, from);
}

/** For each event of a log: `Purged`, `Gone`, or present. */
async function contentsOf(storage: Storage, tenant: TenantId): Promise<string> {
  const events = await storage.log.forTenant(tenant).events(0, 1000, 1000);
  return events
    .map((event) => {
      const { content } = event;
      if (content === undefined) return '?';
      if (!('purgedAtMs' in content)) return soundContent(event) && '.';
      assert.equal(content.purgedAtMs, NOW_MS + 5);
      return 'P';
    })
    .join('');
}

async function proven(storage: Storage, tenant: TenantId, index: number): Promise<ProvenEvent> {
  const [event] = await storage.log.forTenant(tenant).events(index, index + 1, 1);
  const { eventId } = decodeEntry(event!.entry);
  const found = await storage.tree
    .forTenant(tenant)
    .proveEvent({ eventId, visible: CLASSIFICATIONS, preferred: [] });
  assert.ok(found !== undefined && !('fault' in found));
  return found;
}

/** An earlier proof still proves the stored entry. */
function requireProof(given: ProvenEvent, entry: Uint8Array): void {
  const { checkpoint, hashes } = given.under!;
  const { size, root } = parseCheckpoint(parseNote(checkpoint.note).text);
  const { index } = decodeEntry(entry);
  verifyInclusion({ leaf: leafHash(entry), index, size, proof: [...hashes], root });
}

/** Ten events of acme under a checkpoint, and five of another tenant. */
async function signedLogs(place: TestInstallation): Promise<Storage> {
  const storage = await openWith(place, 'acme', 'other');
  // In turn of two months, so that what a notice names lies in several partitions.
  const drafts = Array.from({ length: 10 }, (_, i) =>
    draftOf({}, { retention: i % 2 === 0 ? 'PT1S' : 'P1Y' }),
  );
  await append(storage, request('acme', drafts));
  await fill(storage, 'other', 5);
  await publish(storage, await readAll(storage));
  return storage;
}

function requireFault(answer: AppendOutcome | undefined, message: RegExp): void {
  assert.ok(answer?.status === 'Faulty', answer?.status);
  assert.match(answer.error.message, message);
}

export const removalClaims: Claims = {
  async 'events are purged for every reader from the commit of the notice on, also while their content is there'(
    place,
  ) {
    await using storage = await signedLogs(place);
    const before = await proven(storage, 'acme', 4);
    assert.ok(before.evidence.content !== undefined && 'texts' in before.evidence.content);
    const noticeIndex = await appendPurge(storage, 'acme', [span(3, 6), span(8, 9)]);
    assert.equal(noticeIndex, 10);
    assert.equal((await place.rows('acme')).length, 11, 'all content is there');
    assert.equal(await contentsOf(storage, 'acme'), '...PPP..P..');
    assert.equal(await contentsOf(storage, 'other'), '.....');
    const { eventId } = decodeEntry(before.evidence.entry);
    const log = storage.log.forTenant('acme');
    const purged = { noticeIndex, purgedAtMs: NOW_MS + 5, isDeleted: false };
    assert.deepEqual((await log.event(eventId, CLASSIFICATIONS))?.content, purged);
    const after = await proven(storage, 'acme', 4);
    assert.deepEqual(after.evidence, { ...before.evidence, content: purged });
    assert.deepEqual(
      (await storage.tree.forTenant('acme').evidenceRange(2, 5, 9)).map(({ content }) => 'texts' in content!),
      [true, false, false],
    );
    assert.deepEqual(await storage.removal.deletions('acme', span(4, 100), 9), [
      { ...span(3, 6), noticeIndex },
      { ...span(8, 9), noticeIndex },
    ]);
    assert.deepEqual(await storage.removal.deletions('acme', span(6, 8), 9), []);
    assert.deepEqual(await storage.removal.deletions('other', span(0, 100), 9), []);
  },

  async 'a removal goes on after a restart wherever it stopped, and no proof that was given breaks'(place) {
    const spans = [span(0, 2), span(3, 6)];
    let given: ProvenEvent[] = [];
    let noticeIndex = 0;
    {
      await using storage = await signedLogs(place);
      given = await Promise.all([0, 4, 7].map((index) => proven(storage, 'acme', index)));
      noticeIndex = await appendPurge(storage, 'acme', spans);
      await assert.rejects(storage.removal.deleteContents('acme', noticeIndex, 0), /no checkpoint of acme/);
    }
    {
      await using storage = await place.open();
      assert.equal(await contentsOf(storage, 'acme'), 'PP.PPP.....');
      await publish(storage, await readAll(storage));
      // The state after an interrupted commit.
      await place.removeContent('acme', 0);
      await place.removeContent('acme', 3);
    }
    await using storage = await place.open();
    assert.equal(await contentsOf(storage, 'acme'), 'PP.PPP.....');
    assert.equal(await storage.removal.deleteContents('acme', noticeIndex, 0), 6);
    assert.equal(await storage.removal.deleteContents('acme', noticeIndex, 6), undefined);
    await deleteAll(storage, 'acme', noticeIndex);
    assert.deepEqual(
      (await place.rows('acme')).map(({ index }) => index),
      [2, 6, 7, 8, 9, 10],
    );
    assert.equal((await place.rows('other')).length, 5);
    assert.equal(await contentsOf(storage, 'acme'), 'PP.PPP.....');
    for (const each of given) {
      const now = await proven(storage, 'acme', each.evidence.index);
      requireProof(each, now.evidence.entry);
      requireProof(now, each.evidence.entry);
      const { content } = now.evidence;
      assert.equal('texts' in content! || content!.isDeleted, true);
      assert.deepEqual(now.evidence.roots, each.evidence.roots);
    }
    assert.equal(await storage.removal.countContents('acme', [span(0, 11)]), 5);
  },

  async 'content that is stored although a signed notice of the range deletes it is found'(place) {
    await using storage = await signedLogs(place);
    const noticeIndex = await appendPurge(storage, 'acme', [span(0, 2), span(3, 6)]);
    const key = await publishSigned(storage);
    const range = { fromIndex: noticeIndex, endIndex: noticeIndex + 1, publicKeys: [key] };
    const undeleted = async (deletedBeforeMs?: number) => {
      const asked = { ...range, ...(deletedBeforeMs !== undefined && { deletedBeforeMs }) };
      const verdict = await storage.tree.forTenant('acme').checkRange(asked, () => {});
      assert.equal(verdict.fault, undefined);
      return verdict.undeleted;
    };
    const later = NOW_MS + 6;
    assert.equal(await undeleted(later), 0);
    assert.equal(await undeleted(NOW_MS + 5), undefined, 'it may be under way');
    assert.equal(await undeleted(), undefined, 'nobody asked');
    await place.removeContent('acme', 0);
    await place.removeContent('acme', 1);
    assert.equal(await undeleted(later), 3);
    await deleteAll(storage, 'acme', noticeIndex);
    assert.equal(await undeleted(later), undefined);
  },

  async 'content that is gone without a notice is not purged, and a row without its notice purges nothing'(
    place,
  ) {
    await using storage = await signedLogs(place);
    const noticeIndex = await appendPurge(storage, 'acme', [span(3, 4)]);
    await publish(storage, await readAll(storage));
    await place.putDeletion('acme', { ...span(5, 7), noticeIndex });
    await place.putDeletion('acme', { ...span(7, 8), noticeIndex: 2 });
    await place.putDeletion('acme', { ...span(8, 9), noticeIndex: 99 });
    assert.equal(await contentsOf(storage, 'acme'), '...P.......', 'the notice says nothing of these');
    for (const index of [1, 5, 7, 8]) await place.removeContent('acme', index);
    assert.equal(await contentsOf(storage, 'acme'), '.?.P.?.??..');
    assert.equal((await proven(storage, 'acme', 5)).evidence.content, undefined);
    await assert.rejects(
      storage.removal.deleteContents('acme', 2, 0),
      /entry 2 of acme is not a purge notice/,
    );
    await assert.rejects(
      storage.removal.deleteContents('acme', 99, 0),
      /entry 99 of acme is not a purge notice/,
    );
    await deleteAll(storage, 'acme', noticeIndex);
    assert.deepEqual(
      (await place.rows('acme')).map(({ index }) => index),
      [0, 2, 4, 6, 9, 10],
    );
  },

  async 'no two notices remove the same, and none removes what is not before it; others of the pool are appended'(
    place,
  ) {
    await using storage = await signedLogs(place);
    await appendPurge(storage, 'acme', [span(3, 6)]);
    const [, behind] = await storage.log.append(
      [request('acme', [draftOf()]), request('acme', [noticeOf([[4, 12]])])],
      now(NOW_MS + 5),
    );
    requireFault(behind, /was removed before/);
    const [over, first, second, two, fine] = await storage.log.append(
      [
        request('acme', [
          noticeOf([
            [0, 1],
            [5, 7],
          ]),
        ]),
        request('acme', [noticeOf([[6, 8]])]),
        request('acme', [noticeOf([[7, 9]])]),
        request('acme', [noticeOf([[0, 1]]), noticeOf([[1, 2]])], { atomic: true }),
        request('acme', [draftOf()]),
      ],
      now(NOW_MS + 5),
    );
    for (const answer of [over, second]) requireFault(answer, /was removed before/);
    requireFault(two, /one purge notice/);
    assert.deepEqual([statusesOf(first), statusesOf(fine)], [['Appended'], ['Appended']]);
    for (const [ranges, message] of [
      [[[0, 100]], /out of order/],
      [[[2, 1]], /out of order/],
      [
        [
          [1, 2],
          [0, 1],
        ],
        /out of order/,
      ],
    ] as const) {
      const draft = noticeOf(ranges as unknown as [number, number][]);
      requireFault((await storage.log.append([request('acme', [draft])], now()))[0], message);
    }
    assert.equal(await contentsOf(storage, 'acme'), '...PPPPP......');
  },

  async 'notices keep their content in every range'(place) {
    await using storage = await place.open({ sealAfterEvents: 2 });
    await storage.tenants.ensure('acme', NOW_MS);
    for (let i = 0; i < 5; i++) await fill(storage, 'acme', 1);
    await publish(storage, await readAll(storage));
    assert.equal(await storage.removal.countContents('acme', [span(0, 7)]), 5);
    const noticeIndex = await appendPurge(storage, 'acme', [span(0, 6)]);
    await publish(storage, await readAll(storage));
    await deleteAll(storage, 'acme', noticeIndex);
    // Two events, the seal of their stream, two more and another seal.
    assert.equal((await contentsOf(storage, 'acme')).slice(0, 7), 'PP.PP..');
  },

  async 'an id whose event is purged is taken, from the commit of the notice on'(place) {
    await using storage = await openWith(place, 'acme');
    const draft = draftOf({}, { sentFingerprint: fingerprint(1) });
    await append(storage, request('acme', [draft]));
    await publish(storage, await readAll(storage));
    const again = async () => statusesOf(await append(storage, request('acme', [draft])));
    assert.deepEqual(await again(), ['Duplicate']);
    const noticeIndex = await appendPurge(storage, 'acme', [span(0, 1)]);
    assert.deepEqual(await again(), ['Conflict']);
    await publish(storage, await readAll(storage));
    await deleteAll(storage, 'acme', noticeIndex);
    assert.deepEqual(await again(), ['Conflict']);
  },

  async 'in a log after a restore, the indexes of a notice count from its own first entry'(place) {
    {
      await using storage = await signedLogs(place);
      const anchored = { origin: 'audit.example.com/t/acme', size: 12, root: new Uint8Array(32).fill(7) };
      const begun = await storage.log.beginEpoch({ tenant: 'acme', anchored }, now());
      assert.equal(begun.status, 'Begun');
    }
    await using storage = await place.open();
    await fill(storage, 'acme', 4);
    await publish(storage, await readAll(storage));
    const noticeIndex = await appendPurge(storage, 'acme', [span(12, 14)]);
    assert.deepEqual(await storage.removal.deletions('acme', span(0, 100), 9), [
      { ...span(12, 14), noticeIndex },
    ]);
    await publish(storage, await readAll(storage));
    await deleteAll(storage, 'acme', noticeIndex);
    assert.equal(await contentsOf(storage, 'acme'), '............PP..');
  },
};
