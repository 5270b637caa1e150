import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { toBase64, utf8 } from '../bytes.ts';
import { signCheckpoint, cosigner, noteSigner, signatureLine } from '../note/signer.ts';
import { cosignatureVerifier } from '../note/cosignature.ts';
import { EvidenceError } from '../errors.ts';
import { parseNote } from '../note/note.ts';
import { sha256 } from '../hash/sha256.ts';
import { mutateText, seeded } from '../testing/mutations.ts';
import { refusal, resultOrRefusal } from '../testing/refusal.ts';
import { EMPTY_ROOT } from '../tree/tree.ts';
import {
  formatAddCheckpoint,
  formatTreeSize,
  openCosignature,
  parseAddCheckpoint,
  parseTreeSize,
  WITNESS_PROOF_HASHES_MAX,
  withSignatures,
} from './add-checkpoint.ts';

const SEED = 20260211;
const ORIGIN = 'audit.example.com/t/acme';
const TIME = 1767323046;
const hashes = (count: number) => Array.from({ length: count }, (_, i) => sha256(utf8(`hash ${i}`)));

const signer = await noteSigner(ORIGIN, sha256(utf8('log')));
const next = await noteSigner(ORIGIN, sha256(utf8('next key of the log')));
const first = await cosigner('a.example/w', sha256(utf8('first')));
const second = await cosigner('b.example/w', sha256(utf8('second')));
const firstVerifier = await cosignatureVerifier(first.verifierKey);
const root = sha256(utf8('root'));
const note = await signCheckpoint({ origin: ORIGIN, size: 9, root }, [signer]);
const { text } = parseNote(note);
const request = formatAddCheckpoint({ oldSize: 4, proof: hashes(3), note });

test('a request is the old size, the proof, a blank line and the checkpoint', () => {
  assert.equal(request, `old 4\n${hashes(3).map(toBase64).join('\n')}\n\n${note}`);
  assert.equal(formatAddCheckpoint({ oldSize: 0, proof: [], note }), `old 0\n\n${note}`);
  const { oldSize, proof, note: found, checkpoint } = parseAddCheckpoint(request);
  assert.deepEqual({ oldSize, proof, found }, { oldSize: 4, proof: hashes(3), found: note });
  assert.deepEqual(checkpoint, { origin: ORIGIN, size: 9, root, extensions: [] });
});

test('refuses requests that are not in the form', () => {
  const hash = toBase64(root);
  const wrong = [
    '',
    note,
    'old 4\n',
    `old 4\n${note}`,
    `old 4\n\n${text}`,
    `old 4\n\n\n${note}`,
    `\nold 4\n\n${note}`,
    `old 4\r\n\r\n${note}`,
    ...['04', '-1', '+1', '4.0', '', ' 4', '4 ', '9007199254740992', '0x4'].map(
      (old) => `old ${old}\n\n${note}`,
    ),
    ...['OLD 4', 'old  4', 'old\t4', 'size 4', '4'].map((line) => `${line}\n\n${note}`),
    ...[hash.slice(0, -1), `${hash} `, hash.replace('=', ''), toBase64(root.subarray(1)), 'old 5'].map(
      (line) => `old 4\n${line}\n\n${note}`,
    ),
    `old 4\n${`${hash}\n`.repeat(WITNESS_PROOF_HASHES_MAX + 1)}\n${note}`,
    `old 4\n\n${note.replace('\n9\n', '\n09\n')}`,
    `old 4\n\n${note.slice(0, -1)}`,
  ];
  for (const each of wrong) {
    assert.throws(() => parseAddCheckpoint(each), refusal('MALFORMED'), JSON.stringify(each));
  }
  const most = `old 4\n${`${hash}\n`.repeat(WITNESS_PROOF_HASHES_MAX)}\n${note}`;
  assert.equal(parseAddCheckpoint(most).proof.length, 63);
});

test('a size 0 with the root of another tree can be read, so that a witness can say what is wrong with it', () => {
  const wrong = `${ORIGIN}\n0\n${toBase64(root)}\nextension\n`;
  const { checkpoint } = parseAddCheckpoint(`old 0\n\n${wrong}\n${note.slice(note.indexOf('—'))}`);
  assert.deepEqual(checkpoint, { origin: ORIGIN, size: 0, root, extensions: ['extension'] });
  const right = parseAddCheckpoint(
    `old 0\n\n${wrong.replace(toBase64(root), toBase64(EMPTY_ROOT))}\n— a AAAAAAA=\n`,
  );
  assert.deepEqual(right.checkpoint.root, EMPTY_ROOT);
  for (const bad of [
    `\n0\n${toBase64(root)}\n`,
    `${ORIGIN}\n0\n${toBase64(root)}\n\nx\n`,
    `${ORIGIN}\n0\nAAAA\n`,
  ]) {
    assert.throws(() => parseAddCheckpoint(`old 0\n\n${bad}\n— a AAAAAAA=\n`), refusal('MALFORMED'), bad);
  }
});

test('writes no request that could not be read', () => {
  for (const oldSize of [-1, 1.5, Number.NaN, 2 ** 53]) {
    assert.throws(() => formatAddCheckpoint({ oldSize, proof: [], note }), refusal('MALFORMED'));
  }
  for (const proof of [hashes(64), [root.subarray(1)]]) {
    assert.throws(() => formatAddCheckpoint({ oldSize: 1, proof, note }), refusal('MALFORMED'));
  }
  assert.throws(() => formatAddCheckpoint({ oldSize: 1, proof: [], note: 'x\n' }), refusal('MALFORMED'));
});

test('a size is written and read the same, with its newline', () => {
  for (const size of [0, 1, 20852014, Number.MAX_SAFE_INTEGER]) {
    assert.equal(parseTreeSize(formatTreeSize(size)), size);
  }
  for (const wrong of ['', '\n', '5', '5\n\n', '05\n', '-5\n', '5 \n', '5\r\n', '9007199254740992\n']) {
    assert.throws(() => parseTreeSize(wrong), refusal('MALFORMED'), JSON.stringify(wrong));
  }
});

test('a cosignature counts if it is of this checkpoint and by this witness', async () => {
  const line = signatureLine(await first.cosign(text, TIME));
  const stranger = signatureLine(await second.cosign(text, TIME));
  for (const answer of [line, stranger + line, line + stranger]) {
    const { signature, timeSeconds } = await openCosignature(note, answer, firstVerifier);
    assert.deepEqual({ line: signatureLine(signature), timeSeconds }, { line, timeSeconds: TIME });
  }
  const other = text.replace('\n9\n', '\n8\n');
  const cases: [string, Parameters<typeof refusal>[0]][] = [
    ['', 'MALFORMED'],
    ['cosigned\n', 'MALFORMED'],
    [line.slice(0, -1), 'MALFORMED'],
    [`\n${line}`, 'MALFORMED'],
    [`extension\n\n${line}`, 'MALFORMED'],
    [stranger, 'KEY_UNKNOWN'],
    [signatureLine(await first.cosign(other, TIME)), 'SIGNATURE_INVALID'],
    [line + signatureLine(await first.cosign(other, TIME)), 'SIGNATURE_INVALID'],
    [signatureLine(await first.cosign(text, 0)), 'MALFORMED'],
  ];
  for (const [answer, reason] of cases) {
    await assert.rejects(
      openCosignature(note, answer, firstVerifier),
      refusal(reason),
      JSON.stringify(answer),
    );
  }
});

test('signatures are added in one order, independent of the order of answers, and each key once', async () => {
  const a = await first.cosign(text, TIME);
  const b = await second.cosign(text, TIME);
  const expected = note + signatureLine(a) + signatureLine(b);
  assert.equal(withSignatures(note, [a, b]), expected);
  assert.equal(withSignatures(note, [b, a]), expected);
  assert.equal(withSignatures(note + signatureLine(b), [a, b]), expected);
  assert.equal(withSignatures(expected, []), expected);
  assert.equal(withSignatures(expected, [await first.cosign(text, TIME + 5)]), expected);
  const both = await signCheckpoint({ origin: ORIGIN, size: 9, root }, [next, signer]);
  assert.equal(withSignatures(both, [b]), both + signatureLine(b), 'the log stands first, as it signed');
});

test(`every request that is read is written the same, and no text breaks the reader (seed ${SEED})`, () => {
  const random = seeded(SEED);
  let accepted = 0;
  for (let i = 0; i < 10_000; i++) {
    const damaged = resultOrRefusal(() => mutateText(request, random));
    if (damaged instanceof EvidenceError) continue;
    const parsed = resultOrRefusal(() => parseAddCheckpoint(damaged));
    if (parsed instanceof EvidenceError) continue;
    accepted++;
    assert.equal(formatAddCheckpoint(parsed), damaged);
  }
  assert.ok(accepted > 200, `only ${accepted} requests were accepted`);
  const proofs = fc.array(fc.uint8Array({ minLength: 32, maxLength: 32 }), { maxLength: 63 });
  fc.assert(
    fc.property(fc.maxSafeNat(), proofs, (oldSize, proof) => {
      const parsed = parseAddCheckpoint(formatAddCheckpoint({ oldSize, proof, note }));
      assert.deepEqual([parsed.oldSize, parsed.proof, parsed.note], [oldSize, proof, note]);
    }),
    { seed: SEED, numRuns: 300 },
  );
});
