// Ranges of a log on PostgreSQL, unchanged and after changes by hand.

import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { equalBytes } from '@tallystick/evidence';
import {
  ENTRY_COLUMNS,
  fill,
  type Installation,
  type Installations,
  type Node,
  PUBLIC_KEY,
  publish,
  rootAt,
  startInstallations,
} from '../../../testing/signing-nodes.ts';

let installations: Installations;
let place: Installation;
let node: Node;
before(async () => {
  installations = await startInstallations();
  place = await installations.install('acme');
  node = place.start({ sealAfterEvents: 100 });
  await fill(node, 'acme', 350);
  await publish(node);
  await fill(node, 'acme', 20);
});
after(async () => {
  await node?.[Symbol.asyncDispose]();
  await installations?.[Symbol.asyncDispose]();
});

async function check(fromIndex: number, endIndex: number, streamId?: string) {
  const steps: number[] = [];
  const request = { fromIndex, endIndex, publicKeys: [PUBLIC_KEY] };
  const verdict = await node.tree
    .forTenant('acme')
    .checkRange(streamId === undefined ? request : { ...request, streamId }, (checked) =>
      steps.push(checked),
    );
  assert.deepEqual(
    steps,
    steps.toSorted((a, b) => a - b),
  );
  return verdict;
}

/** The fault after a change, which is then undone. */
async function faultAfter(sql: string, fromIndex: number, endIndex: number, streamId?: string) {
  await place.raw('CREATE TABLE kept AS SELECT * FROM entries');
  await place.raw('CREATE TABLE kept_contents AS SELECT * FROM contents');
  await place.raw('CREATE TABLE kept_streams AS SELECT * FROM streams');
  try {
    await place.raw(sql);
    const { fault } = await check(fromIndex, endIndex, streamId);
    return [fault?.reason, fault?.index];
  } finally {
    await place.raw('TRUNCATE entries, contents, streams');
    await place.raw(`INSERT INTO entries (${ENTRY_COLUMNS}) SELECT ${ENTRY_COLUMNS} FROM kept`);
    await place.raw('INSERT INTO contents SELECT * FROM kept_contents');
    await place.raw('INSERT INTO streams SELECT * FROM kept_streams');
    await place.raw('DROP TABLE kept, kept_contents, kept_streams');
  }
}

it('any range of a log verifies, and so does each stream', async () => {
  const size = (await (await node.tree.forTenant('acme').tree())!.latest())!.size;
  for (const [from, end] of [
    [0, size],
    [0, 1],
    [size - 1, size],
    [42, 300],
    [7, 7],
    [size - 3, size + 5],
  ] as const) {
    const { fault, checkedEvents, treeSize, rootHash } = await check(from, end);
    assert.deepEqual([fault, checkedEvents, treeSize], [undefined, end - from, size], `${from} to ${end}`);
    assert.ok(equalBytes(rootHash, await rootAt(place, 'acme', size)));
  }
  const streams = await node.log.forTenant('acme').streams({ before: undefined }, 10);
  assert.ok(streams.length >= 4);
  for (const { streamId, firstIndex, endIndex } of streams)
    assert.equal((await check(firstIndex, endIndex, streamId)).fault, undefined, `from ${firstIndex}`);
});

it('the verification of a range names changed and missing entries', async () => {
  const text = `UPDATE contents SET text2 = '{"payload":{"a":1}}' WHERE leaf_index = 55`;
  assert.deepEqual(await faultAfter(text, 42, 75), ['LEAF_MISMATCH', 55]);
  assert.deepEqual(await faultAfter(text, 0, 42), [undefined, undefined]);
  const leaf = `UPDATE entries SET leaf = decode(repeat('00', 32), 'hex') WHERE leaf_index = 50`;
  assert.deepEqual(await faultAfter(leaf, 42, 75), ['LEAF_MISMATCH', 50]);
  assert.deepEqual(await faultAfter(leaf, 0, 42), ['ROOT_MISMATCH', 0]);
  const gone = (index: number) => `DELETE FROM entries WHERE leaf_index = ${index}`;
  assert.deepEqual(await faultAfter(gone(50), 42, 75), ['INDEX_MISMATCH', 50]);
  assert.deepEqual(await faultAfter(gone(74), 42, 75), ['TRUNCATED', 74]);
  const content = 'DELETE FROM contents WHERE leaf_index = 20';
  assert.deepEqual(await faultAfter(content, 0, 42), ['GAP_UNEXPLAINED', 20]);
});

it('a range of a stream must match the log', async () => {
  const [first, second] = await node.log.forTenant('acme').streams({ after: undefined }, 2);
  const { streamId, firstIndex, endIndex } = second!;
  const moved = `UPDATE streams SET first_index = first_index + 1 WHERE stream_id = '${streamId}'`;
  const [reason] = await faultAfter(moved, firstIndex + 1, endIndex, streamId);
  assert.equal(reason, 'LEAF_MISMATCH');
  const none = `DELETE FROM streams WHERE stream_id = '${first!.streamId}'`;
  assert.deepEqual((await faultAfter(none, 0, first!.endIndex, first!.streamId))[0], 'TRUNCATED');
});

it('a range is compared with a checkpoint that is signed by a known key', async () => {
  const request = { fromIndex: 0, endIndex: 10, publicKeys: [new Uint8Array(32).fill(9)] };
  const { fault } = await node.tree.forTenant('acme').checkRange(request, () => {});
  assert.equal(fault?.reason, 'KEY_UNKNOWN');
  assert.equal(
    (await node.tree.forTenant('nobody').checkRange(request, () => {})).fault?.reason,
    'TRUNCATED',
  );
});
