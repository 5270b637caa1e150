// What comes out of a body, in whichever thread it is parsed.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LIMITS, operationNamed, type OperationName } from '@tallystick/contract';
import { canonicalJson } from '@tallystick/evidence';
import { JsonText, UnreadValue } from '../../call.ts';
import { EVENT } from '../../testing/bound-operations.ts';
import { prepareReading } from './input.ts';
import { bodyValue } from './lean-body.ts';
import { parseBody } from './parse-body.ts';

function parsed(name: OperationName, text: string, isKeyed = false) {
  const { body } = prepareReading(operationNamed(name));
  // As it comes out of another thread.
  const found = structuredClone(parseBody(Buffer.from(text), body, isKeyed));
  return { found, value: bodyValue(found, body.texts) };
}

const text = (bytes: Uint8Array | undefined) => bytes && Buffer.from(bytes).toString();

test('a sound body is outlined, and its values are not made', () => {
  const { found, value } = parsed('events.ingest', JSON.stringify({ ...EVENT, payload: { b: 1, a: 2 } }));
  assert.ok('nodes' in found && value instanceof UnreadValue);
  assert.deepEqual(
    (value.read() as { payload: unknown }).payload,
    new JsonText(Uint8Array.from(Buffer.from('{"a":2,"b":1}'))),
  );
});

test('a body that breaks a rule of JSON keeps context and payload as text, and its violations', () => {
  const broken = `{"events":[{"payload":{"b":1,"a":"\\ud800"},"x":1},{"context":{"b":1,"a":2},"payload":[1]},5],"x":{}}`;
  const { found, value } = parsed('events.ingestBatch', broken);
  assert.ok('violations' in found);
  assert.deepEqual(
    found.violations.map(({ field }) => field),
    ['events[0].payload.a'],
  );
  assert.deepEqual(value, {
    events: [
      { x: 1, payload: new JsonText(Uint8Array.from(Buffer.from('{"b":1,"a":"\\ud800"}'))) },
      { payload: [], context: new JsonText(Uint8Array.from(Buffer.from('{"a":2,"b":1}'))) },
      5,
    ],
    x: {},
  });
});

test('a request with a key is known by its canonical form, or by its bytes where it has none', () => {
  const odd = '{"\\"":{"b":1,"a":2}}';
  for (const name of ['events.ingest', 'events.search'] as const) {
    const { found } = parsed(name, odd, true);
    assert.ok('value' in found);
    assert.equal(text(found.canonical), canonicalJson(JSON.parse(odd)), name);
    assert.equal(found.bytes, undefined);
    const { found: broken } = parsed(name, '{"a":1,"a":2}', true);
    assert.ok('value' in broken);
    assert.equal(text(broken.bytes), '{"a":1,"a":2}');
  }
  const large = `{"payload":{"\\"":"${'x'.repeat(LIMITS.payloadBytesMax)}"}}`;
  const { found: tooLarge } = parsed('events.ingest', large, true);
  assert.ok('value' in tooLarge);
  assert.equal(text(tooLarge.bytes), large, 'what is refused for its size is not canonicalised');
  assert.equal(tooLarge.canonical, undefined);
});

test('of thousands of unknown members some are left, and every known one', () => {
  const crowd = Array.from({ length: 40_000 }, (_, index) => `"\\u0061${index}":0`).join(',');
  const { value } = parsed('events.search', `{${crowd},"filters":{${crowd},"actions":["x"]},"query":"y"}`);
  const { query, filters, ...others } = value as { query: string; filters: Record<string, unknown> };
  assert.equal(query, 'y');
  assert.deepEqual(filters['actions'], ['x']);
  assert.equal(Object.keys(others).length, 2 * LIMITS.errorDetailsMax);
  assert.equal(Object.keys(filters).length, 2 * LIMITS.errorDetailsMax + 1);
});
