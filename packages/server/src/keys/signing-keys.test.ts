import assert from 'node:assert/strict';
import { createHash, createPrivateKey, createPublicKey } from 'node:crypto';
import { test } from 'node:test';
import {
  EMPTY_ROOT,
  noteSigner,
  noteVerifier,
  openCheckpoint,
  signCheckpoint,
  toBase64,
} from '@tallystick/evidence';
import * as fc from 'fast-check';
import {
  activeKeys,
  signCheckpointHead,
  type SigningKey,
  type SigningKeys,
  verifierKeys,
} from './signing-keys.ts';

const SEED = 20261117;
const ORIGIN = 'audit.example.com/t/acme';
const NOW = 1_767_323_046_000;

/** RFC 8410: what stands before the seed in PKCS #8. */
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');

function seedOf(name: string): Uint8Array {
  return new Uint8Array(createHash('sha256').update(name).digest());
}

function keyOf(name: string, signsUntilMs?: number): SigningKey {
  const key = Buffer.concat([PKCS8_PREFIX, seedOf(name)]);
  const privateKey = createPrivateKey({ key, format: 'der', type: 'pkcs8' });
  const info = createPublicKey(privateKey).export({ format: 'der', type: 'spki' });
  return {
    fingerprint: name,
    privateKey,
    publicKey: new Uint8Array(info.subarray(-32)),
    createdAtMs: 0,
    ...(signsUntilMs === undefined ? {} : { signsUntilMs }),
  };
}

test('signs the first checkpoint of the test log with its published signature and key', () => {
  const root = new Uint8Array(
    Buffer.from('461cffb02f88aff27b92e9185e5c9e7f273b80da72e9f7b0507ac8dbe336523d', 'hex'),
  );
  const keys: SigningKeys = [keyOf('audit-trail test log key')];
  assert.equal(
    signCheckpointHead({ origin: ORIGIN, size: 1, root }, keys, NOW),
    `${ORIGIN}\n1\n${toBase64(root)}\n\n— ${ORIGIN} ON99GrjvGWjIHE2AxHSRpjpC0gvq6wRKv/BaYLLykw5h5NSNJ5mtuSpyjul4ZN2d0SJqltlyk3a+Sx6Ql4myvf8ICgs=\n`,
  );
  assert.deepEqual(verifierKeys(keys, ORIGIN), [
    'audit.example.com/t/acme+38df7d1a+AUBGtHFZDMZhwJ3+knMasraAcxQL0fq7InuXBaVqR8oG',
  ]);
});

test('the newest key signs, and the one before until its time is over', () => {
  const [third, second, first] = [keyOf('third'), keyOf('second', NOW), keyOf('first', NOW - 1000)];
  const keys: SigningKeys = [third, second, first];
  assert.deepEqual(activeKeys(keys, NOW - 1), [third, second]);
  assert.deepEqual(activeKeys(keys, NOW), [third]);
  assert.equal(verifierKeys(keys, ORIGIN).length, 3);
  assert.deepEqual(verifierKeys(activeKeys(keys, NOW), ORIGIN), verifierKeys([third], ORIGIN));
});

test('an old key without an end, which no rotation leaves, does not sign', () => {
  assert.equal(activeKeys([keyOf('second'), keyOf('first')], NOW).length, 1);
});

test(`gives what evidence gives, byte for byte, and each key opens it (seed ${SEED})`, async () => {
  const names = ['second', 'first'];
  const keys: SigningKeys = [keyOf('second'), keyOf('first', NOW)];
  await fc.assert(
    fc.asyncProperty(
      fc.stringMatching(/^[A-Za-z0-9._/-]{1,60}$/),
      fc.oneof(fc.nat(), fc.maxSafeNat()),
      fc.uint8Array({ minLength: 32, maxLength: 32 }),
      fc.constantFrom(NOW - 1, NOW),
      async (origin, size, anyRoot, nowMs) => {
        const head = { origin, size, root: size === 0 ? EMPTY_ROOT : anyRoot };
        const note = signCheckpointHead(head, keys, nowMs);
        const active = names.slice(0, activeKeys(keys, nowMs).length);
        const signers = await Promise.all(active.map((name) => noteSigner(origin, seedOf(name))));
        assert.equal(note, await signCheckpoint(head, signers));
        for (const key of verifierKeys(activeKeys(keys, nowMs), origin)) {
          const { size: found, root } = await openCheckpoint(note, {
            origin,
            verifiers: [await noteVerifier(key)],
          });
          assert.deepEqual({ origin, size: found, root }, head);
        }
      },
    ),
    { seed: SEED, numRuns: 150 },
  );
});

test('refuses a head that can be no checkpoint', () => {
  const keys: SigningKeys = [keyOf('first')];
  const head = { origin: ORIGIN, size: 1, root: new Uint8Array(32) };
  for (const wrong of [
    { origin: 'a b' },
    { origin: '' },
    { size: -1 },
    { size: 0 },
    { root: new Uint8Array(31) },
  ]) {
    assert.throws(() => signCheckpointHead({ ...head, ...wrong }, keys, NOW), { name: 'EvidenceError' });
  }
});
