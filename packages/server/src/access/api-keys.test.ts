import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AuditError } from '@tallystick/contract';
import * as fc from 'fast-check';
import { createSystemRandom } from '../runtime/random.ts';
import { type ApiKeyRecord, hashOfKey, keyIdIn, keyStatus, makeKey, verifyKey } from './api-keys.ts';

const KEY_ID = '01KE0000000000000000000042';
const NOW_MS = 1_800_000_000_000;
const random = createSystemRandom();

function record(facts: Partial<ApiKeyRecord> = {}): ApiKeyRecord {
  return {
    keyId: KEY_ID,
    tenantId: 'acme',
    name: 'test',
    roles: ['Viewer'],
    scopes: [],
    clearance: undefined,
    createdAtMs: NOW_MS,
    createdBy: 'system',
    expiresAtMs: undefined,
    revokedAtMs: undefined,
    replaces: undefined,
    firstKeyId: undefined,
    replacedBy: undefined,
    uniqueName: undefined,
    hash: new Uint8Array(32),
    version: 1,
    ...facts,
  };
}

const verdict = async (key: string, found: ApiKeyRecord | undefined): Promise<AuditError> => {
  const store = { findByHash: () => Promise.resolve(found) };
  const error: unknown = await verifyKey(key, store, NOW_MS).catch((thrown: unknown) => thrown);
  assert.ok(error instanceof AuditError);
  return error;
};

test('a key is tsk, its id, 160 random bits and a checksum', () => {
  const key = makeKey(KEY_ID, random);
  assert.match(key, /^tsk_01KE0000000000000000000042_[0-9A-HJKMNP-TV-Z]{32}_[0-9A-HJKMNP-TV-Z]{7}$/);
  assert.equal(keyIdIn(key), KEY_ID);
  assert.notEqual(makeKey(KEY_ID, random), key);
});

test('the form is fixed: known bytes give a known key', () => {
  const counting = {
    ...random,
    bytes: (count: number) => Uint8Array.from({ length: count }, (_, i) => i * 13),
  };
  assert.equal(
    makeKey(KEY_ID, counting),
    'tsk_01KE0000000000000000000042_006HM9SM8575PT3NGA7SSADPRF8DVTQQ_1HGQP8C',
  );
});

test('one wrong, missing or added character is noticed without asking any store', () => {
  const key = makeKey(KEY_ID, random);
  fc.assert(
    fc.property(
      fc.nat(key.length - 1),
      fc.constantFrom(...'0123456789ABCDEFGHJKMNPQRSTVWXYZ_-x'),
      (at, other) => {
        fc.pre(key[at] !== other);
        assert.equal(keyIdIn(key.slice(0, at) + other + key.slice(at + 1)), undefined);
        assert.equal(keyIdIn(key.slice(0, at)), undefined);
        assert.equal(keyIdIn(key.slice(0, at) + key.slice(at + 1)), undefined);
      },
    ),
  );
  for (const text of ['', 'tsk_', `${key} `, `${key}0`, key.toLowerCase()])
    assert.equal(keyIdIn(text), undefined);
});

test('a mistyped key is told from an unknown one, and no message shows a key', async () => {
  const key = makeKey(KEY_ID, random);
  const table: [string, RegExp][] = [
    [key, /unknown/],
    [key.slice(0, -1), /mistyped or cut off/],
    ['any-other-form-of-a-key', /unknown/],
  ];
  for (const [given, message] of table) {
    const error = await verdict(given, undefined);
    assert.equal(error.code, 'UNAUTHENTICATED');
    assert.match(error.message, message);
    assert.ok(!error.message.includes(given));
  }
});

test('a key that was revoked or has expired is API_KEY_REVOKED, to the millisecond', async () => {
  const key = makeKey(KEY_ID, random);
  for (const facts of [{ revokedAtMs: NOW_MS }, { expiresAtMs: NOW_MS }, { expiresAtMs: NOW_MS - 1 }]) {
    assert.equal((await verdict(key, record(facts))).code, 'API_KEY_REVOKED');
  }
  assert.equal(keyStatus(record({ expiresAtMs: NOW_MS + 1 }), NOW_MS), 'Active');
  assert.equal(keyStatus(record({ expiresAtMs: 1, revokedAtMs: 1 }), NOW_MS), 'Revoked');
  assert.equal(keyStatus(record({ revokedAtMs: NOW_MS + 1 }), NOW_MS), 'Revoked', 'the clock was set back');
});

test('a key of any form is looked up by its hash', async () => {
  const seen: Uint8Array[] = [];
  const store = {
    findByHash: (hash: Uint8Array) => {
      seen.push(hash);
      return Promise.resolve(record());
    },
  };
  const found = await verifyKey('correct-horse-battery', store, NOW_MS);
  assert.equal(found.keyId, KEY_ID);
  assert.deepEqual(seen, [hashOfKey('correct-horse-battery')]);
  assert.equal(hashOfKey('abc').length, 32);
});
