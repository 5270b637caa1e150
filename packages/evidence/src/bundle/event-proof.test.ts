// The proof of one event, in both forms; and every reader of outside bytes, fed with rubbish.

import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import * as fc from 'fast-check';
import {
  type EntryLine,
  formatHeader,
  formatTrailer,
  parseEntryLine,
  parseHeader,
  parseNoticeLine,
  parseTrailer,
} from './bundle-line.ts';
import { formatEntryLine, formatNoticeLine } from './bundle-writer.ts';
import { fromBase64, textOf, toBase64, toHex, utf8 } from '../bytes.ts';
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
import { runs } from '../testing/size.ts';

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
    const withheld = await odd.proofOf(0, withholdContent(odd.entries[0]!.shown));
    // Also where the key is unknown, and where nothing may be withheld: a notice is judged before either.
    for (const by of [trust, { verifiers: [] }, { ...trust, allowWithheld: false }])
      await refused(withheld, 'NOTICE_INVALID', by, 0);
    await refused(await odd.proofOf(1), 'NOTICE_INVALID', trust, 1);
  });

  it('is refused when it is of another leaf, root, key, or withholds what must be shown', async () => {
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

  it('shows keys as they were hashed, independently of what was read before', async () => {
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

describe('the text form of a proof', () => {
  it('has one text: every other is refused', async () => {
    const text = formatEventProofText(await log.proofOf(4));
    const line = textOf(fromBase64(/^extra (.*)$/m.exec(text)![1]!));
    const withExtra = (extra: string) => text.replace(/^extra .*$/m, () => `extra ${extra}`);
    const withLine = (changed: string) => {
      assert.notEqual(changed, line);
      return withExtra(toBase64(utf8(changed)));
    };
    assert.equal(withExtra(toBase64(utf8(line))), text);
    const hash = /^index 4\n(.*)$/m.exec(text)![1]!;
    const others = {
      'another version': text.replace('@v1', '@v2'),
      'a longer version': text.replace('@v1', '@v10'),
      'a byte order mark': `\ufeff${text}`,
      'CR LF': text.replaceAll('\n', '\r\n'),
      'no extra': text.replace(/^extra .*\n/m, ''),
      'an empty extra': withExtra(''),
      'an extra without padding': withExtra(toBase64(utf8(line)).replace(/=+$/, '').slice(0, -1)),
      'an extra that is not UTF-8': withExtra(toBase64(Uint8Array.of(0x7b, 0xff, 0x7d))),
      'white space in the line': withLine(line.replace('"o":', '"o": ')),
      'another order of members': withLine(line.replace(/(,"c":.*)(,"g":.*)\}$/, '$2$1}')),
      'a needless escape': withLine(line.replace('"/action"', '"\\/action"')),
      'an unknown member': withLine(line.replace(/\}$/, ',"x":1}')),
      'a newline behind the line': withLine(`${line}\n`),
      'a deletion': withLine(line.replace(/\}$/, ',"d":[]}')),
      'a proof in the line': withLine(line.replace(/\}$/, ',"i":[]}')),
      'no index': text.replace('index 4\n', ''),
      'index before extra': text.replace(/^(extra .*\n)(index .*\n)/m, '$2$1'),
      'another index': text.replace('index 4', 'index 5'),
      'an index that is too large': text.replace('index 4', `index ${2 ** 53}`),
      'a sign': text.replace('index 4', 'index +4'),
      'a leading zero': text.replace('index 4', 'index 04'),
      'too many hashes': text.replace('index 4\n', `index 4\n${`${hash}\n`.repeat(63)}`),
      'a short hash': text.replace(hash, toBase64(new Uint8Array(31))),
      'a line that is no hash': text.replace(hash, 'hash'),
      'no blank line': text.replace('\n\n', '\n'),
      'no checkpoint': text.slice(0, text.indexOf('\n\n') + 2),
      'more behind the checkpoint': `${text}more\n`,
    };
    for (const [what, other] of Object.entries(others)) {
      assert.notEqual(other, text, what);
      malformed(() => parseEventProof(other), what);
    }
  });

  it('takes an event of any size, in a line that some other readers find too long', async () => {
    const large = await SampleLog.create();
    large.append({ ...sampleEvent(0), payload: { text: 'x'.repeat(60_000) } });
    const text = formatEventProofText(await large.proofOf(0));
    assert.ok(text.split('\n')[1]!.length > 65_536);
    assert.equal((await verifyEventProof(parseEventProof(text), trust)).whole, true);
    const withheld = formatEventProofText(await large.proofOf(0, withholdContent(large.entries[0]!.shown)));
    assert.ok(withheld.split('\n')[1]!.length < 4096);
  });
});

describe('the JSON form of a proof', () => {
  it('may have white space, another order of members, and further ones', async () => {
    const members = JSON.parse(formatEventProof(await log.proofOf(4))) as Record<string, unknown>;
    const other = Object.fromEntries([['further', true], ...Object.entries(members).toReversed()]);
    const verdict = await verifyEventProof(parseEventProof(JSON.stringify(other, null, 2)), trust);
    assert.equal(verdict.whole, true);
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
        { seed, numRuns: runs(3000) },
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
      { seed, numRuns: runs(1500) },
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
          // A proof that is still accepted must say the same: JSON white space, an order of lists, an unknown signature.
          const verdict = await verifyEventProof(parsed, trust).catch((error: unknown) => {
            assert.ok(error instanceof EvidenceError, String(error));
          });
          if (verdict) assert.deepEqual(JSON.parse(JSON.stringify(verdict.event)), sampleEvent(4));
        }),
        { seed, numRuns: runs(1500) },
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
      { seed, numRuns: runs(1000) },
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

function malformed(work: () => unknown, what?: string): void {
  assert.throws(work, (error) => error instanceof EvidenceError && error.reason === 'MALFORMED', what);
}
