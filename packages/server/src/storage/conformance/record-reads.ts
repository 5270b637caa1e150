// Claims about reading records, and about when API keys were last used.

import assert from 'node:assert/strict';
import type { RecordOwner, StoredRecord } from '../../records/records.ts';
import type { Storage } from '../storage.ts';
import { append, type Claims, draftOf, nextId, NOW_MS, openWith, request } from './claims.ts';
import { changeOf, nextVersion, recordOf } from './records.ts';

async function put(storage: Storage, ...records: readonly StoredRecord[]): Promise<void> {
  assert.equal((await append(storage, changeOf(records))).status, 'Done');
}

async function putKeys(storage: Storage, owner: RecordOwner, count: number): Promise<StoredRecord[]> {
  const made = Array.from({ length: count }, () => recordOf(owner));
  await put(storage, ...made);
  return made;
}

export const recordReadClaims: Claims = {
  'a record comes back as it was put, by its id, by its lookup and in lists': async (place) => {
    const lookup = (n: number) => new Uint8Array(32).fill(n);
    const [one, two] = [
      recordOf('acme', { lookup: lookup(1), uniqueName: 'a name', state: 'Revoked' }),
      recordOf('*', {
        lookup: lookup(2),
        body: '{"version":1}',
        salt: new Uint8Array(16),
        mac: new Uint8Array(34),
      }),
    ];
    const settings = recordOf('acme', { kind: 'Tenant', id: '' });
    {
      await using storage = await openWith(place, 'acme', '*');
      await put(storage, two);
      await put(storage, one, settings);
    }
    await using storage = await place.open();
    const { records } = storage;
    assert.deepEqual(await records.byId('ApiKey', one.id), [one]);
    assert.deepEqual(await records.byId('ApiKey', two.id), [two]);
    assert.deepEqual(await records.byLookup('ApiKey', lookup(1)), [one]);
    assert.deepEqual(await records.byLookup('ApiKey', lookup(2)), [two]);
    assert.deepEqual(await records.forOwner('acme').find('ApiKey', one.id), one);
    assert.deepEqual(await records.forOwner('acme').find('Tenant', ''), settings);
    assert.deepEqual(
      await records.all('ApiKey'),
      [one, two].toSorted((a, b) => (a.id < b.id ? -1 : 1)),
    );
    assert.deepEqual(await records.forOwner('*').list('ApiKey'), [two]);
    assert.deepEqual(await records.byId('ApiKey', nextId()), []);
    assert.deepEqual(await records.byId('Tenant', one.id), []);
    assert.deepEqual(await records.byLookup('ApiKey', lookup(9)), []);
    assert.deepEqual(await records.byLookup('Tenant', lookup(1)), []);
    const next = nextVersion(one, { lookup: lookup(3), uniqueName: undefined });
    await put(storage, next);
    assert.deepEqual(await records.byLookup('ApiKey', lookup(3)), [next]);
    assert.deepEqual(await records.byLookup('ApiKey', lookup(1)), []);
  },

  'records of an owner are read in pages, from both ends, and counted': async (place) => {
    await using storage = await openWith(place, 'acme', 'other', '*');
    const keys = await putKeys(storage, 'acme', 5);
    await putKeys(storage, 'other', 1);
    await put(storage, recordOf('acme', { kind: 'Tenant', id: '' }));
    const [platform] = await putKeys(storage, '*', 1);
    const newest = keys.toReversed();
    const acme = storage.records.forOwner('acme');
    const page = (way: 'Falling' | 'Rising', beyond: string | undefined, limit: number) =>
      acme.page('ApiKey', { way, beyond, limit });
    assert.deepEqual(await page('Falling', undefined, 10), newest);
    assert.deepEqual(await page('Falling', undefined, 2), newest.slice(0, 2));
    assert.deepEqual(await page('Falling', newest[1]!.id, 2), newest.slice(2, 4));
    assert.deepEqual(await page('Rising', newest[2]!.id, 2), [newest[1], newest[0]]);
    assert.deepEqual(await page('Rising', undefined, 2), keys.slice(0, 2));
    assert.deepEqual(await page('Falling', keys[0]!.id, 2), []);
    assert.deepEqual(await page('Rising', newest[0]!.id, 2), []);
    const ofPlatform = storage.records.forOwner('*');
    assert.deepEqual(await ofPlatform.page('ApiKey', { way: 'Falling', beyond: undefined, limit: 9 }), [
      platform,
    ]);
    const nobody = storage.records.forOwner('nobody');
    assert.deepEqual(
      [await acme.count('ApiKey'), await acme.count('Tenant'), await ofPlatform.count('ApiKey')],
      [5, 1, 1],
    );
    assert.equal(await nobody.count('ApiKey'), 0);
    assert.deepEqual(await acme.list('ApiKey'), keys);
  },

  'records in a state are read in pages, from both ends, from behind an id, and counted': async (place) => {
    await using storage = await openWith(place, 'acme', 'other');
    const states = ['Open', 'Closed', 'Open', 'Open', 'Closed', 'Open'];
    const made = states.map((state) => recordOf('acme', { state }));
    await put(storage, ...made);
    await put(storage, recordOf('other', { state: 'Open' }));
    await put(storage, recordOf('acme', { kind: 'Policy', state: 'Open' }));
    const open = made.filter(({ state }) => state === 'Open');
    const acme = storage.records.forOwner('acme');
    const page = (way: 'Falling' | 'Rising', beyond: string | undefined, limit: number, after?: string) =>
      acme.pageInState('ApiKey', 'Open', { way, beyond, limit, after });
    assert.deepEqual(await page('Falling', undefined, 9), open.toReversed());
    assert.deepEqual(await page('Falling', open[3]!.id, 2), [open[2], open[1]]);
    assert.deepEqual(await page('Rising', open[0]!.id, 2), [open[1], open[2]]);
    assert.deepEqual(await page('Falling', undefined, 9, open[1]!.id), [open[3], open[2]]);
    assert.deepEqual(await page('Rising', undefined, 9, open[1]!.id), [open[2], open[3]]);
    assert.deepEqual(await page('Rising', open[2]!.id, 9, open[1]!.id), [open[3]]);
    assert.deepEqual(
      await acme.pageInState('ApiKey', 'None', { way: 'Rising', beyond: undefined, limit: 9 }),
      [],
    );
    const count = (state: string, after?: string) => acme.countInState('ApiKey', state, after);
    assert.deepEqual(
      [await count('Open'), await count('Closed'), await count('None'), await count('Open', open[1]!.id)],
      [4, 2, 0, 2],
    );
    const closed = nextVersion(open[0]!, { state: 'Closed' });
    await put(storage, closed);
    assert.deepEqual([await count('Open'), await count('Closed')], [3, 3]);
    assert.deepEqual(await page('Rising', undefined, 1), [open[1]]);
  },

  'owners are isolated: an id of one is unknown to another': async (place) => {
    const owners: readonly RecordOwner[] = ['acme', 'acme2', '*'];
    await using storage = await openWith(place, ...owners);
    const id = nextId();
    const records = owners.map((owner) => recordOf(owner, { id, uniqueName: 'same', state: `of ${owner}` }));
    for (const record of records.slice(0, 2)) await put(storage, record);
    assert.equal(await storage.records.forOwner('*').find('ApiKey', id), undefined);
    assert.deepEqual(await storage.records.forOwner('*').list('ApiKey'), []);
    await put(storage, records[2]!);
    const next = nextVersion(records[0]!);
    await put(storage, next);
    for (const [i, owner] of owners.entries()) {
      const expected = i === 0 ? next : records[i];
      const owned = storage.records.forOwner(owner);
      assert.deepEqual(await owned.find('ApiKey', id), expected);
      assert.deepEqual(await owned.list('ApiKey'), [expected]);
      assert.equal(await owned.count('ApiKey'), 1);
    }
  },

  'the version of all records is another one after every change, and after nothing else': async (place) => {
    const seen = new Set<unknown>();
    const record = recordOf('acme');
    const isSeen = async ({ records }: Storage) => {
      const version = await records.version();
      const wasSeen = seen.has(version);
      seen.add(version);
      return wasSeen;
    };
    {
      await using storage = await openWith(place, 'acme', '*');
      assert.equal(await isSeen(storage), false);
      await append(storage, request('acme', [draftOf()]));
      await storage.tenants.ensure('other', NOW_MS);
      assert.equal(await isSeen(storage), true, 'no record was changed');
      await put(storage, record);
      assert.equal(await isSeen(storage), false);
      await put(storage, recordOf('*'));
      assert.equal(await isSeen(storage), false);
      assert.equal((await append(storage, changeOf([recordOf('acme', { version: 2 })]))).status, 'Stale');
      await storage.keyUses.keep([{ keyId: record.id, tenantId: 'acme', usedAtMs: NOW_MS }]);
      await append(storage, request('acme', [draftOf()]));
      assert.equal(await isSeen(storage), true, 'no record was changed');
    }
    await using storage = await place.open();
    assert.equal(await isSeen(storage), true);
    await put(storage, nextVersion(record));
    assert.equal(await isSeen(storage), false);
    assert.equal(seen.size, 4);
    assert.ok(storage.records.freshMs() <= 50);
  },

  'of all uses of a key the latest is kept, from any process': async (place) => {
    const use = ({ keyId, tenantId }: { keyId: string; tenantId: string }, usedAtMs: number) => ({
      keyId,
      tenantId,
      usedAtMs,
    });
    const [one, two, never] = [1, 2, 3].map(() => ({ keyId: nextId(), tenantId: 'acme' }));
    const platform = { keyId: nextId(), tenantId: '*' };
    {
      await using storage = await place.open();
      await storage.keyUses.keep([use(one!, NOW_MS + 5), use(two!, NOW_MS + 7), use(platform, NOW_MS)]);
    }
    await using storage = await place.open();
    await storage.keyUses.keep([use(one!, NOW_MS + 3), use(two!, NOW_MS + 9)]);
    await storage.keyUses.keep([]);
    assert.deepEqual(
      await storage.keyUses.lastUses([one!, two!, never!, platform]),
      new Map([
        [one!.keyId, NOW_MS + 5],
        [two!.keyId, NOW_MS + 9],
        [platform.keyId, NOW_MS],
      ]),
    );
    assert.deepEqual(await storage.keyUses.lastUses([two!]), new Map([[two!.keyId, NOW_MS + 9]]));
    assert.deepEqual(await storage.keyUses.lastUses([]), new Map());
  },
};
