import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HASH_BYTES } from '@tallystick/evidence';
import type { Random } from '../../runtime/random.ts';
import { bytesOf, draftOf, now, request } from '../conformance/claims.ts';
import { Commitments, SEEDS_BYTES } from './commitments.ts';
import { decodePool, encodePool } from './append-message.ts';
import { CommitmentRow, PoolCommitter } from './pool-commitments.ts';

/** Seeds that are distinct and reproducible. */
const random: Random = {
  bytes: (count) => new Uint8Array(count).map((_, i) => i % 251),
  uuid: () => assert.fail('not asked for'),
  fraction: () => assert.fail('not asked for'),
};
const committer = new PoolCommitter(random);
const drafts = (count: number) => Array.from({ length: count }, (_, n) => draftOf({ payload: { n } }));
const broken = draftOf({}, { texts: bytesOf('{"action":"a.b"}', '{"payload":') });
const poolOf = (...all: ReturnType<typeof drafts>[]) =>
  decodePool(
    encodePool(
      all.map((one) => request('acme', one)),
      now(),
    ),
  ).requests;

test('each draft has its row, in the order of the requests', () => {
  const requests = poolOf(drafts(3), drafts(1), drafts(70));
  const made = committer.make(requests);
  assert.equal(made.faults.size, 0);
  const commitments = new Commitments();
  commitments.begin(random.bytes(74 * SEEDS_BYTES));
  for (const { texts } of requests.flatMap((one) => one.drafts)) commitments.add(texts);
  commitments.run();
  const row = new CommitmentRow();
  for (let place = 0; place < 74; place++) {
    row.read(made, place);
    const [seeds, root1, root2, content] = [SEEDS_BYTES, HASH_BYTES, HASH_BYTES, HASH_BYTES].map(
      (length) => new Uint8Array(length),
    ) as [Uint8Array, Uint8Array, Uint8Array, Uint8Array];
    commitments.copySeeds(place, seeds, 0);
    commitments.copyRoot(place, 1, root1, 0);
    commitments.copyRoot(place, 2, root2, 0);
    commitments.copyContent(place, content, 0);
    assert.deepEqual({ ...row }, { seeds, root1, root2, content }, `draft ${place}`);
  }
  assert.throws(() => row.read(made, 74), RangeError);
});

test('a request without commitments is reported, and the others keep their rows', () => {
  const made = committer.make(poolOf(drafts(2), [...drafts(1), broken], drafts(2)));
  assert.deepEqual([...made.faults.keys()], [1]);
  const row = new CommitmentRow();
  const isEmpty = [0, 1, 2, 3, 4, 5].map((place) => {
    row.read(made, place);
    return row.content.every((byte) => byte === 0);
  });
  assert.deepEqual(isEmpty, [false, false, true, true, false, false]);
});
