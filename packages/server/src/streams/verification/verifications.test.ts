// Verifications with the whole service and a real store.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import type { ErrorBody, EventStream, List, StreamVerification } from '@tallystick/contract';
import { ask as askOf } from '../../testing/ask.ts';
import { EVENT } from '../../testing/bound-operations.ts';
import { believeClearance, eventCaller } from '../../testing/event-caller.ts';
import { startEventsApp } from '../../testing/events-app.ts';
import { startTestApp, type TestApp } from '../../testing/test-app.ts';
import { openRunningJournal } from '../../testing/running-journal.ts';

const { app } = startEventsApp();

interface Wish {
  readonly body?: unknown;
  readonly key?: string;
}

/** Sends a POST if there is a request. */
async function ask(tenant: string, path: string, request?: Wish, service: TestApp = app) {
  const { key, body: sent } = request ?? {};
  const method = request === undefined ? 'GET' : 'POST';
  const own = {
    key: 'Secret',
    tenant,
    headers: key === undefined ? {} : { 'Idempotency-Key': key },
    body: sent,
  };
  const { code, headers, body } = await askOf<StreamVerification & List<EventStream> & Partial<ErrorBody>>(
    service,
    method,
    `/api/v1${path}`,
    own,
  );
  return { code, body, location: headers.get('location') };
}

async function fill(tenant: string, count: number, service: TestApp = app): Promise<string> {
  const { status } = await eventCaller(service, tenant).ingestBatch({
    events: Array.from({ length: count }, () => EVENT),
  });
  assert.equal(status, 201);
  return (await ask(tenant, '/event-streams', undefined, service)).body.data[0]!.streamId;
}

async function done(tenant: string, location: string): Promise<StreamVerification> {
  for (;;) {
    const { body } = await ask(tenant, location.slice('/api/v1'.length));
    if (body.status !== 'Pending' && body.status !== 'Processing') return body;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

test('an unchanged stream is verified, whole and in part', async () => {
  const streamId = await fill('sound', 300);
  const whole = await ask('sound', `/event-streams/${streamId}/verify`, {});
  assert.equal(whole.code, '202');
  assert.equal(whole.location, `/api/v1/event-streams/${streamId}/verifications/${whole.body.operationId}`);
  const { status, progress, verdict } = await done('sound', whole.location);
  assert.deepEqual(
    [status, progress],
    ['Completed', { percent: 100, processedEvents: 300, totalEvents: 300 }],
  );
  assert.deepEqual(
    [
      verdict!.verified,
      verdict!.checkedEvents,
      verdict!.firstSequence,
      verdict!.lastSequence,
      verdict!.treeSize,
      verdict!.fault,
    ],
    [true, 300, 1, 300, 300, undefined],
  );
  const part = await ask('sound', `/event-streams/${streamId}/verify`, {
    body: { fromSequence: 7, toSequence: 9 },
  });
  assert.equal((await done('sound', part.location!)).verdict!.checkedEvents, 3);
});

test('a range that is empty, or not of the stream, is refused with the field that is wrong', async () => {
  const streamId = await fill('ranges', 10);
  const refused = async (path: string, range: unknown) => {
    const { code, body } = await ask('ranges', path, { body: range });
    return [code, ...(body.error?.details ?? []).map(({ field }) => field)].join(' ');
  };
  const path = `/event-streams/${streamId}/verify`;
  for (const [range, fields] of [
    [{ fromSequence: 0 }, 'fromSequence'],
    [{ fromSequence: 11 }, 'fromSequence'],
    [{ toSequence: 11 }, 'toSequence'],
    [{ fromSequence: 5, toSequence: 4 }, 'toSequence'],
    [{ fromSequence: 9, toSequence: 7 }, 'toSequence'],
    [{ fromSequence: 11, toSequence: 10 }, 'fromSequence'],
    [{ fromSequence: 12, toSequence: 13 }, 'fromSequence toSequence'],
    [{ from: 1 }, 'from'],
  ] as const) {
    assert.equal(await refused(path, range), `422 VALIDATION_FAILED ${fields}`, JSON.stringify(range));
  }
});

test('an empty stream is verified by the newest checkpoint, and no part of it can be requested', async () => {
  const sealed = await fill('empty', 4);
  assert.equal((await ask('empty', `/event-streams/${sealed}/seal`, {})).code, '200');
  const path = `/event-streams/${(await ask('empty', '/event-streams')).body.data[0]!.streamId}/verify`;
  const { verdict } = await done('empty', (await ask('empty', path, {})).location!);
  assert.deepEqual([verdict!.verified, verdict!.checkedEvents, verdict!.treeSize], [true, 0, 5]);
  for (const body of [{ fromSequence: 6 }, { toSequence: 5 }, { fromSequence: 6, toSequence: 5 }]) {
    assert.equal((await ask('empty', path, { body })).code, '422 VALIDATION_FAILED', JSON.stringify(body));
  }
});

test('a repeat with the same key returns the same verification; other callers do not see it', async () => {
  const streamId = await fill('keyed', 3);
  const path = `/event-streams/${streamId}/verify`;
  const first = await ask('keyed', path, { key: 'k' });
  await done('keyed', first.location!);
  assert.deepEqual(
    await ask('keyed', path, { key: 'k' }),
    { ...first, code: '200' },
    'the first answer again',
  );
  assert.notEqual((await ask('keyed', path, {})).body.operationId, first.body.operationId);
  assert.equal(
    (await ask('keyed', path, { key: 'k', body: { fromSequence: 2 } })).code,
    '409 IDEMPOTENCY_KEY_REUSED',
  );
  const other = await fill('others', 1);
  const below = `/verifications/${first.body.operationId}`;
  assert.equal((await ask('others', `/event-streams/${other}${below}`)).code, '404 OPERATION_NOT_FOUND');
  assert.equal((await ask('keyed', `/event-streams/${other}${below}`)).code, '404 OPERATION_NOT_FOUND');
  assert.equal((await ask('others', path, {})).code, '404 STREAM_NOT_FOUND');
});

test('a value that was changed in the store is found and named', async () => {
  const streamId = await fill('broken', 20);
  using db = openRunningJournal(app.dataDirectory);
  db.prepare(
    `UPDATE contents SET text1 = CAST(replace(CAST(text1 AS TEXT), 'Delete.', 'Create.') AS BLOB) WHERE id =
     (SELECT id FROM entries JOIN tenants USING (tenant) WHERE tenant_id = 'broken' AND leaf_index = 11)`,
  ).run();
  const { location } = await ask('broken', `/event-streams/${streamId}/verify`, {});
  const { status, verdict } = await done('broken', location!);
  assert.equal(status, 'Completed');
  assert.deepEqual(
    [verdict!.verified, verdict!.fault!.sequence, verdict!.fault!.reason],
    [false, 12, 'LEAF_MISMATCH'],
  );
});

test('a verdict that was changed in the store, or is of another verification, is not given', async () => {
  const streamId = await fill('forged', 5);
  const path = `/event-streams/${streamId}/verify`;
  const whole = (await ask('forged', path, {})).location!;
  const part = (await ask('forged', path, { body: { fromSequence: 2, toSequence: 3 } })).location!;
  assert.equal((await done('forged', whole)).verdict!.verified, true);
  assert.equal((await done('forged', part)).verdict!.checkedEvents, 2);
  const idOf = (location: string) => location.split('/').at(-1)!;
  using db = new DatabaseSync(join(app.dataDirectory, 'work.db'));
  const set = db.prepare('UPDATE jobs SET result = ? WHERE job_id = ?');
  const { result } = db.prepare('SELECT result FROM jobs WHERE job_id = ?').get(idOf(part))!;
  const altered = String(result).replace('checkedEvents', 'CheckedEvents');
  for (const [text, location] of [
    [result, whole],
    [altered, part],
    ['{"verdict":{"checkedEvents":9}}', part],
    ['no JSON', part],
  ] as const) {
    set.run(String(text), idOf(location));
    const { status, verdict, failureReason } = await done('forged', location);
    assert.deepEqual([status, verdict], ['Failed', undefined]);
    assert.match(failureReason!, /not one of this service/);
  }
  assert.ok(app.lines.some(({ message }) => message === 'a verdict was altered in the database'));
  set.run(String(result), idOf(part));
  assert.equal((await done('forged', part)).status, 'Completed');
});

test('a clean stop does not report the verifications that it drops', async () => {
  const stopped = await startTestApp({}, { authenticate: believeClearance });
  for (const tenant of ['a', 'b', 'c']) {
    const streamId = await fill(tenant, 400, stopped);
    for (let i = 0; i < 3; i++) {
      assert.equal((await ask(tenant, `/event-streams/${streamId}/verify`, {}, stopped)).code, '202');
    }
  }
  await stopped[Symbol.asyncDispose]();
  assert.deepEqual(
    stopped.lines.filter(({ level }) => level === 'Error'),
    [],
  );
});
