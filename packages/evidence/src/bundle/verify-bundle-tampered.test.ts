// Bundles that were tampered with, in every way we could think of. Each fault must be found and named.

import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { textOf, toBase64, utf8 } from '../bytes.ts';
import { parseCheckpoint } from '../note/checkpoint.ts';
import { cosignatureVerifier } from '../note/cosignature.ts';
import { cosigner, signatureLine } from '../note/signer.ts';
import { EvidenceError, type Reason } from '../errors.ts';
import { decodeEntry, KINDS } from '../event/entry.ts';
import { parseNote } from '../note/note.ts';
import { proveConsistency } from '../tree/prove.ts';
import { sha256 } from '../hash/sha256.ts';
import type { ShownEvent } from '../event/shown-event.ts';
import { sampleEvent, SampleLog, VECTOR_EVENT } from '../testing/sample-log.ts';
import { closeUnits, withholdContent } from '../event/show-event.ts';
import { assertRefused, linesOf, resealed } from '../testing/forgery.ts';
import type { Trust } from './trust.ts';
import { BundleVerifier, verifyBundle } from './verify-bundle.ts';

const SIZE = 20;
let log: SampleLog;
let trust: Trust;

before(async () => {
  log = await SampleLog.create();
  for (let n = 0; n < SIZE; n++) log.append(sampleEvent(n));
  trust = { verifiers: [log.verifier] };
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
    await refused(change('"/payload/note"', '"/payload/nota"'), 'MALFORMED', 3); // out of order
    await refused(change('"/payload/note"', '"/other/note"'), 'PATH_UNKNOWN', 3);
    const twice = /(\["\/payload\/note",(?:[^\]\\]|\\.)*\])/.exec(lines[4]!)![1]!;
    await refused(change(twice, `${twice},${twice}`), 'PATH_CONFLICT', 3);
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

  it('exposes a fork, and does not call an older bundle a rollback', async () => {
    const longer = await SampleLog.create();
    for (let n = 0; n < SIZE + 3; n++) longer.append(sampleEvent(n));
    const since = await seen(longer, SIZE + 3);
    await refused(await log.bundle(), 'HISTORY_UNPROVEN', undefined, { ...trust, since });
    const consistency = proveConsistency(SIZE, SIZE + 3, longer.read);
    const older = await verifyBundle([await log.bundle()], { ...trust, since, consistency });
    assert.deepEqual([older.extends, older.precedes], [undefined, SIZE + 3]);
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
    await refused(bundle, 'HISTORY_UNPROVEN', undefined, { ...trust, since: await seen(log, 3) });
  });

  it('is extended by a range that begins before it, by the hashes to its left', async () => {
    for (let size = 1; size <= SIZE; size++) {
      for (const from of [0, 1, 5, 6, 7, 12, 19].filter((index) => index <= size && index < SIZE)) {
        const bundle = await log.bundle({ from });
        const since = await seen(log, size);
        assert.equal((await verifyBundle([bundle], { ...trust, since })).extends, size);
        const root = sha256(since.root);
        await refused(bundle, 'FORK', undefined, { ...trust, since: { ...since, root } });
      }
    }
  });
});

describe('a consistency proof beside the bundle', () => {
  const seen = async (of: SampleLog, size: number) =>
    parseCheckpoint(parseNote(await of.checkpoint(size)).text);

  it('shows that a part of a log extends what was seen before', async () => {
    const consistency = proveConsistency(7, SIZE, log.read);
    const bundle = await log.bundle({ from: 8, to: 9 });
    const since = await seen(log, 7);
    assert.equal((await verifyBundle([bundle], { ...trust, since, consistency })).extends, 7);
    await refused(bundle, 'PROOF_INVALID', undefined, { ...trust, since, consistency: consistency.slice(1) });
    const forked = await SampleLog.create();
    for (let n = 0; n < 7; n++) forked.append(sampleEvent(n + 1));
    await refused(bundle, 'FORK', undefined, { ...trust, since: await seen(forked, 7), consistency });
  });

  it('is not needed from the empty log, which every log extends', async () => {
    const since = await seen(log, 0);
    assert.equal((await verifyBundle([await log.bundle({ from: 5 })], { ...trust, since })).extends, 0);
  });
});

describe('a forger who has read our code', () => {
  it('gets no other answer by asking twice', async () => {
    const lines = log.entries.map(({ entry, shown }, i) => ({
      entry,
      shown: i === SIZE - 1 ? withholdContent(shown) : shown,
    }));
    const verifier = new BundleVerifier({ ...trust, allowWithheld: false });
    verifier.push(await log.bundle({ lines }));
    await assert.rejects(verifier.finish(), EvidenceError);
    await assert.rejects(verifier.finish(), EvidenceError);
    assert.throws(() => verifier.push(utf8('x')), EvidenceError);
  });

  it('cannot hide everything behind a filter of their own from a reader who may see all', async () => {
    const all = { ...trust, allowWithheld: false };
    const filter = [{ path: '/actor/serviceId', values: ['"none"'] }];
    const lines = log.entries.map(({ entry, shown }) => ({ entry, shown: closeUnits(shown, () => true) }));
    const filtered = await log.bundle({ filter, lines });
    await refused(filtered, 'FILTER_UNPROVEN', undefined, all);
    assert.equal((await verifyBundle([filtered], { ...all, filter })).outsideFilter, SIZE);
    await refused(
      await log.bundle({ complete: false, filter: null, lines: [] }),
      'FILTER_UNPROVEN',
      undefined,
      all,
    );
  });

  it('cannot make the line before an unreadable one pass, nor the wrong one of two proofs be blamed', async () => {
    const wrong = { ...log.provenLine(1), inclusion: log.provenLine(2).inclusion! };
    const scattered = { complete: false, filter: 'x' };
    await refused(await log.bundle({ ...scattered, lines: [wrong, log.provenLine(3)] }), 'ROOT_MISMATCH', 1);
    await refused(await log.bundle({ ...scattered, lines: [wrong] }), 'ROOT_MISMATCH', 1);
  });

  it('cannot make a short file take long', async () => {
    const conditions = Array.from({ length: 65 }, (_, i) => ({ path: `/payload/k${i}`, values: ['1'] }));
    await refused(await log.bundle({ filter: conditions }), 'FILTER_UNPROVEN');
    const twice = { path: '/action', values: ['"x"'] };
    await refused(await log.bundle({ filter: [twice, twice] }), 'FILTER_UNPROVEN');
    const long = new BundleVerifier(trust);
    const chunk = new Uint8Array(16).fill(0x20);
    assert.throws(() => {
      for (let i = 0; i < 70_000; i++) long.push(chunk);
    }, EvidenceError);
  });

  it('cannot find a match in the length of a list', async () => {
    const listed = await SampleLog.create();
    listed.append({ ...sampleEvent(0), payload: [1, 2] });
    const filter = [{ path: '/payload/length', values: ['2'] }];
    const { entry, shown } = listed.entries[0]!;
    const lines = [{ entry, shown: closeUnits(shown, (path) => path === '/action') }];
    assert.equal((await verifyBundle([await listed.bundle({ filter, lines })], trust)).outsideFilter, 1);
  });
});

function refused(bundle: Uint8Array, reason: Reason, index?: number, by: Trust = trust): Promise<void> {
  return assertRefused(bundle, by, reason, index);
}

function linesWith(show: (index: number, shown: ShownEvent) => ShownEvent) {
  return log.entries.map(({ entry, shown }, i) => ({ entry, shown: show(i, shown) }));
}

describe('a log that has signed what it should not have', () => {
  const append = (forged: SampleLog, count: number): void => {
    for (let n = 0; n < count; n++) forged.append(sampleEvent(n));
  };
  const timeOf = (forged: SampleLog, index: number): number =>
    decodeEntry(forged.entries[index]!.entry).receivedAtMs;

  it('is refused where the time of acceptance runs backwards, not where it stands still', async () => {
    const forged = await SampleLog.create();
    append(forged, 4);
    forged.append(sampleEvent(4), KINDS.event, { receivedAtMs: timeOf(forged, 3) });
    assert.equal((await verifyBundle([await forged.bundle()], trust)).entries, 5);
    forged.append(sampleEvent(5), KINDS.event, { receivedAtMs: timeOf(forged, 3) - 1 });
    await assertRefused(await forged.bundle(), trust, 'TIME_REVERSED', 5);
    const scattered = { complete: false, lines: [forged.provenLine(1), forged.provenLine(5)] };
    assert.equal((await verifyBundle([await forged.bundle(scattered)], trust)).entries, 2);
    const near = { complete: false, lines: [forged.provenLine(4), forged.provenLine(5)] };
    await assertRefused(await forged.bundle(near), trust, 'TIME_REVERSED', 5);
  });

  it('is refused where two entries have one event id', async () => {
    const forged = await SampleLog.create();
    append(forged, 300);
    const { eventId } = decodeEntry(forged.entries[2]!.entry);
    forged.append(sampleEvent(300), KINDS.event, { eventId });
    await assertRefused(await forged.bundle(), trust, 'EVENT_ID_REPEATED', 300);
    const lines = [forged.provenLine(2), forged.provenLine(300)];
    await assertRefused(await forged.bundle({ complete: false, lines }), trust, 'EVENT_ID_REPEATED', 300);
    assert.equal((await verifyBundle([await forged.bundle({ from: 3 })], trust)).entries, 298);
  });
});

describe('a line that cannot be read', () => {
  it('of a scattered bundle is named by its number', async () => {
    const lines = [1, 4, 9].map((index) => log.provenLine(index));
    const good = linesOf(await log.bundle({ complete: false, lines }));
    const faultOf = async (changed: string[]): Promise<EvidenceError> => {
      const fault: unknown = await verifyBundle([resealed(changed)], trust).catch((error: unknown) => error);
      assert.ok(fault instanceof EvidenceError, String(fault));
      return fault;
    };
    const entry = await faultOf(good.with(2, good[2]!.replace('"c":', '"c": ')));
    assert.deepEqual([entry.reason, entry.index, entry.line], ['MALFORMED', undefined, 3]);
    assert.match(entry.message, /^line 3: entry line: /);
    const header = await faultOf(good.with(0, good[0]!.replace('"to":', '"To":')));
    assert.deepEqual([header.reason, header.line], ['MALFORMED', 1]);
    const trailer = await faultOf(good.with(4, good[4]!.replace('"proof":', '"Proof":')));
    assert.deepEqual([trailer.reason, trailer.line], ['MALFORMED', 5]);
    const after = await faultOf([...good, good[4]!]);
    assert.deepEqual([after.reason, after.line], ['MALFORMED', 6]);
  });

  it('of a complete bundle is named by its index', async () => {
    const good = linesOf(await log.bundle());
    await assert.rejects(
      verifyBundle([resealed(good.with(3, good[3]!.replace('"c":', '"c": ')))], trust),
      (error) => error instanceof EvidenceError && error.index === 2 && error.line === undefined,
    );
  });
});
