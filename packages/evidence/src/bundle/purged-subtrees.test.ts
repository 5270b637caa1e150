import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { toBase64 } from '../bytes.ts';
import { KINDS } from '../event/entry.ts';
import { showRoots } from '../event/show-event.ts';
import { assertRefused } from '../testing/forgery.ts';
import { sampleEvent, SampleLog } from '../testing/sample-log.ts';
import { subtreeHashes } from '../tree/tree.ts';
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
