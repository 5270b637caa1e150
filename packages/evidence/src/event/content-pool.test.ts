// The published vector: from one event to its leaf, every hash on the way.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { concat, toHex } from '../bytes.ts';
import { commitmentOf, contentOf, groupRootOf } from './content.ts';
import { ContentPool } from './content-pool.ts';
import { encodeEvent } from './encode-event.ts';
import { encodeEntry } from './entry-bytes.ts';
import { genesisHash } from './entry.ts';
import { SAMPLE_ORIGIN, VECTOR_EVENT } from '../testing/sample-log.ts';
import { closeUnits, openEvent, showRoots, withholdContent, unitsOf } from './show-event.ts';
import { leafHash } from '../tree/tree.ts';
import { tagOf } from './units.ts';

const paths = unitsOf(VECTOR_EVENT)
  .map(({ path }) => path)
  .sort();
/** The i-th unit in path order has sixteen times the byte i, from 01. */
const saltOf = (path: string): Uint8Array => new Uint8Array(16).fill(paths.indexOf(path) + 1);
const shown = openEvent(VECTOR_EVENT, saltOf);

const R1 = 'd9d7d4d1c8f5911b1f0e53096df17b584fea4971db01fecb1175fddc2d7878ca';
const R2 = 'd515a58762ddff9d381ad64cc3d897733a5772fbd2d0b5cb918a9ec9afc2773b';
const CONTENT = 'f5b6b0f77451ea1bc5c5c6f1b3a4f2043885989f703a489d3a762ccefc52eb37';

describe('the published vector', () => {
  it('has the fifteen units in path order', () => {
    assert.equal(paths.length, 15);
    assert.equal(paths[0], '/action');
    assert.equal(paths[14], '/timestamp');
  });

  it('gives the tag and the commitment of /action', () => {
    assert.equal(
      toHex(tagOf('/action').bytes),
      '30780576db698f27f3ce5f99e2d0cd7ddbf140f900207bc5e7aa0c98e94c0c7d',
    );
    assert.equal(
      toHex(commitmentOf(saltOf('/action'), '"Delete.Invoice"')),
      '5e07cfe9ad842c075ee721d737d160ea58a7e599f2eab40e7363ce60d886b42e',
    );
  });

  it('gives group roots, content, genesis and leaf', () => {
    const pool = new ContentPool();
    pool.add(shown);
    pool.run();
    assert.equal(toHex(pool.groupRoot(0, 1)), R1);
    assert.equal(toHex(pool.groupRoot(0, 2)), R2);
    assert.equal(toHex(pool.content(0)), CONTENT);
    const previous = genesisHash(SAMPLE_ORIGIN);
    assert.equal(toHex(previous), 'fbe042ca4e58a77f2c455b4513f8a12f8fefe528ecf57bc89e969e49cb8a4289');
    const entry = encodeEntry({
      kind: 1,
      index: 0,
      receivedAtMs: 1_767_323_046_000,
      eventId: '01KE0000000000000000000042',
      previous,
      content: pool.content(0),
    });
    assert.equal(toHex(leafHash(entry)), '461cffb02f88aff27b92e9185e5c9e7f273b80da72e9f7b0507ac8dbe336523d');
  });

  it('gives the root of an empty group 2', () => {
    const { context: _context, payload: _payload, ...rest } = VECTOR_EVENT;
    const pool = new ContentPool();
    pool.add(openEvent(rest, saltOf));
    pool.run();
    assert.equal(
      toHex(pool.groupRoot(0, 2)),
      '45da1013d954e1df9a7064a25faa6bb0d8c9ae7d884d7a3eeefee0b2347b8388',
    );
  });
});

describe('a pool', () => {
  it('gives the same content for an event shown open, closed, or as roots', () => {
    const pool = new ContentPool();
    pool.add(shown);
    pool.add(closeUnits(shown, (path) => path.startsWith('/actor')));
    pool.add(closeUnits(shown, () => true));
    pool.add(withholdContent(shown));
    pool.add(showRoots(shown));
    pool.run();
    for (let place = 0; place < pool.size; place++) assert.equal(toHex(pool.content(place)), CONTENT);
  });

  it('gives every event its own content, with any events around it, and can be used again', () => {
    const pool = new ContentPool();
    const alone = (n: number): string => {
      pool.reset();
      pool.add(openEvent({ ...VECTOR_EVENT, payload: { n } }, saltOf));
      pool.run();
      return toHex(pool.content(0));
    };
    const expected = Array.from({ length: 100 }, (_, n) => alone(n));
    assert.equal(new Set(expected).size, 100);
    pool.reset();
    for (let n = 0; n < 100; n++) pool.add(openEvent({ ...VECTOR_EVENT, payload: { n } }, saltOf));
    pool.run();
    assert.deepEqual(
      expected.map((_, n) => toHex(pool.content(n))),
      expected,
    );
  });

  it('takes more events than it hashes at a time, of many shapes, in several runs', () => {
    const events = [1, 2, 3].map((n) => openEvent({ ...VECTOR_EVENT, payload: { [`k${n}`]: n } }, saltOf));
    const ways = events.flatMap((event) => [
      event,
      closeUnits(event, (path) => path.startsWith('/actor')),
      withholdContent(event),
      showRoots(event),
    ]);
    const expected = events.map((event) => toHex(contentOf(event)));
    const roots = events.map((event) => toHex(groupRootOf(2, event[1])));
    const pool = new ContentPool();
    for (const count of [3, 64, 65, 500]) {
      for (let i = 0; i < count; i++) pool.add(ways[pool.size % ways.length]!);
      pool.run();
    }
    for (let place = 0; place < 632; place++) {
      const event = Math.floor((place % ways.length) / 4);
      assert.equal(toHex(pool.content(place)), expected[event], `event ${place}`);
      assert.equal(toHex(pool.groupRoot(place, 2)), roots[event], `root of event ${place}`);
    }
  });

  it('takes roots as they are shown, independently of what was hashed in their place before', () => {
    const pool = new ContentPool();
    for (let n = 0; n < 5; n++) pool.add(openEvent({ action: `A.${n}`, payload: { n } }, saltOf));
    pool.run();
    for (let n = 0; n < 5; n++) pool.add(n % 2 === 0 ? showRoots(shown) : withholdContent(shown));
    pool.run();
    for (let place = 5; place < 10; place++) {
      assert.deepEqual(
        [pool.groupRoot(place, 1), pool.groupRoot(place, 2), pool.content(place)].map(toHex),
        [R1, R2, CONTENT],
        `event ${place}`,
      );
    }
  });

  it('takes any number of events that are shown as nothing but their roots', () => {
    const pool = new ContentPool();
    for (let count = 1; count <= 130; count++) pool.add(showRoots(shown));
    pool.run();
    for (let place = 0; place < 130; place++) assert.equal(toHex(pool.content(place)), CONTENT);
  });

  it('gives an event its own tags, independently of the units of the event before', () => {
    const subsets = Array.from({ length: 16 }, (_, bits) => {
      const keys = ['a', 'b', 'c', 'd'].filter((_, i) => (bits & (1 << i)) !== 0);
      return openEvent({ payload: Object.fromEntries(keys.map((key) => [key, 1])) }, saltOf);
    });
    const expected = subsets.map((event) => {
      const pool = new ContentPool();
      pool.add(event);
      pool.run();
      return toHex(pool.content(0));
    });
    assert.equal(new Set(expected).size, 16);
    const pairs = expected.flatMap((_, first) => expected.flatMap((_, second) => [first, second]));
    const pool = new ContentPool();
    for (const one of pairs) pool.add(subsets[one]!);
    pool.run();
    assert.deepEqual(
      pairs.map((_, place) => toHex(pool.content(place))),
      pairs.map((one) => expected[one]),
    );
  });

  it('takes no tag from where a value stands by now', () => {
    const small = openEvent(VECTOR_EVENT, saltOf);
    const large = openEvent({ ...VECTOR_EVENT, action: 'x'.repeat(100_000) }, saltOf);
    const fresh = new ContentPool();
    fresh.add(large);
    fresh.run();
    const used = new ContentPool();
    used.add(small);
    used.run();
    used.add(large);
    used.run();
    assert.equal(toHex(used.groupRoot(1, 2)), R2);
    assert.equal(toHex(used.content(1)), toHex(fresh.content(0)));
  });

  it('forgets when it is reset what was added and not hashed', () => {
    const pool = new ContentPool();
    for (let n = 0; n < 3; n++) pool.add(openEvent({ payload: { n } }, saltOf));
    pool.reset();
    assert.equal(pool.size, 0);
    assert.equal(pool.add(shown), 0);
    pool.run();
    assert.deepEqual([pool.size, toHex(pool.content(0))], [1, CONTENT]);
  });

  it('gives an event the same hashes as a store has it, alone and behind others', () => {
    const encoded = encodeEvent(VECTOR_EVENT);
    const saltsOf = ({ units }: { units: readonly { path: string }[] }): Uint8Array =>
      concat(...units.map(({ path }) => saltOf(path)));
    const pool = new ContentPool();
    for (let place = 0; place < 3; place++) {
      assert.equal(pool.addEncoded(encoded, [saltsOf(encoded[0]), saltsOf(encoded[1])]), 2 * place);
      assert.equal(pool.add(shown), 2 * place + 1);
    }
    pool.run();
    for (let place = 0; place < pool.size; place++) {
      assert.deepEqual([pool.groupRoot(place, 1), pool.groupRoot(place, 2), pool.content(place)].map(toHex), [
        R1,
        R2,
        CONTENT,
      ]);
    }
  });

  it('copies hashes to where they are wanted, and writes nowhere else', () => {
    const pool = new ContentPool();
    pool.add(openEvent({}, saltOf));
    pool.add(shown);
    pool.run();
    const edge = 'ee'.repeat(3);
    const copied = (copy: (into: Uint8Array, at: number) => void): string => {
      const into = new Uint8Array(38).fill(0xee);
      copy(into, 3);
      return toHex(into);
    };
    assert.equal(
      copied((into, at) => pool.copyContent(1, into, at)),
      edge + CONTENT + edge,
    );
    assert.equal(
      copied((into, at) => pool.copyGroupRoot(1, 1, into, at)),
      edge + R1 + edge,
    );
    assert.equal(
      copied((into, at) => pool.copyGroupRoot(1, 2, into, at)),
      edge + R2 + edge,
    );
    assert.throws(() => pool.copyContent(2, new Uint8Array(32), 0), RangeError);
  });

  it('refuses a content that is not there yet, or not any more', () => {
    const pool = new ContentPool();
    pool.add(shown);
    assert.throws(() => pool.content(0), /^RangeError: event 0 is not hashed; 0 are$/);
    pool.run();
    pool.add(shown);
    assert.equal(toHex(pool.content(0)), CONTENT);
    assert.throws(() => pool.groupRoot(1, 1), RangeError);
    assert.throws(() => pool.content(-1), RangeError);
    pool.reset();
    assert.throws(() => pool.content(0), RangeError);
  });

  it('hashes values that are not ASCII as UTF-8, short and long', () => {
    for (const value of [
      '"späť €"',
      '"\u007f"',
      '"\u0080"',
      '"\u0081"',
      `"${'€'.repeat(50)}"`,
      `"${'x'.repeat(5000)}ß"`,
      '"😀"',
    ]) {
      const event = { ...VECTOR_EVENT, payload: { note: JSON.parse(value) as string } };
      const pool = new ContentPool();
      pool.add(openEvent(event, saltOf));
      pool.add(closeUnits(openEvent(event, saltOf), () => true));
      pool.run();
      assert.equal(toHex(pool.content(0)), toHex(pool.content(1)));
    }
  });
});
