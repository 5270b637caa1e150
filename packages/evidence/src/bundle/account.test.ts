import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { toBase64 } from '../bytes.ts';
import { epochGenesisHash, KINDS } from '../event/entry.ts';
import { withholdContent } from '../event/show-event.ts';
import { parseCheckpoint } from '../note/checkpoint.ts';
import { parseNote } from '../note/note.ts';
import { assertRefused } from '../testing/forgery.ts';
import { sampleEvent, SampleLog } from '../testing/sample-log.ts';
import type { Trust } from './trust.ts';
import { verifyBundle } from './verify-bundle.ts';

const FIRST_RECEIVED_AT_MS = 1_767_323_046_000;
let log: SampleLog;
let trust: Trust;

before(async () => {
  log = await SampleLog.create();
  for (let n = 0; n < 6; n++) log.append(sampleEvent(n));
  trust = { verifiers: [log.verifier] };
});

describe('the account of a bundle', () => {
  it('says when its first and its last entry were accepted, and nothing of none', async () => {
    const part = await verifyBundle([await log.bundle({ from: 1, to: 5 })], trust);
    assert.equal(part.firstReceivedAtMs, FIRST_RECEIVED_AT_MS + 1);
    assert.equal(part.lastReceivedAtMs, FIRST_RECEIVED_AT_MS + 4);
    const none = await verifyBundle([await log.bundle({ complete: false, filter: 'x', lines: [] })], trust);
    assert.deepEqual([none.firstReceivedAtMs, none.lastReceivedAtMs], [undefined, undefined]);
  });

  it('is taken from a reader from whom nothing may be withheld, where the filter is the one they asked for', async () => {
    const all = { ...trust, allowWithheld: false };
    const filter = [{ path: '/actor/userId', values: ['"u-1"'] }];
    assert.equal((await verifyBundle([await log.bundle()], all)).open, 6);
    assert.equal((await verifyBundle([await log.bundle()], { ...all, filter: null })).open, 6);
    assert.equal((await verifyBundle([await log.bundle({ filter })], { ...all, filter })).open, 6);
    await assertRefused(await log.bundle({ filter }), all, 'FILTER_UNPROVEN');
    await assertRefused(await log.bundle(), { ...all, filter }, 'FILTER_UNPROVEN');
    const lines = [0, 5].map((index) => log.provenLine(index));
    await assertRefused(await log.bundle({ complete: false, filter: null, lines }), all, 'FILTER_UNPROVEN');
  });

  it('counts under a filter that is not to be proven what is withheld, and throws nothing', async () => {
    const lines = [0, 5].map((index) => {
      const line = log.provenLine(index);
      return { ...line, shown: withholdContent(line.shown) };
    });
    const filter = [{ path: '/actor/userId', values: ['"u-1"'] }];
    const verdict = await verifyBundle([await log.bundle({ complete: false, filter, lines })], trust);
    assert.deepEqual([verdict.withheld, verdict.outsideFilter], [2, 0]);
  });
});

describe('a log that goes on after a restore', () => {
  let previousCheckpoint: string;
  let payload: Record<string, unknown>;

  before(async () => {
    previousCheckpoint = parseNote(await log.checkpoint()).text;
    const { origin, size, root } = parseCheckpoint(previousCheckpoint);
    payload = { previousOrigin: origin, anchoredSize: size, anchoredRoot: toBase64(root), restoredSize: 4 };
  });

  const begun = async (first?: Record<string, unknown>): Promise<SampleLog> => {
    const next = await SampleLog.create(undefined, (origin) => epochGenesisHash(origin, previousCheckpoint));
    if (first === undefined) next.append(sampleEvent(0));
    else next.notice(KINDS.newEpoch, first);
    next.append(sampleEvent(1));
    return next;
  };

  it('verifies when its first entry names the checkpoint before, as the header does', async () => {
    const verdict = await verifyBundle([await (await begun(payload)).bundle({ previousCheckpoint })], trust);
    assert.equal(verdict.open, 2);
    assert.equal((await verifyBundle([await (await begun(payload)).bundle({ from: 1 })], trust)).open, 1);
  });

  it('is refused when its first entry names another origin, size or root', async () => {
    for (const change of [
      { previousOrigin: 'audit.example.com/t/bolt' },
      { anchoredSize: 7 },
      { anchoredRoot: toBase64(new Uint8Array(32)) },
    ]) {
      const contrary = await begun({ ...payload, ...change });
      await assertRefused(await contrary.bundle({ previousCheckpoint }), trust, 'NOTICE_INVALID', 0);
    }
  });

  it('is refused when only its header names a checkpoint before, or only its first entry', async () => {
    const silent = await begun();
    await assertRefused(await silent.bundle({ previousCheckpoint }), trust, 'NOTICE_INVALID', 0);
    const other = await SampleLog.create();
    other.notice(KINDS.newEpoch, payload);
    await assertRefused(await other.bundle(), trust, 'NOTICE_INVALID', 0);
    await assertRefused(await (await begun(payload)).bundle(), trust, 'CHAIN_BROKEN', 0);
  });

  it('is refused when the header names another checkpoint than the chain begins with', async () => {
    const next = await begun(payload);
    const shorter = parseNote(await log.checkpoint(5)).text;
    await assertRefused(await next.bundle({ previousCheckpoint: shorter }), trust, 'CHAIN_BROKEN', 0);
  });

  it('is refused when a later range names a checkpoint before, or in a text that is not ours', async () => {
    const next = await begun(payload);
    await assertRefused(await next.bundle({ from: 1, previousCheckpoint }), trust, 'MALFORMED');
    const extended = `${previousCheckpoint}an extension\n`;
    await assertRefused(await next.bundle({ previousCheckpoint: extended }), trust, 'MALFORMED');
  });
});
