// Who may learn of a repeat.

import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import { CLASSIFICATIONS } from '@tallystick/contract';
import type { Caller } from './access/caller.ts';
import { fingerprintOf, Fingerprints } from './fingerprints.ts';
import { isRepeat, UNCLASSIFIED } from './repeats.ts';
import { TENANT, testCall } from './testing/test-call.ts';

const callerNamed = (identity: string): Caller => ({ ...testCall().caller!, identity });
const [one, other] = [callerNamed('key:one'), callerNamed('key:other')];

test('a repeat is recognised for its sender, and for callers who may read what was stored', () => {
  for (const [i, classification] of CLASSIFICATIONS.entries()) {
    const first = { fingerprint: fingerprintOf(TENANT, one, 'right'), classification };
    for (const [k, clearance] of CLASSIFICATIONS.entries()) {
      const isRepeated = (caller: Caller, sent: string) =>
        isRepeat(first, { fingerprint: fingerprintOf(TENANT, caller, sent), clearance });
      assert.equal(isRepeated(one, 'right'), true);
      assert.equal(isRepeated(other, 'right'), k >= i, `${clearance} of ${classification}`);
      assert.equal(isRepeated(one, 'wrong') || isRepeated(other, 'wrong'), false);
    }
    const isToldTo = (caller: Caller) =>
      isRepeat(first, { fingerprint: fingerprintOf(TENANT, caller, 'right'), clearance: 'None' });
    assert.deepEqual([isToldTo(one), isToldTo(other)], [true, false]);
  }
});

test('nothing is compared with what is no longer there', () => {
  const fingerprint = fingerprintOf(TENANT, one, 'sent');
  const clearance = 'Secret';
  assert.equal(
    isRepeat({ fingerprint: undefined, classification: UNCLASSIFIED }, { fingerprint, clearance }),
    false,
  );
  assert.equal(
    isRepeat({ fingerprint, classification: UNCLASSIFIED }, { fingerprint: undefined, clearance }),
    false,
  );
});

test('a fingerprint is of its tenant, its caller and what was sent, in parts or in one', () => {
  const made = fingerprintOf(TENANT, one, 'a', Buffer.from('b'));
  assert.equal(made.length, 64);
  assert.deepEqual(fingerprintOf(TENANT, one, 'ab'), made);
  assert.deepEqual(fingerprintOf(TENANT, callerNamed('key:one'), 'ab'), made);
  const elsewhere = { ...TENANT, fingerprintKey: new Uint8Array(32).fill(9) };
  const moved = fingerprintOf(elsewhere, one, 'ab');
  for (const at of [0, 32]) assert.notDeepEqual(moved.subarray(at, at + 32), made.subarray(at, at + 32));
  assert.deepEqual(fingerprintOf(TENANT, one, 'ab'), made, 'also after another tenant');
  // Nobody can send what is taken for a caller.
  assert.notDeepEqual(fingerprintOf(TENANT, one, 'key:one').subarray(0, 32), made.subarray(32));
});

test('a fingerprint is two HMAC-SHA-256, which what earlier versions have stored is compared with', () => {
  const hmac = (...parts: readonly (string | Uint8Array)[]) => {
    const made = createHmac('sha256', TENANT.fingerprintKey);
    for (const part of parts) made.update(part);
    return made.digest();
  };
  for (const length of [0, 1, 55, 64, 1000, 70_000]) {
    const sent = ['é', Buffer.alloc(length, 7)] as const;
    assert.deepEqual(
      Buffer.from(fingerprintOf(TENANT, one, ...sent)),
      Buffer.concat([hmac(...sent), hmac('caller\n', one.identity)]),
    );
  }
});

test('fingerprints that are made together are those that are made alone, in lots of any size', () => {
  const messages = Array.from({ length: 1500 }, (_, i) => Buffer.alloc((i * 37) % 1400, i));
  messages.push(Buffer.alloc(300_000, 1), Buffer.alloc(0));
  const fingerprints = new Fingerprints(TENANT, one);
  const together = messages.map((message) => {
    // Room for more than is written.
    fingerprints.begin(message.length + 100);
    fingerprints.write(message, 0, message.length >> 1);
    fingerprints.write(message, message.length >> 1);
    return fingerprints.end();
  });
  fingerprints.finish();
  assert.deepEqual(
    together,
    messages.map((message) => fingerprintOf(TENANT, one, message)),
  );
});
