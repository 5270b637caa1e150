// Bundles as they are meant to be: whole, scattered, filtered, with deletions. And how far each may go.

import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { textOf, toBase64 } from '../bytes.ts';
import { groupRootOf } from '../event/content.ts';
import { decodeEntry, KINDS } from '../event/entry.ts';
import { type Reason } from '../errors.ts';
import type { ShownEvent } from '../event/shown-event.ts';
import { sampleEvent, SampleLog } from '../testing/sample-log.ts';
import { closeUnits, showRoots, withholdContent } from '../event/show-event.ts';
import { assertRefused, linesOf, resealed } from '../testing/forgery.ts';
import type { Trust } from './trust.ts';
import { subtreeHashes } from '../tree/prove.ts';
import { tagOf } from '../event/units.ts';
import { BundleVerifier, verifyBundle } from './verify-bundle.ts';

const SIZE = 20;
let log: SampleLog;
let trust: Trust;

before(async () => {
  log = await SampleLog.create();
  for (let n = 0; n < SIZE; n++) log.append(sampleEvent(n));
  trust = { verifiers: [log.verifier] };
});

describe('a whole bundle', () => {
  it('verifies, and says what it shows', async () => {
    const verdict = await verifyBundle([await log.bundle()], trust);
    assert.equal(verdict.origin, 'audit.example.com/t/acme');
    assert.deepEqual([verdict.from, verdict.to, verdict.entries, verdict.open], [0, SIZE, SIZE, SIZE]);
    assert.deepEqual([verdict.withheld, verdict.deleted, verdict.complete], [0, 0, true]);
    assert.equal(verdict.checkpoint.size, SIZE);
  });

  it('verifies in pieces of any size', async () => {
    const bundle = await log.bundle();
    for (const length of [1, 7, 1000]) {
      const verifier = new BundleVerifier(trust);
      for (let at = 0; at < bundle.length; at += length) verifier.push(bundle.subarray(at, at + length));
      assert.equal((await verifier.finish()).entries, SIZE);
    }
  });

  it('verifies for every range', async () => {
    for (let from = 0; from < SIZE; from++) {
      for (let to = from + 1; to <= SIZE; to++) {
        const verdict = await verifyBundle([await log.bundle({ from, to })], trust);
        assert.equal(verdict.entries, to - from);
      }
    }
  });

  it('verifies events that are withheld in part, and counts them', async () => {
    const bundle = await log.bundle({
      lines: linesWith((i, shown) => (i % 4 === 0 ? withholdContent(shown) : shown)),
    });
    const verdict = await verifyBundle([bundle], trust);
    assert.deepEqual([verdict.open, verdict.withheld], [15, 5]);
  });

  it('refuses them for a reader from whom nothing may be withheld', async () => {
    const bundle = await log.bundle({
      lines: linesWith((i, shown) => (i === 3 ? withholdContent(shown) : shown)),
    });
    await refused(bundle, 'GAP_UNEXPLAINED', 3, { ...trust, allowWithheld: false });
  });
});

describe('a scattered bundle', () => {
  it('verifies with a proof per line, and does not claim to be complete', async () => {
    const lines = [0, 3, 4, 19].map((i) => log.provenLine(i));
    const verdict = await verifyBundle(
      [await log.bundle({ complete: false, filter: { q: 'x' }, lines })],
      trust,
    );
    assert.deepEqual([verdict.entries, verdict.complete, verdict.open], [4, false, 4]);
  });

  it('refuses lines without a proof, out of order, twice, or outside its range', async () => {
    const of = (...indexes: number[]) => indexes.map((i) => log.provenLine(i));
    const scattered = { complete: false, filter: 'x' };
    const { inclusion: _proof, ...bare } = log.provenLine(3);
    await refused(await log.bundle({ ...scattered, lines: [bare] }), 'MALFORMED', 3);
    await refused(await log.bundle({ ...scattered, lines: of(4, 3) }), 'INDEX_MISMATCH', 3);
    await refused(await log.bundle({ ...scattered, lines: of(4, 4) }), 'INDEX_MISMATCH', 4);
    await refused(await log.bundle({ ...scattered, from: 5, lines: of(4) }), 'INDEX_MISMATCH', 4);
    await refused(await log.bundle({ ...scattered, to: 5, lines: of(5) }), 'INDEX_MISMATCH', 5);
  });

  it('refuses a line whose proof is that of another', async () => {
    const line = { ...log.provenLine(3), inclusion: log.provenLine(5).inclusion! };
    await refused(
      await log.bundle({ complete: false, filter: 'x', lines: [log.provenLine(1), line] }),
      'ROOT_MISMATCH',
      3,
    );
    await refused(await log.bundle({ complete: false, filter: 'x', lines: [line] }), 'ROOT_MISMATCH');
  });
});

describe('a filtered bundle that says it is complete', () => {
  const filter = [{ path: '/actor/userId', values: ['"u-1"'] }];
  const onlyUser = (path: string): boolean => path !== '/actor/userId';

  it('verifies when each entry left out shows why', async () => {
    const lines = linesWith((i, shown) =>
      i % 7 === 1 ? shown : closeUnits(withholdContent(shown), onlyUser),
    );
    const verdict = await verifyBundle([await log.bundle({ filter, lines })], trust);
    assert.deepEqual([verdict.open, verdict.outsideFilter, verdict.withheld], [3, 17, 0]);
    assert.ok(verdict.complete);
  });

  it('is refused when one of them does not', async () => {
    const lines = linesWith((i, shown) => (i === 5 ? showRoots(shown) : shown));
    await refused(await log.bundle({ filter, lines }), 'FILTER_UNPROVEN', 5);
    const closed = linesWith((i, shown) => (i === 5 ? closeUnits(shown, () => true) : shown));
    await refused(await log.bundle({ filter, lines: closed }), 'FILTER_UNPROVEN', 5);
  });

  it('counts a match that is withheld as withheld, not as left out', async () => {
    const lines = linesWith((i, shown) => (i === 8 ? withholdContent(shown) : shown));
    const verdict = await verifyBundle([await log.bundle({ filter, lines })], trust);
    assert.equal(verdict.withheld, 1);
  });

  it('proves by a path that is absent', async () => {
    const byService = [{ path: '/actor/serviceId', values: ['"s-1"'] }];
    const lines = linesWith((_i, shown) => closeUnits(withholdContent(shown), () => true));
    const verdict = await verifyBundle([await log.bundle({ filter: byService, lines })], trust);
    assert.equal(verdict.outsideFilter, SIZE);
  });

  it('is refused for a filter that cannot be proven', async () => {
    for (const unprovable of [
      { q: 'x' },
      [],
      [{ path: '/actor/userId' }],
      [{ path: '/action', values: ['x'] }],
    ]) {
      await refused(await log.bundle({ filter: unprovable }), 'FILTER_UNPROVEN');
    }
  });
});

describe('what is deleted', () => {
  let purged: SampleLog;
  const purgePayload = (from: number, to: number, of: SampleLog): Record<string, unknown> => ({
    policyId: '01KE0000000000000000000001',
    policyVersion: 3,
    cause: 'Retention',
    ranges: [[from, to]],
    count: to - from,
    subtrees: subtreeHashes({ begin: from, end: to }, of.read).map(toBase64),
  });

  before(async () => {
    purged = await SampleLog.create();
    for (let n = 0; n < 10; n++) purged.append(sampleEvent(n));
    purged.notice(KINDS.purge, purgePayload(2, 6, purged));
    const tags = ['/payload/note'].map((path) => toBase64(tagOf(path).bytes));
    const { eventId } = decodeEntry(purged.entries[7]!.entry);
    purged.notice(KINDS.redaction, { leafIndex: 7, eventId, tags, cause: 'Redaction' });
  });

  const deletedLines = (
    gone: readonly number[],
    redacted: readonly number[] = [],
    from = 0,
    to = purged.size,
  ) =>
    purged.entries.slice(from, to).map(({ entry, shown }, i) => {
      if (gone.includes(from + i)) return { entry, shown: showRoots(shown), deleted: true as const };
      if (!redacted.includes(from + i)) return { entry, shown };
      const closed = closeUnits(shown, (path) => path === '/payload/note');
      return { entry, shown: closed, deleted: [toBase64(tagOf('/payload/note').bytes)] };
    });

  it('verifies when notices in the range explain it', async () => {
    const bundle = await purged.bundle({ lines: deletedLines([2, 3, 4, 5], [7]) });
    const verdict = await verifyBundle([bundle], trust);
    assert.deepEqual([verdict.deleted, verdict.explainedBy, verdict.withheld], [5, [10, 11], 0]);
    assert.equal((await verifyBundle([bundle], { ...trust, allowWithheld: false })).deleted, 5);
  });

  it('verifies when notices outside the range explain it', async () => {
    const lines = deletedLines([2, 3, 4, 5], [7], 1, 9);
    const bundle = await purged.bundle({ from: 1, to: 9, lines, notices: [10, 11] });
    assert.deepEqual((await verifyBundle([bundle], trust)).explainedBy, [10, 11]);
  });

  it('is told apart from what is withheld, unit by unit', async () => {
    const note = toBase64(tagOf('/payload/note').bytes);
    const { entry, shown } = purged.entries[7]!;
    const showing = async (form: ShownEvent): Promise<Uint8Array> =>
      purged.bundle({ lines: deletedLines([]).with(7, { entry, shown: form, deleted: [note] }) });
    const all = { ...trust, allowWithheld: false };
    const only = closeUnits(shown, (path) => path === '/payload/note');
    assert.equal((await verifyBundle([await showing(only)], all)).withheld, 0);
    const more = await showing(closeUnits(shown, (path) => path.startsWith('/payload/')));
    const verdict = await verifyBundle([more], trust);
    assert.deepEqual([verdict.deleted, verdict.withheld], [1, 1]);
    await refused(more, 'GAP_UNEXPLAINED', 7, all);
    const rooted = await showing([{ root: groupRootOf(1, shown[0]) }, only[1]]);
    await refused(rooted, 'GAP_UNEXPLAINED', 7, all);
  });

  it('under a filter is neither a match nor left out', async () => {
    const filter = [{ path: '/payload/note', values: ['"payment 1"'] }];
    const bundle = await purged.bundle({ filter, lines: deletedLines([2, 3, 4, 5], [7]) });
    assert.equal((await verifyBundle([bundle], { ...trust, allowWithheld: false, filter })).deleted, 5);
  });

  it('under a filter may be the whole field that the deciding key was in', async () => {
    const big = await SampleLog.create();
    const payload = Object.fromEntries(Array.from({ length: 241 }, (_, i) => [`k${i}`, i]));
    big.append({ ...sampleEvent(0), payload });
    const { entry, shown } = big.entries[0]!;
    const tags = [toBase64(tagOf('/payload').bytes)];
    big.notice(KINDS.redaction, {
      leafIndex: 0,
      eventId: decodeEntry(entry).eventId,
      tags,
      cause: 'Erasure',
    });
    const erased = { entry, shown: closeUnits(shown, (path) => path === '/payload'), deleted: tags };
    const filter = [{ path: '/payload/k3', values: ['3'] }];
    const bundle = await big.bundle({ filter, lines: [erased, big.entries[1]!] });
    assert.equal((await verifyBundle([bundle], trust)).deleted, 1);
  });

  it('is explained by a purge for no more events than it counts', async () => {
    const cheque = await SampleLog.create();
    for (let n = 0; n < 8; n++) cheque.append(sampleEvent(n));
    cheque.notice(KINDS.purge, { ...purgePayload(0, 8, cheque), count: 3 });
    const gone = (count: number) =>
      cheque.entries.map(({ entry, shown }, i) =>
        i < count ? { entry, shown: showRoots(shown), deleted: true as const } : { entry, shown },
      );
    assert.equal((await verifyBundle([await cheque.bundle({ lines: gone(3) })], trust)).deleted, 3);
    await refused(await cheque.bundle({ lines: gone(4) }), 'GAP_UNEXPLAINED', 3);
  });

  it('verifies when a legal hold splits the purge, and when a notice stands in the purged range', async () => {
    const held = await SampleLog.create();
    for (let n = 0; n < 6; n++) held.append(sampleEvent(n));
    held.notice(KINDS.legalHold, { holdId: '01KE0000000000000000000001', act: 'Placed', policyId: null });
    for (let n = 7; n < 10; n++) held.append(sampleEvent(n));
    const subtrees = [
      [0, 3],
      [5, 9],
    ].flatMap(([begin, end]) => subtreeHashes({ begin: begin!, end: end! }, held.read));
    const split = {
      ...purgePayload(0, 3, held),
      ranges: [
        [0, 3],
        [5, 9],
      ],
      count: 6,
      subtrees: subtrees.map(toBase64),
    };
    held.notice(KINDS.purge, split);
    const lines = held.entries.map(({ entry, shown }, i) =>
      [0, 1, 2, 5, 7, 8].includes(i)
        ? { entry, shown: showRoots(shown), deleted: true as const }
        : { entry, shown },
    );
    const verdict = await verifyBundle([await held.bundle({ lines })], { ...trust, allowWithheld: false });
    assert.deepEqual([verdict.deleted, verdict.open, verdict.explainedBy], [6, 5, [10]]);
    const alsoHeld = lines.with(3, {
      entry: lines[3]!.entry,
      shown: showRoots(held.entries[3]!.shown),
      deleted: true,
    });
    await refused(await held.bundle({ lines: alsoHeld }), 'GAP_UNEXPLAINED', 3);
  });

  it('is a gap when no notice covers it, and the first such index is named', async () => {
    await refused(await purged.bundle({ lines: deletedLines([2, 3, 4, 5, 6]) }), 'GAP_UNEXPLAINED', 6);
    await refused(await purged.bundle({ lines: deletedLines([1, 2, 9]) }), 'GAP_UNEXPLAINED', 1);
    await refused(await purged.bundle({ lines: deletedLines([2], [8]) }), 'GAP_UNEXPLAINED', 8);
    await refused(await purged.bundle({ lines: deletedLines([9], [8]) }), 'GAP_UNEXPLAINED', 8);
    const lines = deletedLines([2, 3], [], 1, 9);
    await refused(await purged.bundle({ from: 1, to: 9, lines }), 'GAP_UNEXPLAINED', 2);
  });

  it('cannot be a notice', async () => {
    await refused(await purged.bundle({ lines: deletedLines([10]) }), 'NOTICE_INVALID', 10);
  });

  it('cannot be explained by a notice that speaks of what comes after it', async () => {
    const early = await SampleLog.create();
    early.append(sampleEvent(0));
    early.append(sampleEvent(1));
    early.notice(KINDS.purge, { ...purgePayload(0, 2, early), ranges: [[0, 4]], count: 4 });
    early.append(sampleEvent(3));
    await refused(await early.bundle(), 'NOTICE_INVALID', 2);
  });

  it('cannot be explained by a notice that is not in the log', async () => {
    const other = await SampleLog.create();
    for (let n = 0; n < 10; n++) other.append(sampleEvent(n + 100));
    other.notice(KINDS.purge, purgePayload(2, 6, other));
    other.append(sampleEvent(1));
    const foreign = textOf(await other.bundle({ from: 0, to: 1, notices: [10] }))
      .split('\n')
      .find((line) => line.startsWith('{"k":'))!;
    const bundle = await purged.bundle({ from: 1, to: 9, lines: deletedLines([2, 3], [], 1, 9) });
    const lines = linesOf(bundle);
    await refused(resealed(lines.toSpliced(lines.length - 1, 0, foreign)), 'ROOT_MISMATCH', 10);
  });
});

function refused(bundle: Uint8Array, reason: Reason, index?: number, by: Trust = trust): Promise<void> {
  return assertRefused(bundle, by, reason, index);
}

function linesWith(show: (index: number, shown: ShownEvent) => ShownEvent) {
  return log.entries.map(({ entry, shown }, i) => ({ entry, shown: show(i, shown) }));
}
