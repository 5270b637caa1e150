// One event through the whole service, on the real store.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ULID_PATTERN } from '@tallystick/contract';
import { EVENT } from '../testing/bound-operations.ts';
import { believeClearance, eventCaller, KEY_ID } from '../testing/event-caller.ts';
import { startEventsApp } from '../testing/events-app.ts';
import { startTestApp } from '../testing/test-app.ts';

const { app, acme } = startEventsApp();

const UUID = '7d3f0c52-6a3e-4b51-9a0e-2f6b1f3c9d11';
let made = 0;
/** An id that no other test has used. */
const newId = () => `01KE${String(++made).padStart(22, '0')}`;

test('an event is stored and can be read from the moment of its receipt', async () => {
  const { status, body, headers } = await acme.ingest({ ...EVENT, payload: { b: 2, a: 1 } });
  assert.equal(status, 201);
  const { eventId, timestamp, ...rest } = body;
  assert.deepEqual(rest, {
    tenantId: 'acme',
    status: 'Accepted',
    message: 'Event accepted.',
    idempotent: false,
  });
  assert.match(eventId, new RegExp(ULID_PATTERN));
  assert.match(timestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  assert.equal(headers.get('location'), `/api/v1/audit-events/${eventId}`);
  assert.equal(headers.get('x-event-id'), eventId);
  const read = await acme.get(eventId);
  assert.equal(read.status, 200);
  assert.equal(read.body.receivedAt, timestamp);
  assert.equal(read.body.submittedBy, `key:${KEY_ID}`);
  assert.deepEqual(read.body.payload, { a: 1, b: 2 });
});

test('keys that mean something to the language are keys like any other', async () => {
  const event = JSON.stringify(EVENT);
  const payload = '{"__proto__":{"a":1},"constructor":{"prototype":{}},"toString":"x","hasOwnProperty":null}';
  const { status, body } = await acme.ingest(`${event.slice(0, -1)},"payload":${payload}}`);
  assert.equal(status, 201);
  const read = await acme.get(body.eventId);
  assert.deepEqual(Object.keys(read.body.payload).sort(), [
    '__proto__',
    'constructor',
    'hasOwnProperty',
    'toString',
  ]);
  for (const key of ['__proto__', 'constructor', 'toString']) {
    const refused = await acme.ingest(`${event.slice(0, -1)},"${key}":{}}`);
    assert.equal(refused.code, '422 VALIDATION_FAILED', key);
    assert.deepEqual(
      refused.body.error.details.map(({ field }) => field),
      [key],
    );
  }
});

test('places in the log have no gap, and each entry names the one before', async () => {
  const other = eventCaller(app, 'chained');
  const ids = [];
  for (let i = 0; i < 3; i++) ids.push((await other.ingest(EVENT)).body.eventId);
  const seen = await Promise.all(ids.map((id) => other.get(id)));
  assert.deepEqual(
    seen.map(({ body }) => [body.sequence, body.integrity.leafIndex]),
    [
      [1, 0],
      [2, 1],
      [3, 2],
    ],
  );
  assert.equal(seen[1]?.body.integrity.previousHash, seen[0]?.body.integrity.leafHash);
  assert.equal(seen[2]?.body.integrity.previousHash, seen[1]?.body.integrity.leafHash);
});

test("one correlation id: the header's, else the body's, else a new one; and the event has it if it is a UUID", async () => {
  const correlation = async (event: object, headers: Record<string, string> = {}) => {
    const seen = await acme.ingest(event, headers);
    const stored = await acme.get(seen.body.eventId);
    return [seen.headers.get('x-correlation-id'), stored.body.correlationId];
  };
  const other = '00000000-0000-4000-8000-000000000001';
  assert.deepEqual(await correlation({ ...EVENT, correlationId: UUID }), [UUID, UUID]);
  assert.deepEqual(await correlation(EVENT, { 'X-Correlation-Id': UUID }), [UUID, UUID]);
  assert.deepEqual(await correlation({ ...EVENT, correlationId: UUID }, { 'X-Correlation-Id': other }), [
    other,
    UUID,
  ]);
  const [header, stored] = await correlation(EVENT, { 'X-Correlation-Id': 'order-42' });
  assert.equal(header, 'order-42');
  assert.match(stored ?? '', /^[0-9a-f]{8}-/);
  const [fresh, same] = await correlation(EVENT);
  assert.equal(fresh, same);
});

test('a refusal carries the correlation id of the body, if it is one', async () => {
  const refused = await acme.ingest({ ...EVENT, correlationId: UUID, action: 'x' });
  assert.equal(refused.code, '422 VALIDATION_FAILED');
  assert.equal(refused.headers.get('x-correlation-id'), UUID);
  const malformed = await acme.ingest({ ...EVENT, correlationId: 'x' });
  assert.equal(malformed.code, '422 VALIDATION_FAILED');
  assert.notEqual(malformed.headers.get('x-correlation-id'), 'x');
});

test('rules of JSON and of the fields are reported together', async () => {
  const { code, body } = await acme.ingest(
    '{"timestamp":"2099-01-01T00:00:00Z","actor":{"actorType":"User"},"action":"A.B","resource":{"resourceType":"T"},' +
      '"payload":{"a":1,"a":2,"n":1e400,"s":"\\ud800","z":"\\u0000"}}',
  );
  assert.equal(code, '422 VALIDATION_FAILED');
  const fields = body.error.details.map(({ field }: { field: string }) => field);
  assert.deepEqual(fields.sort(), [
    'payload.a',
    'payload.n',
    'payload.s',
    'payload.z',
    'resource.resourceId',
    'timestamp',
  ]);
});

test('a payload that is too large is 422 with a code of its own', async () => {
  const { code } = await acme.ingest({ ...EVENT, payload: { t: 'x'.repeat(65_536) } });
  assert.equal(code, '422 PAYLOAD_TOO_LARGE');
});

test('an event for another tenant is 403, even if more is wrong with it', async () => {
  assert.equal((await acme.ingest({ tenantId: 'other', nonsense: true })).code, '403 TENANT_MISMATCH');
  assert.equal((await acme.ingest({ ...EVENT, tenantId: 'acme' })).code, '201');
});

test("a client's event id stores the event once", async () => {
  const event = { ...EVENT, eventId: newId(), payload: { a: 1 } };
  const first = await acme.ingest(event);
  assert.equal(first.code, '201');
  const again = await acme.ingest(event);
  assert.equal(again.code, '200');
  assert.deepEqual(again.body, { ...first.body, idempotent: true });
  assert.equal(again.headers.get('location'), first.headers.get('location'));
  const other = await acme.ingest({ ...event, payload: { a: 2 } });
  assert.equal(other.code, '409 EVENT_ID_CONFLICT');
  assert.equal(other.body.error.details[0]?.field, 'eventId');
  assert.equal(
    (await eventCaller(app, 'other').ingest({ ...event, payload: {} })).code,
    '201',
    'of another tenant',
  );
});

test('many at once with one event id are stored once', async () => {
  const event = { ...EVENT, eventId: newId() };
  const seen = await Promise.all(Array.from({ length: 20 }, () => acme.ingest(event)));
  assert.deepEqual(seen.map(({ code }) => code).sort(), [...Array.from({ length: 19 }, () => '200'), '201']);
  assert.equal(new Set(seen.map(({ body }) => body.timestamp)).size, 1);
});

test('the first write of a tenant makes it; a refused one does not', async () => {
  const fresh = eventCaller(app, 'fresh');
  assert.equal((await fresh.ingest({ ...EVENT, action: 'x' })).code, '422 VALIDATION_FAILED');
  assert.equal((await fresh.get(newId())).code, '404 EVENT_NOT_FOUND');
  const seen = await Promise.all(Array.from({ length: 8 }, () => fresh.ingest(EVENT)));
  assert.deepEqual(new Set(seen.map(({ status }) => status)), new Set([201]));
});

test('an actor without an identity is refused where the settings say so', async () => {
  await using strict = await startTestApp(
    { Events__RequireActorIdentity: 'true' },
    { authenticate: believeClearance },
  );
  const event = { ...EVENT, actor: { actorType: 'User' } };
  assert.equal((await acme.ingest(event)).code, '201');
  assert.equal((await eventCaller(strict).ingest(event)).code, '422 VALIDATION_FAILED');
});

test('an error lists up to a thousand broken rules of JSON, and its message counts all', async () => {
  const broken = (count: number) => Array.from({ length: count }, (_, i) => `"k${i}":1e400`).join(',');
  const send = async (count: number) => {
    const { code, body } = await acme.ingest(
      `${JSON.stringify(EVENT).slice(0, -1)},"zzz":1,"payload":{${broken(count)}}}`,
    );
    return [code, body.error.details.length, body.error.message.split(';')[0]];
  };
  assert.deepEqual(await send(300), ['422 VALIDATION_FAILED', 301, '301 violations']);
  assert.deepEqual(await send(1500), ['422 VALIDATION_FAILED', 1000, '1501 or more violations']);
});
