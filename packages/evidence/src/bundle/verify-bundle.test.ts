// Bundles: made, verified, and broken in every way we could think of. Each fault must be found and named.

import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { concat, textOf, toBase64, utf8 } from '../bytes.ts';
import { parseCheckpoint } from '../note/checkpoint.ts';
import { cosignatureVerifier, cosigner } from '../note/cosignature.ts';
import { KINDS } from '../event/entry.ts';
import { EvidenceError, type Reason } from '../errors.ts';
import { parseNote, signatureLine } from '../note/note.ts';
import { sha256 } from '../hash/sha256.ts';
import type { ShownEvent } from '../event/shown-event.ts';
import {
  closeUnits,
  rootsOnly,
  sampleEvent,
  SampleLog,
  VECTOR_EVENT,
  withheldContent,
} from '../testing/sample-log.ts';
import type { Trust } from '../note/trust.ts';
import { subtreeHashes } from '../tree/tree.ts';
import { tagOf } from '../event/units.ts';
import { BundleVerifier, type BundleVerdict, verifyBundle } from './verify-bundle.ts';

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

  it('verifies whatever the pieces it comes in', async () => {
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
      lines: linesWith((i, shown) => (i % 4 === 0 ? withheldContent(shown) : shown)),
    });
    const verdict = await verifyBundle([bundle], trust);
    assert.deepEqual([verdict.open, verdict.withheld], [15, 5]);
  });

  it('refuses them for a reader from whom nothing may be withheld', async () => {
    const bundle = await log.bundle({
      lines: linesWith((i, shown) => (i === 3 ? withheldContent(shown) : shown)),
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
    await refused(await log.bundle({ ...scattered, lines: [bare] }), 'PROOF_INVALID', 3);
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
      i % 7 === 1 ? shown : closeUnits(withheldContent(shown), onlyUser),
    );
    const verdict = await verifyBundle([await log.bundle({ filter, lines })], trust);
    assert.deepEqual([verdict.open, verdict.outsideFilter, verdict.withheld], [3, 17, 0]);
    assert.ok(verdict.complete);
  });

  it('is refused when one of them does not', async () => {
    const lines = linesWith((i, shown) => (i === 5 ? rootsOnly(shown) : shown));
    await refused(await log.bundle({ filter, lines }), 'FILTER_UNPROVEN', 5);
    const closed = linesWith((i, shown) => (i === 5 ? closeUnits(shown, () => true) : shown));
    await refused(await log.bundle({ filter, lines: closed }), 'FILTER_UNPROVEN', 5);
  });

  it('counts a match that is withheld as withheld, not as left out', async () => {
    const lines = linesWith((i, shown) => (i === 8 ? withheldContent(shown) : shown));
    const verdict = await verifyBundle([await log.bundle({ filter, lines })], trust);
    assert.equal(verdict.withheld, 1);
  });

  it('proves by a path that is absent', async () => {
    const byService = [{ path: '/actor/serviceId', values: ['"s-1"'] }];
    const lines = linesWith((_i, shown) => closeUnits(withheldContent(shown), () => true));
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
    const eventId = '01KE0000000000000000000007';
    purged.notice(KINDS.redaction, { leafIndex: 7, eventId, tags, cause: 'Redaction' });
  });

  const deletedLines = (
    gone: readonly number[],
    redacted: readonly number[] = [],
    from = 0,
    to = purged.size,
  ) =>
    purged.entries.slice(from, to).map(({ entry, shown }, i) => {
      if (gone.includes(from + i)) return { entry, shown: rootsOnly(shown), deleted: true as const };
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
    await refused(insertBeforeTrailer(bundle, foreign), 'ROOT_MISMATCH', 10);
  });
});

describe('a bundle that was tampered with', () => {
  it('is refused when its trailer, its tail or its head is missing', async () => {
    const lines = textOf(await log.bundle())
      .split('\n')
      .slice(0, -1);
    await refused(utf8(lines.slice(0, -1).join('\n') + '\n'), 'TRUNCATED');
    await refused(utf8(lines.join('\n')), 'TRUNCATED');
    await refused(new Uint8Array(0), 'TRUNCATED');
    await refused(resealed(lines.toSpliced(lines.length - 2, 1)), 'TRUNCATED', SIZE - 1);
    await refused(resealed(lines.toSpliced(1, 1)), 'INDEX_MISMATCH', 0);
    await refused(resealed(lines.toSpliced(5, 1)), 'INDEX_MISMATCH', 4);
  });

  it('is refused when lines are swapped, repeated or put in', async () => {
    const lines = textOf(await log.bundle())
      .split('\n')
      .slice(0, -1);
    await refused(resealed(lines.with(5, lines[6]!).with(6, lines[5]!)), 'INDEX_MISMATCH', 4);
    await refused(resealed(lines.toSpliced(5, 0, lines[5]!)), 'INDEX_MISMATCH', 5);
    await refused(utf8(`${lines.join('\n')}\n${lines[2]}\n`), 'MALFORMED');
  });

  it('is refused when only the checksum does not fit', async () => {
    const text = textOf(await log.bundle());
    const sum = /"sha256":"([0-9a-f]{64})"/.exec(text)![1]!;
    await refused(utf8(text.replace(sum, `${sum.slice(1)}${sum[0]}`)), 'CHECKSUM_MISMATCH');
  });

  it('is refused when a value, a salt, a tag or an entry is changed', async () => {
    const lines = textOf(
      await log.bundle({ lines: linesWith((_i, shown) => closeUnits(shown, (p) => p === '/action')) }),
    )
      .split('\n')
      .slice(0, -1);
    const change = (from: string, to: string): Uint8Array => {
      assert.ok(lines[4]!.includes(from), from);
      return resealed(lines.with(4, lines[4]!.replace(from, to)));
    };
    const salt = /"o":\[\["[^"]+","([^"]+)"/.exec(lines[4]!)![1]!;
    await refused(change('payment 3', 'payment 4'), 'LEAF_MISMATCH', 3);
    await refused(change(salt, toBase64(new Uint8Array(16))), 'LEAF_MISMATCH', 3);
    await refused(change('4.5', '4.50'), 'VALUE_NOT_CANONICAL', 3);
    await refused(change('"/payload/note"', '"/payload/nota"'), 'LEAF_MISMATCH', 3);
    await refused(change('"/payload/note"', '"/other/note"'), 'PATH_UNKNOWN', 3);
    await refused(change('"/payload/note"', '"/payload/amount"'), 'PATH_CONFLICT', 3);
    await refused(change('"c":[[', '"c": [['), 'MALFORMED', 3);
  });

  it('is refused when a re-chained suffix replaces the real one', async () => {
    const forged = await SampleLog.create();
    for (let n = 0; n < SIZE; n++)
      forged.append(n === 12 ? { ...VECTOR_EVENT, action: 'Read.Nothing' } : sampleEvent(n));
    const lines = forged.entries.map(({ entry, shown }) => ({ entry, shown }));
    await refused(await log.bundle({ lines }), 'ROOT_MISMATCH');
    const mixed = lines.with(12, log.entries[12]!).with(11, log.entries[11]!);
    await refused(await log.bundle({ lines: mixed }), 'CHAIN_BROKEN', 13);
  });

  it('is refused when the log is of another tenant', async () => {
    const other = await SampleLog.create('audit.example.com/t/bolt');
    for (let n = 0; n < SIZE; n++) other.append(sampleEvent(n));
    await refused(await other.bundle(), 'ORIGIN_MISMATCH');
    await refused(await other.bundle({ origin: log.origin }), 'CHAIN_BROKEN', 0);
    const lines = other.entries.slice(5).map(({ entry, shown }) => ({ entry, shown }));
    await refused(await log.bundle({ from: 5, lines }), 'ROOT_MISMATCH');
  });

  it('is refused when the header promises another range or size', async () => {
    const text = textOf(await log.bundle({ from: 2, to: 9 }));
    const header = (from: string, to: string): Uint8Array =>
      resealed(text.replace(from, to).split('\n').slice(0, -1));
    await refused(header('"from":2', '"from":1'), 'INDEX_MISMATCH', 1);
    await refused(header('"to":9', '"to":10'), 'TRUNCATED', 9);
    await refused(header('"size":20', '"size":19'), 'ROOT_MISMATCH');
    await refused(header('"to":9', '"to":99'), 'MALFORMED');
    await refused(header('audit-bundle/1', 'audit-bundle/2'), 'MALFORMED');
  });
});

describe('who signed it', () => {
  it('is refused with no key, another key, or a signature that does not fit', async () => {
    const bundle = await log.bundle();
    await refused(bundle, 'KEY_UNKNOWN', undefined, { verifiers: [] });
    const text = textOf(bundle);
    const line = /— audit\.example\.com\/t\/acme ([^\\]+)\\n/.exec(text)![1]!;
    const flipped = `${line.slice(0, 20)}${line[20] === 'A' ? 'B' : 'A'}${line.slice(21)}`;
    await refused(resealed(text.replace(line, flipped).split('\n').slice(0, -1)), 'SIGNATURE_INVALID');
    const short = `${line[0] === 'A' ? 'B' : 'A'}${line.slice(1)}`;
    await refused(resealed(text.replace(line, short).split('\n').slice(0, -1)), 'KEY_UNKNOWN');
  });

  it('counts witnesses and demands as many as were asked for', async () => {
    const witness = await cosigner('witness.example.org/w1', sha256(utf8('witness')));
    const note = await log.checkpoint();
    const cosignature = await witness.cosign(parseNote(note).text, 1_767_323_100);
    const bundle = textOf(await log.bundle());
    const cosigned = bundle.replace(JSON.stringify(note), JSON.stringify(note + signatureLine(cosignature)));
    const verifiers = [await cosignatureVerifier(witness.verifierKey)];
    const verdict = await verifyBundle([utf8(cosigned)], { ...trust, witnesses: { verifiers, countMin: 1 } });
    assert.deepEqual(verdict.checkpoint.cosignedBy, ['witness.example.org/w1']);
    await refused(utf8(bundle), 'WITNESS_MISSING', undefined, {
      ...trust,
      witnesses: { verifiers, countMin: 1 },
    });
    await refused(utf8(cosigned), 'WITNESS_MISSING', undefined, {
      ...trust,
      witnesses: { verifiers, countMin: 2 },
    });
  });
});

describe('what was seen before', () => {
  const seen = async (of: SampleLog, size: number) =>
    parseCheckpoint(parseNote(await of.checkpoint(size)).text);

  it('is extended by a later bundle of the same log', async () => {
    for (const size of [1, 7, SIZE]) {
      const verdict = await verifyBundle([await log.bundle()], { ...trust, since: await seen(log, size) });
      assert.equal(verdict.extends, size);
    }
  });

  it('exposes a rollback and a fork', async () => {
    const longer = await SampleLog.create();
    for (let n = 0; n < SIZE + 3; n++) longer.append(sampleEvent(n));
    await refused(await log.bundle(), 'ROLLBACK', undefined, {
      ...trust,
      since: await seen(longer, SIZE + 3),
    });
    const forked = await SampleLog.create();
    for (let n = 0; n < SIZE; n++) forked.append(sampleEvent(n + (n > 5 ? 1 : 0)));
    await refused(await log.bundle(), 'FORK', undefined, { ...trust, since: await seen(forked, 9) });
    await refused(await log.bundle(), 'FORK', undefined, { ...trust, since: await seen(forked, SIZE) });
    assert.equal(
      (await verifyBundle([await log.bundle()], { ...trust, since: await seen(forked, 5) })).extends,
      5,
    );
  });

  it('is not believed where the bundle does not reach back to it', async () => {
    const bundle = await log.bundle({ from: 5 });
    await refused(bundle, 'PROOF_INVALID', undefined, { ...trust, since: await seen(log, 7) });
  });
});

describe('any single bit', () => {
  it('of a bundle, turned, is noticed', async () => {
    const bundle = await log.bundle({ from: 3, to: 7 });
    let refusals = 0;
    for (let at = 0; at < bundle.length; at++) {
      const turned = bundle.slice();
      turned[at]! ^= 1 << (at % 8);
      await assert.rejects(verifyBundle([turned], trust), EvidenceError, `byte ${at}`);
      refusals++;
    }
    assert.equal(refusals, bundle.length);
  });
});

async function refused(bundle: Uint8Array, reason: Reason, index?: number, by: Trust = trust): Promise<void> {
  await assert.rejects(
    (): Promise<BundleVerdict> => verifyBundle([bundle], by),
    (error) => {
      assert.ok(error instanceof EvidenceError, String(error));
      assert.equal(error.reason, reason, error.message);
      if (index !== undefined) assert.equal(error.index, index, error.message);
      return true;
    },
  );
}

function linesWith(show: (index: number, shown: ShownEvent) => ShownEvent) {
  return log.entries.map(({ entry, shown }, i) => ({ entry, shown: show(i, shown) }));
}

/** Writes a fresh checksum, as a forger would. */
function resealed(lines: readonly string[]): Uint8Array {
  const body = utf8(`${lines.slice(0, -1).join('\n')}\n`);
  const sum = Buffer.from(sha256(body)).toString('hex');
  return concat(body, utf8(`${lines.at(-1)!.replace(/"sha256":"[^"]*"/, `"sha256":"${sum}"`)}\n`));
}

function insertBeforeTrailer(bundle: Uint8Array, line: string): Uint8Array {
  const lines = textOf(bundle).split('\n').slice(0, -1);
  return resealed(lines.toSpliced(lines.length - 1, 0, line));
}
