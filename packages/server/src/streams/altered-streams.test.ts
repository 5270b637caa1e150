// Stream rows that were changed in the store behind the service's back, and deleted entries: the tests check what
// readers and verifications report, with the whole service and a real store.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EventStream, List, StreamEvent, StreamVerification } from '@tallystick/contract';
import { EVENT } from '../testing/bound-operations.ts';
import { eventCaller } from '../testing/event-caller.ts';
import { startEventsApp } from '../testing/events-app.ts';
import { openRunningJournal } from '../testing/running-journal.ts';

const { app } = startEventsApp();

async function ask(tenant: string, path: string, method = 'GET', clearance = 'Secret') {
  const headers = { 'X-API-Key': clearance, 'X-Tenant-Id': tenant };
  const response = await fetch(`${app.url}${path}`, { method, headers });
  const body: unknown = await response.json();
  return { status: response.status, body };
}

const pathOf = (streamId: string) => `/api/v1/event-streams/${streamId}`;

/** Events of a tenant, one batch for each stream; all streams but the last are sealed. */
async function fill(tenant: string, ...counts: number[]): Promise<string[]> {
  const ids: string[] = [];
  for (const [i, count] of counts.entries()) {
    if (i > 0) assert.equal((await ask(tenant, `${pathOf(ids.at(-1)!)}/seal`, 'POST')).status, 200);
    if (count > 0) {
      const events = Array.from({ length: count }, () => EVENT);
      assert.equal((await eventCaller(app, tenant).ingestBatch({ events })).status, 201);
    }
    ids.push(((await ask(tenant, '/api/v1/event-streams')).body as List<EventStream>).data[0]!.streamId);
  }
  return ids;
}

async function verdictOf(tenant: string, streamId: string) {
  const begun = await ask(tenant, `${pathOf(streamId)}/verify`, 'POST');
  assert.equal(begun.status, 202, JSON.stringify(begun.body));
  const { operationId } = begun.body as StreamVerification;
  for (;;) {
    const path = `${pathOf(streamId)}/verifications/${operationId}`;
    const { status, verdict } = (await ask(tenant, path)).body as StreamVerification;
    if (verdict !== undefined || status === 'Failed') return verdict;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** `$tenant` is the tenant's number. Triggers that block the statements are dropped for that time. */
function change(tenant: string, ...statements: string[]): void {
  using db = openRunningJournal(app.dataDirectory);
  const number = db.prepare('SELECT tenant FROM tenants WHERE tenant_id = ?').get(tenant)!['tenant'];
  const trigger = db.prepare("SELECT sql FROM sqlite_schema WHERE name = 'entries_stay'").get()!;
  db.exec('DROP TRIGGER entries_stay');
  for (const statement of statements) {
    const { changes } = db.prepare(statement.replaceAll('$tenant', String(number))).run();
    assert.ok(Number(changes) > 0, statement);
  }
  db.exec(String(trigger['sql']));
}

let forged = 0;
/** The id of a stream that does not exist. */
const forgedId = () => `01M7GTJ5PZNQPSF014AQ2B0P${String(10 + forged++)}`;
const REPORT = 'a stream is not what the log says';
const ROWS = 'WHERE tenant = $tenant';

interface Alteration {
  /** The number of events per stream. A seal notice follows each stream but the last. */
  readonly counts: readonly number[];
  readonly statements: readonly string[];
  /** The expected message of the verification, by position of the stream. */
  readonly faults: Readonly<Record<number, RegExp>>;
  /** The positions of the streams that are not shown. */
  readonly notShown: readonly number[];
}

const ALTERATIONS: Record<string, Alteration> = {
  'the only stream begins later': {
    counts: [9],
    statements: [`UPDATE streams SET first_index = 3 ${ROWS}`],
    faults: { 0: /INDEX_MISMATCH 1 no stream begins with the log/ },
    notShown: [0],
  },
  'a stream is cut in two': {
    counts: [9],
    statements: [`INSERT INTO streams VALUES ($tenant, 7, '${forgedId()}', 1, NULL)`],
    faults: { 0: /LEAF_MISMATCH 8 no notice says that stream \w+ begins at 7/ },
    notShown: [0],
  },
  'a stream follows that begins beyond the log': {
    counts: [9],
    statements: [`INSERT INTO streams VALUES ($tenant, 100, '${forgedId()}', 1, NULL)`],
    faults: { 0: /LEAF_MISMATCH 101 no notice says that stream \w+ begins at 100/ },
    notShown: [0],
  },
  'a stream comes before the first one': {
    counts: [9],
    statements: [`INSERT INTO streams VALUES ($tenant, -5, '${forgedId()}', 1, NULL)`],
    faults: { 0: /INDEX_MISMATCH 1 no stream begins with the log/ },
    notShown: [0],
  },
  'the first stream is gone': {
    counts: [4, 4],
    statements: [`DELETE FROM streams ${ROWS} AND first_index = 0`],
    faults: { 1: /INDEX_MISMATCH 1 no stream begins with the log/ },
    notShown: [],
  },
  'the last stream is gone': {
    counts: [4, 4],
    statements: [`DELETE FROM streams ${ROWS} AND first_index = 5`],
    faults: { 0: /LEAF_MISMATCH 5 the seal notice at index 4 says that a stream follows/ },
    notShown: [],
  },
  'the last stream is gone, and was empty': {
    counts: [4, 0],
    statements: [`DELETE FROM streams ${ROWS} AND first_index = 5`],
    faults: { 0: /LEAF_MISMATCH 5 the seal notice at index 4 says that a stream follows/ },
    notShown: [0],
  },
  'a stream between others is gone': {
    counts: [2, 2, 2],
    statements: [`DELETE FROM streams ${ROWS} AND first_index = 3`],
    faults: {
      0: /LEAF_MISMATCH 3 the seal notice at index 2 says that a stream follows/,
      2: /LEAF_MISMATCH 6 the seal notice at index 5 says stream \w+ from entry 3 on, of which there is no row/,
    },
    notShown: [],
  },
  'a boundary is moved': {
    counts: [4, 4],
    statements: [`UPDATE streams SET first_index = 3 ${ROWS} AND first_index = 5`],
    faults: { 0: /LEAF_MISMATCH 4 no notice says/, 1: /LEAF_MISMATCH 4 no notice says/ },
    notShown: [0, 1],
  },
  'two streams have changed their names': {
    counts: [4, 4],
    statements: [
      `UPDATE streams SET stream_id = 'a' || stream_id ${ROWS}`,
      `UPDATE streams SET stream_id =
         (SELECT substr(max(stream_id), 2) FROM streams ${ROWS}) ${ROWS} AND first_index = 0`,
      `UPDATE streams SET stream_id = (SELECT json_extract(CAST(text2 AS TEXT), '$.payload.streamId')
         FROM contents JOIN entries USING (id) ${ROWS} AND leaf_index = 4) ${ROWS} AND first_index = 5`,
    ],
    faults: {
      0: /LEAF_MISMATCH 5 the seal notice at index 4 says stream/,
      1: /LEAF_MISMATCH 5 the seal notice at index 4 says stream/,
    },
    notShown: [],
  },
  'a stream was made at another time': {
    counts: [4, 4],
    statements: [`UPDATE streams SET created_at_ms = 1 ${ROWS} AND first_index = 5`],
    faults: { 0: /LEAF_MISMATCH 5 stream \w+ was not made/, 1: /LEAF_MISMATCH 5 stream \w+ was not made/ },
    notShown: [],
  },
  'the first stream was made at another time': {
    counts: [4],
    statements: [`UPDATE streams SET created_at_ms = 1 ${ROWS}`],
    faults: { 0: /LEAF_MISMATCH 1 stream \w+ was not made/ },
    notShown: [],
  },
};

for (const [i, [what, alteration]] of Object.entries(ALTERATIONS).entries()) {
  test(`no stream is verified where ${what}; one that shows it is not shown`, async () => {
    const tenant = `streams-${i}`;
    const ids = await fill(tenant, ...alteration.counts);
    for (const id of ids) assert.equal((await verdictOf(tenant, id))!.verified, true);
    change(tenant, ...alteration.statements);
    for (const [place, says] of Object.entries(alteration.faults)) {
      const verdict = (await verdictOf(tenant, ids[Number(place)]!))!;
      const { reason, sequence, message } = verdict.fault!;
      assert.equal(verdict.verified, false);
      assert.match(`${reason} ${sequence} ${message}`, says);
    }
    for (const place of alteration.notShown) {
      const path = pathOf(ids[place]!);
      const paths = [path, '/api/v1/event-streams', `${path}/events`];
      const seen = app.lines.length;
      const statuses = await Promise.all(paths.map(async (each) => (await ask(tenant, each)).status));
      assert.deepEqual(statuses, [500, 500, 500]);
      const reports = app.lines.slice(seen).filter(({ message }) => message === REPORT);
      assert.ok(reports.every((report) => report['tenant'] === tenant && report['level'] === 'Error'));
      assert.ok(reports.filter((report) => report['streamId'] === ids[place]).length >= 2);
    }
  });
}

test('a forged stream is not verified, wherever it begins', async () => {
  await fill('forged', 9);
  for (const [index, says] of [
    [4, /LEAF_MISMATCH 5 no notice says that stream \w+ begins at 4/],
    [9, /LEAF_MISMATCH 10 no notice says that stream \w+ begins at 9/],
    [100, /LEAF_MISMATCH 101 no notice says that stream \w+ begins at 100/],
  ] as const) {
    const streamId = forgedId();
    change('forged', `INSERT INTO streams VALUES ($tenant, ${index}, '${streamId}', 1, NULL)`);
    const { fault } = (await verdictOf('forged', streamId))!;
    assert.match(`${fault?.reason} ${fault?.sequence} ${fault?.message}`, says);
    assert.equal((await ask('forged', pathOf(streamId))).status, 500);
    change('forged', `DELETE FROM streams WHERE stream_id = '${streamId}'`);
  }
});

test('part of a stream is verified only if the stream is where the log says', async () => {
  const [streamId] = await fill('parts', 9, 3);
  const verify = async () => {
    const response = await fetch(`${app.url}${pathOf(streamId!)}/verify`, {
      method: 'POST',
      headers: { 'X-API-Key': 'Secret', 'X-Tenant-Id': 'parts', 'Content-Type': 'application/json' },
      body: JSON.stringify({ fromSequence: 3, toSequence: 5 }),
    });
    const { operationId } = (await response.json()) as StreamVerification;
    for (;;) {
      const path = `${pathOf(streamId!)}/verifications/${operationId}`;
      const { verdict } = (await ask('parts', path)).body as StreamVerification;
      if (verdict !== undefined) return [verdict.verified, verdict.checkedEvents, verdict.fault?.reason];
    }
  };
  assert.deepEqual(await verify(), [true, 3, undefined]);
  change('parts', `UPDATE streams SET first_index = 8 ${ROWS} AND first_index = 10`);
  assert.deepEqual(await verify(), [false, 3, 'LEAF_MISMATCH']);
});

/** Follows links until there are none, or one page too many. */
async function walk(tenant: string, first: string, by: 'next' | 'previous', clearance?: string) {
  const pages: string[] = [];
  for (let path: string | null = first; path !== null && pages.length < 10; ) {
    const { status, body } = await ask(tenant, path, 'GET', clearance);
    const page = { status, body: body as List<StreamEvent> };
    if (page.status !== 200) return [...pages, String(page.status)];
    pages.push(page.body.data.map(({ sequence }) => sequence).join(' '));
    path = page.body.links[by];
  }
  return pages;
}

test('a page that lacks a stored entry is refused, and the entry is reported to the operator', async () => {
  const [streamId] = await fill('gap', 18);
  const path = `${pathOf(streamId!)}/events`;
  const last = ((await ask('gap', `${path}?limit=10`)).body as List<StreamEvent>).links.next!;
  change('gap', 'DELETE FROM entries WHERE tenant = $tenant AND leaf_index = 4');
  assert.deepEqual(await walk('gap', `${path}?limit=3`, 'next', 'Internal'), ['1 2 3', '500']);
  assert.deepEqual(await walk('gap', last, 'previous'), ['11 12 13 14 15 16 17 18', '500']);
  assert.deepEqual(await walk('gap', `${path}?fromSequence=6`, 'next'), [
    Array.from({ length: 13 }, (_, i) => i + 6).join(' '),
  ]);
  const reports = app.lines.filter((line) => line['message'] === 'an entry is missing');
  assert.deepEqual(
    reports.map(({ level, tenant, index }) => [level, tenant, index]),
    [
      ['Error', 'gap', 4],
      ['Error', 'gap', 4],
    ],
  );
});

test('a walk ends where the first entries are gone, or the last ones, and shows nothing twice', async () => {
  const [streamId] = await fill('ends', 18);
  const path = `${pathOf(streamId!)}/events`;
  const last = ((await ask('ends', `${path}?limit=11`)).body as List<StreamEvent>).links.next!;
  change('ends', 'DELETE FROM entries WHERE tenant = $tenant AND leaf_index = 0');
  assert.deepEqual(await walk('ends', last.replace('limit=11', 'limit=10'), 'previous'), [
    '12 13 14 15 16 17 18',
    '2 3 4 5 6 7 8 9 10 11',
    '500',
  ]);
  assert.deepEqual(await walk('ends', `${path}?limit=10`, 'next'), ['500']);
  change('ends', 'DELETE FROM entries WHERE tenant = $tenant AND leaf_index > 15');
  assert.deepEqual(await walk('ends', `${path}?fromSequence=2&limit=10`, 'next'), [
    '2 3 4 5 6 7 8 9 10 11',
    '12 13 14 15 16',
  ]);
});
