// The words of validation: enough to mend a request with, one issue a fault, and never the validator's own.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  asJson,
  everySchema,
  EventDraft,
  ExportRequest,
  type JsonSchema,
  OPERATIONS,
  SubscriptionConfiguration,
  SubscriptionPatch,
} from '@tallystick/contract';
import { EVENT } from '../testing/bound-operations.ts';
import { createRules } from './validate.ts';

const DATE_TIME =
  'a date-time that exists, with its zone and at most 9 digits of fraction, like 2026-01-02T03:04:05.678Z';
const ACTION = 'letters (A to Z, a to z), a dot, letters, like Delete.Invoice';
const VARIANTS = 'one of Download, Sftp, ObjectStorage';

/** `field issue` of everything that is wrong. */
function found(schema: JsonSchema, value: unknown): string[] {
  return createRules(schema)(value, '')
    .map(({ field, issue }) => `${field} ${issue}`)
    .toSorted();
}

const ofEvent = (members: object) => found(asJson(EventDraft), { ...EVENT, ...members });

test('an event without anything is told what each member wants', () => {
  assert.deepEqual(found(asJson(EventDraft), {}), [
    `action is required: ${ACTION}`,
    'actor is required: an object with actorType',
    'resource is required: an object with resourceType, resourceId',
    `timestamp is required: ${DATE_TIME}`,
  ]);
});

test('each rule of an event is said with an example, the words allowed, or the limit and what was found', () => {
  const table: [object, string][] = [
    [{ timestamp: 'yesterday' }, `timestamp must be ${DATE_TIME}`],
    [{ timestamp: 5 }, `timestamp must be ${DATE_TIME}; it is a number`],
    [{ action: 'delete' }, `action must be ${ACTION}`],
    [{ action: `A.${'b'.repeat(99)}` }, 'action must be 3 to 100 characters; it has 101'],
    [{ outcome: 'Maybe' }, 'outcome must be one of Success, Failure, Denied'],
    [{ correlationId: '7' }, 'correlationId must be a UUID, like 7d3f0c52-6a3e-4b51-9a0e-2f6b1f3c9d11'],
    [
      { eventId: '01ke0000000000000000000042' },
      "eventId must be a ULID: 26 digits and capital letters of Crockford's base 32, like 01KE0000000000000000000042",
    ],
    [
      { actor: { actorType: 'User', userId: '😀'.repeat(513) } },
      'actor.userId must be 1 to 512 characters; it has 513',
    ],
    [{ actor: [] }, 'actor must be an object with actorType; it is a list'],
    [{ payload: true }, 'payload must be an object; it is a boolean'],
    [{ resource: null }, 'resource must be an object with resourceType, resourceId; it is null'],
  ];
  for (const [members, expected] of table) assert.deepEqual(ofEvent(members), [expected]);
});

test('the characters of a text without end are not counted to the last', () => {
  const [issue] = ofEvent({ actor: { actorType: 'User', userName: 'é'.repeat(1_000_000) } });
  assert.equal(issue, 'actor.userName must be 1 to 320 characters; it has over 5000');
});

test('one fault that breaks several rules is said once', () => {
  assert.deepEqual(ofEvent({ action: '' }), [`action must be ${ACTION}`], 'length and pattern');
  assert.deepEqual(
    ofEvent({ outcome: 5 }),
    ['outcome must be one of Success, Failure, Denied'],
    'type and list',
  );
  const window: JsonSchema = { type: 'string', format: 'duration', pattern: '[1-9]' };
  assert.equal(found(window, 'soon').length, 1, 'format and pattern');
  assert.equal(found(asJson(SubscriptionPatch), { clearance: 5 }).length, 1, 'null or a list of words');
  assert.equal(ofEvent({ action: 'a'.repeat(200) }).length, 2, 'two faults stay two');
});

test('a destination without a known type is told the types, at the member that names it', () => {
  const rules = createRules(asJson(ExportRequest));
  assert.deepEqual(rules({ destination: {} }, ''), [
    { field: 'destination.type', issue: `is required: ${VARIANTS}` },
  ]);
  assert.deepEqual(rules({ destination: { type: 'Ftp' } }, ''), [
    { field: 'destination.type', issue: `must be ${VARIANTS}`, value: 'Ftp' },
  ]);
  assert.deepEqual(rules({ destination: 'Sftp' }, ''), [
    { field: 'destination', issue: 'must be an object with type; it is text', value: 'Sftp' },
  ]);
});

test('numbers, lists and maps are told their bounds', () => {
  const subscription = {
    name: 's',
    url: 'https://a.example',
    eventTypes: ['AuditEventReceived'],
    timeoutSeconds: 31,
    headers: Object.fromEntries(Array.from({ length: 51 }, (_, i) => [`h${i}`, ''])),
  };
  assert.deepEqual(found(asJson(SubscriptionConfiguration), subscription), [
    'headers must have at most 50 members; it has 51',
    'timeoutSeconds must be a whole number from 1 to 30; it is 31',
  ]);
  const empty = { ...subscription, eventTypes: [], timeoutSeconds: 1.5, headers: {} };
  assert.deepEqual(found(asJson(SubscriptionConfiguration), empty), [
    'eventTypes must have 1 to 14 items; it has 0',
    'timeoutSeconds must be a whole number from 1 to 30; it is a number with a fraction',
  ]);
});

test('the known members are told once an object, without those that are ignored', () => {
  const issues = createRules(asJson(SubscriptionConfiguration))({ nme: 1, ulr: 2 }, '')
    .filter(({ field }) => ['nme', 'ulr'].includes(field))
    .map(({ issue }) => issue);
  assert.match(issues[0]!, /^is not a known field; known are name, url, eventTypes, secret, /);
  assert.doesNotMatch(issues[0]!, /subscriptionId|createdAt/);
  assert.equal(issues[1], 'is not a known field');
});

test('a secret of the wrong kind is not quoted', () => {
  const shown = JSON.stringify(createRules(asJson(SubscriptionConfiguration))({ secret: 424_242 }, ''));
  assert.match(shown, /it is a number/);
  assert.doesNotMatch(shown, /424/);
});

test('every fault in a value of any operation is described in our own words', () => {
  // Most occur many times over; and what has members takes long to compile and breaks two rules of its own at most.
  const schemas = new Map(
    OPERATIONS.flatMap(({ input }) => [...everySchema(asJson(input))])
      .map(([, schema]) => ({ ...schema, description: '', 'x-use': '' }))
      .filter(({ properties, items }) => properties === undefined && items?.properties === undefined)
      .map((schema) => [JSON.stringify(schema), schema] as const),
  );
  const many = Array.from({ length: 1001 }, () => 0);
  const texts = ['', 'x', '\u0001', 'x'.repeat(20_000)];
  const values = [...texts, -1, 1.5, 1e12, null, true, [], many, {}, { unknown: 1 }];
  const ours = /^(must be .+|must have .+|is required(: .+)?|is not a known field(; known are .+)?)$/;
  const theirs = /NOT|match|allowed|equal|[<>]=|undefined|\b(string|integer|object|array) *$/;
  const issues = new Set<string>();
  for (const schema of schemas.values()) {
    const rules = createRules(schema);
    for (const value of values) for (const { issue } of rules(value, '')) issues.add(issue);
  }
  for (const issue of issues) {
    assert.match(issue, ours);
    assert.doesNotMatch(issue.replaceAll('an object', ''), theirs);
  }
  assert.ok(issues.size > 100, `only ${issues.size}`);
});
