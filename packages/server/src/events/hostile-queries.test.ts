// Queries, filters, sorts and cursors that nobody sends by mistake. Each is answered at once, with what is wrong with it
// or with what it finds, and none is our fault.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EVENT } from '../testing/bound-operations.ts';
import { eventCaller } from '../testing/event-caller.ts';
import { startEventsApp } from '../testing/events-app.ts';
import { finderOf } from '../testing/found-events.ts';
import { processorMs } from '../testing/processor-time.ts';

const SLOW_MS = 2000;
const EVENTS = 500;

const { app } = startEventsApp({}, async (started) => {
  const letters = 'abcdefghijklmnopqrstuvwxyz';
  const events = Array.from({ length: EVENTS - 2 }, (_, i) => ({
    ...EVENT,
    action: `Do.${letters[i % 26]!.repeat(1 + (i % 7))}`,
    actor: { actorType: 'User', userId: `u-${i}`, userName: `${letters[i % 26]}na ${i}` },
    payload: { note: letters.split('').join(`${i} `), amount: i, deep: { list: [{ sku: `s${i}` }] } },
  }));
  const odd = [
    {
      ...EVENT,
      timestamp: '0000-01-01T00:00:00Z',
      payload: { note: 'a NEAR b ^ * AND "x" 😀 ١٢٣ １２３ أحمد' },
    },
    { ...EVENT, timestamp: '0000-12-31T23:59:59.999999999Z', payload: { note: 'x'.repeat(60_000), zero: 0 } },
  ];
  const caller = eventCaller(started.app, 'hostile');
  assert.equal((await caller.ingestBatch({ events: [...events, ...odd] })).code, '201');
  await finderOf(started.app, 'hostile').caughtUp();
});
const finder = finderOf(app, 'hostile');

/** What is asked, and the answer: a refusal, or how many are found. */
type Case = readonly [query: string, answer: 'refused' | number | 'some'];

const words = (count: number, word: (i: number) => string, between = ' ') =>
  Array.from({ length: count }, (_, i) => word(i)).join(between);

const QUERIES: readonly Case[] = [
  // Operators of the database's own language are words here.
  ['NEAR', 1],
  ['NEAR(a b)', 'some'],
  ['NEAR(a b, 5)', 0],
  ['"a NEAR b"', 1],
  ['^note', 0],
  ['{facets}', 0],
  ['{facets} : "x"', 'refused'],
  ['facets:x', 'refused'],
  ['secret:x', 'refused'],
  ['words:x', 'refused'],
  ['rowid:1', 'refused'],
  ['a"b', 'refused'],
  ['"', 'refused'],
  ['""', 'refused'],
  ['"*"', 'refused'],
  ["'; DROP TABLE docs; --", 'refused'],
  ["x' OR '1'='1", 'some'],
  ['a+b', 0],
  ['_x', 'some'],
  ['__x', 'some'],
  ['1__x', 0],
  ['1_ 1__q', 0],
  ['*', 'refused'],
  ['**', 'refused'],
  ['a**', 'refused'],
  ['*a', 'refused'],
  ['a*b', 'refused'],
  // What is left of a sentence.
  ['OR', 'refused'],
  ['AND', 'refused'],
  ['NOT', 'refused'],
  ['-', 'refused'],
  ['--a', 'some'],
  ['a OR', 'refused'],
  ['OR a', 'refused'],
  ['a AND AND b', 'refused'],
  ['NOT NOT a', 'some'],
  ['()', 'refused'],
  ['(', 'refused'],
  [')', 'refused'],
  [':', 'refused'],
  [':x', 'refused'],
  ['action:', 'refused'],
  ['action:()', 'refused'],
  ['action:(a OR outcome:Denied)', 'refused'],
  // Too many, too deep, too long.
  [`${'('.repeat(32)}a${')'.repeat(32)}`, 'some'],
  [`${'('.repeat(33)}a${')'.repeat(33)}`, 'refused'],
  ['('.repeat(4000), 'refused'],
  [`${'-'.repeat(32)}zzqq`, 0],
  [`${'-'.repeat(33)}a`, 'refused'],
  [`${'(zzqq OR (a '.repeat(16)}a${'))'.repeat(16)}`, 'some'],
  [`${'-(zzqq '.repeat(16)}a${')'.repeat(16)}`, 'some'],
  [`${'-('.repeat(16)}zzqq${')'.repeat(16)}`, 0],
  [words(64, (i) => `qq${i}qq`, ' OR '), 0],
  [words(64, (i) => `qq${i}qq`), 0],
  [words(65, (i) => `qq${i}qq`), 'refused'],
  [words(64, (i) => `${'abcdefghij'[i % 10]}*`), 'some'],
  [words(64, (i) => `${'abcdefghij'[i % 10]}*`, ' OR '), EVENTS],
  [words(64, (i) => `-qq${i}qq`), EVENTS],
  [words(32, (i) => `(-qq${i}qq OR a)`), EVENTS],
  [words(64, (i) => `payload.amount:>${i}`), 'some'],
  [words(64, (i) => `payload.amount:<-${i}`, ' OR '), 0],
  [words(64, () => 'payload:a*', ' OR '), 'some'],
  [`"${words(400, (i) => `qq${i}qq`)}"`, 0],
  [`"${words(2000, () => 'a')}"`, 0],
  [`"${words(2000, () => 'a')}"*`, 0],
  ['x'.repeat(4096), 1],
  ['x'.repeat(4097), 'refused'],
  [`payload.${'a.'.repeat(2000)}b:1`, 0],
  [`payload.${'"a b".'.repeat(500)}c:1`, 0],
  [`payload${'[0]'.repeat(1000)}:1`, 0],
  [`action:${'x'.repeat(4000)}*`, 0],
  [`action:${'\u00e9'.repeat(2000)}`, 0],
  // Characters.
  ['\u0000', 'refused'],
  ['"\u202ea"', 'some'],
  ['\u200f\u200e', 'refused'],
  ['😀', 'refused'],
  ['action:😀', 0],
  ['action:\u200d', 'refused'],
  ['１２３', 2],
  ['١٢٣', 1],
  ['\u0301', 'refused'],
  ['\ufeff', EVENTS],
  ['\u3000', EVENTS],
  ['ﷺ', 0],
  ['action:ﷺ*', 0],
  ['\u1e9e\u0130', 0],
  // Numbers and times.
  ['payload.amount:1e999', 0],
  ['payload.amount:>1e999', 'refused'],
  ['payload.amount:>NaN', 'refused'],
  ['payload.amount:>Infinity', 'refused'],
  ['payload.amount:>-0', 'some'],
  ['payload.zero:-0', 1],
  ['payload.amount:>=1e-400', 'some'],
  ['payload.amount:<-1e308', 0],
  ['payload.amount:>0x10', 'refused'],
  ['payload.amount:>１', 'refused'],
  ['payload.amount:>', 'refused'],
  ['payload.amount:>=', 'refused'],
  ['payload.amount:>*', 'refused'],
  ['payload.amount:><5', 'refused'],
  ['payload[999999999]:1', 0],
  ['payload[9999999999]:1', 'refused'],
  ['payload[-1]:1', 'refused'],
  ['payload[', 0],
  ['payload.:1', 'refused'],
  ['payload..a:1', 'refused'],
  ['payload."":1', 0],
  ['payload.__proto__:*', 0],
  ['payload.constructor:*', 0],
  ['payload.toString:1', 0],
  ['__proto__:1', 'refused'],
  ['constructor:1', 'refused'],
  ['timestamp:0000-01-01', 1],
  ['timestamp:9999-12-31', 0],
  ['timestamp:>9999-12-31T23:59:59.999999999Z', 0],
  ['timestamp:<0000-01-01', 0],
  ['timestamp:0000-00-00', 'refused'],
  ['timestamp:2026-02-30', 'refused'],
  ['timestamp:10000-01-01', 'refused'],
  ['timestamp:-0001-01-01', 'refused'],
  ['timestamp:0000-01-01T00:00:00+00:01', 'refused'],
  ['timestamp:9999-12-31T23:59:59-00:01', 'refused'],
  ['timestamp:2026-01-02T03:04:60Z', 'refused'],
  ['timestamp:now', 'refused'],
  ['receivedAt:>0000-01-01', EVENTS],
  ['receivedAt:<0000-01-02', 0],
  ['classification:x', 'refused'],
  ['kind:*', EVENTS],
  ['eventId:*', EVENTS],
  ['eventId:"\' OR 1=1"', 0],
  ['streamId:x*', 0],
  ['correlationId:*', EVENTS],
];

async function quickly<T>(what: string, work: () => Promise<T>): Promise<T> {
  let answer: T;
  const ms = await processorMs(async () => (answer = await work()));
  assert.ok(ms < SLOW_MS, `${what} took ${ms} ms`);
  return answer!;
}

const shown = (text: string) => JSON.stringify(text).slice(0, 60);

for (const [query, answer] of QUERIES) {
  test(`the query ${shown(query)} is ${answer === 'refused' ? 'refused' : 'answered'} in list and search alike`, async () => {
    const aggregations = ['byAction' as const, 'byHour' as const];
    const searched = await quickly('search', () => finder.search({ query, aggregations }));
    const ranked = await quickly('relevance', () => finder.search({ query, sort: [{ field: 'relevance' }] }));
    const isLong = encodeURIComponent(query).length > 12_000;
    const listed = isLong
      ? undefined
      : await quickly('list', () => finder.list(`q=${encodeURIComponent(query)}`));
    if (answer === 'refused') {
      assert.equal(searched.code, '422 VALIDATION_FAILED');
      assert.equal(ranked.code, '422 VALIDATION_FAILED');
      assert.equal(listed?.code ?? '400 INVALID_PARAMETER', '400 INVALID_PARAMETER');
      return;
    }
    assert.equal(searched.code, '200');
    assert.equal(ranked.code, '200');
    assert.equal(listed?.code ?? '200', '200');
    const { totalCount } = searched.body;
    if (answer === 'some') assert.ok(totalCount > 0);
    else assert.equal(totalCount, answer);
    assert.equal(ranked.body.totalCount, totalCount);
    assert.equal(listed?.body.pagination.total ?? totalCount, totalCount);
  });
}

test('a text that no JSON of ours may hold is refused in a search', async () => {
  for (const text of ['a\\u0000b', '\\ud800', 'a\\udc00\\ud800', '\\u0000']) {
    const { code, body } = await finder.search(`{"query":"${text}"}`);
    assert.equal(code, '422 VALIDATION_FAILED', text);
    // What cannot be held is not read, so it is told once.
    const { error } = body as unknown as { error: { details: { field: string }[] } };
    assert.deepEqual(
      error.details.map(({ field }) => field),
      ['query'],
      text,
    );
  }
});

const LISTS: readonly (readonly [query: string, code: string])[] = [
  ...[
    '0',
    '-1',
    '1001',
    '1.5',
    '1e1',
    '0x10',
    'NaN',
    'Infinity',
    '',
    ' 5',
    '%2B5',
    '99999999999999999999',
    '5,5',
  ].map((limit) => [`limit=${limit}`, '400 INVALID_PARAMETER'] as const),
  ...[
    '',
    ',',
    '-',
    'timestamp,',
    'sequence',
    '--timestamp',
    'timestamp:up',
    '-timestamp:desc',
    'Timestamp',
    'relevance',
  ].map((sort) => [`sort=${sort}`, '400 INVALID_SORT'] as const),
  ['sort=action,action,action,action,action', '400 INVALID_SORT'],
  ['sort=action&sort=-action&sort=timestamp&sort=-eventId', '200'],
  ['sort=eventId,-eventId', '200'],
  ...['actorId', 'action', 'resourceId', 'resourceType'].flatMap((name) => [
    [`${name}=*`, '200'] as const,
    [`${name}=**`, '200'] as const,
    [`${name}=`, '400 INVALID_PARAMETER'] as const,
    [`${name}=${'x'.repeat(513)}`, '400 INVALID_PARAMETER'] as const,
    [`${name}=${words(100, (i) => `v${i}*`, ',')}`, '200'] as const,
    [`${name}=${words(101, (i) => `v${i}`, ',')}`, '400 INVALID_PARAMETER'] as const,
    [`${name}=%00`, '200'] as const,
    [`${name}=%F0%9F%98%80*`, '200'] as const,
    [`${name}=%22%20OR%20%22`, '200'] as const,
    [`${name}=%ff`, '400 INVALID_PARAMETER'] as const,
  ]),
  ['classification=secret', '400 INVALID_PARAMETER'],
  ['classification=*', '400 INVALID_PARAMETER'],
  ['kind=', '400 INVALID_PARAMETER'],
  ['outcome=Success,', '400 INVALID_PARAMETER'],
  ['correlationId=*', '400 INVALID_PARAMETER'],
  ['streamId=x', '400 INVALID_PARAMETER'],
  ['startTime=2026-01-02', '400 INVALID_PARAMETER'],
  ['startTime=0000-01-01T00:00:00%2B00:01', '400 INVALID_PARAMETER'],
  ['startTime=2026-01-02T00:00:00Z&endTime=2026-01-01T23:59:59.999999999Z', '400 INVALID_PARAMETER'],
  ['startTime=0000-01-01T00:00:00Z&endTime=9999-12-31T23:59:59.999999999Z', '200'],
  ['startTime=9999-12-31T23:59:59Z', '200'],
  ['startTime=2026-01-02T00:00:00Z&startTime=2026-01-02T00:00:00Z', '400 INVALID_PARAMETER'],
  ['q=a&q=b', '400 INVALID_PARAMETER'],
  ...['%00', 'a%00b', '"a%00"', '-a%00', 'action:a%00*'].map(
    (text) => [`q=${text}`, '400 INVALID_PARAMETER'] as const,
  ),
  ['Q=a', '400 INVALID_PARAMETER'],
  ['__proto__=a', '400 INVALID_PARAMETER'],
  ['tenantId=other', '403 TENANT_MISMATCH'],
  ['cursor=', '400 CURSOR_INVALID'],
  ['cursor=x', '400 CURSOR_INVALID'],
  [`cursor=${'x'.repeat(4097)}`, '400 CURSOR_INVALID'],
  ['cursor=%00', '400 CURSOR_INVALID'],
];

for (const [query, code] of LISTS) {
  test(`the list ${shown(query)} is answered ${code}`, async () => {
    const listed = await quickly('list', () => finder.list(query));
    assert.equal(listed.code, code);
  });
}

const SEARCHES: readonly (readonly [body: string, code: string])[] = [
  ...['0', '-1', '1001', '1.5', '"5"', '1e999', 'true', '[]'].map(
    (limit) => [`{"pagination":{"limit":${limit}}}`, '422 VALIDATION_FAILED'] as const,
  ),
  ['{"pagination":{"limit":1e1}}', '200'],
  ['{"pagination":{"limit":-0}}', '422 VALIDATION_FAILED'],
  ['{"pagination":{"cursor":""}}', '400 CURSOR_INVALID'],
  ['{"pagination":{"cursor":"x"}}', '400 CURSOR_INVALID'],
  ['{"sort":[{"field":"score"}]}', '422 VALIDATION_FAILED'],
  ['{"sort":[{"field":"action"},{"field":"relevance"}]}', '422 VALIDATION_FAILED'],
  ['{"sort":[{"field":"relevance","order":"asc"}]}', '422 VALIDATION_FAILED'],
  ['{"sort":"timestamp"}', '422 VALIDATION_FAILED'],
  ['{"aggregations":["byPayload"]}', '422 VALIDATION_FAILED'],
  ['{"aggregations":["byHour","byHour","byHour","byHour","byHour","byHour","byHour","byHour"]}', '200'],
  [
    '{"aggregations":["byHour","byHour","byHour","byHour","byHour","byHour","byHour","byHour","byHour"]}',
    '422 VALIDATION_FAILED',
  ],
  ['{"filters":{"actions":"x"}}', '422 VALIDATION_FAILED'],
  ['{"filters":{"actions":[""]}}', '422 VALIDATION_FAILED'],
  ['{"filters":{"actions":[null]}}', '422 VALIDATION_FAILED'],
  ['{"filters":{"actions":[]}}', '200'],
  ['{"filters":{"tenantId":"other"}}', '422 VALIDATION_FAILED'],
  [
    '{"filters":{"timeRange":{"from":"2026-01-02T00:00:00Z","to":"2026-01-01T00:00:00Z"}}}',
    '422 VALIDATION_FAILED',
  ],
  ['{"filters":{"timeRange":{"from":0}}}', '422 VALIDATION_FAILED'],
  ['{"query":1}', '422 VALIDATION_FAILED'],
  ['{"query":"a","query":"b"}', '422 VALIDATION_FAILED'],
  ['{"tenantId":"other"}', '422 VALIDATION_FAILED'],
  ['[]', '422 VALIDATION_FAILED'],
  ['null', '200'],
  ['"a"', '422 VALIDATION_FAILED'],
  [`${'['.repeat(50)}${']'.repeat(50)}`, '422 VALIDATION_FAILED'],
];

for (const [body, code] of SEARCHES) {
  test(`the search ${shown(body)} is answered ${code}`, async () => {
    const searched = await quickly('search', () => finder.search(body));
    assert.equal(searched.code, code);
  });
}

test('a cursor with any one character changed is invalid, cut or lengthened too', async () => {
  const { body } = await finder.list('limit=1');
  const cursor = body.pagination.cursor!;
  assert.equal((await finder.list(`limit=1&cursor=${cursor}`)).code, '200');
  const altered = [...cursor].map(
    (character, i) => `${cursor.slice(0, i)}${character === 'A' ? 'B' : 'A'}${cursor.slice(i + 1)}`,
  );
  for (const each of [
    ...altered,
    cursor.slice(0, -1),
    cursor.slice(1),
    `${cursor}A`,
    `${cursor}%3D`,
    cursor + cursor,
  ]) {
    assert.equal((await finder.list(`limit=1&cursor=${each}`)).code, '400 CURSOR_INVALID', each);
  }
});

test('a cursor is good for what it was made for alone', async () => {
  const listed = (await finder.list('limit=1')).body.pagination.cursor!;
  const searched = (await finder.search({ pagination: { limit: 1 } })).body.nextCursor!;
  await eventCaller(app, 'neighbour').ingest(EVENT);
  const elsewhere = await finderOf(app, 'neighbour').list(`cursor=${listed}`);
  assert.match(elsewhere.code, /^400 CURSOR_(INVALID|MISMATCH)$/);
  for (const query of [
    `cursor=${searched}`,
    `cursor=${listed}&sort=timestamp`,
    `cursor=${listed}&kind=Event`,
    `cursor=${listed}&q=a`,
  ])
    assert.match((await finder.list(query)).code, /^400 CURSOR_(INVALID|MISMATCH)$/, query);
  for (const request of [
    { pagination: { cursor: listed } },
    { pagination: { cursor: searched }, query: 'a' },
    { pagination: { cursor: searched }, sort: [{ field: 'relevance' as const }] },
  ])
    assert.match((await finder.search(request)).code, /^400 CURSOR_(INVALID|MISMATCH)$/);
});
