// Claims about changes: a record is put by compare-and-swap on its version, in one commit with the notice that tells of it
// and the idempotency key that the request uses up. All of a request is stored, or nothing of it.

import assert from 'node:assert/strict';
import { type Kind, KINDS } from '@tallystick/evidence';
import type { RecordKind, RecordOwner, StoredRecord } from '../../records/records.ts';
import type { AppendRequest } from '../../streams/log.ts';
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
  placedIn,
  request,
  statusesOf,
} from './claims.ts';

export function recordOf(owner: RecordOwner, more: Partial<StoredRecord> = {}): StoredRecord {
  return {
    owner,
    kind: 'ApiKey',
    id: nextId(),
    version: 1,
    body: '{"name":"ci ÄÖ\\u0000","version":1}',
    state: 'Active',
    uniqueName: undefined,
    lookup: undefined,
    salt: new Uint8Array(16).fill(1),
    mac: new Uint8Array(34).fill(2),
    ...more,
  };
}

export function nextVersion(record: StoredRecord, more: Partial<StoredRecord> = {}): StoredRecord {
  const version = record.version + 1;
  return {
    ...record,
    version,
    body: `{"version":${version}}`,
    salt: new Uint8Array(16).fill(version),
    ...more,
  };
}

const NOTICES: Partial<Record<RecordKind, Kind>> = { LegalHold: KINDS.legalHold, Policy: KINDS.policyChange };

/** Records of one owner, with a notice for each. */
export function changeOf(records: readonly StoredRecord[], more: Partial<AppendRequest> = {}): AppendRequest {
  const drafts = records.map(({ kind }) =>
    draftOf({}, { kind: NOTICES[kind] ?? KINDS.administration, retention: undefined }),
  );
  return request(records[0]!.owner, drafts, { records, atomic: true, ...more });
}

const REVOKED = { state: 'Revoked' };
const OF_KEYS = { operation: 'apiKeys.create' } as const;

export const recordClaims: Claims = {
  'a record, its notice and the key of its request are stored together, and a repeat stores nothing': async (
    place,
  ) => {
    const made = recordOf('acme', { uniqueName: 'ci', lookup: new Uint8Array(32).fill(9) });
    const key = once('k', { ...OF_KEYS, note: made.id });
    {
      await using storage = await openWith(place, 'acme');
      const result = await append(storage, changeOf([made], { once: key }));
      assert.deepEqual(statusesOf(result), ['Appended']);
      assert.equal(placedIn(result)[0]!.index, 0);
    }
    await using storage = await place.open();
    const records = storage.records.forOwner('acme');
    const keysUsed = () => storage.log.forTenant('acme').usedKey('apiKeys.create', 'k', NOW_MS);
    assert.deepEqual(await records.find('ApiKey', made.id), made);
    assert.equal((await place.rows('acme')).length, 1);
    assert.equal((await keysUsed())?.note, made.id);
    const before = await storage.records.version();
    const other = recordOf('acme');
    const again = await append(storage, changeOf([other], { once: key }));
    assert.ok(again.status === 'Repeated');
    assert.deepEqual(again.used, await keysUsed());
    const stale = await append(storage, changeOf([made], { once: key }));
    assert.equal(stale.status, 'Repeated', 'of a version that is over by now');
    const reused = { once: { ...key, fingerprint: fingerprint(2) } };
    assert.equal((await append(storage, changeOf([other], reused))).status, 'KeyReused');
    assert.deepEqual(await records.list('ApiKey'), [made]);
    assert.equal((await place.rows('acme')).length, 1);
    assert.equal(await storage.records.version(), before);
  },

  'a change of another version is refused, and the rest of its pool is committed': async (place) => {
    await using storage = await openWith(place, 'acme', 'other');
    const [one, two] = [recordOf('acme'), recordOf('acme')];
    await append(storage, changeOf([one, two]));
    const unknown = recordOf('acme', { version: 2 });
    const results = await storage.log.append(
      [
        changeOf([nextVersion(nextVersion(one))], { once: once('refused', OF_KEYS) }),
        changeOf([unknown]),
        changeOf([recordOf('acme', { id: two.id })]),
        request('acme', [draftOf()]),
        changeOf([nextVersion(one)]),
        changeOf([nextVersion(one, REVOKED)]),
        changeOf([recordOf('nobody')]),
        changeOf([nextVersion(nextVersion(one))]),
        changeOf([recordOf('other')]),
      ],
      now(),
    );
    assert.deepEqual(
      results.map(({ status }) => status),
      ['Stale', 'Stale', 'Stale', 'Done', 'Done', 'Stale', 'Faulty', 'Done', 'Done'],
    );
    assert.deepEqual(
      [results[0], results[1], results[2], results[5]],
      [
        { status: 'Stale', id: one.id, version: 1 },
        { status: 'Stale', id: unknown.id, version: 0 },
        { status: 'Stale', id: two.id, version: 1 },
        { status: 'Stale', id: one.id, version: 2 },
      ],
    );
    const stored = await storage.records.forOwner('acme').list('ApiKey');
    assert.deepEqual(
      stored,
      [nextVersion(nextVersion(one)), two].toSorted((a, b) => (a.id < b.id ? -1 : 1)),
    );
    assert.equal((await place.rows('acme')).length, 2 + 3);
    assert.equal((await place.rows('other')).length, 1);
    const used = await storage.log.forTenant('acme').usedKey('apiKeys.create', 'refused', NOW_MS);
    assert.equal(used, undefined, 'what is refused uses no key up');
  },

  'every version of a record stays as it was, and is read by its owner alone': async (place) => {
    const first = recordOf('acme', { uniqueName: 'ci', lookup: new Uint8Array(32).fill(7) });
    const second = nextVersion(first, REVOKED);
    const third = nextVersion(second);
    {
      await using storage = await openWith(place, 'acme', 'other');
      for (const record of [first, second]) await append(storage, changeOf([record]));
      assert.equal((await append(storage, changeOf([second]))).status, 'Stale');
      await append(storage, changeOf([third]));
    }
    await using storage = await place.open();
    const records = storage.records.forOwner('acme');
    const past = await Promise.all(
      [0, 1, 2, 3, 4].map((version) => records.past('ApiKey', first.id, version)),
    );
    assert.deepEqual(past, [undefined, first, second, undefined, undefined]);
    assert.deepEqual(await records.find('ApiKey', first.id), third);
    assert.equal(await storage.records.forOwner('other').past('ApiKey', first.id, 1), undefined);
    assert.deepEqual(await storage.records.byLookup('ApiKey', first.lookup!), [third]);
  },

  'of many changes that begin at one version, one is done, and no version is left out': async (place) => {
    await using storage = await openWith(place, 'acme');
    let held = recordOf('acme');
    await append(storage, changeOf([held]));
    for (let version = 2; version <= 4; version++) {
      const changes = Array.from({ length: 100 }, (_, i) => nextVersion(held, { state: `by ${i}` }));
      // Some share a pool, the others are concurrent.
      const pools = Array.from({ length: 20 }, (_, i) => changes.slice(5 * i, 5 * i + 5));
      const answers = await Promise.all(
        pools.map((pool) =>
          storage.log.append(
            pool.map((change) => changeOf([change])),
            now(),
          ),
        ),
      );
      const results = answers.flat();
      const winners = changes.filter((_, i) => results[i]!.status === 'Done');
      assert.equal(winners.length, 1);
      for (const result of results)
        if (result.status !== 'Done') assert.deepEqual(result, { status: 'Stale', id: held.id, version });
      held = winners[0]!;
      assert.deepEqual(await storage.records.byId('ApiKey', held.id), [held]);
      assert.equal((await place.rows('acme')).length, version);
    }
  },

  'a unique name belongs to one record until that gives it up': async (place) => {
    await using storage = await openWith(place, 'acme', 'other', '*');
    const named = { uniqueName: 'first' };
    const [one, two, tenant] = [
      recordOf('acme', named),
      recordOf('acme', named),
      recordOf('acme', { ...named, kind: 'Tenant' }),
    ];
    const taken = { status: 'NameTaken', uniqueName: 'first' };
    const statuses = async (...requests: AppendRequest[]) =>
      (await storage.log.append(requests, now())).map((result) =>
        result.status === 'NameTaken' ? result : result.status,
      );
    assert.deepEqual(await statuses(changeOf([one]), changeOf([two])), ['Done', taken]);
    assert.deepEqual(await statuses(changeOf([two])), [taken]);
    // Other owners, and a record of another kind.
    const others = [recordOf('other', named), recordOf('*', named), tenant];
    assert.deepEqual(await statuses(...others.map((each) => changeOf([each]))), ['Done', 'Done', 'Done']);
    // It keeps its name, and an existing record may not take it either.
    const [kept, nameless] = [nextVersion(one), recordOf('acme')];
    assert.deepEqual(await statuses(changeOf([kept]), changeOf([nameless])), ['Done', 'Done']);
    assert.deepEqual(await statuses(changeOf([nextVersion(nameless, named)])), [taken]);
    const freed = nextVersion(kept, { uniqueName: undefined });
    assert.deepEqual(await statuses(changeOf([two]), changeOf([freed]), changeOf([two])), [
      taken,
      'Done',
      'Done',
    ]);
    assert.deepEqual(await statuses(changeOf([nextVersion(freed, named)])), [taken]);
    assert.deepEqual(await storage.records.byId('ApiKey', two.id), [two]);
    assert.deepEqual(await storage.records.byId('ApiKey', one.id), [freed]);
    assert.equal((await place.rows('acme')).length, 6);
  },

  'a name that one owner gives up is not free for another record of a second owner': async (place) => {
    await using storage = await openWith(place, 'acme', 'other');
    const id = nextId();
    const [one, other] = [
      recordOf('acme', { id, uniqueName: 'first' }),
      recordOf('other', { id, uniqueName: 'first' }),
    ];
    const results = await storage.log.append(
      [
        changeOf([one]),
        changeOf([other]),
        changeOf([nextVersion(other, { uniqueName: undefined })]),
        changeOf([recordOf('acme', { uniqueName: 'first' })]),
        changeOf([recordOf('other', { uniqueName: 'first' })]),
      ],
      now(),
    );
    assert.deepEqual(
      results.map(({ status }) => status),
      ['Done', 'Done', 'Done', 'NameTaken', 'Done'],
    );
  },

  'records of one request are all stored, or none of them and no notice': async (place) => {
    await using storage = await openWith(place, 'acme');
    const [old, made] = [recordOf('acme'), recordOf('acme')];
    await append(storage, changeOf([old]));
    const before = await storage.records.version();
    const half = [
      changeOf([recordOf('acme'), nextVersion(nextVersion(old))], { once: once('k', OF_KEYS) }),
      changeOf([nextVersion(old), recordOf('acme', { id: old.id })]),
    ];
    for (const change of half) assert.equal((await append(storage, change)).status, 'Stale');
    const acme = storage.records.forOwner('acme');
    assert.deepEqual(await acme.list('ApiKey'), [old]);
    assert.equal((await place.rows('acme')).length, 1);
    assert.equal(await storage.records.version(), before);
    const both = [nextVersion(old, REVOKED), made];
    assert.deepEqual(statusesOf(await append(storage, changeOf(both))), ['Appended', 'Appended']);
    assert.deepEqual(
      await acme.list('ApiKey'),
      both.toSorted((a, b) => (a.id < b.id ? -1 : 1)),
    );
    assert.equal((await place.rows('acme')).length, 3);
  },

  'two records of one request cannot have the same unique name': async (place) => {
    await using storage = await openWith(place, 'acme');
    const named = { uniqueName: 'twice' };
    const both = changeOf([recordOf('acme', named), recordOf('acme', named)]);
    const [refused, beside] = await storage.log.append([both, request('acme', [draftOf()])], now());
    assert.deepEqual(refused, { status: 'NameTaken', uniqueName: 'twice' });
    assert.equal(beside?.status, 'Done');
    assert.deepEqual(await storage.records.all('ApiKey'), []);
    assert.equal((await place.rows('acme')).length, 1);
  },
};
