// Claims about lists of API keys, and about when keys were last used.

import assert from 'node:assert/strict';
import type { ApiKeyRecord } from '../../access/api-keys.ts';
import type { Storage } from '../storage.ts';
import { type Claims, nextId, NOW_MS } from './claims.ts';

async function makeKeys(
  { apiKeys }: Storage,
  tenantId: string,
  count: number,
): Promise<readonly ApiKeyRecord[]> {
  const made: ApiKeyRecord[] = [];
  for (let i = 0; i < count; i++) {
    const keyId = nextId();
    const record: ApiKeyRecord = {
      keyId,
      tenantId,
      name: `key ${i}`,
      roles: ['Viewer'],
      scopes: [],
      clearance: undefined,
      createdAtMs: NOW_MS,
      createdBy: 'system',
      expiresAtMs: undefined,
      revokedAtMs: undefined,
      replaces: undefined,
    };
    assert.equal(await apiKeys.create(record, Buffer.from(keyId.padEnd(32))), true);
    made.push(record);
  }
  return made;
}

export const apiKeyClaims: Claims = {
  "a tenant's keys are read in pages, from both ends, and counted": async (place) => {
    await using storage = await place.open();
    const { apiKeys } = storage;
    const keys = await makeKeys(storage, 'acme', 5);
    await makeKeys(storage, 'other', 1);
    const [platform] = await makeKeys(storage, '*', 1);
    const newest = keys.toReversed();
    const page = (way: 'NewestFirst' | 'OldestFirst', beyond: string | undefined, limit: number) =>
      apiKeys.page('acme', { way, beyond, limit });
    assert.deepEqual(await page('NewestFirst', undefined, 10), newest);
    assert.deepEqual(await page('NewestFirst', undefined, 2), newest.slice(0, 2));
    assert.deepEqual(await page('NewestFirst', newest[1]!.keyId, 2), newest.slice(2, 4));
    assert.deepEqual(await page('OldestFirst', newest[2]!.keyId, 2), [newest[1], newest[0]]);
    assert.deepEqual(await page('OldestFirst', undefined, 2), keys.slice(0, 2));
    assert.deepEqual(await page('NewestFirst', keys[0]!.keyId, 2), []);
    assert.deepEqual(await apiKeys.page('*', { way: 'NewestFirst', beyond: undefined, limit: 9 }), [
      platform,
    ]);
    assert.deepEqual(
      [await apiKeys.count('acme'), await apiKeys.count('*'), await apiKeys.count('nobody')],
      [5, 1, 0],
    );
  },

  'of all uses of a key the latest is kept, whichever process saw it': async (place) => {
    const use = ({ keyId, tenantId }: ApiKeyRecord, usedAtMs: number) => ({ keyId, tenantId, usedAtMs });
    const [one, two, never, platform] = await (async () => {
      await using storage = await place.open();
      const [first, second, third] = await makeKeys(storage, 'acme', 3);
      const [general] = await makeKeys(storage, '*', 1);
      await storage.keyUses.keep([use(first!, NOW_MS + 5), use(second!, NOW_MS + 7), use(general!, NOW_MS)]);
      return [first!, second!, third!, general!];
    })();
    await using storage = await place.open();
    await storage.keyUses.keep([use(one, NOW_MS + 3), use(two, NOW_MS + 9)]);
    await storage.keyUses.keep([]);
    assert.deepEqual(
      await storage.keyUses.lastUses([one, two, never, platform]),
      new Map([
        [one.keyId, NOW_MS + 5],
        [two.keyId, NOW_MS + 9],
        [platform.keyId, NOW_MS],
      ]),
    );
    assert.deepEqual(await storage.keyUses.lastUses([two]), new Map([[two.keyId, NOW_MS + 9]]));
    assert.deepEqual(await storage.keyUses.lastUses([]), new Map());
  },

  'a use changes nothing of the key, and nobody has to read keys anew because of it': async (place) => {
    await using storage = await place.open();
    const [key] = await makeKeys(storage, 'acme', 1);
    const hash = Buffer.from(key!.keyId.padEnd(32));
    const before = await storage.apiKeys.findByHash(hash);
    await storage.keyUses.keep([{ keyId: key!.keyId, tenantId: 'acme', usedAtMs: NOW_MS }]);
    assert.equal(await storage.apiKeys.findByHash(hash), before, 'it was read anew');
    assert.deepEqual(await storage.apiKeys.find(key!.keyId), key);
  },
};
