import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toBase64, utf8 } from '../bytes.ts';
import { fromHex } from '../hash/from-hex.ts';
import { formatCheckpoint, openCheckpoint, parseCheckpoint, parseDecimal } from './checkpoint.ts';
import { signCheckpoint, noteSigner, signNote } from './signer.ts';
import { EvidenceError } from '../errors.ts';
import { noteVerifier } from './note.ts';
import { sha256 } from '../hash/sha256.ts';
import { mutateText, seeded } from '../testing/mutations.ts';
import { refusal, resultOrRefusal } from '../testing/refusal.ts';
import { EMPTY_ROOT } from '../tree/tree.ts';

const SEED = 20260109;
const ORIGIN = 'audit.example.com/t/acme';
const ROOT = fromHex('461cffb02f88aff27b92e9185e5c9e7f273b80da72e9f7b0507ac8dbe336523d');
const TEXT = `${ORIGIN}\n1\n${toBase64(ROOT)}\n`;

const signer = await noteSigner(ORIGIN, sha256(utf8('audit-trail test log key')));
const next = await noteSigner(ORIGIN, sha256(utf8('the key after it')));
const stranger = await noteSigner('audit.example.com/t/other', sha256(utf8('another log')));
const verifier = await noteVerifier(signer.verifierKey);
const nextVerifier = await noteVerifier(next.verifierKey);
const strangerVerifier = await noteVerifier(stranger.verifierKey);

test('signs the first checkpoint of the test log with its published signature', async () => {
  const note = await signCheckpoint({ origin: ORIGIN, size: 1, root: ROOT }, [signer]);
  assert.equal(
    note,
    `${TEXT}\n— audit.example.com/t/acme ON99GrjvGWjIHE2AxHSRpjpC0gvq6wRKv/BaYLLykw5h5NSNJ5mtuSpyjul4ZN2d0SJqltlyk3a+Sx6Ql4myvf8ICgs=\n`,
  );
  const opened = await openCheckpoint(note, { origin: ORIGIN, verifiers: [verifier] });
  assert.equal(opened.size, 1);
  assert.deepEqual(opened.root, ROOT);
  assert.equal(opened.text, TEXT);
  assert.deepEqual(opened.extensions, []);
  assert.equal(opened.signatures.length, 1);
});

test('while a key is replaced, both sign and either opens', async () => {
  const note = await signCheckpoint({ origin: ORIGIN, size: 1, root: ROOT }, [signer, next]);
  for (const verifiers of [[verifier], [nextVerifier], [verifier, nextVerifier]]) {
    const opened = await openCheckpoint(note, { origin: ORIGIN, verifiers });
    assert.equal(opened.signatures.length, verifiers.length);
  }
});

test('refuses the checkpoint of another log, and the key of another log', async () => {
  const note = await signCheckpoint({ origin: ORIGIN, size: 1, root: ROOT }, [signer]);
  const other = 'audit.example.com/t/other';
  await assert.rejects(
    openCheckpoint(note, { origin: other, verifiers: [verifier] }),
    refusal('ORIGIN_MISMATCH'),
  );
  await assert.rejects(
    openCheckpoint(note, { origin: ORIGIN, verifiers: [strangerVerifier] }),
    refusal('ORIGIN_MISMATCH'),
  );
  await assert.rejects(
    signCheckpoint({ origin: ORIGIN, size: 1, root: ROOT }, [stranger]),
    refusal('ORIGIN_MISMATCH'),
  );
  // A known log speaks for its own origin only.
  const foreign = await signNote(TEXT, [stranger]);
  await assert.rejects(
    openCheckpoint(foreign, { origin: ORIGIN, verifiers: [verifier] }),
    refusal('KEY_UNKNOWN'),
  );
});

test('refuses a text about another log that a key of this log has signed', async () => {
  const about = formatCheckpoint({ origin: stranger.name, size: 1, root: ROOT });
  await assert.rejects(
    openCheckpoint(await signNote(about, [signer]), { origin: ORIGIN, verifiers: [verifier] }),
    refusal('ORIGIN_MISMATCH'),
  );
});

test('a number has one spelling and stays below 2^53', () => {
  for (const value of [0, 1, 10, Number.MAX_SAFE_INTEGER]) assert.equal(parseDecimal(`${value}`, 'n'), value);
  for (const text of [
    '',
    '00',
    '01',
    '-1',
    '+1',
    ' 1',
    '1 ',
    '1e3',
    '1.0',
    '9007199254740992',
    '1'.repeat(20),
  ]) {
    assert.throws(() => parseDecimal(text, 'n'), refusal('MALFORMED'), text);
  }
});

test('refuses a checkpoint that was changed, or that no known key has signed', async () => {
  const note = await signCheckpoint({ origin: ORIGIN, size: 1, root: ROOT }, [signer]);
  const verifiers = [verifier];
  await assert.rejects(
    openCheckpoint(note.replace('\n1\n', '\n2\n'), { origin: ORIGIN, verifiers }),
    refusal('SIGNATURE_INVALID'),
  );
  await assert.rejects(
    openCheckpoint(note, { origin: ORIGIN, verifiers: [nextVerifier] }),
    refusal('KEY_UNKNOWN'),
  );
  await assert.rejects(openCheckpoint(note, { origin: ORIGIN, verifiers: [] }), refusal('KEY_UNKNOWN'));
});

test('a signed text that is no checkpoint is none', async () => {
  const note = await signNote(`${ORIGIN}\nhello\n`, [signer]);
  await assert.rejects(openCheckpoint(note, { origin: ORIGIN, verifiers: [verifier] }), refusal('MALFORMED'));
});

test('reads the extension lines of other logs and never writes one', () => {
  const parsed = parseCheckpoint(`${TEXT}time 5\nother\n`);
  assert.deepEqual(parsed.extensions, ['time 5', 'other']);
  assert.equal(formatCheckpoint(parsed), TEXT);
});

test('reads origins of any form, as the specification wants', () => {
  const text = `A log + its spaces\n0\n${toBase64(EMPTY_ROOT)}\n`;
  assert.equal(parseCheckpoint(text).origin, 'A log + its spaces');
  assert.equal(formatCheckpoint(parseCheckpoint(text)), text);
});

test('sizes go from 0 to 2^53 - 1', () => {
  const most = formatCheckpoint({ origin: ORIGIN, size: Number.MAX_SAFE_INTEGER, root: ROOT });
  assert.equal(parseCheckpoint(most).size, 9007199254740991);
  for (const size of [
    '9007199254740992',
    '9999999999999999999',
    '10000000000000000000',
    '18446744073709551615',
  ]) {
    assert.throws(() => parseCheckpoint(most.replace('9007199254740991', size)), refusal('MALFORMED'));
  }
  for (const size of [-1, 1.5, Number.NaN, 2 ** 53]) {
    assert.throws(() => formatCheckpoint({ origin: ORIGIN, size, root: ROOT }), refusal('MALFORMED'));
  }
});

test('refuses texts that are not in the form', () => {
  const root = toBase64(ROOT);
  const short = toBase64(ROOT.subarray(1));
  const long = toBase64(Uint8Array.of(...ROOT, 0));
  const spareBits = `${root.slice(0, -2)}1=`;
  const wrong = {
    lines: ['', '\n', `${ORIGIN}\n1\n`, `\n1\n${root}\n`, `${ORIGIN}\n\n${root}\n`, `${ORIGIN}\n1\n\n`],
    end: [TEXT.slice(0, -1), `${TEXT}\n`, `${TEXT}\nextension\n`, TEXT.replace('\n', '\r\n')],
    size: ['01', '+1', '-1', '1.0', '1e0', ' 1', '1 ', '0x1', '１', '00', '0'].map((size) =>
      TEXT.replace('\n1\n', `\n${size}\n`),
    ),
    root: [root.slice(0, -1), `${root} `, spareBits, short, long].map((text) => TEXT.replace(root, text)),
  };
  for (const text of Object.values(wrong).flat()) {
    assert.throws(() => parseCheckpoint(text), refusal('MALFORMED'), JSON.stringify(text));
  }
});

test('writes no checkpoint that could not be read', () => {
  for (const origin of ['', 'a\nb', 'a\tb', '\udc00', `${ORIGIN}\n`]) {
    assert.throws(() => formatCheckpoint({ origin, size: 1, root: ROOT }), refusal('MALFORMED'));
  }
  for (const root of [new Uint8Array(0), new Uint8Array(31), new Uint8Array(33)]) {
    assert.throws(() => formatCheckpoint({ origin: ORIGIN, size: 1, root }), refusal('MALFORMED'));
  }
  assert.throws(() => formatCheckpoint({ origin: ORIGIN, size: 0, root: ROOT }), refusal('MALFORMED'));
});

test(`every checkpoint that is read is written the same, and no text breaks the reader (seed ${SEED})`, () => {
  const random = seeded(SEED);
  let accepted = 0;
  for (let i = 0; i < 20_000; i++) {
    const text = resultOrRefusal(() => mutateText(i % 2 === 0 ? TEXT : `${TEXT}extension\n`, random));
    if (text instanceof EvidenceError) continue;
    const parsed = resultOrRefusal(() => parseCheckpoint(text));
    if (parsed instanceof EvidenceError) continue;
    accepted++;
    assert.equal(formatCheckpoint(parsed) + parsed.extensions.map((line) => `${line}\n`).join(''), text);
  }
  assert.ok(accepted > 1000, `only ${accepted} checkpoints were accepted`);
});
