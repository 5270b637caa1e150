// Claims about the keys under which secrets are sealed that callers have stored: one of a tenant seals what is new, and all that ever
// did so open what they have sealed.

import assert from 'node:assert/strict';
import type { SecretKey } from '../../keys/secret-box.ts';
import { append, type Claims, draftOf, nextId, openWith, request } from './claims.ts';

const facts = ({ keyId, key }: SecretKey) => [keyId, Buffer.from(key).toString('hex')];

export const secretKeyClaims: Claims = {
  'a tenant has one key for new secrets, however many ask for it at once, and finds it again': async (
    place,
  ) => {
    let made: SecretKey;
    {
      await using storage = await openWith(place, 'acme', 'other');
      const [one, ...others] = await Promise.all(
        Array.from({ length: 5 }, () => storage.secretKeys.current('acme')),
      );
      made = one!;
      assert.equal(made.key.length, 32);
      for (const each of others) assert.deepEqual(facts(each), facts(made));
      const foreign = await storage.secretKeys.current('other');
      assert.ok(!facts(foreign).some((fact) => facts(made).includes(fact)));
      assert.equal(await storage.secretKeys.find('other', made.keyId), undefined);
      assert.equal(await storage.secretKeys.find('acme', nextId()), undefined);
    }
    await using storage = await place.open();
    assert.deepEqual(facts(await storage.secretKeys.current('acme')), facts(made));
    assert.deepEqual(facts((await storage.secretKeys.find('acme', made.keyId))!), facts(made));
  },

  'after a rotation new secrets get another key, and the one before opens what it has sealed': async (
    place,
  ) => {
    await using storage = await openWith(place, 'acme');
    const { secretKeys, tenantKeys } = storage;
    const before = await secretKeys.current('acme');
    assert.equal(await tenantKeys.renew('acme'), 1, 'sealed anew, it is the same key');
    assert.deepEqual(facts(await secretKeys.current('acme')), facts(before));
    await tenantKeys.rotate('acme');
    const after = await secretKeys.current('acme');
    assert.notEqual(after.keyId, before.keyId);
    assert.equal(await tenantKeys.renew('acme'), 2);
    for (const each of [before, after])
      assert.deepEqual(facts((await secretKeys.find('acme', each.keyId))!), facts(each));
  },

  'when the keys of the content of a tenant are destroyed, those of its secrets stay': async (place) => {
    await using storage = await openWith(place, 'acme');
    const { secretKeys, tenantKeys } = storage;
    const before = await secretKeys.current('acme');
    await append(storage, request('acme', [draftOf({}, { classification: 'Secret' })]));
    await tenantKeys.close('acme');
    await place.removeContent('acme', 0);
    await tenantKeys.destroyUnused('acme');
    await tenantKeys.closeBefore('acme', 10_000);
    assert.deepEqual(facts((await secretKeys.find('acme', before.keyId))!), facts(before));
    assert.notEqual((await secretKeys.current('acme')).keyId, before.keyId);
  },
};
