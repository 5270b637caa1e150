// Batches through the whole service, on the real store.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LIMITS, ULID_PATTERN } from '@tallystick/contract';
import { EVENT } from '../testing/bound-operations.ts';
import { eventCaller, type Seen } from '../testing/event-caller.ts';
import { startEventsApp } from '../testing/events-app.ts';

const { app, acme } = startEventsApp();

let made = 0;
const newId = () => `01KE${String(++made).padStart(22, '0')}`;
const WRONG = { ...EVENT, actor: { actorType: 'Robot' } };

interface Item {
  index: number;
  status: string;
  eventId?: string;
  error?: { code: string; message: string; details: { field: string }[] };
}
const items = ({ body }: Seen) => body.results as Item[];
const statuses = (seen: Seen) =>
  items(seen).map(({ status, error }) => `${status} ${error?.code ?? ''}`.trim());
const counts = ({ body }: Seen) => [body.totalCount, body.successCount, body.failureCount];

test('a batch of sound events is stored in order', async () => {
  const events = Array.from({ length: 5 }, (_, i) => ({ ...EVENT, payload: { i } }));
  const seen = await acme.ingestBatch({ events });
  assert.equal(seen.code, '201');
  const { batchId, timestamp, results, ...rest } = seen.body;
  assert.match(batchId, new RegExp(ULID_PATTERN));
  assert.ok(Math.abs(Date.parse(timestamp) - Date.now()) < 60_000);
  assert.deepEqual(rest, {
    tenantId: 'acme',
    status: 'Completed',
    transactional: false,
    idempotent: false,
    totalCount: 5,
    successCount: 5,
    failureCount: 0,
  });
  assert.deepEqual(
    (results as Item[]).map(({ index, status }) => [index, status]),
    events.map((_, i) => [i, 'Accepted']),
  );
  const stored = await Promise.all(items(seen).map(({ eventId }) => acme.get(eventId!)));
  assert.deepEqual(
    stored.map(({ body }) => body.payload),
    events.map(({ payload }) => payload),
  );
  const first = stored[0]!.body.sequence;
  assert.deepEqual(
    stored.map(({ body }) => body.sequence - first),
    [0, 1, 2, 3, 4],
  );
});

test('each event is judged alone, and all that is wrong is said with its full path', async () => {
  const seen = await acme.ingestBatch({
    events: [
      EVENT,
      { ...WRONG, resource: { resourceType: 'T' } },
      { ...EVENT, tenantId: 'other' },
      null,
      { ...EVENT, timestamp: '2099-01-01T00:00:00Z' },
      { ...EVENT, payload: { t: 'x'.repeat(65_536) } },
      { ...EVENT, tenantId: 'acme', context: null },
    ],
  });
  assert.equal(seen.code, '207');
  assert.equal(seen.body.status, 'PartialSuccess');
  assert.deepEqual(counts(seen), [7, 2, 5]);
  assert.deepEqual(statuses(seen), [
    'Accepted',
    'Rejected VALIDATION_FAILED',
    'Rejected TENANT_MISMATCH',
    'Rejected VALIDATION_FAILED',
    'Rejected VALIDATION_FAILED',
    'Rejected PAYLOAD_TOO_LARGE',
    'Accepted',
  ]);
  const fields = items(seen).map(({ error }) => error?.details.map(({ field }) => field).sort() ?? []);
  assert.deepEqual(fields, [
    [],
    ['events[1].actor.actorType', 'events[1].resource.resourceId'],
    ['events[2].tenantId'],
    ['events[3]'],
    ['events[4].timestamp'],
    ['events[5].payload'],
    [],
  ]);
});

const text = JSON.stringify(EVENT);
const withPayload = (payload: string) => `${text.slice(0, -1)},"payload":${payload}}`;

test('a broken rule of JSON is the fault of the event it stands in', async () => {
  const nested = (levels: number) => `${'{"a":'.repeat(levels - 1)}{}${'}'.repeat(levels - 1)}`;
  const bad = ['{"a":1,"a":1}', '{"n":9007199254740993}', '{"s":"\\ud800"}', '{"s\\u0000":1}', nested(32)];
  const events = [text, ...bad.map(withPayload), withPayload(nested(31))];
  const seen = await acme.ingestBatch(`{"events":[${events.join()}]}`);
  assert.equal(seen.code, '207');
  assert.deepEqual(
    items(seen).map(({ status }) => status),
    ['Accepted', ...bad.map(() => 'Rejected'), 'Accepted'],
  );
  assert.equal(items(seen)[1]?.error?.details[0]?.field, 'events[1].payload.a');
  assert.match(
    items(seen)[5]?.error?.message ?? '',
    /^events\[5\]\.payload\.a.* is nested deeper than 32 levels\.$/,
  );
});

test('a broken rule outside of any event, or an envelope that is wrong, refuses the whole', async () => {
  const table: [body: string, code: string, field: string][] = [
    [`{"events":[${text}],"events":[${text}]}`, '422 VALIDATION_FAILED', 'events'],
    [
      `{"events":[${text}],"transactional":true,"transactional":true}`,
      '422 VALIDATION_FAILED',
      'transactional',
    ],
    [`{"events":[${text}],"more":1}`, '422 VALIDATION_FAILED', 'more'],
    [`{"events":[${text}],"transactional":"yes"}`, '422 VALIDATION_FAILED', 'transactional'],
    [`{"events":${text}}`, '422 VALIDATION_FAILED', 'events'],
    ['{}', '422 VALIDATION_FAILED', 'events'],
    ['[]', '422 VALIDATION_FAILED', ''],
    ['{"events":[]}', '400 BATCH_SIZE_INVALID', 'events'],
    [`{"events":[${Array.from({ length: 1001 }, () => '0').join()}]}`, '400 BATCH_SIZE_INVALID', 'events'],
    [`{"events":[${text}]`, '400 MALFORMED_JSON', 'none'],
  ];
  for (const [body, code, field] of table) {
    const seen = await acme.ingestBatch(body);
    assert.equal(seen.code, code, body.slice(0, 80));
    assert.equal(seen.body.error.details[0]?.field ?? 'none', field, body.slice(0, 80));
  }
  const large = await acme.ingestBatch(`{"events":[${text}]}${' '.repeat(LIMITS.batchBytesMax)}`);
  assert.equal(large.code, '400 REQUEST_TOO_LARGE');
  assert.equal((await acme.ingestBatch({ events: [EVENT], transactional: null })).code, '201');
});

test('more broken rules of JSON than can be told apart refuse the whole, and say how many there are', async () => {
  const many = `{${Array.from({ length: 2001 }, () => '"a":1').join()}}`;
  const seen = await acme.ingestBatch(`{"events":[${text},${withPayload(many)}]}`);
  assert.equal(seen.code, '207', '2000 are listed');
  const more = await acme.ingestBatch(`{"events":[${withPayload(many)},${withPayload(many)}]}`);
  assert.equal(more.code, '422 VALIDATION_FAILED');
  assert.match(more.body.error.message, /^4000 values break the rules of JSON/);
});

test('a batch of which nothing is sound is 422, with results and the error', async () => {
  const seen = await acme.ingestBatch({ events: [WRONG, 5] }, { 'X-Correlation-Id': 'c-1' });
  assert.equal(seen.code, '422 BATCH_REJECTED');
  assert.equal(seen.body.status, 'Failed');
  assert.deepEqual(counts(seen), [2, 0, 2]);
  const { message, details, traceId, timestamp, requestId, ...rest } = seen.body.error;
  assert.equal(message, 'No event was stored: 2 of 2 events were refused.');
  assert.deepEqual(
    details.map(({ field }: { field: string }) => field),
    ['events[0].actor.actorType', 'events[1]'],
  );
  assert.match(traceId, /^[0-9a-f]{32}$/);
  assert.match(requestId, new RegExp(ULID_PATTERN));
  assert.equal(timestamp, seen.body.timestamp);
  assert.deepEqual(rest, { code: 'BATCH_REJECTED', path: '/api/v1/audit-events/batch' });
});

test('a transactional batch is stored whole or not at all', async () => {
  const eventId = newId();
  const refused = await acme.ingestBatch({
    transactional: true,
    events: [{ ...EVENT, eventId }, WRONG, EVENT],
  });
  assert.equal(refused.code, '422 BATCH_REJECTED');
  assert.deepEqual(statuses(refused), ['NotProcessed', 'Rejected VALIDATION_FAILED', 'NotProcessed']);
  assert.deepEqual(counts(refused), [3, 0, 3]);
  assert.equal(refused.body.transactional, true);
  assert.equal(
    refused.body.error.message,
    'No event was stored: 1 of 3 events was refused, and the batch is transactional, so the other 2 were not processed.',
  );
  assert.ok(items(refused).every((item) => item.eventId === undefined));
  assert.equal((await acme.get(eventId)).code, '404 EVENT_NOT_FOUND');

  const stored = await acme.ingestBatch({ transactional: true, events: [{ ...EVENT, eventId }, EVENT] });
  assert.equal(stored.code, '201');

  const fresh = newId();
  const conflict = await acme.ingestBatch({
    transactional: true,
    events: [
      { ...EVENT, eventId: fresh },
      { ...EVENT, eventId, payload: {} },
    ],
  });
  assert.equal(conflict.code, '422 BATCH_REJECTED');
  assert.deepEqual(statuses(conflict), ['NotProcessed', 'Rejected EVENT_ID_CONFLICT']);
  assert.equal(conflict.body.error.details[0]?.field, 'events[1].eventId');
  assert.equal((await acme.get(fresh)).code, '404 EVENT_NOT_FOUND');
});

test('the same event id twice in a batch, or stored before, is a duplicate if equal and a conflict if not', async () => {
  const [a, b] = [newId(), newId()];
  const seen = await acme.ingestBatch({
    events: [
      { ...EVENT, eventId: a },
      { ...EVENT, eventId: a },
      { ...EVENT, eventId: a, payload: {} },
      { ...EVENT, eventId: b },
    ],
  });
  assert.equal(seen.code, '207');
  assert.deepEqual(statuses(seen), ['Accepted', 'Duplicate', 'Rejected EVENT_ID_CONFLICT', 'Accepted']);
  assert.deepEqual(counts(seen), [4, 3, 1]);
  assert.equal(items(seen)[1]?.eventId, a);

  const some = await acme.ingestBatch({ events: [{ ...EVENT, eventId: a }, EVENT] });
  assert.equal(some.code, '201');
  assert.deepEqual(statuses(some), ['Duplicate', 'Accepted']);

  const all = await acme.ingestBatch({
    events: [
      { ...EVENT, eventId: a },
      { ...EVENT, eventId: b },
    ],
  });
  assert.equal(all.code, '200');
  assert.deepEqual([all.body.status, all.body.idempotent], ['Completed', true]);
  assert.deepEqual(statuses(all), ['Duplicate', 'Duplicate']);
});

test('a thousand events go through at once, and one tenant does not see the events of another', async () => {
  const events = Array.from({ length: 1000 }, (_, i) => ({ ...EVENT, payload: { i } }));
  const seen = await eventCaller(app, 'large').ingestBatch({ events });
  assert.equal(seen.code, '201');
  assert.equal(new Set(items(seen).map(({ eventId }) => eventId)).size, 1000);
  assert.equal((await acme.get(items(seen)[0]!.eventId!)).code, '404 EVENT_NOT_FOUND');
});

test('events of a batch share the correlation id of the request, unless they have their own', async () => {
  const own = '7d3f0c52-6a3e-4b51-9a0e-2f6b1f3c9d11';
  const seen = await acme.ingestBatch({ events: [EVENT, { ...EVENT, correlationId: own }, EVENT] });
  const stored = await Promise.all(items(seen).map(({ eventId }) => acme.get(eventId!)));
  const [first, second, third] = stored.map(({ body }) => body.correlationId);
  assert.deepEqual([first, second, third], [seen.headers.get('x-correlation-id'), own, first]);
});

test('a tenant that is cut short in a result is not cut in the middle of a character', async () => {
  const { body } = await acme.ingestBatch({
    events: [{ ...EVENT, tenantId: `${'a'.repeat(199)}😀` }, EVENT],
  });
  assert.equal(body.results[0]?.error?.details[0]?.value, 'a'.repeat(199));
});
