// Entries: 116 bytes that come back as they were, and nothing else is taken for one.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { concat, toHex } from '../bytes.ts';
import {
  decodeEntry,
  ENTRY_BYTES,
  type Entry,
  epochGenesisHash,
  genesisHash,
  isNotice,
  KINDS,
  requireContent,
} from './entry.ts';
import { encodeEntry, readLink, writeEntry } from './entry-bytes.ts';
import { EvidenceError } from '../errors.ts';
import { refusal } from '../testing/refusal.ts';
import { eventIdText } from './event-id.ts';
import { runs } from '../testing/size.ts';

const hash = fc.uint8Array({ minLength: 32, maxLength: 32 });
const index = fc.nat({ max: Number.MAX_SAFE_INTEGER });
const entries: fc.Arbitrary<Entry> = fc.record({
  kind: fc.constantFrom(...Object.values(KINDS)),
  index,
  receivedAtMs: fc.nat({ max: 253_402_300_799_999 }),
  eventId: fc.uint8Array({ minLength: 16, maxLength: 16 }).map(eventIdText),
  previous: hash,
  content: hash,
});

describe('an entry', () => {
  it('comes back from its bytes', () => {
    fc.assert(
      fc.property(entries, (entry) => {
        const bytes = encodeEntry(entry);
        assert.equal(bytes.length, ENTRY_BYTES);
        assert.deepEqual(decodeEntry(bytes), { ...entry });
      }),
      { seed: 1, numRuns: runs(1000) },
    );
  });

  it('that was altered in any bit is another entry or none', () => {
    const entry = fc.sample(entries, { seed: 2, numRuns: 1 })[0]!;
    const bytes = encodeEntry(entry);
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const altered = bytes.slice();
      altered[bit >> 3]! ^= 1 << (bit & 7);
      try {
        const decoded = decodeEntry(altered);
        assert.notDeepEqual(decoded, { ...entry });
        assert.equal(toHex(encodeEntry(decoded)), toHex(altered));
      } catch (error) {
        assert.ok(error instanceof EvidenceError);
      }
    }
  });

  it('of another length is refused, though all else is right', () => {
    const bytes = encodeEntry(fc.sample(entries, { seed: 5, numRuns: 1 })[0]!);
    for (const other of [new Uint8Array(), bytes.subarray(0, -1), concat(bytes, Uint8Array.of(0))]) {
      assert.throws(() => decodeEntry(other), refusal('MALFORMED'));
    }
  });

  it('has its label, a known kind and nothing in its reserved bytes', () => {
    const bytes = encodeEntry({ ...fc.sample(entries, { seed: 6, numRuns: 1 })[0]!, kind: KINDS.event });
    for (let at = 0; at < 16; at++) {
      assert.throws(() => decodeEntry(bytes.with(at, bytes[at]! ^ 1)), refusal('MALFORMED'));
    }
    for (const kind of Object.values(KINDS)) assert.equal(decodeEntry(bytes.with(16, kind)).kind, kind);
    for (const kind of [0, 10, 255]) {
      assert.throws(() => decodeEntry(bytes.with(16, kind)), refusal('MALFORMED'));
    }
    for (const at of [17, 18, 19]) {
      assert.throws(() => decodeEntry(bytes.with(at, 1)), refusal('MALFORMED'));
    }
  });

  it('is written at the given offset, over any bytes there, and nowhere else', () => {
    const entry = fc.sample(entries, { seed: 7, numRuns: 1 })[0]!;
    const into = new Uint8Array(ENTRY_BYTES + 4).fill(9);
    writeEntry(entry, into, 2);
    const edge = Uint8Array.of(9, 9);
    assert.deepEqual(into, concat(edge, encodeEntry(entry), edge));
  });

  it('is read where it stands among other bytes, as far as it ties to its place', () => {
    const entry = fc.sample(entries, { seed: 10, numRuns: 1 })[0]!;
    const among = concat(new Uint8Array(50), encodeEntry(entry), new Uint8Array(50));
    const { kind, index, receivedAtMs, previousAt, contentAt } = readLink(among, 50);
    assert.deepEqual([kind, index, receivedAtMs], [entry.kind, entry.index, entry.receivedAtMs]);
    assert.deepEqual(among.slice(50 + previousAt, 50 + previousAt + 32), entry.previous);
    assert.deepEqual(among.slice(50 + contentAt, 50 + contentAt + 32), entry.content);
    assert.throws(() => readLink(among, 49), refusal('MALFORMED'));
    for (const at of [0, 16, 17, 18, 19, 28]) {
      assert.throws(() => readLink(among.with(50 + at, 0xff), 50), refusal('MALFORMED'));
    }
  });

  it('is not that of other content', () => {
    const entry = fc.sample(entries, { seed: 8, numRuns: 1 })[0]!;
    requireContent(entry, entry.content.slice());
    assert.throws(
      () => requireContent(entry, new Uint8Array(32)),
      (error) =>
        error instanceof EvidenceError && error.reason === 'LEAF_MISMATCH' && error.index === entry.index,
    );
  });

  it('may be received in the last millisecond of the year 9999', () => {
    const entry = { ...fc.sample(entries, { seed: 9, numRuns: 1 })[0]!, receivedAtMs: 253_402_300_799_999 };
    assert.equal(decodeEntry(encodeEntry(entry)).receivedAtMs, entry.receivedAtMs);
    const later = encodeEntry({ ...entry, receivedAtMs: entry.receivedAtMs + 1 });
    assert.throws(() => decodeEntry(later), refusal('MALFORMED'));
  });

  it('is a notice unless it is of kind 1', () => {
    assert.deepEqual(Object.values(KINDS), [1, 2, 3, 4, 5, 6, 7, 8, 9]);
    assert.deepEqual([KINDS.redaction, KINDS.purge, KINDS.newEpoch], [2, 3, 7]);
    assert.deepEqual(
      Object.values(KINDS).filter((kind) => !isNotice(kind)),
      [1],
    );
  });
});

describe('the genesis hash', () => {
  it('differs by origin and by what was before', () => {
    const hashes = [
      genesisHash('a/t/x'),
      genesisHash('a/t/y'),
      genesisHash('a/t/x\n'),
      epochGenesisHash('a/t/x', ''),
      epochGenesisHash('a/t/x', 'c'),
    ].map(toHex);
    assert.deepEqual(epochGenesisHash('a/t/x', 'c\n'), genesisHash('a/t/x\nc\n'));
    assert.equal(new Set(hashes).size, 4, 'an epoch without a checkpoint would be the origin with a newline');
  });
});
