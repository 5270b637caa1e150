import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSystemRandom } from '../../runtime/random.ts';
import { testRing } from '../../testing/sealed-store.ts';
import { until } from '../../testing/until.ts';
import { withoutBranch } from './key-tree.ts';
import {
  Keyring,
  type KeyName,
  monthBranch,
  type RingData,
  tenantBranch,
  UnknownRingKey,
} from './keyring.ts';
import { sealingWith } from './sealing.ts';

const random = createSystemRandom();
const OVER: KeyName = { tenant: 'acme', purpose: 'Tenant', keyId: '01KE0000000000000000000001', month: 0 };
const OWN: KeyName = { tenant: 'acme', purpose: 'Content', keyId: '01KE0000000000000000000002', month: 700 };
const tenantKey = random.bytes(32);
const dataKey = random.bytes(32);

function sealedBy(ring: Keyring) {
  return { over: ring.seal(tenantKey, OVER, random), own: ring.seal(dataKey, OWN, random, tenantKey) };
}

/** The keyring after parts of all of its keys are destroyed. */
function punctured(data: RingData, branch: string): RingData {
  return { ...data, keys: data.keys.map((key) => ({ ...key, tree: withoutBranch(key.tree, branch) })) };
}

test('a key opens for its tenant, purpose and id alone, and with no byte changed', () => {
  using ring = new Keyring(testRing());
  const { over, own } = sealedBy(ring);
  assert.deepEqual(new Uint8Array(ring.open(over, OVER)), tenantKey);
  assert.deepEqual(new Uint8Array(ring.open(own, OWN, tenantKey)), dataKey);
  assert.throws(() => ring.open(over, { ...OVER, tenant: 'beta' }), /is not what was stored/);
  assert.throws(() => ring.open(over, { ...OVER, keyId: OWN.keyId }), /is not what was stored/);
  assert.throws(() => ring.open(own, OWN, random.bytes(32)), /is not what was stored/);
  for (let at = 0; at < own.length; at++) {
    const changed = own.slice();
    changed[at]! ^= 1;
    assert.throws(() => ring.open(changed, OWN, tenantKey), /is not what was stored|has no key/);
  }
});

test('a content key is gone with the month, or with the tenant key, that is destroyed in the keyring', () => {
  const data = testRing();
  using ring = new Keyring(data);
  const { over, own } = sealedBy(ring);
  using withoutMonth = new Keyring(punctured(data, monthBranch(OWN.month)));
  assert.throws(() => withoutMonth.open(own, OWN, tenantKey), /is destroyed/);
  assert.ok(withoutMonth.open(over, OVER), 'the tenant key stays');
  using withoutTenant = new Keyring(punctured(data, tenantBranch(OVER.keyId)));
  assert.throws(() => withoutTenant.open(over, OVER), /is destroyed/);
});

test('a key of another keyring is told from one that was altered', () => {
  using ring = new Keyring(testRing(1));
  using other = new Keyring(testRing(2));
  assert.throws(() => other.open(sealedBy(ring).over, OVER), UnknownRingKey);
});

test('a keyring of one thread becomes what another one was told', async () => {
  const data = testRing(1);
  using one = new Keyring(data);
  using other = new Keyring(data);
  one.become({ ...data, keys: [...data.keys, ...testRing(2).keys] });
  for (let i = 0; i < 100 && other.data.keys.length < 2; i++)
    await new Promise((resolve) => setTimeout(resolve, 10));
  assert.equal(other.newest.id, testRing(2).keys[0]!.id);
});

test('a thread that is started is given the keyring as it is then, also without what was destroyed', async () => {
  const ring = testRing();
  const data = punctured(ring, tenantBranch(OVER.keyId));
  using sealing = sealingWith({ ring, sealed: 15 });
  using told = new Keyring(ring);
  assert.deepEqual(structuredClone(sealing.data), { ring, sealed: 15 });
  told.become(data);
  await until(() => sealing.ring!.data !== ring);
  assert.deepEqual(structuredClone(sealing.data), { ring: data, sealed: 15 });
  assert.notDeepEqual(data, ring);
});
