import assert from 'node:assert/strict';
import { test } from 'node:test';
import { concat, textOf, utf8 } from '../bytes.ts';
import { signCheckpoint, cosigner, ed25519Key, noteSigner, signatureLine } from './signer.ts';
import { cosignatureVerifier, verifyCosignatures } from './cosignature.ts';
import { EvidenceError } from '../errors.ts';
import { openNote, parseNote } from './note.ts';
import { sha256 } from '../hash/sha256.ts';
import { mutate, seeded } from '../testing/mutations.ts';
import { refusal } from '../testing/refusal.ts';

const SEED = 20260110;
const ORIGIN = 'audit.example.com/t/acme';
const TIME = 1767323046;

const signer = await noteSigner(ORIGIN, sha256(utf8('audit-trail test log key')));
const first = await cosigner('witness.example.com/first', sha256(utf8('first witness')));
const second = await cosigner('witness.example.com/second', sha256(utf8('second witness')));
const witnesses = [
  await cosignatureVerifier(first.verifierKey),
  await cosignatureVerifier(second.verifierKey),
];
const checkpoint = await signCheckpoint({ origin: ORIGIN, size: 1, root: sha256(utf8('root')) }, [signer]);
const { text } = parseNote(checkpoint);
const cosigned =
  checkpoint +
  signatureLine(await first.cosign(text, TIME)) +
  signatureLine(await second.cosign(text, TIME + 1));

test('tells which witnesses cosigned a checkpoint, and when', async () => {
  assert.deepEqual(await verifyCosignatures(cosigned, { witnesses, witnessesMin: 2 }), [
    { name: first.name, keyId: first.keyId, timeSeconds: TIME },
    { name: second.name, keyId: second.keyId, timeSeconds: TIME + 1 },
  ]);
});

test('refuses a checkpoint that fewer witnesses cosigned than must', async () => {
  const half = checkpoint + signatureLine(await first.cosign(text, TIME));
  await assert.rejects(verifyCosignatures(half, { witnesses, witnessesMin: 2 }), refusal('WITNESS_MISSING'));
  await assert.rejects(
    verifyCosignatures(checkpoint, { witnesses, witnessesMin: 1 }),
    refusal('WITNESS_MISSING'),
  );
  assert.deepEqual(await verifyCosignatures(checkpoint, { witnesses, witnessesMin: 0 }), []);
});

test('a witness that cosigns again and again is one witness', async () => {
  const again = cosigned.replace(
    signatureLine(await second.cosign(text, TIME + 1)),
    signatureLine(await first.cosign(text, TIME + 2)),
  );
  await assert.rejects(verifyCosignatures(again, { witnesses, witnessesMin: 2 }), refusal('WITNESS_MISSING'));
});

test('a cosignature is of one checkpoint, one time and one key', async () => {
  const { name, keyId, signature } = await first.cosign(text, TIME);
  const at = (bytes: Uint8Array) => checkpoint + signatureLine({ name, keyId, signature: bytes });
  const minimum = { witnesses, witnessesMin: 1 };
  await verifyCosignatures(at(signature), minimum);
  const later = signature.with(7, signature[7]! + 1);
  await assert.rejects(verifyCosignatures(at(later), minimum), refusal('SIGNATURE_INVALID'));
  const otherText = at(signature).replace('\n1\n', '\n2\n');
  await assert.rejects(verifyCosignatures(otherText, minimum), refusal('SIGNATURE_INVALID'));
  const otherKey = checkpoint + signatureLine({ name: second.name, keyId: second.keyId, signature });
  await assert.rejects(verifyCosignatures(otherKey, minimum), refusal('SIGNATURE_INVALID'));
  // The signature of a note by the same key is no cosignature, for want of the time and the header.
  const { sign } = await noteSigner(first.name, sha256(utf8('first witness')));
  const plain = Uint8Array.of(...signature.subarray(0, 8), ...(await sign(text)));
  await assert.rejects(verifyCosignatures(at(plain), minimum), refusal('SIGNATURE_INVALID'));
});

test('refuses cosignatures of other lengths, and times past 2^53 - 1', async () => {
  const { name, keyId, signature } = await first.cosign(text, TIME);
  const minimum = { witnesses, witnessesMin: 1 };
  for (const bytes of [
    signature.subarray(1),
    signature.subarray(8),
    Uint8Array.of(...signature, 0),
    Uint8Array.of(1),
  ]) {
    const note = checkpoint + signatureLine({ name, keyId, signature: bytes });
    await assert.rejects(verifyCosignatures(note, minimum), refusal('SIGNATURE_INVALID'));
  }
  const far = checkpoint + signatureLine({ name, keyId, signature: signature.with(0, 0x7f) });
  await assert.rejects(verifyCosignatures(far, minimum), refusal('MALFORMED'));
});

test('cosigns checkpoints only, at times that can be', async () => {
  await assert.rejects(first.cosign('not a checkpoint\n', TIME), refusal('MALFORMED'));
  for (const time of [-1, 1.5, 2 ** 53]) await assert.rejects(first.cosign(text, time), refusal('MALFORMED'));
});

test('a witness that cosigned what is no checkpoint has cosigned none', async () => {
  const { sign } = await ed25519Key(sha256(utf8('first witness')));
  const rubbish = 'no checkpoint\n';
  const signature = concat(new Uint8Array(8), await sign(utf8(`cosignature/v1\ntime 0\n${rubbish}`)));
  const note = `${rubbish}\n${signatureLine({ name: first.name, keyId: first.keyId, signature })}`;
  assert.equal((await openNote(note, witnesses)).signatures.length, 1);
  await assert.rejects(verifyCosignatures(note, { witnesses, witnessesMin: 0 }), refusal('MALFORMED'));
});

test('keys for notes and keys for cosignatures do not stand in for one another', async () => {
  await assert.rejects(cosignatureVerifier(signer.verifierKey), refusal('MALFORMED'));
  const opened = await openNote(cosigned, witnesses);
  assert.equal(opened.signatures.length, witnesses.length);
});

test(`no change to a cosignature line is taken for a cosignature (seed ${SEED})`, async () => {
  const random = seeded(SEED);
  const line = utf8(signatureLine(await first.cosign(text, TIME)));
  for (let i = 0; i < 2000; i++) {
    const changed = mutate(line, random);
    const cosignatures = await Promise.resolve()
      .then(() => verifyCosignatures(checkpoint + textOf(changed), { witnesses, witnessesMin: 0 }))
      .catch((error: unknown) => {
        assert.ok(error instanceof EvidenceError);
        return [];
      });
    const whole = textOf(line);
    assert.ok(cosignatures.length === 0 || textOf(changed).includes(whole.slice(0, -1)));
  }
});
