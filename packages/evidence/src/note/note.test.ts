import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { fromBase64, toBase64, utf8 } from '../bytes.ts';
import { EvidenceError } from '../errors.ts';
import { formatNote, noteSigner, signatureLine, signNote } from './signer.ts';
import { noteVerifier, openNote, parseNote } from './note.ts';
import { sha256 } from '../hash/sha256.ts';
import { mutateText, seeded } from '../testing/mutations.ts';
import { refusal, resultOrRefusal } from '../testing/refusal.ts';
import { formatVerifierKey, keyIdOf, parseVerifierKey, SIGNATURE_TYPES } from './verifier-key.ts';
import { runs } from '../testing/size.ts';

const SEED = 20260107;

const ana = await noteSigner('example.com/ana', sha256(utf8('ana')));
const ben = await noteSigner('example.com/ben', sha256(utf8('ben')));
const anaVerifier = await noteVerifier(ana.verifierKey);
const benVerifier = await noteVerifier(ben.verifierKey);
const TEXT = 'first line\n\nthird line, späť €\n';

test('opens the note that the authors of the format published with its key', async () => {
  const verifier = await noteVerifier('PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW');
  const text =
    "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n";
  const line =
    '— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n';
  const opened = await openNote(`${text}\n${line}`, [verifier]);
  assert.equal(opened.text, text);
  assert.deepEqual(opened.signatures.map(signatureLine), [line]);
});

test('opens the example of the specification', async () => {
  const verifier = await noteVerifier(
    'example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k',
  );
  const note =
    'This is an example message.\n\n— example.com/foo Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Ztg1ERYNZXsYjOBH3mFXmRKuwHjG1Yu72IneyaQM=\n';
  assert.equal((await openNote(note, [verifier])).text, 'This is an example message.\n');
  const changed = note.replace('example message', 'Example message');
  await assert.rejects(openNote(changed, [verifier]), refusal('SIGNATURE_INVALID'));
});

test('what is signed opens with its keys, and the text may have blank lines', async () => {
  const note = await signNote(TEXT, [ana, ben]);
  const { text, signatures } = await openNote(note, [anaVerifier, benVerifier]);
  assert.equal(text, TEXT);
  assert.deepEqual(
    signatures.map(({ name }) => name),
    ['example.com/ana', 'example.com/ben'],
  );
});

test('leaves signatures by unknown keys aside', async () => {
  const note = await signNote(TEXT, [ana, ben]);
  const opened = await openNote(note, [benVerifier]);
  assert.deepEqual(
    opened.signatures.map(({ name }) => name),
    ['example.com/ben'],
  );
  // Name or key id alone do not make a key known.
  const anaLine = note.split('\n').at(-3)!;
  const otherName = note.replace(anaLine, anaLine.replace('example.com/ana', 'example.com/eve'));
  assert.equal((await openNote(otherName, [anaVerifier, benVerifier])).signatures.length, 1);
  const anaSignature = fromBase64(anaLine.split(' ')[2]!);
  anaSignature[0]! ^= 1;
  const otherId = note.replace(anaLine, `— example.com/ana ${toBase64(anaSignature)}`);
  assert.equal((await openNote(otherId, [anaVerifier, benVerifier])).signatures.length, 1);
});

test('refuses a note that no known key has signed', async () => {
  const note = await signNote(TEXT, [ana]);
  await assert.rejects(openNote(note, [benVerifier]), refusal('KEY_UNKNOWN'));
  await assert.rejects(openNote(note, []), refusal('KEY_UNKNOWN'));
});

test('refuses the whole note for one signature by a known key that fails', async () => {
  const note = await signNote(TEXT, [ana, ben]);
  const { text, signatures } = parseNote(note);
  const [first, second] = signatures;
  const broken = { ...second!, signature: second!.signature.with(9, second!.signature[9]! ^ 1) };
  const bad = formatNote({ text, signatures: [first!, broken] });
  await assert.rejects(openNote(bad, [anaVerifier, benVerifier]), refusal('SIGNATURE_INVALID'));
  assert.equal((await openNote(bad, [anaVerifier])).signatures.length, 1);
  const short = formatNote({ text, signatures: [{ ...first!, signature: Uint8Array.of(1) }] });
  await assert.rejects(openNote(short, [anaVerifier]), refusal('SIGNATURE_INVALID'));
});

test('counts a key once that has signed twice, and refuses a second signature that fails', async () => {
  const { text, signatures } = parseNote(await signNote(TEXT, [ana]));
  const twice = await openNote(formatNote({ text, signatures: [signatures[0]!, signatures[0]!] }), [
    anaVerifier,
  ]);
  assert.equal(twice.signatures.length, 1);
  const broken = { ...signatures[0]!, signature: new Uint8Array(64) };
  const bad = formatNote({ text, signatures: [signatures[0]!, broken] });
  await assert.rejects(openNote(bad, [anaVerifier]), refusal('SIGNATURE_INVALID'));
});

test('refuses two verifiers that a signature could not tell apart', async () => {
  const note = await signNote(TEXT, [ana]);
  await assert.rejects(openNote(note, [anaVerifier, anaVerifier]), refusal('MALFORMED'));
});

test('divides at the last blank line, so that signatures cannot be moved into the text unseen', async () => {
  const inner = await signNote(TEXT, [ana]);
  const outer = await signNote(inner, [ben]);
  const opened = await openNote(outer, [anaVerifier, benVerifier]);
  assert.equal(opened.text, inner);
  assert.deepEqual(
    opened.signatures.map(({ name }) => name),
    ['example.com/ben'],
  );
});

test('refuses notes that are not in the form', async () => {
  const note = await signNote(TEXT, [ana]);
  const line = note.slice(note.indexOf('— '));
  const bad: Record<string, string> = {
    'nothing at all': '',
    'text alone': TEXT,
    'no newline at the end': note.slice(0, -1),
    'no blank line': `text\n${line}`,
    'no blank line, and one character before the signature': `x${line}`,
    'no signature': `${TEXT}\n`,
    'no text before the blank line': `\n${line}`,
    'a blank line after the signatures': `${note}\n`,
    'a tab': `a\tb\n\n${line}`,
    'a carriage return': note.replaceAll('\n', '\r\n'),
    'a zero character': `a\0b\n\n${line}`,
    'half a surrogate pair': `a\ud800b\n\n${line}`,
    'a hyphen for the dash': note.replace('— ', '- '),
    'no space after the dash': note.replace('— ', '—'),
    'two spaces': note.replace('— ', '—  '),
    'a space at the end of the line': `${note.slice(0, -1)} \n`,
    'no name': note.replace(/— \S+ /, '—  '),
    'a name with a plus': note.replace('example.com/ana', 'example.com+ana'),
    'a name with a space that is not a space': note.replace('example.com/ana', 'example.com\u00a0ana'),
    'base64 without padding': note.replace(/=+\n$/, '\n'),
    'base64 of the URL alphabet': note.replace(/ \S+\n$/, ` ${'-_'.repeat(46)}\n`),
    'base64 with spare bits': note.replace(/.=\n$/, (end) => `${end[0] === 'B' ? 'C' : 'B'}=\n`),
    'no signature behind the key id': `${TEXT}\n— example.com/ana ${toBase64(Uint8Array.of(1, 2, 3, 4))}\n`,
    'half a key id': `${TEXT}\n— example.com/ana ${toBase64(Uint8Array.of(1, 2))}\n`,
  };
  for (const [what, text] of Object.entries(bad)) {
    await assert.rejects(openNote(text, [anaVerifier]), refusal('MALFORMED'), what);
  }
});

test('limits a note to 100 signatures and a million bytes', async () => {
  const { text, signatures } = parseNote(await signNote(TEXT, [ana]));
  const hundred = Array.from({ length: 100 }, () => signatures[0]!);
  const note = formatNote({ text, signatures: hundred });
  assert.equal((await openNote(note, [anaVerifier])).signatures.length, 1);
  assert.throws(() => parseNote(note + signatureLine(signatures[0]!)), refusal('MALFORMED'));
  assert.throws(() => formatNote({ text, signatures: [...hundred, signatures[0]!] }), refusal('MALFORMED'));
  assert.throws(() => formatNote({ text, signatures: [] }), refusal('MALFORMED'));
  const long = formatNote({ text: `${'€'.repeat(300_000)}\n`, signatures });
  assert.equal(parseNote(long).text.length, 300_001);
  assert.throws(() => parseNote(`${'€'.repeat(100_000)}${long}`), refusal('MALFORMED'));
  for (const letter of ['a', 'é']) {
    const filling = (1_000_000 - utf8(note).length) / utf8(letter).length;
    const fitting =
      letter.repeat(Math.floor(filling)) + 'a'.repeat(Math.ceil(filling) - Math.floor(filling)) + note;
    assert.equal(utf8(fitting).length, 1_000_000);
    assert.equal(parseNote(fitting).signatures.length, 100);
    assert.throws(() => parseNote(`a${fitting}`), refusal('MALFORMED'));
    // As many characters as there may be bytes.
    const wider = fitting.replace('line', 'liné').padStart(1_000_000, 'a');
    assert.throws(() => parseNote(wider), refusal('MALFORMED'));
  }
});

test('a text may be a blank line and nothing else', async () => {
  const note = await signNote('\n', [ana]);
  assert.equal((await openNote(note, [anaVerifier])).text, '\n');
});

test('gives no key a text to sign that could not be opened', async () => {
  const asked: string[] = [];
  const recording = {
    ...ana,
    sign: (text: string) => {
      asked.push(text);
      return ana.sign(text);
    },
  };
  await assert.rejects(signNote('no newline', [recording]), refusal('MALFORMED'));
  assert.deepEqual(asked, []);
});

test('writes no note that could not be read', async () => {
  const { signatures } = parseNote(await signNote(TEXT, [ana]));
  assert.throws(() => formatNote({ text: 'no newline', signatures }), refusal('MALFORMED'));
  for (const name of ['', 'a b', 'a+b']) {
    assert.throws(() => signatureLine({ ...signatures[0]!, name }), refusal('MALFORMED'));
  }
});

test('signs no text that could not be opened', async () => {
  for (const text of ['', 'no newline', 'tab\t\n', 'return\r\n', 'half \udc00\n']) {
    await assert.rejects(signNote(text, [ana]), refusal('MALFORMED'));
  }
  await assert.rejects(signNote(TEXT, []), refusal('MALFORMED'));
});

test('makes the published key of the test log from its seed', async () => {
  const signer = await noteSigner('audit.example.com/t/acme', sha256(utf8('audit-trail test log key')));
  assert.equal(
    signer.verifierKey,
    'audit.example.com/t/acme+38df7d1a+AUBGtHFZDMZhwJ3+knMasraAcxQL0fq7InuXBaVqR8oG',
  );
  assert.equal(signer.keyId, keyIdOf(parseVerifierKey(signer.verifierKey)));
});

test('a public key that is no point of the curve vouches for nothing', async () => {
  const { text, signatures } = parseNote(await signNote(TEXT, [ana]));
  for (const fill of [0x00, 0x01, 0x7f, 0xff]) {
    const key = { name: 'nobody', type: SIGNATURE_TYPES.note, publicKey: new Uint8Array(32).fill(fill) };
    const note = formatNote({
      text,
      signatures: [{ ...signatures[0]!, name: key.name, keyId: keyIdOf(key) }],
    });
    const opened = noteVerifier(formatVerifierKey(key)).then((verifier) => openNote(note, [verifier]));
    await assert.rejects(opened, refusal('SIGNATURE_INVALID', 'MALFORMED'));
  }
});

test('refuses seeds that are not 32 bytes, names that are none, and keys of another type', async () => {
  await assert.rejects(noteSigner('name', new Uint8Array(31)), refusal('MALFORMED'));
  for (const name of ['', 'a b', 'a+b', 'a\nb', 'a\u2003b', 'a\0b', '\ud800']) {
    await assert.rejects(noteSigner(name, new Uint8Array(32)), refusal('MALFORMED'));
  }
  const witness = 'witness.example.org+b8a2cf20+BFLN3yikSfFkVAJtrnh/CiY3Zozkoy7clp+P7XB28qUN';
  await assert.rejects(noteVerifier(witness), refusal('MALFORMED'));
});

test(`every note that is read is written the same, and no text breaks the reader (seed ${SEED})`, async () => {
  const note = await signNote(TEXT, [ana, ben]);
  const random = seeded(SEED);
  let accepted = 0;
  for (let i = 0; i < 20_000; i++) {
    const text = resultOrRefusal(() => mutateText(note, random));
    if (text instanceof EvidenceError) continue;
    const parsed = resultOrRefusal(() => parseNote(text));
    if (parsed instanceof EvidenceError) continue;
    accepted++;
    assert.equal(formatNote(parsed), text);
  }
  assert.ok(accepted > 1000, `only ${accepted} notes were accepted`);
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      const parsed = resultOrRefusal(() => parseNote(`${text}\n\n— ${text} ${text}\n`));
      assert.ok(parsed instanceof EvidenceError || parsed.text.length > 0);
    }),
    { seed: SEED, numRuns: runs(5000) },
  );
});

test(`opens no note that was changed in its text or its signature (seed ${SEED})`, async () => {
  const note = await signNote(TEXT, [ana]);
  const random = seeded(SEED);
  for (let i = 0; i < 2000; i++) {
    const text = resultOrRefusal(() => mutateText(note, random));
    if (text instanceof EvidenceError || text === note) continue;
    const opened = await openNote(text, [anaVerifier]).catch((error: unknown) => {
      refusal('MALFORMED', 'SIGNATURE_INVALID', 'KEY_UNKNOWN')(error);
    });
    // Without its key, only an unverified line can be added to a note.
    assert.ok(opened === undefined || opened.text === TEXT);
  }
});
