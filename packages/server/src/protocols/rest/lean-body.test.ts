import assert from 'node:assert/strict';
import { test } from 'node:test';
import { operationNamed } from '@tallystick/contract';
import { canonicalBytes, canonicalJson, parseJson } from '@tallystick/evidence';
import * as fc from 'fast-check';
import { JsonText, receivedMember, UnreadValue } from '../../call.ts';
import { leanValue } from './lean-body.ts';
import { textMembersOf } from './text-members.ts';

const SINGLE = textMembersOf(operationNamed('events.ingest'))!;
const BATCH = textMembersOf(operationNamed('events.ingestBatch'))!;

function lean(value: unknown, members: typeof SINGLE): unknown {
  const canonical = canonicalBytes(Buffer.from(JSON.stringify(value)), {
    depthMax: 34,
    outlineLevels: members.levels,
  });
  return canonical && leanValue(canonical.outline, members);
}

function read(value: unknown): unknown {
  assert.ok(value instanceof UnreadValue);
  return value.read();
}

/** The value with every item read and every text parsed again. */
function whole(value: unknown): unknown {
  if (value instanceof UnreadValue) return whole(value.read());
  if (value instanceof JsonText) return parseJson(Buffer.from(value.bytes).toString());
  if (Array.isArray(value)) return value.map(whole);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, whole(member)]));
}

test('the contract says which members are kept as text: context and payload of events', () => {
  assert.deepEqual(SINGLE, { list: undefined, names: ['context', 'payload'], levels: 2 });
  const list = { name: 'events', minItems: 1, maxItems: 1000, refusedAs: 'BATCH_SIZE_INVALID' };
  assert.deepEqual(BATCH, { list, names: ['context', 'payload'], levels: 4 });
  assert.equal(textMembersOf(operationNamed('policies.create')), undefined);
  assert.equal(textMembersOf(operationNamed('events.get')), undefined);
});

test('context and payload become their canonical text, wherever they stand among the members', () => {
  const value = read(lean({ z: 1, payload: { b: 1, a: 'é' }, action: 'x', context: {} }, SINGLE));
  const { payload, context, ...others } = value as Record<string, JsonText>;
  assert.deepEqual(others, { z: 1, action: 'x' });
  assert.equal(Buffer.from(payload!.bytes).toString(), '{"a":"é","b":1}');
  assert.equal(Buffer.from(context!.bytes).toString(), '{}');
});

test('the items of a batch are not read before somebody asks, and then as a single event is', () => {
  const event = { payload: { b: 1, a: 2 }, action: 'x', context: [1] };
  const { events, transactional } = lean({ events: [event, 5], transactional: true }, BATCH) as Record<
    string,
    UnreadValue[]
  >;
  assert.equal(transactional, true);
  assert.ok(events!.every((item) => item instanceof UnreadValue));
  assert.deepEqual(events![0]!.read(), read(lean(event, SINGLE)));
  assert.equal(events![1]!.read(), 5);
});

test('what is no object stays a value, and members of that name elsewhere are none of its business', () => {
  const table: unknown[] = [
    { payload: [], context: null },
    { payload: 'text', actor: { context: { a: 1 } } },
    [],
    [{ payload: { a: 1 } }],
    'text',
    null,
  ];
  for (const value of table) assert.deepEqual(read(lean(value, SINGLE)), value);
  const odd: unknown[] = [
    { events: { context: { a: {} } } },
    { events: 5 },
    { events: [5, null, [], [{ payload: {} }]] },
    { payload: { a: 1 } },
    [{ payload: {} }],
  ];
  for (const value of odd) assert.deepEqual(whole(lean(value, BATCH)), value);
});

test('whatever the body is, the lean value means the same', () => {
  const free = fc.dictionary(fc.string({ unit: 'grapheme' }), fc.jsonValue());
  const event = fc.record(
    { context: free, payload: free, action: fc.string(), actor: fc.jsonValue(), zeal: fc.jsonValue() },
    { requiredKeys: [] },
  );
  const bodies = fc.oneof(
    event.map((value) => ({ value, members: SINGLE })),
    fc
      .record({ events: fc.array(fc.oneof(event, fc.jsonValue())), transactional: fc.boolean() })
      .map((value) => ({ value, members: BATCH })),
  );
  let leanCount = 0;
  fc.assert(
    fc.property(bodies, ({ value, members }) => {
      const found = lean(value, members);
      if (found === undefined) return;
      leanCount += 1;
      assert.equal(canonicalJson(whole(found)), canonicalJson(parseJson(JSON.stringify(value))));
    }),
    { numRuns: 1000, seed: 20260115 },
  );
  assert.ok(leanCount > 100, `only ${leanCount} took the quick way`);
});

test('one member can be had of a value that is not read, as of one that is', () => {
  const event = { tenantId: 'acme', correlationId: 5, actor: { a: [1] }, toString: 'x' };
  const unread = lean(event, SINGLE);
  for (const name of ['tenantId', 'correlationId', 'actor', 'toString', 'action', 'hasOwnProperty']) {
    assert.deepEqual(receivedMember(unread, name), receivedMember(event, name), name);
  }
  for (const value of [['tenantId'], 'tenantId', null, 5]) {
    assert.equal(receivedMember(lean(value, SINGLE), 'tenantId'), undefined);
    assert.equal(receivedMember(value, 'tenantId'), undefined);
  }
});
