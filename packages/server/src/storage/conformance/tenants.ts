// Claims about tenants as a backend keeps them.

import assert from 'node:assert/strict';
import { type Claims, NOW_MS } from './claims.ts';

export const tenantClaims: Claims = {
  'a tenant is made once, with the usual settings and a key of its own, and stays': async (place) => {
    const made = await (async () => {
      await using storage = await place.open();
      assert.equal(await storage.tenants.find('acme'), undefined);
      return await storage.tenants.ensure('acme', NOW_MS);
    })();
    assert.equal(made.fingerprintKey.length, 32);
    const { fingerprintKey, ...settings } = made;
    assert.deepEqual(settings, {
      tenantId: 'acme',
      tier: 'Standard',
      region: undefined,
      status: 'Active',
      defaultClassification: 'Internal',
      defaultRetention: 'P7Y',
    });
    await using storage = await place.open();
    assert.deepEqual(await storage.tenants.find('acme'), made);
    assert.deepEqual(await storage.tenants.ensure('acme', NOW_MS + 1), made);
    const other = await storage.tenants.ensure('other', NOW_MS);
    assert.notDeepEqual(other.fingerprintKey, fingerprintKey);
  },

  'many who ask for tenants at once get the same ones': async (place) => {
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
};
