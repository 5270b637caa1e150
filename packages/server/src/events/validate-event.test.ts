import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LIMITS } from '@tallystick/contract';
import { EVENT, EVENT_ID } from '../testing/bound-operations.ts';
import {
  createTestValidateEvent,
  eventPlace,
  LATEST,
  parsedEvent,
  refusalOf,
} from '../testing/test-validate-event.ts';
import { isRefusal } from './validate-event.ts';

const validateEvent = createTestValidateEvent();
const fieldsOf = (value: unknown, at = '') =>
  refusalOf(validateEvent, value, [], at).details.map(({ field }) => field);

const text = (bytes: Uint8Array) => Buffer.from(bytes).toString();

test('a sound event comes out as it was sent, with its time in UTC and the text of its content', () => {
  const event = {
    ...EVENT,
    timestamp: '2026-01-02T04:04:05.5+01:00',
    payload: { b: 1, a: 'ä' },
    context: {},
  };
  const { sent, timestamp, contentText } = parsedEvent(validateEvent, event);
  assert.equal(sent, event, 'not even copied');
  assert.equal(timestamp, '2026-01-02T03:04:05.5Z');
  assert.equal(text(contentText), '{"context":{},"payload":{"a":"ä","b":1}}');
  assert.equal(text(parsedEvent(validateEvent, EVENT).contentText), '{}');
  assert.equal(text(parsedEvent(validateEvent, { ...EVENT, payload: {} }).contentText), '{"payload":{}}');
  assert.equal(
    text(parsedEvent(validateEvent, { ...EVENT, context: { a: null } }).contentText),
    '{"context":{"a":null}}',
  );
});

test('null in an optional member means absent; in a required one it is refused; in content it is content', () => {
  const nulls = { context: null, payload: null, correlationId: null, eventId: null, outcome: null };
  const event = {
    ...EVENT,
    ...nulls,
    classification: null,
    tenantId: null,
    actor: { ...EVENT.actor, userName: null, serviceId: null },
    resource: { ...EVENT.resource, resourceName: null },
  };
  assert.deepEqual(parsedEvent(validateEvent, event).sent, EVENT);
  assert.equal(event.actor.userName, null, 'what was sent is not changed');
  assert.deepEqual(fieldsOf({ ...EVENT, action: null }), ['action']);
  assert.deepEqual(new Set(fieldsOf({ ...EVENT, actor: { actorType: null } })), new Set(['actor.actorType']));
  assert.deepEqual(fieldsOf({ ...EVENT, unknown: null }), ['unknown']);
});

test('everything that is wrong is listed, with paths below the place of the event', () => {
  const event = {
    timestamp: '2026-06-01T00:00:00.000001Z',
    actor: { actorType: 'Robot', x: 1 },
    action: 'Delete',
    payload: { text: 'x'.repeat(LIMITS.payloadBytesMax) },
    eventId: EVENT_ID.toLowerCase(),
  };
  const broken = [
    { field: 'events[7].context.a', issue: 'is given more than once; an object may have each key once' },
  ];
  const { code, details, message } = refusalOf(validateEvent, event, broken, 'events[7]');
  assert.equal(code, 'VALIDATION_FAILED');
  assert.match(
    message,
    /^8 violations; the first: events\[7\]\.context\.a is given more than once; an object may/,
  );
  assert.deepEqual(details.map(({ field }) => field).sort(), [
    'events[7].action',
    'events[7].actor.actorType',
    'events[7].actor.x',
    'events[7].context.a',
    'events[7].eventId',
    'events[7].payload',
    'events[7].resource',
    'events[7].timestamp',
  ]);
});

test('what is no object at all is refused at its own place', () => {
  for (const value of [5, 'x', null, true, [], [EVENT]]) {
    assert.deepEqual(fieldsOf(value, 'events[0]'), ['events[0]'], JSON.stringify(value));
  }
});

test('a rule of JSON that is broken refuses an event that is otherwise sound', () => {
  const broken = [{ field: 'payload.n', issue: 'is no double', value: '9007199254740993' }];
  assert.deepEqual(refusalOf(validateEvent, EVENT, broken).details, broken);
  const lone = { ...EVENT, payload: { text: '\ud800' } };
  assert.deepEqual(
    refusalOf(validateEvent, lone, broken).details,
    broken,
    'even where there is no canonical text',
  );
});

test('a timestamp is accepted up to the limit and refused after it, with its field and its value', () => {
  assert.ok(parsedEvent(validateEvent, { ...EVENT, timestamp: LATEST }));
  const ahead = { ...EVENT, timestamp: '2026-06-01T01:00:00.0000001+01:00' };
  assert.deepEqual(refusalOf(validateEvent, ahead).details, [
    { field: 'timestamp', issue: 'lies more than 5 minutes in the future', value: ahead.timestamp },
  ]);
  assert.equal(refusalOf(validateEvent, ahead).code, 'VALIDATION_FAILED');
});

/** A payload of so many bytes as compact JSON, with characters of one, two, three and four bytes. */
function payloadOf(bytes: number) {
  const start = 'aé€😀';
  const rest = bytes - Buffer.byteLength(JSON.stringify({ t: start }));
  return { t: start + 'x'.repeat(rest) };
}

test('payload and context may have 65,536 bytes of compact JSON in UTF-8, and not one more', () => {
  const max = LIMITS.payloadBytesMax;
  for (const member of ['payload', 'context'] as const) {
    assert.ok(parsedEvent(validateEvent, { ...EVENT, [member]: payloadOf(max) }));
    const { code, details } = refusalOf(validateEvent, { ...EVENT, [member]: payloadOf(max + 1) });
    assert.equal(code, 'PAYLOAD_TOO_LARGE');
    assert.deepEqual(details, [
      { field: member, issue: `is ${max + 1} bytes of compact JSON; the limit is ${max}` },
    ]);
  }
  const euros = (count: number) => ({ ...EVENT, payload: { t: '€'.repeat(count) } });
  assert.ok(parsedEvent(validateEvent, euros(21_842)));
  assert.equal(refusalOf(validateEvent, euros(21_843)).code, 'PAYLOAD_TOO_LARGE', 'characters are not bytes');
  assert.ok(parsedEvent(validateEvent, { ...EVENT, payload: { t: '\n'.repeat(32_764) } }));
  assert.equal(
    refusalOf(validateEvent, { ...EVENT, payload: { t: '\n'.repeat(32_765) } }).code,
    'PAYLOAD_TOO_LARGE',
    'escapes count',
  );
});

test('a payload that is too large is PAYLOAD_TOO_LARGE only when nothing else is wrong', () => {
  const payload = payloadOf(LIMITS.payloadBytesMax + 1);
  assert.equal(refusalOf(validateEvent, { ...EVENT, payload, action: 'x' }).code, 'VALIDATION_FAILED');
  assert.equal(
    refusalOf(validateEvent, { ...EVENT, payload, timestamp: '2027-01-01T00:00:00Z' }).code,
    'VALIDATION_FAILED',
  );
  assert.equal(refusalOf(validateEvent, { ...EVENT, payload, context: payload }).code, 'VALIDATION_FAILED');
});

test('an actor needs an identity where the settings ask for it', () => {
  const strict = createTestValidateEvent(true);
  const table: [actor: object, field: string | undefined][] = [
    [{ actorType: 'User' }, 'actor.userId'],
    [{ actorType: 'User', serviceId: 's' }, 'actor.userId'],
    [{ actorType: 'User', userId: 'u' }, undefined],
    [{ actorType: 'User', userName: 'u' }, undefined],
    [{ actorType: 'Service' }, 'actor.serviceId'],
    [{ actorType: 'Service', userName: 'u' }, 'actor.serviceId'],
    [{ actorType: 'Service', serviceName: 's' }, undefined],
    [{ actorType: 'System' }, undefined],
  ];
  for (const [actor, field] of table) {
    const event = { ...EVENT, actor };
    assert.ok(!isRefusal(validateEvent(event, eventPlace(), LATEST)), 'not demanded');
    const validated = strict(event, eventPlace(), LATEST);
    assert.equal(
      isRefusal(validated) ? validated.details[0]?.field : undefined,
      field,
      JSON.stringify(actor),
    );
  }
  assert.equal(refusalOf(strict, { ...EVENT, actor: { actorType: 'User', userId: null } }).details.length, 1);
});

test('of an event with thousands of unknown members, as many are listed as an error shows', () => {
  const crowd = Object.fromEntries(Array.from({ length: 50_000 }, (_, i) => [`k${i}`, 1]));
  const { message, details } = refusalOf(validateEvent, { ...EVENT, ...crowd }, [], 'events[0]');
  assert.equal(details.length, LIMITS.errorDetailsMax);
  assert.match(message, /^1000 or more violations; the first: events\[0\]\.k0 is not a known field/);
  assert.equal(fieldsOf({ ...EVENT, actor: { actorType: 'User', ...crowd } }).length, LIMITS.errorDetailsMax);
  const wide = Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`k${i}`, 1]));
  assert.ok(parsedEvent(validateEvent, { ...EVENT, context: wide }), 'content may have as many as fit');
});

test('content that is nested too deep to be written is refused for its nesting, not by a failure', () => {
  let payload: object = {};
  for (let i = 0; i < 100_000; i++) payload = { a: payload };
  const broken = [{ field: 'payload.a', issue: 'is nested deeper than 32 levels' }];
  assert.deepEqual(refusalOf(validateEvent, { ...EVENT, payload }, broken).details, broken);
});
