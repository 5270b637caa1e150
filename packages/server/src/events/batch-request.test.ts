// Batches whose envelope is wrong, through the whole service: one answer says that and what is wrong with the events.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LIMITS } from '@tallystick/contract';
import { EVENT } from '../testing/bound-operations.ts';
import { type Seen } from '../testing/event-caller.ts';
import { startEventsApp } from '../testing/events-app.ts';

const { acme } = startEventsApp();

const WRONG = { ...EVENT, action: 'x', resource: { resourceType: 'T' } };
const SEVERAL = [
  EVENT,
  WRONG,
  null,
  { ...EVENT, tenantId: 'other' },
  { ...EVENT, payload: { t: 'x'.repeat(65_536) } },
];
const text = JSON.stringify(EVENT);
const BROKEN = `${text.slice(0, -1)},"payload":{"n":1e400},"outcome":"Perhaps"}`;
const fields = ({ body }: Seen) => body.error.details.map(({ field }) => field);
const crowd = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`more${i}`, 1]));

test('what is wrong with the envelope comes first, then what is wrong with each event', async () => {
  const ofEvents = [
    'events[1].action',
    'events[1].resource.resourceId',
    'events[2]',
    'events[3].tenantId',
    'events[4].payload',
  ];
  const ofBroken = ['events[1].payload.n', 'events[1].outcome'];
  const table: [body: unknown, expected: string[]][] = [
    [{ events: SEVERAL, transactional: 'yes' }, ['transactional', ...ofEvents]],
    [{ events: SEVERAL, more: 1 }, ['more', ...ofEvents]],
    [{ more: 1, transactional: 0, events: SEVERAL }, ['more', 'transactional', ...ofEvents]],
    [{ events: [EVENT], transactional: 'yes' }, ['transactional']],
    [`{"events":[${text},${BROKEN}],"a":1,"a":2}`, ['a', 'a', ...ofBroken]],
    [`{"transactional":1,"transactional":true,"events":[${text},${BROKEN}]}`, ['transactional', ...ofBroken]],
    [`{"events":[${text},${BROKEN}],"more":1e400}`, ['more', 'more', ...ofBroken]],
  ];
  for (const [body, expected] of table) {
    const seen = await acme.ingestBatch(body);
    assert.equal(seen.code, '422 VALIDATION_FAILED');
    assert.deepEqual(fields(seen), expected);
    assert.equal(seen.body.results, undefined, 'the batch is refused as a whole');
  }
});

test('an event has the same faults whether the envelope around it is right or wrong', async () => {
  const right = await acme.ingestBatch({ events: SEVERAL, transactional: true });
  const wrong = await acme.ingestBatch({ events: SEVERAL, transactional: 'true' });
  assert.equal(right.code, '422 BATCH_REJECTED');
  assert.deepEqual(wrong.body.error.details.slice(1), right.body.error.details);
  assert.deepEqual(
    right.body.error.details,
    right.body.results.flatMap(({ error }) => error?.details ?? []),
  );
});

test('nothing of a batch whose envelope is wrong is stored, and its key stays free', async () => {
  const eventId = '01KE0000000000000000000001';
  const key = { 'Idempotency-Key': 'wrong-envelope' };
  const events = [{ ...EVENT, eventId }];
  assert.equal((await acme.ingestBatch({ events, more: 1 }, key)).code, '422 VALIDATION_FAILED');
  assert.equal((await acme.get(eventId)).code, '404 EVENT_NOT_FOUND');
  assert.equal((await acme.ingestBatch({ events }, key)).code, '201');
});

test('where it is not clear which the events are, all is listed that can be said', async () => {
  const table: [body: unknown, code: string, expected: string[]][] = [
    [{ events: 5, transactional: 'yes' }, '422 VALIDATION_FAILED', ['events', 'transactional']],
    [{ more: 1 }, '422 VALIDATION_FAILED', ['events', 'more']],
    [{ events: [], transactional: 'yes' }, '400 BATCH_SIZE_INVALID', ['events', 'transactional']],
    [
      { events: Array.from({ length: 1001 }, () => 5), more: 1 },
      '400 BATCH_SIZE_INVALID',
      ['events', 'more'],
    ],
    [
      `{"events":[${text},${BROKEN}],"events":[${text},${JSON.stringify(WRONG)}],"more":1}`,
      '422 VALIDATION_FAILED',
      ['events[1].payload.n', 'events', 'more'],
    ],
    [
      `{"events":[${Array.from({ length: 1001 }, () => '1e400').join()}]}`,
      '400 BATCH_SIZE_INVALID',
      ['events', ...Array.from({ length: LIMITS.errorDetailsMax - 1 }, (_, i) => `events[${i}]`)],
    ],
  ];
  for (const [body, code, expected] of table) {
    const seen = await acme.ingestBatch(body);
    assert.equal(seen.code, code);
    assert.deepEqual(fields(seen).sort(), expected.sort());
  }
});

test(`no more than ${LIMITS.errorDetailsMax} violations are listed, those of the envelope first; the message counts all`, async () => {
  const events = Array.from({ length: 1000 }, () => WRONG);
  const seen = await acme.ingestBatch({ events, transactional: 'yes' });
  assert.equal(seen.code, '422 VALIDATION_FAILED');
  assert.equal(fields(seen).length, LIMITS.errorDetailsMax);
  assert.deepEqual(fields(seen).slice(0, 2), ['transactional', 'events[0].action']);
  assert.match(seen.body.error.message, /^2001 /);
});

test('an event whose broken values are past those that are listed is not taken for sound', async () => {
  const many = Array.from({ length: 2001 }, () => '{"n":1e400}');
  for (const last of ['1e400', '"\\ud800"']) {
    const events = `${text.slice(0, -1)},"payload":{"a":[${many.join()}]}},${text.slice(0, -1)},"payload":{"b":${last}}}`;
    const seen = await acme.ingestBatch(`{"events":[${events}]}`);
    assert.equal(seen.code, '422 VALIDATION_FAILED');
    assert.match(seen.body.error.message, /^2002 values break the rules of JSON/);
  }
});

test('more broken rules of JSON than can be told apart do not hide what is wrong with the envelope', async () => {
  const many = `${text.slice(0, -1)},"payload":{${Array.from({ length: 2001 }, () => '"a":1').join()}}}`;
  const seen = await acme.ingestBatch(`{"events":[${many},${many}],"transactional":"yes"}`);
  assert.equal(seen.code, '422 VALIDATION_FAILED');
  assert.match(seen.body.error.message, /^4000 values break the rules of JSON/);
  assert.equal(fields(seen).length, LIMITS.errorDetailsMax);
  assert.deepEqual(fields(seen).slice(0, 2), ['transactional', 'events[0].payload.a']);
  const none = await acme.ingestBatch(`{"events":[],"more":[${many},${many}]}`);
  assert.equal(none.code, '400 BATCH_SIZE_INVALID');
  assert.equal(fields(none)[0], 'events');
});

test('an envelope with many unknown members lists them, up to the limit of an error, and then its events', async () => {
  const seen = await acme.ingestBatch({ ...crowd(40), events: [WRONG], transactional: 'yes' });
  assert.equal(seen.code, '422 VALIDATION_FAILED');
  assert.equal(fields(seen).length, 43);
  assert.deepEqual(fields(seen).slice(-2), ['events[0].action', 'events[0].resource.resourceId']);
  assert.equal((await acme.ingestBatch({ ...crowd(40), events: [] })).code, '400 BATCH_SIZE_INVALID');
  const large = await acme.ingestBatch({ ...crowd(50_000) });
  assert.equal(large.code, '422 VALIDATION_FAILED');
  assert.equal(fields(large).length, LIMITS.errorDetailsMax);
  assert.equal(fields(large)[0], 'events');
});

test('an answer does not outgrow its request: past ten thousand details, events are refused by their message alone', async () => {
  const crowd = Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`a${i}`, 1]));
  const seen = await acme.ingestBatch({ events: Array.from({ length: 1000 }, () => crowd) });
  assert.equal(seen.code, '422 BATCH_REJECTED');
  const errors = seen.body.results.map(({ error }) => error!);
  const listed = errors.map(({ details }) => details.length);
  assert.equal(
    listed.reduce((sum, count) => sum + count),
    10_000,
  );
  assert.ok(listed[0]! > 30 && listed.at(-1) === 0);
  assert.match(errors.at(-1)!.message, /^1 or more violations; the first: events\[999\]/);
});
