// To read a message, as JSON or from the wire, costs no more than there is of it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LIMITS } from '@tallystick/contract';
import { processorMs } from '../../testing/processor-time.ts';
import { fromProtoJson } from './json-form.ts';
import { splitMessage } from './to-json.ts';
import { interfaceOf } from './wire-form.ts';

const planOf = (name: string) => interfaceOf('v2').plans.messages.get(name)!;

test('very many members of a map are set to null in little time', async () => {
  const nullMembers = Array.from({ length: 30_000 }, (_, i) => `headers.a${i}`);
  let read: unknown;
  const spent = await processorMs(() => {
    read = fromProtoJson(planOf('SubscriptionPatch'), { headers: { b: 'c' }, nullMembers });
  });
  const { headers } = read as { headers: Record<string, unknown> };
  assert.deepEqual([Object.keys(headers).length, headers['b'], headers['a7']], [30_001, 'c', null]);
  assert.ok(spent < 2000, `${spent} ms`);
});

test('of members that nobody knows, as many are kept as an error lists', () => {
  const names = Array.from({ length: 5000 }, (_, i) => [`k${i}`, 0] as const);
  const read = fromProtoJson(planOf('SubscriptionPatch'), {
    name: 'n',
    ...Object.fromEntries(names),
    url: 'u',
  });
  assert.equal(Object.keys(read as object).length, LIMITS.errorDetailsMax + 2);
  assert.equal((read as { url: unknown }).url, 'u');
});

test('a message in very many pieces, or of very many fields that nobody knows, is refused', async () => {
  const plan = planOf('EventsServiceIngestBatchRequest');
  for (const field of [
    [0x0a, 0],
    [0x0a, 4, 0x0a, 2, 0xff, 0xfe],
    [0xf8, 0x3f, 1],
  ]) {
    const bytes = Buffer.alloc(6_000_000, Uint8Array.from(field));
    const spent = await processorMs(() => {
      assert.throws(
        () => splitMessage(plan, bytes, 'batch', { textMax: bytes.length }),
        /over 100000 values/,
      );
    });
    assert.ok(spent < 1000, `${spent} ms`);
  }
});
