// Claims about the guard of notices that remove content: one that has not seen the newest hold or policy of its tenant is refused,
// in the transaction that would have appended it.

import assert from 'node:assert/strict';
import type { RecordKind } from '../../records/records.ts';
import type { AppendRequest } from '../../streams/log.ts';
import type { Storage } from '../storage.ts';
import { append, type Claims, draftOf, now, NOW_MS, once, openWith, request, statusesOf } from './claims.ts';
import { changeOf, nextVersion, recordOf } from './records.ts';

const asOf = async (storage: Storage, tenant: string) => (await storage.tenants.find(tenant))!.holdsAsOf;

const held = (tenant: string, holdsAsOf: string, more: Partial<AppendRequest> = {}) =>
  request(tenant, [draftOf()], { atomic: true, holdsAsOf, ...more });

export const holdClaims: Claims = {
  'what the holds of a tenant are as of changes with each of its holds and policies, and with nothing else':
    async (place) => {
      await using storage = await openWith(place, 'acme', 'other');
      const seen = [await asOf(storage, 'acme')];
      const changes = async (record: Parameters<typeof nextVersion>[0]) => {
        assert.equal((await append(storage, changeOf([record]))).status, 'Done');
        seen.push(await asOf(storage, 'acme'));
      };
      for (const kind of ['LegalHold', 'Policy'] as const) {
        const made = recordOf('acme', { kind });
        await changes(made);
        await changes(nextVersion(made, { state: 'Released' }));
      }
      assert.equal(new Set(seen).size, seen.length);
      for (const kind of ['ApiKey', 'Tenant'] as const) await changes(recordOf('acme', { kind }));
      assert.equal(new Set(seen.slice(4)).size, 1);
      assert.equal(await asOf(storage, 'other'), seen[0]);
      const [listed] = await storage.tenants.page({ way: 'Rising', beyond: undefined, limit: 1 }, ['Active']);
      assert.equal(listed?.holdsAsOf, seen.at(-1));
      assert.deepEqual(
        [listed?.hasHolds, (await storage.tenants.find('other'))?.hasHolds],
        [true, false],
        'also of one that is released',
      );
    },

  'a request that has not seen the newest hold is refused as a whole, and one that has is appended': async (
    place,
  ) => {
    await using storage = await openWith(place, 'acme', 'other');
    for (const kind of ['LegalHold', 'Policy'] satisfies RecordKind[]) {
      const before = await asOf(storage, 'acme');
      await append(storage, changeOf([recordOf('acme', { kind })]));
      const key = once(`of ${kind}`);
      assert.equal((await append(storage, held('acme', before, { once: key }))).status, 'HoldsChanged');
      const usedKey = await storage.log.forTenant('acme').usedKey('events.ingest', key.key, NOW_MS);
      assert.equal(usedKey, undefined);
      const after = held('acme', await asOf(storage, 'acme'), { once: key });
      assert.deepEqual(statusesOf(await append(storage, after)), ['Appended'], 'also with the same key');
      assert.equal((await append(storage, held('acme', before, { once: key }))).status, 'Repeated');
      // Without the guard, nobody would notice.
      assert.equal((await append(storage, request('acme', [draftOf()]))).status, 'Done');
    }
    assert.equal((await place.rows('acme')).length, 6);
    assert.equal(
      (await append(storage, held('other', await asOf(storage, 'other')))).status,
      'Done',
      'that of others does not matter',
    );
  },

  'a hold that is placed in the same pool counts, and one of another tenant or another kind does not': async (
    place,
  ) => {
    await using storage = await openWith(place, 'acme', 'other');
    const before = await asOf(storage, 'acme');
    const hold = recordOf('acme', { kind: 'LegalHold' });
    const results = await storage.log.append(
      [
        changeOf([recordOf('other', { kind: 'LegalHold' })]),
        changeOf([recordOf('acme')]),
        held('acme', before),
        changeOf([hold]),
        held('acme', before),
        request('acme', [draftOf()]),
        changeOf([nextVersion(hold, { state: 'Released' })]),
        held('acme', before),
        held('acme', '4'),
      ],
      now(),
    );
    assert.deepEqual(
      results.map(({ status }) => status),
      ['Done', 'Done', 'Done', 'Done', 'HoldsChanged', 'Done', 'Done', 'HoldsChanged', 'Done'],
    );
    // The place of the newest notice, which no row of a hold can change.
    assert.equal(await asOf(storage, 'acme'), '4');
  },

  'the notices that tell of holds and policies are found among all entries, in order and from an index on':
    async (place) => {
      await using storage = await openWith(place, 'acme', 'other');
      const kinds = ['LegalHold', 'ApiKey', 'Policy', 'Tenant', 'LegalHold'] as const;
      for (const kind of kinds) {
        await append(storage, changeOf([recordOf('acme', { kind })]));
        await append(storage, request('acme', [draftOf()]));
      }
      await append(storage, changeOf([recordOf('other', { kind: 'Policy' })]));
      const found = async (fromIndex: number, limit: number) => {
        const notices = await storage.log.forTenant('acme').holdNotices(fromIndex, limit);
        assert.ok(notices.every(({ content }) => content !== undefined && 'texts' in content));
        return notices.map(({ index }) => index);
      };
      assert.deepEqual(await found(0, 10), [0, 4, 8]);
      assert.deepEqual(await found(0, 2), [0, 4]);
      assert.deepEqual([await found(4, 10), await found(5, 10), await found(9, 10)], [[4, 8], [8], []]);
      assert.deepEqual(await storage.log.forTenant('nobody').holdNotices(0, 10), []);
    },
};
