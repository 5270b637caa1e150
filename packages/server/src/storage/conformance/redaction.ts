// Claims about events of which single units are removed: they are gone for every reader from the commit of the notice on, they
// are deleted only once that notice is signed, what is left is still what was hashed, and no row hides anything by itself.

import assert from 'node:assert/strict';
import { CLASSIFICATIONS, type TenantId } from '@tallystick/contract';
import {
  contentOf,
  decodeEntry,
  encodeNotice,
  equalBytes,
  KINDS,
  type NoticePayload,
  openTexts,
  tagOf,
  toBase64,
} from '@tallystick/evidence';
import type { AppendOutcome, Draft } from '../../streams/log.ts';
import type { OpenContent } from '../../streams/tree.ts';
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
  placedIn,
  request,
  soundContent,
  statusesOf,
  type TestInstallation,
} from './claims.ts';
import { publish, publishSigned, readAll } from './tree.ts';

const EVENT = {
  classification: 'Internal',
  actor: { actorType: 'User', userId: 'u-1', userName: 'Ana Alba' },
  payload: { iban: 'DE02120300000000202051', amount: 12, 'a/b': [1, 'x'] },
  context: { ip: '203.0.113.7' },
};
const OTHER = { classification: 'Internal', payload: { iban: 'DE89370400440532013000' } };

const tagAt = (path: string) => toBase64(tagOf(path).bytes);

function noticeOf(payload: NoticePayload<typeof KINDS.redaction>): Draft {
  const facts = {
    kind: KINDS.redaction,
    action: 'Redact.Event',
    resource: { resourceType: 'Event', resourceId: payload.eventId },
    payload,
    correlationId: '7d3f0c52-6a3e-4b51-9a0e-2f6b1f3c9d11',
  };
  return {
    kind: KINDS.redaction,
    eventId: nextId(),
    texts: encodeNotice(facts, new Date(NOW_MS).toISOString()),
    classification: 'Internal',
    retention: undefined,
  };
}

async function eventIdAt(storage: Storage, tenant: TenantId, index: number): Promise<string> {
  const [event] = await storage.log.forTenant(tenant).events(index, index + 1, 1);
  return decodeEntry(event!.entry).eventId;
}

async function redact(storage: Storage, index: number, ...paths: string[]): Promise<number> {
  const eventId = await eventIdAt(storage, 'acme', index);
  const { firstIndex } = (await storage.tree.forTenant('acme').tree())!;
  const leafIndex = index - firstIndex;
  const draft = noticeOf({ leafIndex, eventId, tags: paths.map(tagAt), cause: 'Redaction' });
  return placedIn(await append(storage, request('acme', [draft]), now(NOW_MS + 5)))[0]!.index;
}

async function signedLog(place: TestInstallation): Promise<Storage> {
  const storage = await openWith(place, 'acme', 'other');
  const first = draftOf(EVENT, { sentFingerprint: fingerprint(1) });
  await append(storage, request('acme', [first, draftOf(OTHER), draftOf(EVENT)]));
  await append(storage, request('other', [draftOf(EVENT)]));
  await publish(storage, await readAll(storage));
  return storage;
}

const sign = async (storage: Storage) => publish(storage, await readAll(storage));

/** What each event of the log is without: of the first ones, which were appended above. */
async function deletedIn(storage: Storage): Promise<(readonly string[] | undefined)[]> {
  const events = await storage.log.forTenant('acme').events(0, 3, 3);
  return events.map((event) => soundContent(event).deletedPaths);
}

async function proven(storage: Storage, index: number) {
  const eventId = await eventIdAt(storage, 'acme', index);
  const found = await storage.tree
    .forTenant('acme')
    .proveEvent({ eventId, visible: CLASSIFICATIONS, preferred: [] });
  assert.ok(found !== undefined && !('fault' in found));
  const { content, entry, roots } = found.evidence;
  const { texts, salts, deleted } = content as OpenContent;
  const shown = openTexts(texts, salts, deleted);
  assert.ok(equalBytes(contentOf(shown), decodeEntry(entry).content), 'it is what was hashed');
  return { shown, roots };
}

async function holds(place: TestInstallation, value: string): Promise<boolean> {
  const rows = await place.rows('acme');
  return rows.some(({ texts }) => texts.some((text) => Buffer.from(text).includes(value)));
}

function requireFault(answer: AppendOutcome | undefined, message: RegExp): void {
  assert.ok(answer?.status === 'Faulty', answer?.status);
  assert.match(answer.error.message, message);
}

export const redactionClaims: Claims = {
  async 'single units are gone for every reader from the commit of the notice on, also while they are there'(
    place,
  ) {
    await using storage = await signedLog(place);
    const before = await proven(storage, 0);
    const noticeIndex = await redact(storage, 0, '/payload/iban', '/actor/userName');
    assert.ok(await holds(place, 'DE02120300000000202051'), 'all content is there');
    assert.deepEqual(await deletedIn(storage), [['/actor/userName', '/payload/iban'], undefined, undefined]);
    const [event] = await storage.log.forTenant('acme').events(0, 1, 1);
    const [one, two] = soundContent(event).texts;
    assert.ok(!one.includes('Ana') && one.includes('u-1'));
    assert.equal(two, '{"context":{"ip":"203.0.113.7"},"payload":{"a/b":[1,"x"],"amount":12}}');
    const after = await proven(storage, 0);
    assert.deepEqual(after.roots, before.roots);
    const [evidence] = await storage.tree.forTenant('acme').evidenceRange(0, 1, 1);
    assert.deepEqual(
      (evidence!.content as OpenContent).deleted?.flat().map(({ path, noticeIndex: by }) => [path, by]),
      [
        ['/actor/userName', noticeIndex],
        ['/payload/iban', noticeIndex],
      ],
    );
    const other = await storage.log.forTenant('other').events(0, 1, 1);
    assert.equal(soundContent(other[0]).deletedPaths, undefined);
  },

  async 'they are deleted once the notice is signed, a repeat changes nothing, and the event still proves itself'(
    place,
  ) {
    let first = 0;
    {
      await using storage = await signedLog(place);
      first = await redact(storage, 0, '/payload/iban', '/actor/userName');
      await assert.rejects(storage.removal.deleteUnits('acme', [first]), /no checkpoint of acme covers/);
      assert.ok(await holds(place, 'Ana'));
      await sign(storage);
    }
    await using storage = await place.open();
    await storage.removal.deleteUnits('acme', [first]);
    const [row] = await place.rows('acme');
    assert.ok(!row!.texts.some((text) => /Ana|DE0212/.test(Buffer.from(text).toString())));
    const before = await proven(storage, 0);
    await storage.removal.deleteUnits('acme', [first]);
    assert.deepEqual(await proven(storage, 0), before);
    const second = await redact(
      storage,
      0,
      '/payload/amount',
      '/payload/a~1b',
      '/context/ip',
      '/actor/userId',
    );
    await sign(storage);
    await storage.removal.deleteUnits('acme', [first, second]);
    const [event] = await storage.log.forTenant('acme').events(0, 1, 1);
    assert.equal(soundContent(event).texts[1], '{}');
    assert.equal(soundContent(event).deletedPaths?.length, 6);
    await proven(storage, 0);
    await storage.removal.eraseTraces();
    // The others are as they were.
    assert.deepEqual((await deletedIn(storage)).slice(1), [undefined, undefined]);
    assert.ok(await holds(place, 'Ana'), 'that of the third event');
  },

  async 'a unit that is stored although a signed notice of the range deletes it is found'(place) {
    await using storage = await signedLog(place);
    const notice = await redact(storage, 1, '/payload/iban');
    const publicKeys = [await publishSigned(storage)];
    const request = { fromIndex: notice, endIndex: notice + 1, publicKeys, deletedBeforeMs: NOW_MS + 6 };
    const check = () => storage.tree.forTenant('acme').checkRange(request, () => {});
    assert.equal((await check()).undeleted, 1);
    await storage.removal.deleteUnits('acme', [notice]);
    assert.equal((await check()).undeleted, undefined);
  },

  async 'a unit that is gone without a notice makes the event one that was altered, and a row alone hides nothing'(
    place,
  ) {
    await using storage = await signedLog(place);
    const notice = await redact(storage, 0, '/payload/iban');
    await sign(storage);
    await storage.removal.deleteUnits('acme', [notice]);
    await place.putRedaction('acme', { index: 1, noticeIndex: notice });
    await place.putRedaction('acme', { index: 2, noticeIndex: 1 });
    await place.putRedaction('acme', { index: 2, noticeIndex: 99 });
    assert.deepEqual(await deletedIn(storage), [['/payload/iban'], undefined, undefined]);
    await place.removeRedaction('acme', { index: 0, noticeIndex: notice });
    const [event] = await storage.log.forTenant('acme').events(0, 1, 1);
    assert.throws(() => soundContent(event), /\/payload\/iban is gone, and no notice says why/);
    await assert.rejects(
      storage.removal.deleteUnits('acme', [1]),
      /entry 1 of acme is not a redaction notice/,
    );
  },

  async 'an id whose event has lost something is taken, from the commit of the notice on'(place) {
    await using storage = await openWith(place, 'acme');
    const draft = draftOf(EVENT, { sentFingerprint: fingerprint(1) });
    await append(storage, request('acme', [draft]));
    await sign(storage);
    const again = async () => statusesOf(await append(storage, request('acme', [draft])));
    assert.deepEqual(await again(), ['Duplicate']);
    const notice = await redact(storage, 0, '/payload/iban');
    assert.deepEqual(await again(), ['Conflict']);
    await sign(storage);
    await storage.removal.deleteUnits('acme', [notice]);
    assert.deepEqual(await again(), ['Conflict']);
  },

  async 'a notice names an event before it; many stand in one request, and others of the pool are appended'(
    place,
  ) {
    await using storage = await signedLog(place);
    const eventId = await eventIdAt(storage, 'acme', 0);
    const naming = (leafIndex: number) =>
      noticeOf({ leafIndex, eventId, tags: [tagAt('/payload/iban')], cause: 'Erasure' });
    const [behind, fine] = await storage.log.append(
      [request('acme', [naming(3)]), request('acme', [naming(0), naming(2)])],
      now(NOW_MS + 5),
    );
    requireFault(behind, /not before it/);
    assert.deepEqual(statusesOf(fine), ['Appended', 'Appended']);
    // The second one names the id of another event, so that nothing of this one is deleted.
    assert.deepEqual(await deletedIn(storage), [['/payload/iban'], undefined, undefined]);
    await sign(storage);
    await storage.removal.deleteUnits(
      'acme',
      placedIn(fine).map(({ index }) => index),
    );
    assert.deepEqual(await deletedIn(storage), [['/payload/iban'], undefined, undefined]);
  },
};
