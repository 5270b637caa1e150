// Claims about tenants as a backend keeps them.

import assert from 'node:assert/strict';
import type { StoredRecord } from '../../records/records.ts';
import { append, type Claims, NOW_MS, openWith } from './claims.ts';
import { changeOf, nextVersion, recordOf } from './records.ts';

const ALL = ['Active', 'Suspended', 'Closed'];

function settingsOf(owner: string, state: string): StoredRecord {
  return recordOf(owner, { kind: 'Tenant', id: '', state });
}

export const tenantClaims: Claims = {
  'the first call decides which key signs, also after a restart': async (place) => {
    {
      await using storage = await place.open();
      assert.equal(await storage.settleSigner('first'), 'first');
      assert.equal(await storage.settleSigner('second'), 'first');
    }
    await using storage = await place.open();
    assert.equal(await storage.settleSigner('second'), 'first');
  },

  'a tenant is made once, with a key of its own, and stays': async (place) => {
    const made = await (async () => {
      await using storage = await place.open();
      assert.equal(await storage.tenants.find('acme'), undefined);
      return await storage.tenants.ensure('acme', NOW_MS);
    })();
    assert.equal(made.fingerprintKey.length, 32);
    const { fingerprintKey, ...facts } = made;
    assert.deepEqual(facts, {
      tenantId: 'acme',
      createdAtMs: NOW_MS,
      settings: undefined,
      hasPolicies: false,
      hasHolds: false,
      holdsAsOf: 'none',
    });
    await using storage = await place.open();
    assert.deepEqual(await storage.tenants.find('acme'), made);
    assert.deepEqual(await storage.tenants.ensure('acme', NOW_MS + 1), made);
    assert.equal(await storage.tenants.find('Acme'), undefined);
    const other = await storage.tenants.ensure('other', NOW_MS);
    assert.notDeepEqual(other.fingerprintKey, fingerprintKey);
  },

  'the key of fingerprints is replaced for one tenant, and for everybody who has read it': async (place) => {
    const before = await (async () => {
      await using storage = await openWith(place, 'acme', 'other');
      const other = await storage.tenants.find('other');
      const { fingerprintKey: first, ...facts } = (await storage.tenants.find('acme'))!;
      const keys = [first];
      for (let i = 0; i < 2; i++) {
        const version = await storage.records.version();
        const key = await storage.tenants.replaceFingerprintKey('acme');
        assert.notEqual(await storage.records.version(), version, 'what is kept is read again');
        assert.deepEqual(await storage.tenants.find('acme'), { ...facts, fingerprintKey: key });
        keys.push(key);
      }
      assert.equal(new Set(keys.map((key) => Buffer.from(key).toString('hex'))).size, 3);
      assert.deepEqual(await storage.tenants.find('other'), other);
      await assert.rejects(storage.tenants.replaceFingerprintKey('nobody'), Error);
      return keys.at(-1);
    })();
    await using storage = await place.open();
    assert.deepEqual((await storage.tenants.find('acme'))?.fingerprintKey, before);
  },

  'concurrent calls for tenants get the same ones': async (place) => {
    await using storage = await place.open();
    const names = Array.from({ length: 200 }, (_, i) => `t${i % 50}`);
    const records = await Promise.all(names.map((name) => storage.tenants.ensure(name, NOW_MS)));
    for (const [i, name] of names.entries()) {
      assert.equal(records[i]!.tenantId, name);
      assert.deepEqual(records[i]!.fingerprintKey, records[i % 50]!.fingerprintKey);
    }
    const keys = new Set(records.map(({ fingerprintKey }) => Buffer.from(fingerprintKey).toString('hex')));
    assert.equal(keys.size, 50);
  },

  'a tenant comes with the newest version of its settings': async (place) => {
    await using storage = await openWith(place, 'acme', 'other');
    const first = settingsOf('acme', 'Active');
    await append(storage, changeOf([first, recordOf('acme')]));
    assert.deepEqual((await storage.tenants.find('acme'))?.settings, first);
    const second = nextVersion(first, { state: 'Suspended' });
    await append(storage, changeOf([second]));
    assert.deepEqual((await storage.tenants.find('acme'))?.settings, second);
    assert.deepEqual((await storage.tenants.ensure('acme', NOW_MS)).settings, second);
    assert.equal((await storage.tenants.find('other'))?.settings, undefined);
  },

  'a tenant has policies once a record of one is there, also of one that is deleted': async (place) => {
    await using storage = await openWith(place, 'acme', 'other');
    const has = async (tenantId: string) => {
      const found = (await storage.tenants.find(tenantId))!;
      assert.deepEqual(await storage.tenants.ensure(tenantId, NOW_MS), found);
      return found.hasPolicies;
    };
    await append(storage, changeOf([settingsOf('acme', 'Active'), recordOf('acme')]));
    assert.equal(await has('acme'), false, 'other records are none');
    const policy = recordOf('acme', { kind: 'Policy' });
    for (const record of [policy, nextVersion(policy, { state: 'Deleted' })]) {
      await append(storage, changeOf([record]));
      assert.equal(await has('acme'), true, record.state);
    }
    assert.equal(await has('other'), false);
  },

  'tenants are listed by name and state, with their settings, from both ends, without the installation':
    async (place) => {
      const names = ['a', 'b-1', 'b.2', 'b2', 'c'];
      await using storage = await openWith(place, '*', ...names.toReversed());
      const settings = new Map([
        ['b.2', settingsOf('b.2', 'Suspended')],
        ['c', settingsOf('c', 'Active')],
      ]);
      for (const each of settings.values()) await append(storage, changeOf([each]));
      await append(storage, changeOf([recordOf('*'), settingsOf('*', 'Active')]));
      const { tenants } = storage;
      const page = async (
        way: 'Falling' | 'Rising',
        beyond: string | undefined,
        limit: number,
        states: readonly string[] = ALL,
      ) => (await tenants.page({ way, beyond, limit }, states)).map(({ tenantId }) => tenantId);
      assert.deepEqual(await page('Rising', undefined, 10), names);
      assert.deepEqual(await page('Rising', undefined, 2), names.slice(0, 2));
      assert.deepEqual(await page('Rising', 'b-1', 2), names.slice(2, 4));
      assert.deepEqual(await page('Falling', 'b2', 2), ['b.2', 'b-1']);
      assert.deepEqual(await page('Falling', undefined, 2), ['c', 'b2']);
      assert.deepEqual(await page('Rising', 'c', 2), []);
      assert.deepEqual(await page('Rising', undefined, 10, ['Suspended']), ['b.2']);
      assert.deepEqual(await page('Rising', undefined, 10, ['Active']), ['a', 'b-1', 'b2', 'c']);
      assert.deepEqual(await page('Rising', undefined, 10, ['Suspended', 'Closed']), ['b.2']);
      for (const tenant of await tenants.page({ way: 'Rising', beyond: undefined, limit: 9 }, ALL)) {
        assert.deepEqual(tenant.settings, settings.get(tenant.tenantId));
        assert.deepEqual(tenant, await tenants.find(tenant.tenantId));
      }
      assert.deepEqual(
        [await tenants.count(ALL), await tenants.count(['Active']), await tenants.count(['Closed'])],
        [5, 4, 0],
      );
      assert.deepEqual((await tenants.find('*'))?.settings, settingsOf('*', 'Active'));
    },
};
