// Searches through the whole service, on the real store.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SearchRequest } from '@tallystick/contract';
import { EVENT } from '../testing/bound-operations.ts';
import { eventCaller } from '../testing/event-caller.ts';
import { startEventsApp } from '../testing/events-app.ts';
import { AGGREGATIONS, fieldsAtFault, finderOf } from '../testing/found-events.ts';

const { app } = startEventsApp();

async function ingest(tenant: string, events: readonly object[]): Promise<void> {
  const { code } = await eventCaller(app, tenant).ingestBatch({
    events: events.map((event) => ({ ...EVENT, ...event })),
  });
  assert.equal(code, '201');
  await finderOf(app, tenant).caughtUp();
}

const at = (minute: number) => new Date(Date.UTC(2026, 0, 2, 3, minute)).toISOString();

test('finds by words, shows where they stand, and says how the answer came about', async () => {
  await ingest('words', [
    { payload: { note: 'The customer asked for a refund.' } },
    { payload: { note: 'Nothing of that kind.' } },
  ]);
  const { code, body, headers } = await finderOf(app, 'words').search({ query: 'REFUND customer' });
  assert.equal(code, '200');
  assert.deepEqual(body.results[0]!.highlights, {
    'payload.note': ['The «customer» asked for a «refund».'],
  });
  assert.ok(body.results[0]!.score! > 0);
  const { queryTimeMs, ...metadata } = body.metadata;
  assert.ok(queryTimeMs >= 0);
  assert.deepEqual(metadata, { indexVersion: 'events-1', projectionLagMs: 0, truncated: false });
  assert.equal(headers.get('x-projection-lag-ms'), '0');
  assert.deepEqual(
    [body.totalCount, body.totalCountRelation, body.nextCursor, body.hasMore],
    [1, 'Exact', null, false],
  );
});

test('no request is everything, newest first, and an empty body is one', async () => {
  await ingest('all', [{ timestamp: at(1) }, { timestamp: at(2) }]);
  for (const request of [{}, '{}', { query: '' }, { filters: {} }, { sort: [] }]) {
    const { code, body } = await finderOf(app, 'all').search(request);
    assert.equal(code, '200');
    assert.deepEqual(
      body.results.map(({ timestamp }) => timestamp),
      [at(2), at(1)],
    );
    assert.ok(!('score' in body.results[0]!) && !('highlights' in body.results[0]!));
  }
});

test('counts by each property, with names for people', async () => {
  await ingest('counts', [
    { timestamp: at(1), outcome: 'Denied' },
    { timestamp: at(2), actor: { actorType: 'User', userId: 'u-1', userName: 'ana@acme.test' } },
    { timestamp: '2026-01-03T00:00:00Z', action: 'Create.Invoice', actor: { actorType: 'System' } },
  ]);
  const { body } = await finderOf(app, 'counts').search({
    aggregations: AGGREGATIONS,
  });
  assert.deepEqual(body.aggregations, {
    byAction: [
      { key: 'Delete.Invoice', count: 2 },
      { key: 'Create.Invoice', count: 1 },
    ],
    byActor: [
      { key: 'u-1', label: 'ana@acme.test', count: 2 },
      { key: 'System', count: 1 },
    ],
    byResource: [{ key: 'Invoice', count: 3 }],
    byClassification: [{ key: 'Internal', count: 3 }],
    byDay: [
      { key: '2026-01-03', count: 1 },
      { key: '2026-01-02', count: 2 },
    ],
    byHour: [
      { key: '2026-01-03T00:00:00.000Z', count: 1 },
      { key: '2026-01-02T03:00:00.000Z', count: 2 },
    ],
    byActorType: [
      { key: 'User', count: 2 },
      { key: 'System', count: 1 },
    ],
    byOutcome: [
      { key: 'Success', count: 2 },
      { key: 'Denied', count: 1 },
    ],
  });
  assert.equal(body.aggregationsRelation, 'Exact');
});

test('a name that only a secret event has is shown to nobody who may not know of the event', async () => {
  await ingest('names', [
    { actor: { actorType: 'User', userId: 'u-9' } },
    { actor: { actorType: 'User', userId: 'u-9', userName: 'withheld name' }, classification: 'Secret' },
  ]);
  const request: SearchRequest = { aggregations: ['byActor'] };
  const seen = await finderOf(app, 'names', 'Internal').search(request);
  assert.deepEqual(seen.body.aggregations, { byActor: [{ key: 'u-9', count: 1 }] });
  const all = await finderOf(app, 'names').search(request);
  assert.deepEqual(all.body.aggregations, { byActor: [{ key: 'u-9', label: 'withheld name', count: 2 }] });
});

test('the most frequent fifty are listed, and the rest is counted', async () => {
  await ingest(
    'many',
    Array.from({ length: 60 }, (_, i) => ({ resource: { resourceType: `Type-${i}`, resourceId: 'x' } })),
  );
  const { body } = await finderOf(app, 'many').search({ aggregations: ['byResource'] });
  assert.equal(body.aggregations?.byResource?.length, 50);
  assert.deepEqual(body.aggregations?.otherCount, { byResource: 10 });
});

test('counts that are asked for are there, also in a tenant without events', async () => {
  const { body } = await finderOf(app, 'nobody').search({ aggregations: ['byDay', 'byAction'] });
  assert.deepEqual(body.aggregations, { byDay: [], byAction: [] });
  assert.equal(body.aggregationsRelation, 'Exact');
});

test('by relevance the best come first, on one page without a cursor', async () => {
  await ingest('relevance', [
    { timestamp: at(1), payload: { note: 'refund refund refund' } },
    { timestamp: at(2), payload: { note: 'a refund' } },
    { timestamp: at(3), payload: { note: 'nothing' } },
  ]);
  const { body } = await finderOf(app, 'relevance').search({
    query: 'refund',
    sort: [{ field: 'relevance' }],
    pagination: { limit: 1 },
  });
  assert.deepEqual(
    body.results.map(({ timestamp }) => timestamp),
    [at(1)],
  );
  assert.deepEqual([body.totalCount, body.nextCursor, body.hasMore], [2, null, false]);
});

test('where the best are too large for one page, it says that some are left out', async () => {
  const note = 'x'.repeat(60_000);
  await ingest(
    'large',
    Array.from({ length: 80 }, () => ({ payload: { note, word: 'refund' } })),
  );
  const { body } = await finderOf(app, 'large').search({
    query: 'refund',
    sort: [{ field: 'relevance' }],
    pagination: { limit: 80 },
  });
  assert.ok(body.results.length < 80);
  assert.deepEqual([body.totalCount, body.nextCursor, body.metadata.truncated], [80, null, true]);
});

test('pages go on from one another, with or without counts, and are bound to what was asked', async () => {
  await ingest(
    'paged',
    Array.from({ length: 5 }, (_, i) => ({ timestamp: at(i) })),
  );
  const paged = finderOf(app, 'paged');
  const seen: string[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < 3; page++) {
    const { body } = await paged.search({
      sort: [{ field: 'timestamp' }],
      pagination: { limit: 2, ...(cursor === undefined ? {} : { cursor }) },
      ...(page === 0 ? { aggregations: ['byAction'] } : {}),
    });
    seen.push(...body.results.map(({ timestamp }) => timestamp));
    assert.equal(body.hasMore, page < 2);
    cursor = body.nextCursor ?? cursor;
  }
  assert.deepEqual(seen, [0, 1, 2, 3, 4].map(at));
  const code = async (request: SearchRequest) => (await paged.search(request)).code;
  assert.equal(await code({ pagination: { cursor: cursor! } }), '400 CURSOR_MISMATCH');
  assert.equal(
    await code({ query: 'x', sort: [{ field: 'timestamp' }], pagination: { cursor: cursor! } }),
    '400 CURSOR_MISMATCH',
  );
  assert.equal(await code({ pagination: { cursor: `${cursor}A` } }), '400 CURSOR_INVALID');
});

test('what cannot be asked is refused, and says where', async () => {
  const refused: [request: string, code: string, says: RegExp][] = [
    ['{"query":"(a"}', '422 VALIDATION_FAILED', /column 1/],
    ['{"query":"outcome:maybe"}', '422 VALIDATION_FAILED', /outcome/],
    [
      '{"filters":{"timeRange":{"from":"2026-01-02T00:00:00Z","to":"2026-01-01T00:00:00Z"}}}',
      '422 VALIDATION_FAILED',
      /timeRange/,
    ],
    ['{"sort":[{"field":"payload"}]}', '422 VALIDATION_FAILED', /sort/],
    ['{"sort":[{"field":"timestamp"},{"field":"relevance"}]}', '422 VALIDATION_FAILED', /relevance/],
    ['{"sort":[{"field":"relevance","order":"asc"}]}', '422 VALIDATION_FAILED', /relevance/],
    ['{"pagination":{"limit":1001}}', '422 VALIDATION_FAILED', /limit/],
    ['{"aggregations":["byColour"]}', '422 VALIDATION_FAILED', /aggregations/],
    ['{"colour":"red"}', '422 VALIDATION_FAILED', /colour/],
    ['{', '400 MALFORMED_JSON', /line 1/],
  ];
  for (const [request, code, says] of refused) {
    const seen = await finderOf(app, 'all').search(request);
    assert.equal(seen.code, code, request);
    assert.match(JSON.stringify(seen.body), says, request);
  }
});

test('all that is wrong with a search is listed, what its schema says and what it does not', async () => {
  const request = {
    query: 'a "b',
    filters: { timeRange: { from: '2026-01-02T00:00:00Z', to: '2026-01-01T00:00:00Z' }, outcomes: ['Maybe'] },
    sort: [{ field: 'timestamp' }, { field: 'relevance' }],
    pagination: { limit: 0 },
    colour: 'red',
  };
  const { code, body } = await finderOf(app, 'all').search(JSON.stringify(request));
  assert.equal(code, '422 VALIDATION_FAILED');
  assert.deepEqual(fieldsAtFault(body), [
    'colour',
    'filters.outcomes[0]',
    'filters.timeRange.from',
    'pagination.limit',
    'query',
    'sort[1].field',
  ]);
  assert.match(JSON.stringify(body), /cannot be read: column 3: this quote is not closed/);
});

test('what breaks the schema is not judged by more than that', async () => {
  const odd: [request: string, fields: string[]][] = [
    ['[]', ['']],
    ['{"query":5,"pagination":{"limit":0}}', ['pagination.limit', 'query']],
    ['{"filters":{"timeRange":{"from":"today","to":"2026-01-01T00:00:00Z"}}}', ['filters.timeRange.from']],
    ['{"filters":[],"sort":{"0":{"field":"relevance"}}}', ['filters', 'sort']],
    ['{"sort":[{"field":"relevance","order":"up"},null]}', ['sort[0].order', 'sort[1]']],
  ];
  for (const [request, fields] of odd) {
    const { code, body } = await finderOf(app, 'all').search(request);
    assert.equal(code, '422 VALIDATION_FAILED', request);
    assert.deepEqual(fieldsAtFault(body), fields, request);
  }
});
