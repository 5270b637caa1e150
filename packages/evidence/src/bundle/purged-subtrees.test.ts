import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { toBase64 } from '../bytes.ts';
import { KINDS } from '../event/entry.ts';
import { showRoots } from '../event/show-event.ts';
import type { IndexRange, Notice } from '../event/notices.ts';
import { EvidenceError } from '../errors.ts';
import { assertRefused } from '../testing/forgery.ts';
import { sampleEvent, SampleLog } from '../testing/sample-log.ts';
import { subtreeHashes } from '../tree/prove.ts';
import { PurgedSubtrees } from './purged-subtrees.ts';
import type { Trust } from './trust.ts';
import { verifyBundle } from './verify-bundle.ts';

let trust: Trust;

before(async () => {
  trust = { verifiers: [(await SampleLog.create()).verifier] };
});

/** A log of which 2 to 12 were purged – 7 is a notice – under a notice at 15 that names these subtrees. */
async function purgedLog(change: (subtrees: string[]) => string[]): Promise<SampleLog> {
  const log = await SampleLog.create();
  for (let n = 0; n < 15; n++) {
    if (n !== 7) log.append(sampleEvent(n));
    else log.notice(KINDS.legalHold, { holdId: '01KE0000000000000000000001', act: 'Placed', policyId: null });
  }
  log.notice(KINDS.purge, {
    policyId: null,
    policyVersion: null,
    cause: 'Retention',
    ranges: [[2, 13]],
    count: 10,
    subtrees: change(subtreeHashes({ begin: 2, end: 13 }, log.read).map(toBase64)),
  });
  return log;
}

const linesOf = (log: SampleLog, from = 0, to = log.size) =>
  log.entries.slice(from, to).map(({ entry, shown }, i) => {
    const isPurged = from + i >= 2 && from + i < 13 && from + i !== 7;
    return isPurged ? { entry, shown: showRoots(shown), deleted: true as const } : { entry, shown };
  });

describe('the subtrees of a purge notice', () => {
  it('verify when they are those of the tree, around a notice that stands in the range', async () => {
    const log = await purgedLog((subtrees) => subtrees);
    assert.equal((await verifyBundle([await log.bundle({ lines: linesOf(log) })], trust)).deleted, 10);
  });

  it('are refused when any one of them is another, wherever the notice stands', async () => {
    // 2 to 3, 4 to 7, 8 to 11, 12.
    for (const wrong of [0, 1, 2, 3]) {
      const log = await purgedLog((subtrees) => subtrees.with(wrong, toBase64(new Uint8Array(32))));
      const whole = await log.bundle({ lines: linesOf(log) });
      await assertRefused(whole, trust, 'NOTICE_INVALID', 15);
      const outside = await log.bundle({ from: 1, to: 14, lines: linesOf(log, 1, 14), notices: [15] });
      await assertRefused(outside, trust, 'NOTICE_INVALID', 15);
    }
  });

  it('are not judged where the bundle does not show all of their leaves', async () => {
    const log = await purgedLog((subtrees) => subtrees.with(0, toBase64(new Uint8Array(32))));
    const lines = linesOf(log, 3);
    assert.equal((await verifyBundle([await log.bundle({ from: 3, lines })], trust)).deleted, 9);
  });
});

describe('purged subtrees', () => {
  const root = new Uint8Array(32);
  const another = toBase64(new Uint8Array(32).fill(1));
  const purge = (index: number, ranges: IndexRange[], subtrees: string[]): Notice => ({
    kind: KINDS.purge,
    index,
    payload: { policyId: null, policyVersion: null, cause: 'Retention', ranges, count: 1, subtrees },
  });
  /** The index of the notice that contradicts the tree. */
  const faultAfter = (purged: PurgedSubtrees, ...notices: Notice[]): number | undefined => {
    for (const notice of notices) purged.notice(notice);
    try {
      purged.close();
      return undefined;
    } catch (error) {
      assert.ok(error instanceof EvidenceError && error.reason === 'NOTICE_INVALID', String(error));
      return error.index;
    }
  };
  const leaves = (count: number): PurgedSubtrees => {
    const purged = new PurgedSubtrees();
    for (let index = 0; index < count; index++) purged.completed(0, index, root);
    return purged;
  };

  it('name the first notice that contradicts the tree', () => {
    const right = purge(8, [[0, 1]], [toBase64(root)]);
    const wrong = (index: number): Notice => purge(index, [[1, 2]], [another]);
    assert.equal(faultAfter(leaves(2), right), undefined);
    assert.equal(faultAfter(leaves(2), right, wrong(9), wrong(10)), 9);
    const second = purge(
      9,
      [
        [0, 1],
        [3, 4],
      ],
      [toBase64(root), another],
    );
    assert.equal(faultAfter(leaves(4), second), 9);
  });

  it('are those of which every leaf is purged or a notice', () => {
    const pair = purge(8, [[2, 4]], [another]);
    for (const known of [[2], [3], [2, 3]]) {
      const purged = new PurgedSubtrees();
      for (const index of known) purged.completed(0, index, root);
      purged.completed(1, 1, root);
      assert.equal(faultAfter(purged, pair), known.length === 2 ? 8 : undefined);
    }
    const bare = new PurgedSubtrees();
    bare.completed(1, 1, root);
    assert.equal(faultAfter(bare, pair), undefined);
  });

  it('of each size are remembered to the last 16,384', () => {
    const first = purge(20_000, [[0, 1]], [another]);
    assert.equal(faultAfter(leaves(16_384), first), 20_000);
    assert.equal(faultAfter(leaves(16_385), first), undefined);
    assert.equal(faultAfter(leaves(16_385), purge(20_000, [[1, 2]], [another])), 20_000);
  });
});
