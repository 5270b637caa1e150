import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { utf8 } from '../bytes.ts';
import { sha256 } from '../hash/sha256.ts';
import { type Checkpoint, parseCheckpoint } from '../note/checkpoint.ts';
import { type Cosigner, cosigner, signatureLine } from '../note/signer.ts';
import { cosignatureVerifier } from '../note/cosignature.ts';
import { parseNote, type Verifier } from '../note/note.ts';
import { refusal } from '../testing/refusal.ts';
import { sampleEvent, SampleLog } from '../testing/sample-log.ts';
import { proveConsistency } from '../tree/prove.ts';
import { openTrustedCheckpoint, seenBefore, type Trust, verifyExtends } from './trust.ts';

const SIZE = 7;
let log: SampleLog;
let trust: Trust;
const seen = async (size: number): Promise<Checkpoint> =>
  parseCheckpoint(parseNote(await log.checkpoint(size)).text);

before(async () => {
  log = await SampleLog.create();
  for (let n = 0; n < SIZE; n++) log.append(sampleEvent(n));
  trust = { verifiers: [log.verifier] };
});

describe('a trusted checkpoint', () => {
  it('is one that a key of the log has signed', async () => {
    const note = await log.checkpoint();
    const { checkpoint, cosignedBy } = await openTrustedCheckpoint(note, log.origin, trust);
    assert.deepEqual([checkpoint.size, cosignedBy], [SIZE, []]);
    await assert.rejects(openTrustedCheckpoint(note, log.origin, { verifiers: [] }), refusal('KEY_UNKNOWN'));
    await assert.rejects(openTrustedCheckpoint('', log.origin, { verifiers: [] }), refusal('KEY_UNKNOWN'));
    await assert.rejects(openTrustedCheckpoint(note, 'another', trust), refusal('ORIGIN_MISMATCH'));
  });

  it('has as many witnesses as are wanted, one with two keys being one', async () => {
    const text = parseNote(await log.checkpoint()).text;
    const witness = async (name: string, seed: string): Promise<Cosigner> =>
      cosigner(name, sha256(utf8(seed)));
    const one = await witness('w.example/one', 'a');
    const oneAgain = await witness('w.example/one', 'b');
    const two = await witness('w.example/two', 'c');
    const cosigned = async (...by: Cosigner[]): Promise<string> => {
      const lines = await Promise.all(by.map(async (each) => signatureLine(await each.cosign(text, 1000))));
      return (await log.checkpoint()) + lines.join('');
    };
    const verifiers: Verifier[] = [];
    for (const each of [one, oneAgain, two]) verifiers.push(await cosignatureVerifier(each.verifierKey));
    const open = (note: string, countMin: number) =>
      openTrustedCheckpoint(note, log.origin, { ...trust, witnesses: { verifiers, countMin } });
    assert.deepEqual((await open(await cosigned(), 0)).cosignedBy, []);
    assert.deepEqual((await open(await cosigned(one, two), 2)).cosignedBy, [
      'w.example/one',
      'w.example/two',
    ]);
    assert.deepEqual((await open(await cosigned(one, oneAgain), 1)).cosignedBy, ['w.example/one']);
    await assert.rejects(open(await cosigned(one, oneAgain), 2), refusal('WITNESS_MISSING'));
    await assert.rejects(open(await cosigned(one, oneAgain, two), 3), refusal('WITNESS_MISSING'));
    await assert.rejects(open(await cosigned(one), 2), refusal('WITNESS_MISSING'));
  });
});

describe('what was seen before', () => {
  it('is asked for only where there is something', async () => {
    const now = await seen(SIZE);
    verifyExtends(trust, now, undefined);
    assert.deepEqual(seenBefore(trust, now), {});
  });

  it('is of the same log', async () => {
    const now = await seen(5);
    const origin = 'audit.example.com/t/bolt';
    assert.throws(
      () => verifyExtends({ ...trust, since: { ...now, origin } }, now, undefined),
      refusal('ORIGIN_MISMATCH'),
    );
    const empty = { ...(await seen(0)), origin };
    assert.throws(
      () => verifyExtends({ ...trust, since: empty }, now, undefined),
      refusal('ORIGIN_MISMATCH'),
    );
  });

  it('may be newer than what is verified: that is no rollback, and needs a proof all the same', async () => {
    const [since, now] = [await seen(SIZE), await seen(5)];
    const consistency = proveConsistency(5, SIZE, log.read);
    verifyExtends({ ...trust, since, consistency }, now, undefined);
    verifyExtends({ ...trust, since }, await seen(0), undefined);
    assert.deepEqual(
      [seenBefore({ ...trust, since }, now), seenBefore({ ...trust, since }, since)],
      [{ precedes: SIZE }, { extends: SIZE }],
    );
    for (const rootThen of [undefined, since.root]) {
      assert.throws(() => verifyExtends({ ...trust, since }, now, rootThen), refusal('HISTORY_UNPROVEN'));
    }
    const other = { ...now, root: sha256(now.root) };
    assert.throws(() => verifyExtends({ ...trust, since, consistency }, other, undefined), refusal('FORK'));
    const short = { ...trust, since, consistency: consistency.slice(1) };
    assert.throws(() => verifyExtends(short, now, undefined), refusal('PROOF_INVALID'));
  });

  it('is the same at the same size, with any other proof at hand', async () => {
    const now = await seen(SIZE);
    verifyExtends({ ...trust, since: now }, now, undefined);
    verifyExtends({ ...trust, since: now, consistency: [] }, now, sha256(now.root));
    const since = { ...now, root: sha256(now.root) };
    assert.throws(() => verifyExtends({ ...trust, since }, now, undefined), refusal('FORK'));
    assert.throws(
      () => verifyExtends({ ...trust, since, consistency: [] }, now, since.root),
      refusal('FORK'),
    );
  });

  it('is extended where the root of then is found again, or a proof leads from it to now', async () => {
    const since = await seen(5);
    const now = await seen(SIZE);
    const consistency = proveConsistency(5, SIZE, log.read);
    verifyExtends({ ...trust, since }, now, since.root);
    verifyExtends({ ...trust, since, consistency }, now, undefined);
    verifyExtends({ ...trust, since: await seen(0) }, now, undefined);
    assert.throws(() => verifyExtends({ ...trust, since }, now, undefined), refusal('HISTORY_UNPROVEN'));
    assert.throws(() => verifyExtends({ ...trust, since }, now, sha256(since.root)), refusal('FORK'));
    // The entries of the log itself count for more than a proof beside it.
    assert.throws(() => verifyExtends({ ...trust, since, consistency }, now, now.root), refusal('FORK'));
    const forged = { ...since, root: sha256(since.root) };
    assert.throws(
      () => verifyExtends({ ...trust, since: forged, consistency }, now, undefined),
      refusal('FORK'),
    );
    const short = { ...trust, since, consistency: consistency.slice(1) };
    assert.throws(() => verifyExtends(short, now, undefined), refusal('PROOF_INVALID'));
  });
});
