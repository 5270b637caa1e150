// Entries and event ids: 116 bytes that come back as they were, and nothing else is taken for one.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { toHex } from '../bytes.ts';
import {
  decodeEntry,
  encodeEntry,
  ENTRY_BYTES,
  type Entry,
  epochGenesisHash,
  genesisHash,
  isNotice,
  KINDS,
} from './entry.ts';
import { EvidenceError } from '../errors.ts';
import { eventIdBytes, eventIdText } from './event-id.ts';

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
      { seed: 1, numRuns: 1000 },
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

  it('received after the year 9999 is refused, for no instant could show it', () => {
    const entry = fc.sample(entries, { seed: 3, numRuns: 1 })[0]!;
    assert.throws(
      () => decodeEntry(encodeEntry({ ...entry, receivedAtMs: 253_402_300_800_000 })),
      EvidenceError,
    );
  });

  it('of another length is refused', () => {
    for (const length of [0, 115, 117])
      assert.throws(() => decodeEntry(new Uint8Array(length)), EvidenceError);
  });

  it('is a notice unless it is of kind 1', () => {
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
    assert.equal(new Set(hashes).size, 4, 'an epoch without a checkpoint would be the origin with a newline');
  });
});

describe('an event id', () => {
  it('has one text', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 16, maxLength: 16 }), (bytes) => {
        const text = eventIdText(bytes);
        assert.match(text, /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/);
        assert.deepEqual(eventIdBytes(text), bytes);
      }),
      { seed: 3, numRuns: 1000 },
    );
    assert.equal(eventIdText(new Uint8Array(16).fill(255)), '7ZZZZZZZZZZZZZZZZZZZZZZZZZ');
    assert.equal(toHex(eventIdBytes('01KE0000000000000000000042')).slice(0, 4), '019b');
  });

  it('that is not a ULID is refused', () => {
    for (const text of [
      '',
      '01KE000000000000000000004',
      '81KE0000000000000000000042',
      '01ke0000000000000000000042',
      '01KE000000000000000000004U',
    ]) {
      assert.throws(() => eventIdBytes(text), EvidenceError, text);
    }
  });
});
