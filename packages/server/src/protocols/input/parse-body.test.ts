// The result of parsing a body, in either thread.

import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { test } from 'node:test';
import { operationNamed, type OperationName } from '@tallystick/contract';
import { canonicalJson } from '@tallystick/evidence';
import { JsonText, UnreadValue } from '../../call.ts';
import { EVENT } from '../../testing/bound-operations.ts';
import { bodyLimits } from './body-limits.ts';
import { bodyValue } from './lean-body.ts';
import { parseBody } from './parse-body.ts';

function parsed(name: OperationName, text: string, isKeyed = false) {
  const body = bodyLimits(operationNamed(name));
  // As it comes out of another thread.
  const found = structuredClone(parseBody(Buffer.from(text), body, isKeyed));
  return { found, value: bodyValue(found, body) };
}

test('a sound body is outlined, and its values are not made', () => {
  const { found, value } = parsed('events.ingest', JSON.stringify({ ...EVENT, payload: { b: 1, a: 2 } }));
  assert.ok('nodes' in found && value instanceof UnreadValue);
  assert.deepEqual(
    (value.read() as { payload: unknown }).payload,
    new JsonText(Uint8Array.from(Buffer.from('{"a":2,"b":1}'))),
  );
});

function read(value: unknown): unknown {
  if (value instanceof UnreadValue) return value.read();
  return Array.isArray(value) ? value.map(read) : value;
}

const kept = (json: string) => new JsonText(Uint8Array.from(Buffer.from(json)));
const digestOf = (text: string) => Uint8Array.from(hash('sha256', text, 'buffer'));

test('a body that breaks a rule of JSON keeps context and payload as text, and its violations', () => {
  const broken = `{"events":[{"payload":{"b":1,"a":"\\ud800"},"x":1},{"context":{"b":1,"a":2},"payload":[1]},5],"x":{}}`;
  const { found, value } = parsed('events.ingestBatch', broken);
  assert.deepEqual(
    found.violations.map(({ field }) => field),
    ['events[0].payload.a'],
  );
  const { events, ...others } = value as { events: unknown[] };
  assert.deepEqual(others, { x: {} });
  assert.deepEqual(read(events), [
    { x: 1, payload: kept('{"a":"\\ud800","b":1}') },
    { payload: [], context: kept('{"a":2,"b":1}') },
    5,
  ]);
});

test('of a member that is given more than once the last counts, wherever it stands', () => {
  const twice = `{"tenantId":"a","payload":[],"action":1,"tenantId":"b","payload":{"a":1,"a":{"c":1,"c":2}},"action":2}`;
  const { found, value } = parsed('events.ingest', twice);
  assert.deepEqual(
    found.violations.map(({ field }) => field),
    ['tenantId', 'payload', 'payload.a', 'payload.a.c', 'action'],
  );
  assert.equal((value as UnreadValue).member('tenantId'), 'b');
  assert.deepEqual(read(value), { tenantId: 'b', action: 2, payload: kept('{"a":{"c":2}}') });
});

test('a request with a key is known by its canonical form, or by its bytes where it has none', () => {
  const odd = '{"\\"":{"b":1,"a":2}}';
  for (const name of ['events.ingest', 'events.search'] as const) {
    const { found } = parsed(name, odd, true);
    assert.deepEqual(found.digest, digestOf(canonicalJson(JSON.parse(odd))), name);
    const { found: broken } = parsed(name, '{"a":1,"a":2}', true);
    assert.deepEqual(broken.digest, digestOf('{"a":1,"a":2}'));
    assert.equal(parsed(name, odd).found.digest, undefined);
  }
});

test('a payload with more members than are put in order is known by its size, and by the bytes of the request', () => {
  const crowd = Array.from({ length: 270_000 }, (_, index) => `"${index.toString(36)}" : 0`);
  const large = `{"payload":{${crowd.join(',')}}}`;
  const { found, value } = parsed('events.ingest', large, true);
  assert.deepEqual(found.digest, digestOf(large));
  assert.deepEqual(found.violations, []);
  const { payload } = read(value) as { payload: JsonText };
  assert.equal(payload.bytes.length, large.length - '{"payload":}'.length - 2 * crowd.length);
});
