import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toBase64, utf8 } from '../bytes.ts';
import { signCheckpoint, noteSigner } from './signer.ts';
import { EvidenceError } from '../errors.ts';
import { noteVerifier } from './note.ts';
import { sha256 } from '../hash/sha256.ts';
import { mutateText, seeded } from '../testing/mutations.ts';
import { NaiveTree } from '../testing/naive-tree.ts';
import { refusal, resultOrRefusal } from '../testing/refusal.ts';
import { formatTlogProof, parseTlogProof, type TlogProof, verifyTlogProof } from './tlog-proof.ts';
import { proveInclusion } from '../tree/prove.ts';

const SEED = 20260111;
const ORIGIN = 'audit.example.com/t/acme';
const tree = new NaiveTree(11);
const signer = await noteSigner(ORIGIN, sha256(utf8('audit-trail test log key')));
const verifiers = [await noteVerifier(signer.verifierKey)];
const checkpoint = await signCheckpoint({ origin: ORIGIN, size: 11, root: tree.root(0, 11) }, [signer]);
const proof: TlogProof = {
  extra: utf8('{"e":"…"}'),
  index: 5,
  hashes: proveInclusion(5, 11, tree.read),
  checkpoint,
};
const leaf = tree.leaves[5]!;
const text = formatTlogProof(proof);

test('writes header, extra data, index, hashes and checkpoint in that order', () => {
  assert.equal(
    text,
    `c2sp.org/tlog-proof@v1\nextra ${toBase64(proof.extra!)}\nindex 5\n${proof.hashes.map((hash) => `${toBase64(hash)}\n`).join('')}\n${checkpoint}`,
  );
  const { extra: _, ...bare } = proof;
  assert.ok(formatTlogProof(bare).startsWith('c2sp.org/tlog-proof@v1\nindex 5\n'));
  assert.deepEqual(parseTlogProof(formatTlogProof(bare)), bare);
});

test('a proof that was written verifies for its leaf, after a round through text', async () => {
  const parsed = parseTlogProof(text);
  assert.deepEqual(parsed, proof);
  const opened = await verifyTlogProof(parsed, { leaf, origin: ORIGIN, verifiers });
  assert.equal(opened.size, 11);
});

test('the only leaf of a log is proven by no hash', async () => {
  const root = tree.leaves[0]!;
  const alone = await signCheckpoint({ origin: ORIGIN, size: 1, root }, [signer]);
  const written = formatTlogProof({ index: 0, hashes: [], checkpoint: alone });
  assert.equal(written, `c2sp.org/tlog-proof@v1\nindex 0\n\n${alone}`);
  await verifyTlogProof(parseTlogProof(written), { leaf: root, origin: ORIGIN, verifiers });
});

test('has at most 63 hashes', () => {
  const longest = { ...proof, hashes: Array.from({ length: 63 }, () => leaf) };
  assert.deepEqual(parseTlogProof(formatTlogProof(longest)), longest);
});

test('refuses another leaf, another index, another log and another key', async () => {
  const trust = { leaf, origin: ORIGIN, verifiers };
  await assert.rejects(verifyTlogProof(proof, { ...trust, leaf: tree.leaves[4]! }), refusal('ROOT_MISMATCH'));
  await assert.rejects(verifyTlogProof({ ...proof, index: 4 }, trust), refusal('ROOT_MISMATCH'));
  await assert.rejects(verifyTlogProof({ ...proof, index: 11 }, trust), refusal('PROOF_INVALID'));
  await assert.rejects(verifyTlogProof({ ...proof, hashes: [] }, trust), refusal('PROOF_INVALID'));
  await assert.rejects(
    verifyTlogProof(proof, { ...trust, origin: 'example.com' }),
    refusal('ORIGIN_MISMATCH'),
  );
  const other = await noteVerifier((await noteSigner(ORIGIN, new Uint8Array(32))).verifierKey);
  await assert.rejects(verifyTlogProof(proof, { ...trust, verifiers: [other] }), refusal('KEY_UNKNOWN'));
});

test('refuses texts that are not in the form', () => {
  const bad: Record<string, string> = {
    'nothing at all': '',
    'another version': text.replace('@v1', '@v2'),
    'a line before the header': `\n${text}`,
    'no index': text.replace('index 5\n', ''),
    'the extra data after the index': text.replace(/(extra .*\n)(index 5\n)/, '$2$1'),
    'extra data twice': text.replace(/(extra .*\n)/, '$1$1'),
    'an extra line without data': text.replace(/extra .*\n/, 'extra \n'),
    'an extra line without a space': text.replace(/extra .*\n/, 'extra\n'),
    'an index with a zero before it': text.replace('index 5', 'index 05'),
    'an index with a sign': text.replace('index 5', 'index +5'),
    'an index past 2^53 - 1': text.replace('index 5', 'index 9007199254740992'),
    'two spaces': text.replace('index 5', 'index  5'),
    'a hash of 31 bytes': text.replace('index 5\n', `index 5\n${toBase64(new Uint8Array(31))}\n`),
    'base64 without padding': text.replace('=\n', '\n'),
    'carriage returns': text.replaceAll('\n', '\r\n'),
    'no blank line': text.replace('\n\n', '\n'),
    'no checkpoint': text.slice(0, text.indexOf('\n\n') + 2),
    'two blank lines': text.replace('\n\n', '\n\n\n'),
    'an unsigned checkpoint': text.slice(0, text.indexOf('\n— ')),
    '64 hashes': formatTlogProof({ ...proof, hashes: [] }).replace(
      'index 5\n',
      `index 5\n${`${toBase64(leaf)}\n`.repeat(64)}`,
    ),
  };
  for (const [what, changed] of Object.entries(bad)) {
    assert.notEqual(changed, text, what);
    assert.throws(() => parseTlogProof(changed), refusal('MALFORMED'), what);
  }
});

test('writes no proof that could not be read', () => {
  for (const bad of [
    { extra: new Uint8Array(0) },
    { index: -1 },
    { index: 1.5 },
    { index: 2 ** 53 },
    { hashes: [new Uint8Array(31)] },
    { hashes: Array.from({ length: 64 }, () => leaf) },
    { checkpoint: 'not a note' },
    { checkpoint: `\n${checkpoint}` },
  ]) {
    assert.throws(() => formatTlogProof({ ...proof, ...bad }), refusal('MALFORMED'));
  }
});

test(`every proof that is read is written the same, and no text breaks the reader (seed ${SEED})`, () => {
  const random = seeded(SEED);
  let accepted = 0;
  for (let i = 0; i < 20_000; i++) {
    const changed = resultOrRefusal(() => mutateText(text, random));
    if (changed instanceof EvidenceError) continue;
    const parsed = resultOrRefusal(() => parseTlogProof(changed));
    if (parsed instanceof EvidenceError) continue;
    accepted++;
    assert.equal(formatTlogProof(parsed), changed);
  }
  assert.ok(accepted > 1000, `only ${accepted} proofs were accepted`);
});
