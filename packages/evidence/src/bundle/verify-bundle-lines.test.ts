// Which line of a bundle may stand where, and which fault is told when there are several.

import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { toBase64, utf8 } from '../bytes.ts';
import { EvidenceError } from '../errors.ts';
import { KINDS } from '../event/entry.ts';
import { showRoots } from '../event/show-event.ts';
import { sha256 } from '../hash/sha256.ts';
import { parseCheckpoint } from '../note/checkpoint.ts';
import { parseNote } from '../note/note.ts';
import { assertRefused, linesOf, resealed } from '../testing/forgery.ts';
import { sampleEvent, SampleLog } from '../testing/sample-log.ts';
import { subtreeHashes, proveConsistency } from '../tree/prove.ts';
import type { Trust } from './trust.ts';
import { BundleVerifier, verifyBundle } from './verify-bundle.ts';

const SIZE = 600;
let log: SampleLog;
let trust: Trust;
const seen = async (size: number) => parseCheckpoint(parseNote(await log.checkpoint(size)).text);

before(async () => {
  log = await SampleLog.create();
  for (let n = 0; n < SIZE; n++) log.append(sampleEvent(n));
  trust = { verifiers: [log.verifier] };
});

async function faultOf(run: () => Promise<unknown>): Promise<EvidenceError> {
  try {
    await run();
  } catch (error) {
    assert.ok(error instanceof EvidenceError, String(error));
    return error;
  }
  assert.fail('nothing was thrown');
}

describe('the first fault', () => {
  it('is in the line before an unreadable one, if there is one in it', async () => {
    const lines = linesOf(await log.bundle({ from: 5, to: 15 }));
    const both = lines.with(3, lines[3]!.replace('payment 7', 'payment 8')).with(6, '{"e":rubbish}');
    await assertRefused(resealed(both), trust, 'LEAF_MISMATCH', 7);
    await assertRefused(resealed(lines.with(6, '{"e":rubbish}')), trust, 'MALFORMED', 10);
    await assertRefused(resealed(lines.with(3, both[3]!).with(6, 'rubbish')), trust, 'LEAF_MISMATCH', 7);
  });

  it('is placed by the lines before it, however many there were', async () => {
    const lines = linesOf(await log.bundle({ from: 5 }));
    await assertRefused(resealed(lines.with(401, '{"e":rubbish}')), trust, 'MALFORMED', 405);
    const fault = await faultOf(() => verifyBundle([resealed(lines.with(401, '{"f":1}'))], trust));
    assert.deepEqual([fault.reason, fault.index, fault.line], ['MALFORMED', undefined, 402]);
  });

  it('is told with the 256th entry after it at the latest, so that nobody waits for the end of a long file', async () => {
    const lines = linesOf(await log.bundle());
    const verifier = new BundleVerifier(trust);
    const changed = lines.with(1, lines[1]!.replace('payment 0', 'payment 1'));
    const failing = changed.findIndex((line) => {
      try {
        verifier.push(utf8(`${line}\n`));
        return false;
      } catch (error) {
        assert.ok(error instanceof EvidenceError && error.reason === 'LEAF_MISMATCH', String(error));
        return true;
      }
    });
    assert.equal(failing, 256);
  });

  it('is told as it was found: nothing is said of its place twice, and what the host throws is passed on', async () => {
    const lines = linesOf(await log.bundle({ to: 3 }));
    const after = await faultOf(() => verifyBundle([resealed([...lines, lines[4]!])], trust));
    assert.deepEqual([after.line, after.message], [6, 'line 6: it stands after the trailer']);
    const broken = new Error('the disk is on fire');
    const checksum = {
      update: () => {
        throw broken;
      },
      digest: () => new Uint8Array(32),
    };
    await assert.rejects(
      verifyBundle([await log.bundle()], trust, { checksum }),
      (error) => error === broken,
    );
  });

  it('stays the verdict', async () => {
    const bad = new BundleVerifier(trust);
    const first = await faultOf(async () => bad.push(utf8('rubbish\n')));
    assert.equal(await faultOf(async () => bad.push(await log.bundle())), first);
    assert.equal(await faultOf(() => bad.finish()), first);
    const short = new BundleVerifier(trust);
    short.push(utf8(`${linesOf(await log.bundle())[0]}\n`));
    const truncated = await faultOf(() => short.finish());
    assert.equal(truncated.reason, 'TRUNCATED');
    assert.equal(await faultOf(() => short.finish()), truncated);
    assert.equal(await faultOf(async () => short.push(utf8('x'))), truncated);
  });
});

describe('an entry', () => {
  const scattered = { complete: false, filter: 'x' };
  const of = (...indexes: number[]) => indexes.map((index) => log.provenLine(index));

  it('may stand at either end of the range of a scattered bundle', async () => {
    const bundle = await log.bundle({ ...scattered, from: 5, to: 9, lines: of(5, 8) });
    assert.equal((await verifyBundle([bundle], trust)).entries, 2);
    await assertRefused(
      await log.bundle({ ...scattered, from: 5, to: 9, lines: of(5, 9) }),
      trust,
      'INDEX_MISMATCH',
      9,
    );
  });

  it('has no proof of its own in a complete bundle', async () => {
    await assertRefused(await log.bundle({ from: 5, to: 7, lines: of(5, 6) }), trust, 'MALFORMED', 5);
  });

  it('names the leaf before it, wherever that is shown or is the beginning', async () => {
    const broken = await SampleLog.create();
    for (let n = 0; n < 6; n++) {
      broken.append(sampleEvent(n), KINDS.event, n === 4 ? { previous: new Uint8Array(32) } : {});
    }
    await assertRefused(await broken.bundle(), trust, 'CHAIN_BROKEN', 4);
    const lines = (...indexes: number[]) => indexes.map((index) => broken.provenLine(index));
    await assertRefused(
      await broken.bundle({ ...scattered, lines: lines(1, 3, 4) }),
      trust,
      'CHAIN_BROKEN',
      4,
    );
    assert.equal(
      (await verifyBundle([await broken.bundle({ ...scattered, lines: lines(2, 4, 5) })], trust)).entries,
      3,
    );
    assert.equal((await verifyBundle([await broken.bundle({ from: 4 })], trust)).entries, 2);
    const foreign = await SampleLog.create(undefined, () => new Uint8Array(32));
    foreign.append(sampleEvent(0));
    foreign.append(sampleEvent(1));
    const first = await foreign.bundle({ ...scattered, lines: [foreign.provenLine(0)] });
    await assertRefused(first, trust, 'CHAIN_BROKEN', 0);
    assert.equal((await verifyBundle([await foreign.bundle({ from: 1 })], trust)).entries, 1);
  });

  it('whose proof does not fit its place is named', async () => {
    const wrong = { ...log.provenLine(3), inclusion: log.provenLine(3).inclusion!.slice(1) };
    await assertRefused(await log.bundle({ ...scattered, lines: [wrong] }), trust, 'PROOF_INVALID', 3);
    const other = { ...log.provenLine(9), inclusion: log.provenLine(8).inclusion! };
    await assertRefused(
      await log.bundle({ ...scattered, lines: [...of(1, 4), other] }),
      trust,
      'ROOT_MISMATCH',
      9,
    );
    await assertRefused(
      await log.bundle({ ...scattered, lines: [other, ...of(11, 12)] }),
      trust,
      'ROOT_MISMATCH',
      9,
    );
    const third = { ...log.provenLine(11), inclusion: log.provenLine(8).inclusion! };
    await assertRefused(
      await log.bundle({ ...scattered, lines: [...of(1), other, third] }),
      trust,
      'ROOT_MISMATCH',
      9,
    );
  });
});

describe('the trailer', () => {
  const scattered = { complete: false, filter: 'x' };

  it('counts the entries that there are', async () => {
    const lines = linesOf(await log.bundle({ ...scattered, from: 2, lines: [log.provenLine(3)] }));
    for (const count of [0, 2]) {
      const changed = lines.with(2, lines[2]!.replace('"entries":1', `"entries":${count}`));
      await assertRefused(resealed(changed), trust, 'TRUNCATED', 3);
    }
    const whole = linesOf(await log.bundle({ from: 2, to: 5 }));
    const changed = whole.with(4, whole[4]!.replace('"entries":3', '"entries":4'));
    await assertRefused(resealed(changed), trust, 'TRUNCATED', 5);
    const fewer = whole.toSpliced(3, 1).with(3, whole[4]!.replace('"entries":3', '"entries":2'));
    await assertRefused(resealed(fewer), trust, 'TRUNCATED', 4);
  });

  it('has no proof where each entry has its own', async () => {
    const lines = linesOf(await log.bundle({ ...scattered, lines: [log.provenLine(3)] }));
    const proof = `"proof":["${toBase64(new Uint8Array(32))}"]`;
    const changed = lines.with(2, lines[2]!.replace('"proof":[]', proof));
    await assertRefused(resealed(changed), trust, 'PROOF_INVALID');
  });

  it('is of a checkpoint as large as the header says', async () => {
    const lines = linesOf(await log.bundle({ ...scattered, lines: [] }));
    await assertRefused(
      resealed(lines.with(0, lines[0]!.replace('"size":600', '"size":601'))),
      trust,
      'ROOT_MISMATCH',
    );
  });
});

describe('an empty range', () => {
  it('verifies, and reaches back to nothing by itself', async () => {
    for (const at of [0, 5, 599, SIZE]) {
      const bundle = await log.bundle({ from: at, to: at });
      const verdict = await verifyBundle([bundle], trust);
      assert.deepEqual([verdict.entries, verdict.extends], [0, undefined]);
      const since = await seen(5);
      await assertRefused(bundle, { ...trust, since }, 'HISTORY_UNPROVEN');
      const consistency = proveConsistency(5, SIZE, log.read);
      assert.equal((await verifyBundle([bundle], { ...trust, since, consistency })).extends, 5);
    }
  });
});

describe('what was seen before', () => {
  it('is found at the very beginning and the very end of a range, and is another where one hash is', async () => {
    for (const size of [5, 6, 8, 9]) {
      const bundle = await log.bundle({ from: 5, to: 9 });
      const since = await seen(size);
      assert.equal((await verifyBundle([bundle], { ...trust, since })).extends, size);
      const forged = { ...since, root: sha256(since.root) };
      await assertRefused(bundle, { ...trust, since: forged }, 'FORK');
    }
    for (const size of [4, 10]) {
      const bundle = await log.bundle({ from: 5, to: 9 });
      await assertRefused(bundle, { ...trust, since: await seen(size) }, 'HISTORY_UNPROVEN');
    }
  });
});

describe('a notice outside the range', () => {
  let noted: SampleLog;
  const hold = { holdId: '01KE0000000000000000000001', act: 'Placed', policyId: null };
  const purgeOf = (from: number, to: number) => ({
    policyId: null,
    policyVersion: null,
    cause: 'Retention',
    ranges: [[from, to]],
    count: to - from,
    subtrees: subtreeHashes({ begin: from, end: to }, noted.read).map(toBase64),
  });
  const purged = (from: number, to: number) =>
    noted.entries
      .slice(from, to)
      .map(({ entry, shown }, i) =>
        from + i < 3 ? { entry, shown: showRoots(shown), deleted: true as const } : { entry, shown },
      );

  before(async () => {
    noted = await SampleLog.create();
    for (let n = 0; n < 6; n++) noted.append(sampleEvent(n));
    noted.notice(KINDS.purge, purgeOf(0, 2));
    noted.notice(KINDS.purge, purgeOf(2, 3));
    noted.notice(KINDS.legalHold, hold);
    noted.append(sampleEvent(9), KINDS.event);
  });

  it('may stand right behind it, and explains what is gone', async () => {
    const bundle = await noted.bundle({ from: 0, to: 6, lines: purged(0, 6), notices: [6, 7] });
    assert.deepEqual((await verifyBundle([bundle], trust)).explainedBy, [6, 7]);
    await assertRefused(
      await noted.bundle({ to: 6, lines: purged(0, 6), notices: [6] }),
      trust,
      'GAP_UNEXPLAINED',
      2,
    );
  });

  it('may stand before it, once', async () => {
    const bundle = await noted.bundle({ from: 8, notices: [6, 7] });
    assert.deepEqual((await verifyBundle([bundle], trust)).explainedBy, []);
    await assertRefused(await noted.bundle({ from: 8, notices: [7, 6] }), trust, 'MALFORMED', 6);
    await assertRefused(await noted.bundle({ from: 8, notices: [6, 6] }), trust, 'MALFORMED', 6);
  });

  it('is refused inside the range, of another kind, withheld, or with entries behind it', async () => {
    await assertRefused(await noted.bundle({ from: 6, notices: [6] }), trust, 'MALFORMED', 6);
    await assertRefused(
      await noted.bundle({ from: 0, to: 8, lines: purged(0, 8), notices: [7] }),
      trust,
      'MALFORMED',
      7,
    );
    await assertRefused(await noted.bundle({ from: 9, notices: [8] }), trust, 'NOTICE_INVALID', 8);
    await assertRefused(await noted.bundle({ from: 0, to: 5, notices: [5] }), trust, 'NOTICE_INVALID', 5);
    const lines = linesOf(await noted.bundle({ from: 7, notices: [6] }));
    const isNotice = (line: string): boolean => line.startsWith('{"k":');
    const notice = lines.find(isNotice)!;
    const early = lines.filter((line) => !isNotice(line)).toSpliced(2, 0, notice);
    await assertRefused(resealed(early), trust, 'MALFORMED');
    const altered = lines.map((line) => (isNotice(line) ? line.replace('Retention', 'KeyDestroyed') : line));
    await assertRefused(resealed(altered), trust, 'LEAF_MISMATCH', 6);
  });

  it('is refused when it lies beyond the checkpoint', async () => {
    const notice = linesOf(await noted.bundle({ from: 8, notices: [7] })).find((line) =>
      line.startsWith('{"k":'),
    )!;
    const lines = linesOf(await noted.bundle({ from: 3, to: 6, size: 7 }));
    const fault = await faultOf(() => verifyBundle([resealed(lines.toSpliced(-1, 0, notice))], trust));
    assert.deepEqual([fault.reason, fault.index], ['PROOF_INVALID', 7]);
    assert.equal(fault.message, 'tree of size 7 has no leaf 7');
  });

  it('comes after the entries of the range in time, if it stands behind it', async () => {
    const early = await SampleLog.create();
    for (let n = 0; n < 3; n++) early.append(sampleEvent(n));
    const payload = { ...purgeOf(0, 1), subtrees: [toBase64(early.entries[0]!.leaf)] };
    const system = { ...sampleEvent(3), actor: { actorType: 'System' }, payload };
    early.append(system, KINDS.purge, { receivedAtMs: 1 });
    early.append(sampleEvent(4));
    await assertRefused(await early.bundle({ to: 3, notices: [3] }), trust, 'TIME_REVERSED', 3);
    assert.equal((await verifyBundle([await early.bundle({ from: 4, notices: [3] })], trust)).entries, 1);
  });
});
