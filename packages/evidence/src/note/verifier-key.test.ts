import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { concat, fromBase64, toBase64, toHex } from '../bytes.ts';
import { fromHex } from '../hash/from-hex.ts';
import { EvidenceError } from '../errors.ts';
import { mutateText, seeded } from '../testing/mutations.ts';
import { refusal, resultOrRefusal } from '../testing/refusal.ts';
import {
  formatVerifierKey,
  keyIdOf,
  parseVerifierKey,
  requireKeyName,
  SIGNATURE_TYPES,
  type VerifierKey,
} from './verifier-key.ts';
import { runs } from '../testing/size.ts';

const SEED = 20260108;

/** Keys that other projects have published. */
const NOTE_KEY = 'PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW';
const WITNESS_KEY = 'witness.example.org+b8a2cf20+BFLN3yikSfFkVAJtrnh/CiY3Zozkoy7clp+P7XB28qUN';

test('reads verifier keys of both types and writes them the same', () => {
  const note = parseVerifierKey(NOTE_KEY);
  assert.equal(note.name, 'PeterNeumann');
  assert.equal(note.type, SIGNATURE_TYPES.note);
  assert.equal(keyIdOf(note), 'c74f20a3');
  assert.equal(formatVerifierKey(note), NOTE_KEY);
  const witness = parseVerifierKey(WITNESS_KEY);
  assert.equal(witness.type, SIGNATURE_TYPES.cosignature);
  assert.equal(formatVerifierKey(witness), WITNESS_KEY);
});

test('refuses public keys for which a signature can be made without a private key', () => {
  // p = 2^255 - 19, little-endian as keys are; 26e8… and c717… are the y of the points of order 8.
  const smallOrder = [
    '00'.repeat(32),
    `01${'00'.repeat(31)}`,
    `ec${'ff'.repeat(30)}7f`,
    '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
    'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
  ];
  // A y of p or more is a second spelling of a smaller one.
  const notReduced = Array.from({ length: 19 }, (_, i) => `${(0xed + i).toString(16)}${'ff'.repeat(30)}7f`);
  for (const y of [...smallOrder, ...notReduced]) {
    for (const sign of [0, 0x80]) {
      const publicKey = fromHex(y);
      publicKey[31]! |= sign;
      for (const type of Object.values(SIGNATURE_TYPES)) {
        const key = formatVerifierKey({ name: 'log.example', type, publicKey });
        assert.throws(() => parseVerifierKey(key), refusal('MALFORMED'), toHex(publicKey));
      }
    }
  }
});

test('the key id depends on the name, the type and the key', () => {
  const key = parseVerifierKey(NOTE_KEY);
  const ids = new Set([
    keyIdOf(key),
    keyIdOf({ ...key, name: 'PeterNeumann2' }),
    keyIdOf({ ...key, type: SIGNATURE_TYPES.cosignature }),
    keyIdOf({ ...key, publicKey: key.publicKey.with(0, key.publicKey[0]! ^ 1) }),
  ]);
  assert.equal(ids.size, 4);
});

test('refuses keys that are not in the form', () => {
  const [name = '', id = '', material = ''] = NOTE_KEY.split('+');
  const bytes = fromBase64(material);
  const materials = [
    material.slice(0, -1),
    `${material}=`,
    `${material}+`,
    toBase64(bytes.subarray(0, 32)),
    toBase64(Uint8Array.of(...bytes, 0)),
    toBase64(bytes.with(0, 2)),
  ];
  const wrong = {
    parts: ['', '+', '++', name, `${name}+${id}`, `${name}+${id}+`, ` ${NOTE_KEY}`, `${NOTE_KEY}\n`],
    name: ['', `${name} `, `${name}\n`, `${name}\u00a0`].map((text) => `${text}+${id}+${material}`),
    id: ['', id.toUpperCase(), 'c74f20a4', `0${id}`].map((text) => `${name}+${text}+${material}`),
    material: materials.map((text) => `${name}+${id}+${text}`),
  };
  for (const text of Object.values(wrong).flat()) {
    assert.throws(() => parseVerifierKey(text), refusal('MALFORMED'), text);
  }
  const key = parseVerifierKey(NOTE_KEY);
  assert.throws(() => formatVerifierKey({ ...key, name: 'a b' }), refusal('MALFORMED'));
  assert.throws(() => formatVerifierKey({ ...key, publicKey: new Uint8Array(31) }), refusal('MALFORMED'));
});

test('refuses a name that is none and a type that is not known, though the key id is right', () => {
  const key = parseVerifierKey(NOTE_KEY);
  const textOf = (type: number, name: string): string => {
    // Only what is written of a type matters here, also of one that is none.
    const id = keyIdOf({ ...key, name, type: type as VerifierKey['type'] });
    return `${name}+${id}+${toBase64(concat(Uint8Array.of(type), key.publicKey))}`;
  };
  assert.equal(textOf(SIGNATURE_TYPES.note, key.name), NOTE_KEY);
  for (const type of [0, 2, 3, 5, 255]) {
    assert.throws(() => parseVerifierKey(textOf(type, key.name)), refusal('MALFORMED'), `type ${type}`);
  }
  for (const name of ['', ' ', 'a b', 'a\n', 'a\u00a0', 'a\u0000', 'a\u001f', 'a\ud800', '\udc00a']) {
    assert.throws(() => requireKeyName(name), refusal('MALFORMED'), JSON.stringify(name));
    assert.throws(
      () => parseVerifierKey(textOf(SIGNATURE_TYPES.note, name)),
      refusal('MALFORMED'),
      JSON.stringify(name),
    );
  }
  assert.throws(() => requireKeyName('a+b'), refusal('MALFORMED'));
});

test(`every key that is read is written the same, and no text breaks the reader (seed ${SEED})`, () => {
  const random = seeded(SEED);
  for (let i = 0; i < 10_000; i++) {
    const text = resultOrRefusal(() => mutateText(i % 2 === 0 ? NOTE_KEY : WITNESS_KEY, random));
    if (text instanceof EvidenceError) continue;
    const key = resultOrRefusal(() => parseVerifierKey(text));
    if (!(key instanceof EvidenceError)) assert.equal(formatVerifierKey(key), text);
  }
  const names = fc.string({ unit: 'binary', minLength: 1 });
  const publicKeys = fc.uint8Array({ minLength: 32, maxLength: 32 });
  fc.assert(
    fc.property(
      names,
      publicKeys,
      fc.constantFrom(...Object.values(SIGNATURE_TYPES)),
      (name, publicKey, type) => {
        const text = resultOrRefusal(() => formatVerifierKey({ name, type, publicKey }));
        if (text instanceof EvidenceError) return;
        assert.deepEqual(parseVerifierKey(text), { name, type, publicKey });
      },
    ),
    { seed: SEED, numRuns: runs(3000) },
  );
});
