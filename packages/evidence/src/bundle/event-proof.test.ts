// The proof of one event, in both forms; and every reader of outside bytes, fed with rubbish.

import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import * as fc from 'fast-check';
import {
  type EntryLine,
  formatEntryLine,
  formatHeader,
  formatNoticeLine,
  formatTrailer,
  parseEntryLine,
  parseHeader,
  parseNoticeLine,
  parseTrailer,
} from './bundle-line.ts';
import { textOf, toHex, utf8 } from '../bytes.ts';
import { decodeEntry, KINDS } from '../event/entry.ts';
import { parseCheckpoint } from '../note/checkpoint.ts';
import { EvidenceError, type Reason } from '../errors.ts';
import {
  type EventProof,
  formatEventProof,
  formatEventProofText,
  parseEventProof,
  verifyEventProof,
} from './event-proof.ts';
import { parseNote } from '../note/note.ts';
import { formatTlogProof } from '../note/tlog-proof.ts';
import { sampleEvent, SampleLog } from '../testing/sample-log.ts';
import { closeUnits, showRoots, withholdContent } from '../event/show-event.ts';
import type { Trust } from './trust.ts';
import { verifyBundle } from './verify-bundle.ts';

let log: SampleLog;
let trust: Trust;
before(async () => {
  log = await SampleLog.create();
  for (let n = 0; n < 33; n++) log.append(sampleEvent(n));
  trust = { verifiers: [log.verifier] };
});

describe('the proof of an event', () => {
  it('verifies for every event, however it is shown, in both forms', async () => {
    for (let index = 0; index < log.size; index++) {
      const { shown } = log.entries[index]!;
      for (const form of [shown, withholdContent(shown), closeUnits(shown, () => true), showRoots(shown)]) {
        const proof = await log.proofOf(index, form);
        for (const text of [formatEventProof(proof), formatEventProofText(proof)]) {
          const verdict = await verifyEventProof(parseEventProof(text), trust);
          assert.deepEqual(
            [verdict.entry.index, verdict.whole, verdict.checkpoint.size],
            [index, form === shown, 33],
          );
        }
      }
    }
  });

  it('gives back what is shown, and only that', async () => {
    const whole = await verifyEventProof(await log.proofOf(4), trust);
    assert.deepEqual(JSON.parse(JSON.stringify(whole.event)), sampleEvent(4));
    const proof = await log.proofOf(4, withholdContent(log.entries[4]!.shown));
    const { context: _context, payload: _payload, ...rest } = sampleEvent(4);
    assert.deepEqual(JSON.parse(JSON.stringify((await verifyEventProof(proof, trust)).event)), rest);
  });

  it('says which leaf it is of, and which checkpoint it leads to', async () => {
    const proof = await log.proofOf(4);
    const { origin, leaf, checkpoint, entry } = await verifyEventProof(proof, trust);
    const { root } = parseCheckpoint(parseNote(proof.checkpoint).text);
    assert.deepEqual([origin, leaf], [log.origin, toHex(log.entries[4]!.leaf)]);
    assert.deepEqual(checkpoint, { size: 33, root: toHex(root), cosignedBy: [] });
    assert.deepEqual(entry, decodeEntry(proof.entry));
    assert.equal((await verifyEventProof(proof, { ...trust, allowWithheld: false })).whole, true);
  });

  it('of a notice is refused when the notice is withheld or is none', async () => {
    const odd = await SampleLog.create();
    odd.notice(KINDS.legalHold, { holdId: '01KE0000000000000000000001', act: 'Placed', policyId: null });
    odd.notice(KINDS.legalHold, { holdId: 'none', act: 'Placed', policyId: null });
    assert.equal((await verifyEventProof(await odd.proofOf(0), trust)).entry.kind, KINDS.legalHold);
    await refused(await odd.proofOf(0, withholdContent(odd.entries[0]!.shown)), 'NOTICE_INVALID', trust, 0);
    await refused(await odd.proofOf(1), 'NOTICE_INVALID', trust, 1);
  });

  it('is refused when it is of another leaf, root, key, or hides what must be shown', async () => {
    const proof = await log.proofOf(4);
    const other = await log.proofOf(5);
    await refused({ ...proof, shown: other.shown }, 'LEAF_MISMATCH');
    await refused({ ...proof, entry: other.entry, shown: other.shown }, 'ROOT_MISMATCH');
    await refused({ ...proof, hashes: proof.hashes.slice(1) }, 'PROOF_INVALID');
    await refused(proof, 'KEY_UNKNOWN', { verifiers: [] });
    const withheld = { ...proof, shown: withholdContent(proof.shown) };
    await refused(withheld, 'GAP_UNEXPLAINED', { ...trust, allowWithheld: false }, 4);
    const since = { ...parseCheckpoint(parseNote(proof.checkpoint).text), size: 34 };
    await refused(proof, 'HISTORY_UNPROVEN', { ...trust, since });
    await refused(proof, 'FORK', { ...trust, since: { ...since, size: 33, root: proof.hashes[0]! } });
    await refused(proof, 'ORIGIN_MISMATCH', { ...trust, since: { ...since, origin: 'x' } });
  });

  it('of a first entry that names no log of ours is refused', async () => {
    const foreign = await SampleLog.create(undefined, () => new Uint8Array(32));
    foreign.append(sampleEvent(0));
    await refused(await foreign.proofOf(0), 'CHAIN_BROKEN', trust, 0);
    foreign.append(sampleEvent(1));
    assert.equal((await verifyEventProof(await foreign.proofOf(1), trust)).entry.index, 1);
  });

  it('shows keys as they were hashed, whatever was read before', async () => {
    const odd = await SampleLog.create();
    odd.append({ ...sampleEvent(0), payload: { ok: 1, 'ok"': 1 } });
    JSON.parse('{"ok":1,"ok\\\\":1}');
    const verdict = await verifyEventProof(parseEventProof(formatEventProof(await odd.proofOf(0))), trust);
    assert.deepEqual(Object.keys(verdict.event['payload'] as object).sort(), ['ok', 'ok"']);
  });

  it('is refused when it says of itself what it is not', async () => {
    const json = formatEventProof(await log.proofOf(4));
    for (const [from, to] of [
      ['"leafIndex":4', '"leafIndex":5'],
      ['"treeSize":33', '"treeSize":34'],
      ['"eventId":"0', '"eventId":"1'],
      ['"hashes"', '"hash"'],
      ['{', '{"entry":"",'],
      ['{', '{"x":1e999,'],
    ]) {
      assert.ok(json.includes(from!));
      malformed(() => parseEventProof(json.replace(from!, to!)));
    }
    const text = formatEventProofText(await log.proofOf(4));
    malformed(() => parseEventProof(text.replace('index 4', 'index 5')));
    malformed(() => parseEventProof(text.replace(/extra .*\n/, '')));
    const { entry, shown, hashes, checkpoint } = await log.proofOf(4);
    const textWith = (line: Partial<EntryLine>, form = shown): string => {
      const extra = utf8(formatEntryLine({ entry, shown: form, ...line }));
      return formatTlogProof({ extra, index: 4, hashes, checkpoint });
    };
    assert.equal(textWith({}), text);
    malformed(() => parseEventProof(textWith({ inclusion: [] })));
    malformed(() => parseEventProof(textWith({ deleted: true }, showRoots(shown))));
    for (const member of ['entry', 'checkpoint']) {
      malformed(() => parseEventProof(JSON.stringify({ ...JSON.parse(json), [member]: 7 })));
    }
    for (const rubbish of ['', '[]', 'null', '"x"', '{}']) malformed(() => parseEventProof(rubbish));
  });
});

describe('readers of outside bytes', () => {
  const seed = 20_260_102;

  it('accept only what they would write themselves, and throw nothing but EvidenceError', async () => {
    const { entry, shown } = log.entries[3]!;
    const [header, , , , , trailer] = textOf(await log.bundle({ from: 0, to: 4 })).split('\n');
    const readers: [string, string, (text: string) => string][] = [
      ['header', header!, (text) => formatHeader(parseHeader(text))],
      [
        'entry line',
        formatEntryLine({ entry, shown: withholdContent(shown) }),
        (text) => formatEntryLine(parseEntryLine(text)),
      ],
      [
        'notice line',
        formatNoticeLine({ entry, shown, inclusion: [entry.subarray(0, 32)] }),
        (text) => formatNoticeLine(parseNoticeLine(text)),
      ],
      ['trailer', trailer!, (text) => formatTrailer(parseTrailer(text))],
    ];
    for (const [name, good, rewrite] of readers) {
      assert.equal(rewrite(good), good, name);
      fc.assert(
        fc.property(mutated(good), (text) => {
          const again = attempt(() => rewrite(text));
          if (again !== undefined) assert.equal(again, text, name);
        }),
        { seed, numRuns: 3000 },
      );
    }
  });

  it('of whole proofs and bundles refuse every mutation', async () => {
    const proof = formatEventProof(await log.proofOf(4));
    const text = formatEventProofText(await log.proofOf(4));
    const bundle = textOf(await log.bundle({ from: 2, to: 5 }));
    const rejects = async (work: () => Promise<unknown>): Promise<void> => {
      await assert.rejects(work, (error) => error instanceof EvidenceError);
    };
    await fc.assert(
      fc.asyncProperty(mutated(bundle), async (changed) => {
        fc.pre(changed !== bundle);
        await rejects(() => verifyBundle([utf8(changed)], trust));
      }),
      { seed, numRuns: 1500 },
    );
    for (const good of [proof, text]) {
      await fc.assert(
        fc.asyncProperty(mutated(good), async (changed) => {
          let parsed: EventProof | undefined;
          try {
            parsed = parseEventProof(changed);
          } catch (error) {
            assert.ok(error instanceof EvidenceError, String(error));
            return;
          }
          // What is still accepted must say the same: JSON white space, an order of lists, an unknown signature.
          const verdict = await verifyEventProof(parsed, trust).catch((error: unknown) => {
            assert.ok(error instanceof EvidenceError, String(error));
          });
          if (verdict) assert.deepEqual(JSON.parse(JSON.stringify(verdict.event)), sampleEvent(4));
        }),
        { seed, numRuns: 1500 },
      );
    }
  });

  it('throw nothing else for random bytes', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), async (bytes) => {
        await assert.rejects(verifyBundle([bytes], trust), EvidenceError);
        const text = new TextDecoder().decode(bytes);
        for (const parse of [parseHeader, parseEntryLine, parseNoticeLine, parseTrailer, parseEventProof]) {
          assert.throws(() => parse(text), EvidenceError);
        }
      }),
      { seed, numRuns: 1000 },
    );
  });
});

/** One to three edits: a character changed, removed or doubled, a piece moved. */
function mutated(text: string): fc.Arbitrary<string> {
  const edit = fc.record({
    at: fc.nat({ max: text.length - 1 }),
    length: fc.nat({ max: 8 }),
    by: fc.oneof(
      fc.string({ maxLength: 4 }),
      fc.constantFrom('', '"', '0', ',', '[]', 'null', '\\u0000', '\n', '\ud800', '='),
      fc.constant('='),
    ),
  });
  return fc
    .array(edit, { minLength: 1, maxLength: 3 })
    .map((edits) =>
      edits.reduce((now, { at, length, by }) => now.slice(0, at) + by + now.slice(at + length), text),
    );
}

function attempt<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    assert.ok(error instanceof EvidenceError, String(error));
    return undefined;
  }
}

async function refused(proof: EventProof, reason: Reason, by: Trust = trust, index?: number): Promise<void> {
  await assert.rejects(
    verifyEventProof(proof, by),
    (error) =>
      error instanceof EvidenceError && error.reason === reason && (index ?? error.index) === error.index,
  );
}

function malformed(work: () => unknown): void {
  assert.throws(work, (error) => error instanceof EvidenceError && error.reason === 'MALFORMED');
}
