import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { textOf, toHex } from '../bytes.ts';
import { EvidenceError } from '../errors.ts';
import { canonicalJson } from '../json/canonical-json.ts';
import { VECTOR_EVENT } from '../testing/sample-log.ts';
import { ContentPool } from './content-pool.ts';
import { type EncodedEvent, encodeEvent } from './encode-event.ts';
import { openEvent, unitsOf } from './show-event.ts';
import { runs } from '../testing/size.ts';

const key = fc.string({ unit: 'grapheme', maxLength: 8 });
const content = fc.dictionary(key, fc.jsonValue({ maxDepth: 2, stringUnit: 'grapheme' }), {
  maxKeys: 6,
  noNullPrototype: true,
});
const event = fc
  .record({
    context: content,
    payload: fc.oneof(content, fc.jsonValue({ maxDepth: 1, stringUnit: 'grapheme' })),
  })
  .map((both) => ({ ...VECTOR_EVENT, ...both }));

const unitsIn = (encoded: EncodedEvent) =>
  encoded.flatMap(({ bytes, units }) =>
    units.map(({ path, from, to }) => ({ path, value: textOf(bytes.subarray(from, to)) })),
  );
const byPath = (a: { path: string }, b: { path: string }): number => (a.path < b.path ? -1 : 1);

describe('an encoded event', () => {
  it('holds the RFC 8785 text of each group, and in it exactly the units of the event', () => {
    fc.assert(
      fc.property(event, (one) => {
        const encoded = encodeEvent(one);
        const { context, payload, ...rest } = one;
        assert.equal(textOf(encoded[0].bytes), canonicalJson(rest));
        assert.equal(textOf(encoded[1].bytes), canonicalJson({ context, payload }));
        assert.deepEqual(unitsIn(encoded).sort(byPath), unitsOf(one).sort(byPath));
      }),
      { seed: 11, numRuns: runs(1500) },
    );
  });

  it('has the same content as the same event shown open, among others in one pool', () => {
    fc.assert(
      fc.property(fc.array(event, { minLength: 1, maxLength: 6 }), (events) => {
        const pool = new ContentPool();
        for (const one of events) {
          const encoded = encodeEvent(one);
          const salts = encoded.map(({ units }) =>
            new Uint8Array(16 * units.length).map((_, i) => i * 7),
          ) as [Uint8Array, Uint8Array];
          pool.addEncoded(encoded, salts);
          const saltOf = (path: string): Uint8Array => {
            for (const [g, { units }] of encoded.entries()) {
              const rank = units.findIndex((unit) => unit.path === path);
              if (rank >= 0) return salts[g]!.subarray(16 * rank, 16 * rank + 16);
            }
            throw new Error(path);
          };
          pool.add(openEvent(one, saltOf));
        }
        pool.run();
        for (let i = 0; i < events.length; i++) {
          assert.equal(toHex(pool.content(2 * i)), toHex(pool.content(2 * i + 1)));
          for (const group of [1, 2] as const) {
            assert.equal(toHex(pool.groupRoot(2 * i, group)), toHex(pool.groupRoot(2 * i + 1, group)));
          }
        }
      }),
      { seed: 12, numRuns: 300 },
    );
  });

  it('may be as long as it likes', () => {
    const pool = new ContentPool();
    const events = [1, 60_000, 200_000, 300_000, 5, 100_000].map((length, n) => ({
      ...VECTOR_EVENT,
      payload: { a: 'é'.repeat(length), b: 'x'.repeat(length), c: n, d: 'y'.repeat(length) },
    }));
    const noSalts = (units: readonly unknown[]): Uint8Array => new Uint8Array(16 * units.length);
    for (const one of events) {
      const encoded = encodeEvent(one);
      pool.addEncoded(encoded, [noSalts(encoded[0].units), noSalts(encoded[1].units)]);
      pool.add(openEvent(one, () => new Uint8Array(16)));
    }
    pool.run();
    for (let i = 0; i < events.length; i++) {
      assert.equal(toHex(pool.content(2 * i)), toHex(pool.content(2 * i + 1)), `event ${i}`);
    }
  });

  it('of a field that no event has is refused', () => {
    assert.throws(() => encodeEvent({ ...VECTOR_EVENT, extra: 1 }), EvidenceError);
  });

  it('without context and payload has an empty second group', () => {
    const { context: _context, payload: _payload, ...rest } = VECTOR_EVENT;
    assert.equal(textOf(encodeEvent(rest)[1].bytes), '{}');
    assert.deepEqual(encodeEvent(rest)[1].units, []);
  });
});
