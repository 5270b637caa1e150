import assert from 'node:assert/strict';
import { test } from 'node:test';
import { asJson, EventDraft, type JsonSchema, LIMITS, operationNamed } from '@tallystick/contract';
import { canonicalJson, parseJson } from '@tallystick/evidence';
import * as fc from 'fast-check';
import { JsonText, receivedMember, UnreadValue } from '../../call.ts';
import { bodyLimits } from './body-limits.ts';
import { bodyValue } from './lean-body.ts';
import { parseBody } from './parse-body.ts';
import { textMembersOf } from './text-members.ts';

const SINGLE = bodyLimits(operationNamed('events.ingest'));
const BATCH = bodyLimits(operationNamed('events.ingestBatch'));

const lean = (value: unknown, rules: typeof SINGLE) =>
  bodyValue(parseBody(Buffer.from(JSON.stringify(value)), rules, false), rules);

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

/** What is read of a value: members that the contract names, and that there are others. */
function leanly(value: unknown, { properties = {} }: JsonSchema): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return [];
  const members: [string, unknown][] = Object.keys(properties).length === 0 ? [] : Object.entries(value);
  return Object.fromEntries(members.map(([name, member]) => [name, leanly(member, properties[name] ?? {})]));
}

/** The same of an event, with the members that are kept as text. */
function leanEvent(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return leanly(value, {});
  const kept = Object.entries(value).filter(
    ([name, member]) =>
      ['context', 'payload'].includes(name) &&
      typeof member === 'object' &&
      member !== null &&
      !Array.isArray(member),
  );
  return { ...(leanly(value, asJson(EventDraft)) as object), ...Object.fromEntries(kept) };
}

test('the contract says which members are kept as text: context and payload of events', () => {
  const { keys, inBody, inObject, ...others } = BATCH.texts!;
  const names = ['context', 'payload'];
  const list = { name: 'events', minItems: 1, maxItems: 1000, refusedAs: 'BATCH_SIZE_INVALID' };
  assert.deepEqual(others, { list, names, levels: 4 });
  assert.deepEqual(
    keys,
    names.map((name) => Uint8Array.from(Buffer.from(name))),
  );
  assert.deepEqual(inBody, { events: {}, transactional: {} });
  assert.deepEqual(inObject['resource'], { resourceType: {}, resourceId: {}, resourceName: {} });
  assert.deepEqual(SINGLE.texts, { ...BATCH.texts, list: undefined, levels: 2, inBody: inObject, inObject });
  assert.equal(textMembersOf(operationNamed('policies.create')), undefined);
  assert.equal(textMembersOf(operationNamed('events.get')), undefined);
});

test('the outline of an event reaches as deep as the rules of the contract look, and no list is among them', () => {
  const levelsOf = ({ properties = {}, items, anyOf }: JsonSchema): number => {
    assert.deepEqual([items, anyOf], [undefined, undefined], 'what is read has neither lists nor branches');
    const members = Object.values(properties).filter((member) => !member['x-kept-as-text']);
    return members.length === 0 ? 0 : 1 + Math.max(...members.map(levelsOf));
  };
  assert.equal(levelsOf(asJson(EventDraft)), SINGLE.texts!.levels);
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

test('what is no object stays a value, and of a list nothing is left but that it is one', () => {
  const table: unknown[] = [
    { payload: [], context: null },
    { payload: 'text', actor: { context: {} } },
    [],
    'text',
    null,
  ];
  for (const value of table) assert.deepEqual(read(lean(value, SINGLE)), value);
  assert.deepEqual(read(lean({ payload: [{ a: 1 }], actor: [1] }, SINGLE)), { payload: [], actor: [] });
  assert.deepEqual(read(lean([{ payload: { a: 1 } }], SINGLE)), []);
  assert.deepEqual(lean({ events: { context: { a: {} } } }, BATCH), { events: {} });
  assert.deepEqual(lean({ events: 5, transactional: [[]] }, BATCH), { events: 5, transactional: [] });
  assert.deepEqual(lean({ payload: { a: 1 } }, BATCH), { payload: {} });
  assert.deepEqual(lean([{ payload: {} }], BATCH), []);
});

test('of members that the operation does not know so many are read as are asked for, and every known one', () => {
  const crowd = Object.fromEntries(Array.from({ length: 1200 }, (_, index) => [`k${index}`, { a: [index] }]));
  const event = { timestamp: 't', actor: { ...crowd, userId: 'u', actorType: { a: crowd } } };
  const unread = lean({ events: [event, { ...event, k: 0 }], ...crowd }, BATCH) as { events: UnreadValue[] };
  assert.equal(Object.keys(unread).length, LIMITS.errorDetailsMax + 1);
  for (const count of [1, 2, 100]) {
    const [inActor, inBoth] = unread.events.map((one) => one.read(count) as typeof event & { k?: number });
    const { userId, actorType, ...others } = inActor!.actor as Record<string, unknown>;
    assert.deepEqual([inActor!.timestamp, userId, actorType], ['t', 'u', {}]);
    assert.equal(Object.keys(others).length, count);
    assert.deepEqual(others['k0'], {});
    assert.equal(inBoth!.k, 0, 'those outside come first');
    assert.equal(Object.keys(inBoth!.actor).length, 2 + count - 1);
  }
});

test('of every body, exactly the members that are used are parsed', () => {
  const free = fc.dictionary(fc.string({ unit: 'grapheme' }), fc.jsonValue());
  const event = fc.record(
    { context: free, payload: free, action: fc.string(), actor: fc.jsonValue(), zeal: fc.jsonValue() },
    { requiredKeys: [] },
  );
  const body = fc.record({ events: fc.array(fc.oneof(event, fc.jsonValue())), transactional: fc.boolean() });
  fc.assert(
    fc.property(event, body, (one, { events, transactional }) => {
      const meant = (value: unknown) => canonicalJson(parseJson(JSON.stringify(value)));
      assert.equal(meant(whole(lean(one, SINGLE))), meant(leanEvent(one)));
      const batch = whole(lean({ events, transactional }, BATCH));
      assert.equal(meant(batch), meant({ events: events.map(leanEvent), transactional }));
    }),
    { numRuns: 400, seed: 20260115 },
  );
});

test('one member can be had of a value that is not read, as of one that is', () => {
  const event = { tenantId: 'acme', correlationId: 5, actor: { a: [1] }, toString: 'x' };
  const unread = lean(event, SINGLE);
  for (const name of ['tenantId', 'correlationId', 'toString', 'action', 'hasOwnProperty']) {
    assert.deepEqual(receivedMember(unread, name), receivedMember(event, name), name);
  }
  assert.deepEqual(receivedMember(unread, 'actor'), {}, 'nobody looks inside');
  for (const value of [['tenantId'], 'tenantId', null, 5]) {
    assert.equal(receivedMember(lean(value, SINGLE), 'tenantId'), undefined);
    assert.equal(receivedMember(value, 'tenantId'), undefined);
  }
});
