// Lists of events through the whole service, on the real store.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AuditEvent, Classification } from '@tallystick/contract';
import { EVENT } from '../testing/bound-operations.ts';
import { eventCaller } from '../testing/event-caller.ts';
import { startEventsApp } from '../testing/events-app.ts';
import { fieldsAtFault, finderOf } from '../testing/found-events.ts';

const { app, acme } = startEventsApp();
const secrets = finderOf(app);

async function ingest(tenant: string, events: readonly object[]): Promise<void> {
  for (const event of events) {
    const { code } = await eventCaller(app, tenant).ingest({ ...EVENT, ...event });
    assert.equal(code, '201');
  }
  await finderOf(app, tenant).caughtUp();
}

const timestampOf = (minute: number) => new Date(Date.UTC(2026, 0, 2, 3, minute)).toISOString();
const minutesOf = (events: readonly AuditEvent[]) =>
  events.map(({ timestamp }) => Number(timestamp.slice(14, 16)));
const withoutStatus = ({ integrity: { status: _status, ...integrity }, ...event }: AuditEvent) => ({
  ...event,
  integrity,
});

test('newest first, in pages that lead on and back, with links, totals and the lag', async () => {
  await ingest(
    'pages',
    [3, 1, 4, 0, 2].map((minute) => ({ timestamp: timestampOf(minute) })),
  );
  const pages = finderOf(app, 'pages');
  const first = await pages.list('limit=2');
  assert.deepEqual(minutesOf(first.body.data), [4, 3]);
  assert.equal(first.headers.get('x-projection-lag-ms'), '0');
  const { cursor, ...pagination } = first.body.pagination;
  assert.deepEqual(pagination, {
    total: 5,
    totalRelation: 'Exact',
    limit: 2,
    previousCursor: null,
    hasMore: true,
  });
  assert.equal(first.body.links.next, `/api/v1/audit-events?limit=2&cursor=${cursor}`);
  const second = await pages.list(`limit=2&cursor=${cursor}`);
  assert.deepEqual(minutesOf(second.body.data), [2, 1]);
  const third = await pages.list(`limit=2&cursor=${second.body.pagination.cursor}`);
  assert.deepEqual(minutesOf(third.body.data), [0]);
  assert.equal(third.body.pagination.hasMore, false);
  assert.equal(third.body.links.next, null);
  const back = await pages.list(`limit=2&cursor=${third.body.pagination.previousCursor}`);
  // Whether they are in a checkpoint yet may change between two answers.
  assert.deepEqual(back.body.data.map(withoutStatus), second.body.data.map(withoutStatus));
});

test('is sorted by timestamp, event id and action, up and down, in each way to write it', async () => {
  await ingest('sorts', [
    { timestamp: timestampOf(1), action: 'Delete.Invoice' },
    { timestamp: timestampOf(2), action: 'Create.Invoice' },
    { timestamp: timestampOf(0), action: 'Create.Invoice' },
  ]);
  const orders = {
    'sort=timestamp': [0, 1, 2],
    'sort=timestamp:desc': [2, 1, 0],
    'sort=-timestamp': [2, 1, 0],
    'sort=action': [0, 2, 1],
    'sort=action,-timestamp': [2, 0, 1],
    'sort=-action&sort=timestamp': [1, 0, 2],
    'sort=eventId': [1, 2, 0],
    'sort=-eventId': [0, 2, 1],
  };
  for (const [query, minutes] of Object.entries(orders)) {
    const { body } = await finderOf(app, 'sorts').list(query);
    assert.deepEqual(minutesOf(body.data), minutes, query);
  }
});

test('each filter keeps what it names; values of one are alternatives, different ones hold together', async () => {
  const correlationId = '7d3f0c52-6a3e-4b51-9a0e-2f6b1f3c9d11';
  await ingest('filters', [
    { timestamp: timestampOf(0), action: 'Delete.Invoice', outcome: 'Denied', correlationId },
    { timestamp: timestampOf(1), action: 'Delete.User', actor: { actorType: 'Service', serviceId: 'svc-1' } },
    {
      timestamp: timestampOf(2),
      resource: { resourceType: 'User', resourceId: 'U,1' },
      classification: 'Public',
    },
    {
      timestamp: timestampOf(3),
      payload: { note: 'a refund for Ana' },
      classification: 'Confidential',
      correlationId: correlationId.toUpperCase(),
    },
  ]);
  const kept = {
    'action=Delete.*': [3, 2, 1, 0],
    'action=Delete.User': [1],
    'action=Delete.User,Create.*': [1],
    'action=delete.*': [],
    'actorId=svc-*': [1],
    'actorId=u-1&actorId=svc-1': [3, 2, 1, 0],
    'actorType=Service': [1],
    'resourceId=INV-42': [3, 1, 0],
    'resourceType=User': [2],
    'classification=Public,Confidential': [3],
    'outcome=Denied': [0],
    [`correlationId=${correlationId}`]: [3, 0],
    [`correlationId=${correlationId.toUpperCase()}`]: [3, 0],
    [`q=correlationId:${correlationId.toUpperCase()}`]: [3, 0],
    'q=refund': [3],
    'q=action:delete.* -refund': [2, 1, 0],
    'q=payload.note:ana': [3],
    'action=Delete.*&outcome=Denied': [0],
    [`startTime=${timestampOf(1)}&endTime=${timestampOf(2)}`]: [2, 1],
    [`startTime=${encodeURIComponent('2026-01-02T04:03:00+01:00')}`]: [3],
    'kind=Notice': [],
    'tenantId=filters&q=refund': [3],
  };
  for (const [query, minutes] of Object.entries(kept)) {
    const { code, body } = await finderOf(app, 'filters').list(query);
    assert.equal(code, '200', query);
    assert.deepEqual(minutesOf(body.data), minutes, query);
    assert.equal(body.pagination.total, minutes.length, query);
  }
  const { body } = await finderOf(app, 'filters').list('q=refund');
  assert.equal(body.data[0]!.correlationId, correlationId.toUpperCase(), 'it is shown as it was sent');
});

test('a reader finds, and counts, only what they may see', async () => {
  const classes: readonly Classification[] = ['Internal', 'Confidential', 'Secret'];
  await ingest(
    'clearance',
    classes.map((classification) => ({ classification, payload: { note: 'the word' } })),
  );
  const found = async (clearance: Classification, query: string) =>
    (await finderOf(app, 'clearance', clearance).list(query)).body.data
      .map(({ classification }) => classification)
      .toSorted();
  assert.deepEqual(await found('Internal', ''), ['Confidential', 'Internal']);
  assert.deepEqual(await found('Internal', 'q=word'), ['Internal']);
  assert.deepEqual(await found('Internal', 'q=-word'), ['Confidential']);
  assert.deepEqual(await found('Public', 'q=word'), []);
  assert.deepEqual(await found('Confidential', 'q=word'), ['Confidential', 'Internal']);
  assert.deepEqual(await found('Secret', 'q=word'), classes.toSorted());
  const { body } = await finderOf(app, 'clearance', 'Internal').list('classification=Confidential');
  assert.deepEqual(body.data[0]!.payload, {});
  assert.deepEqual(body.data[0]!.redaction?.fields, ['payload', 'context']);
});

test('one notice tells of all secrets on a page, and nobody finds it unless they ask for notices', async () => {
  await ingest(
    'notices',
    [1, 2].map((minute) => ({ timestamp: timestampOf(minute), classification: 'Secret' })),
  );
  const finder = finderOf(app, 'notices');
  assert.equal((await finder.list('sort=timestamp')).body.data.length, 2);
  await finder.caughtUp();
  const { body } = await finderOf(app, 'notices', 'Internal').list('kind=Notice');
  // One for each time that a page with secrets was shown; this reader saw none.
  assert.ok(body.data.length > 0);
  for (const { action, kind } of body.data) assert.deepEqual([action, kind], ['Read.SecretEvent', 'Notice']);
  assert.equal((await finder.list()).body.pagination.total, 2);
  assert.ok((await finder.list('q=kind:notice')).body.data.every(({ kind }) => kind === 'Notice'));
  assert.ok((await finder.list('q=kind:notice')).body.data.length > 0);
});

test('who walks all pages while events arrive sees each one that was there once, and none twice', async () => {
  await ingest(
    'walk',
    Array.from({ length: 12 }, (_, i) => ({ timestamp: timestampOf(i) })),
  );
  const walk = finderOf(app, 'walk');
  const seen: string[] = [];
  for (let cursor: string | null = '', page = 0; cursor !== null && page < 20; page++) {
    const { body } = await walk.list(`limit=3&sort=timestamp${cursor === '' ? '' : `&cursor=${cursor}`}`);
    seen.push(...body.data.map(({ eventId }) => eventId));
    ({ cursor } = body.pagination);
    if (page < 2)
      await ingest('walk', [{ timestamp: timestampOf(page) }, { timestamp: timestampOf(50 + page) }]);
  }
  assert.equal(new Set(seen).size, seen.length);
  // Two that came with a time that was passed already are not seen; two that came later are.
  assert.equal(seen.length, 14);
});

test('what cannot be asked is refused, and says where', async () => {
  await acme.ingest(EVENT);
  const refused = {
    'q=(refund': '400 INVALID_PARAMETER',
    'q=a%20b)': '400 INVALID_PARAMETER',
    'sort=payload': '400 INVALID_SORT',
    'sort=': '400 INVALID_SORT',
    'limit=0': '400 INVALID_PARAMETER',
    'limit=1001': '400 INVALID_PARAMETER',
    'startTime=2026-01-02T00:00:00Z&endTime=2026-01-01T00:00:00Z': '400 INVALID_PARAMETER',
    'startTime=yesterday': '400 INVALID_PARAMETER',
    'classification=secret': '400 INVALID_PARAMETER',
    'cursor=abc': '400 CURSOR_INVALID',
    'colour=red': '400 INVALID_PARAMETER',
    'tenantId=other': '403 TENANT_MISMATCH',
  };
  for (const [query, code] of Object.entries(refused))
    assert.equal((await secrets.list(query)).code, code, query);
  const { body } = await secrets.list('q=(refund');
  assert.match(JSON.stringify(body), /column 1/);
});

test('all parameters that are wrong are listed, what their schema says and what it does not', async () => {
  const { code, body } = await secrets.list(
    'q="a&limit=0&startTime=2026-01-02T00:00:00Z&endTime=2026-01-01T00:00:00Z&colour=red',
  );
  assert.equal(code, '400 INVALID_PARAMETER');
  assert.deepEqual(fieldsAtFault(body), ['colour', 'limit', 'q', 'startTime']);
});

test('a cursor is good for its own tenant, filters and order only', async () => {
  await ingest('bound', [{}, {}, {}]);
  const { cursor } = (await finderOf(app, 'bound').list('limit=1&q=delete')).body.pagination;
  assert.equal((await finderOf(app, 'bound').list(`limit=2&q=delete&cursor=${cursor}`)).code, '200');
  for (const query of [`limit=1&cursor=${cursor}`, `q=delete&sort=timestamp&cursor=${cursor}`])
    assert.equal((await finderOf(app, 'bound').list(query)).code, '400 CURSOR_MISMATCH');
  assert.equal(
    (await finderOf(app, 'filters').list(`q=delete&cursor=${cursor}`)).code,
    '400 CURSOR_MISMATCH',
  );
});
