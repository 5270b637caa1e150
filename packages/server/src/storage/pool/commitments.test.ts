import assert from 'node:assert/strict';
import { test } from 'node:test';
import { contentOf, encodeEvent, EvidenceError, groupRootOf, openEvent, sha256 } from '@tallystick/evidence';
import { Commitments, saltsOf, SEED_BYTES, SEEDS_BYTES } from './commitments.ts';

const event = (n: number) => ({
  action: 'Delete.Invoice',
  actor: { actorType: 'User', userId: `u-${n}` },
  payload:
    n % 3 === 0 ? {} : Object.fromEntries(Array.from({ length: n }, (_, i) => [`key${i}`, 'ž'.repeat(i)])),
  ...(n % 2 === 0 ? { context: { ipAddress: '203.0.113.7' } } : {}),
});
const contentAt = (commitments: Commitments, place: number) => {
  const content = new Uint8Array(32);
  commitments.copyContent(place, content, 0);
  return content;
};
const rootAt = (commitments: Commitments, place: number, group: 1 | 2) => {
  const root = new Uint8Array(32);
  commitments.copyRoot(place, group, root, 0);
  return root;
};
const seedsOf = (n: number) => new Uint8Array(SEEDS_BYTES).map((_, i) => i * 3 + n);

test('the salts of a group are the pieces of the hashes of its seed and a count', () => {
  const seed = new Uint8Array(SEED_BYTES).fill(9);
  const block = (count: number) => sha256(seed, Uint8Array.of(0, 0, count >>> 8, count));
  assert.deepEqual(saltsOf(seed, 3), Uint8Array.from([...block(0), ...block(1).subarray(0, 16)]));
  assert.deepEqual(saltsOf(seed, 602).subarray(16 * 600), block(300));
  assert.equal(saltsOf(seed, 0).length, 0);
});

test('roots and contents of a pool equal those of each event disclosed alone', () => {
  const commitments = new Commitments();
  for (const count of [1, 64, 65, 130]) {
    commitments.begin(Buffer.concat(Array.from({ length: count }, (_, n) => seedsOf(n))));
    for (let n = 0; n < count; n++) {
      const [one, two] = encodeEvent(event(n));
      assert.equal(commitments.add([one.bytes, two.bytes]), n);
    }
    commitments.run();
    for (let n = 0; n < count; n++) {
      const encoded = encodeEvent(event(n));
      const salts = new Map<string, Uint8Array>();
      for (const [group, { units }] of encoded.entries()) {
        const all = saltsOf(seedsOf(n).subarray(SEED_BYTES * group, SEED_BYTES * (group + 1)), units.length);
        for (const [rank, { path }] of units.entries())
          salts.set(path, all.subarray(16 * rank, 16 * rank + 16));
      }
      const shown = openEvent(event(n), (path) => salts.get(path)!);
      assert.deepEqual(contentAt(commitments, n), contentOf(shown));
      assert.deepEqual(rootAt(commitments, n, 1), groupRootOf(1, shown[0]));
      assert.deepEqual(rootAt(commitments, n, 2), groupRootOf(2, shown[1]));
      const seeds = new Uint8Array(SEEDS_BYTES);
      commitments.copySeeds(n, seeds, 0);
      assert.deepEqual(seeds, seedsOf(n));
    }
  }
});

test('a text that is not a group of an event is refused and does not affect the others', () => {
  const commitments = new Commitments();
  commitments.begin(Buffer.concat([seedsOf(5), seedsOf(6), seedsOf(7)]));
  const [one, two] = encodeEvent(event(5));
  const good = [one.bytes, two.bytes] as const;
  const alone = new Commitments();
  alone.begin(Buffer.concat([seedsOf(5), seedsOf(6)]));
  for (const place of [0, 1]) {
    assert.equal(commitments.add(good), place);
    assert.throws(() => commitments.add([two.bytes, one.bytes]), EvidenceError);
    assert.equal(alone.add(good), place);
  }
  commitments.run();
  alone.run();
  for (const place of [0, 1]) assert.deepEqual(contentAt(commitments, place), contentAt(alone, place));
  assert.notDeepEqual(contentAt(commitments, 0), contentAt(commitments, 1), 'each has seeds of its own');
});

test('an event without a seed is rejected', () => {
  const commitments = new Commitments();
  commitments.begin(new Uint8Array(2 * SEEDS_BYTES - 1));
  const [one, two] = encodeEvent(event(1));
  commitments.add([one.bytes, two.bytes]);
  assert.throws(() => commitments.add([one.bytes, two.bytes]), /there is no seed for event 1/);
});
