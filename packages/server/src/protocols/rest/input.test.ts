// Query parameters over real HTTP: which texts are numbers, and what is said of those that are not. And by what a request
// is recognised when it comes again.

import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { after, before, test } from 'node:test';
import { AuditError, type ErrorBody } from '@tallystick/contract';
import { canonicalJson } from '@tallystick/evidence';
import type { Call, Received } from '../../call.ts';
import { EVENT, EVENT_ID } from '../../testing/bound-operations.ts';
import { believeClearance, eventCaller } from '../../testing/event-caller.ts';
import { startTestApp, type TestApp } from '../../testing/test-app.ts';

let app: TestApp;
before(async () => {
  app = await startTestApp({ Log__CheckpointInterval: 'PT0.05S' }, { authenticate: believeClearance });
  assert.equal((await eventCaller(app).ingest(EVENT)).code, '201');
});
after(() => app[Symbol.asyncDispose]());

async function ask(path: string) {
  const headers = { 'X-API-Key': 'Secret', 'X-Tenant-Id': 'acme' };
  const answer = await fetch(`${app.url}/api/v1${path}`, { headers });
  const { error } = (await answer.json()) as Partial<ErrorBody>;
  return { status: answer.status, error };
}

test('a whole number in a query has one spelling', async () => {
  assert.equal((await ask('/checkpoints/consistency?from=1&to=1')).status, 200);
  const spellings = ['01', '+1', '%2B1', '-0', '-01', '1.0', '1e0', '0x1', '%201', '1%20', '', '1_0', '１'];
  for (const text of spellings) {
    for (const query of [`from=${text}`, `from=1&to=${text}`]) {
      const { status, error } = await ask(`/checkpoints/consistency?${query}`);
      assert.deepEqual([status, error?.code], [400, 'INVALID_PARAMETER'], query);
    }
  }
  for (const query of ['limit=010', 'limit=-0', 'limit=+5', 'limit=5.5']) {
    assert.equal((await ask(`/event-streams?${query}`)).error?.code, 'INVALID_PARAMETER', query);
  }
});

test('a refused number is named as it was sent, beside what is wanted', async () => {
  const table: [query: string, sent: string][] = [
    ['limit=5.5', '"5.5"'],
    ['limit=%2B5', '"+5"'],
    ['limit=007', '"007"'],
    ['limit=', '""'],
    ['limit=-1', '-1'],
    ['limit=9999999999999999999', '"9999999999999999999"'],
  ];
  for (const [query, sent] of table) {
    const { error } = await ask(`/event-streams?${query}`);
    assert.equal(error?.message, `limit must be a whole number from 1 to 1000; it is ${sent}.`, query);
  }
  const { error } = await ask(`/event-streams?limit=${'7'.repeat(500)}`);
  assert.ok(error!.message.length < 300, 'what is long is cut');
});

test('a parameter of any type that was sent several times must be sent once', async () => {
  const table: [path: string, times: number][] = [
    ['/event-streams?limit=1&limit=2', 2],
    ['/audit-events?q=a&q=b&q=c', 3],
    ['/audit-events?startTime=2026-01-02T03:04:05Z&startTime=2026-01-02T03:04:05Z', 2],
    ['/audit-events?tenantId=acme&tenantId=acme', 2],
  ];
  for (const [path, times] of table) {
    const { status, error } = await ask(path);
    assert.deepEqual([status, error?.code], [400, 'INVALID_PARAMETER'], path);
    assert.deepEqual(
      error?.details.map(({ issue }) => issue),
      [`must be sent once; it was sent ${times} times`],
      path,
    );
  }
});

test('an identifier in the path is read without regard to case, and shown as it was sent where it is none', async () => {
  assert.equal((await ask('/event-streams/nope')).error?.details[0]?.value, 'nope');
  const { error } = await ask('/event-streams/01ke0000000000000000000042');
  assert.equal(error?.code, 'STREAM_NOT_FOUND');
});

test('a parameter that is unknown is listed beside the others that are wrong', async () => {
  const { status, error } = await ask('/audit-events?limit=0&colour=red&sort=colour&size=1');
  assert.deepEqual([status, error?.code], [400, 'INVALID_PARAMETER']);
  assert.deepEqual(error?.details.map(({ field }) => field).toSorted(), [
    'colour',
    'limit',
    'size',
    'sort[0]',
  ]);
  const alone = await ask('/audit-events?colour=red');
  assert.match(
    alone.error!.message,
    /^colour is not a parameter of this operation; known are tenantId, .*, q, .*, limit, .*, api-version\.$/,
  );
  const several = await ask('/event-streams?Limit=5&Cursor=x');
  assert.deepEqual(
    several.error?.details.map(({ issue }) => issue),
    [
      'is not a parameter of this operation; known are status, limit, cursor, api-version',
      'is not a parameter of this operation',
    ],
  );
  const long = await ask(`/event-streams?${'a'.repeat(5000)}=1`);
  assert.ok(long.error!.message.length < 400, 'what is long is cut');
});

test('a request with a key is recognised by its path and by the canonical form of its body, as it was sent', async () => {
  let asked: Received['fingerprinted'];
  const performUnvalidated = (_: Call, received: Received) => {
    asked = received.fingerprinted;
    return Promise.reject(new AuditError('RATE_LIMITED', 'enough seen'));
  };
  const bound = { performUnvalidated, answerAgain: () => assert.fail('nothing was done') };
  const operations = { 'events.ingest': bound, 'streams.seal': bound, 'policies.create': bound };
  await using own = await startTestApp({}, { authenticate: believeClearance, operations });
  const askedBy = async (path: string, body?: string, key = 'k') => {
    asked = undefined;
    const response = await fetch(own.url + path, {
      method: 'POST',
      headers: {
        'X-API-Key': 'Secret',
        'X-Tenant-Id': 'acme',
        'Content-Type': 'application/json',
        ...(key !== '' && { 'Idempotency-Key': key }),
      },
      ...(body !== undefined && { body }),
    });
    assert.equal(response.status, 429);
    return asked;
  };
  const form = (path: string, bytes: string) => [path, '\n', hash('sha256', bytes, 'buffer')];
  // A body that is outlined, and one that is made into a value at once.
  for (const path of ['/api/v1/audit-events', '/api/v2/audit-events', '/api/v1/policies']) {
    const sent = { b: [1e2], a: null };
    assert.deepEqual(
      await askedBy(`${path}?api-version=${path[6]}`, JSON.stringify(sent)),
      form(path, canonicalJson(sent)),
    );
    assert.deepEqual(await askedBy(path, ' {"a":null,"b":[100.0]}'), form(path, canonicalJson(sent)));
    const broken = '{"a":1,"a":2}';
    assert.deepEqual(
      await askedBy(path, broken),
      form(path, broken),
      'what has no canonical form, by its bytes',
    );
    assert.equal(await askedBy(path, '{}', ''), undefined, 'and nothing is made of a request without a key');
  }
  const bodiless = `/api/v1/event-streams/${EVENT_ID}/seal`;
  assert.deepEqual(await askedBy(bodiless), form(bodiless, 'null'));
});
