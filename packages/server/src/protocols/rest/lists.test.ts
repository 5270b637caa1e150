// Lists over real HTTP: the envelope, the links that lead through it, and the cursors that they carry.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { asJson, type EventStream, operationNamed, restBodySchema } from '@tallystick/contract';
import type { Authenticate } from '../../access/credentials.ts';
import { createCursors } from '../../gateway/cursors.ts';
import { createRules } from '../../gateway/validate.ts';
import type { Operations } from '../../operations.ts';
import { isIndex, readPage } from '../../paging.ts';
import { systemClock } from '../../runtime/clock.ts';
import { EVENT } from '../../testing/bound-operations.ts';
import { startTestApp, type TestApp } from '../../testing/test-app.ts';

const cursors = createCursors({ keyOf: ({ fingerprintKey }) => fingerprintKey, clock: systemClock });

const HASH = '00'.repeat(32);
const stream = (number: number): EventStream => ({
  streamId: `01KE00000000000000000000${String(number).padStart(2, '0')}`,
  tenantId: 'acme',
  status: number % 2 === 0 ? 'Sealed' : 'Open',
  metadata: {},
  eventCount: number,
  createdAt: '2026-01-02T03:04:05.000Z',
  hashChain: { algorithm: 'SHA-256', genesisHash: HASH, headHash: HASH, treeSize: number, rootHash: HASH },
});

const STREAMS = Array.from({ length: 7 }, (_, number) => stream(number));

/** Newest first, by the number of each. */
const operations: Operations = {
  'streams.list': (call, input) => {
    const read = readPage(cursors, call, input, isIndex);
    const { status = ['Open', 'Sealed'] } = input;
    const listed = STREAMS.filter((each) => status.includes(each.status));
    const isUp = read.direction === 'Previous';
    const rows = (isUp ? listed : listed.toReversed())
      .filter(
        ({ eventCount: key }) => read.beyond === undefined || (isUp ? key > read.beyond : key < read.beyond),
      )
      .slice(0, read.rowsMax);
    return Promise.resolve({ kind: 'Done', body: read.page(rows, (row) => row.eventCount, listed.length) });
  },
};

const believeAnyone: Authenticate = () =>
  Promise.resolve({
    name: 'key:01KE0000000000000000000042',
    identity: 'key:01KE0000000000000000000042',
    tenant: '*',
    namesTenant: false,
    roles: ['Admin'],
    clearance: 'Secret',
    refusal: () => undefined,
  });

const headersFor = (tenant: string) => ({ 'X-API-Key': 'any', 'X-Tenant-Id': tenant });

let app: TestApp;
before(async () => {
  app = await startTestApp({}, { authenticate: believeAnyone, operations });
  for (const tenant of ['acme', 'other']) {
    const { status } = await fetch(`${app.url}/api/v1/audit-events`, {
      method: 'POST',
      headers: { ...headersFor(tenant), 'Content-Type': 'application/json' },
      body: JSON.stringify(EVENT),
    });
    assert.equal(status, 201);
  }
});
after(() => app[Symbol.asyncDispose]());

interface Listed {
  readonly data: readonly EventStream[];
  readonly pagination: { readonly total: number; readonly cursor: string | null; readonly hasMore: boolean };
  readonly links: { readonly self: string; readonly next: string | null; readonly previous: string | null };
}

async function list(path: string, tenant = 'acme') {
  const answer = await fetch(app.url + path, { headers: headersFor(tenant) });
  return { answer, text: await answer.text() };
}

async function page(path: string) {
  const { answer, text } = await list(path);
  assert.equal(answer.status, 200, text);
  const body = JSON.parse(text) as Listed;
  return { ...body, numbers: body.data.map((each) => each.eventCount), link: answer.headers.get('link') };
}

async function codeOf(path: string, tenant?: string) {
  const { answer, text } = await list(path, tenant);
  return [answer.status, (JSON.parse(text) as { error?: { code: string } }).error?.code];
}

const PATH = '/api/v1/event-streams';

test('a list is answered in its envelope, as its schema has it', async () => {
  const { answer, text } = await list(`${PATH}?limit=3`);
  assert.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8');
  const schema = restBodySchema(operationNamed('streams.list'));
  assert.deepEqual(createRules(asJson(schema!))(JSON.parse(text), ''), []);
  const { data, pagination, links, ...others } = JSON.parse(text) as Listed;
  assert.deepEqual(others, {});
  assert.equal(data.length, 3);
  const { cursor, ...standing } = pagination;
  assert.deepEqual(standing, {
    total: 7,
    totalRelation: 'Exact',
    limit: 3,
    previousCursor: null,
    hasMore: true,
  });
  assert.deepEqual(links, {
    self: `${PATH}?limit=3`,
    next: `${PATH}?limit=3&cursor=${cursor}`,
    previous: null,
  });
});

test('links lead through the whole list and back, with what was asked, and a Link header repeats them', async () => {
  const queries: [query: string, numbers: number[][]][] = [
    ['?limit=3', [[6, 5, 4], [3, 2, 1], [0]]],
    [
      '?limit=2&status=Sealed',
      [
        [6, 4],
        [2, 0],
      ],
    ],
    [
      '?status=Open,Sealed&limit=4',
      [
        [6, 5, 4, 3],
        [2, 1, 0],
      ],
    ],
    ['?status=Open&status=Sealed', [[6, 5, 4, 3, 2, 1, 0]]],
    ['', [[6, 5, 4, 3, 2, 1, 0]]],
  ];
  for (const [query, numbers] of queries) {
    const walked = [await page(PATH + query)];
    for (let at = walked[0]!; at.links.next !== null; walked.push(at)) at = await page(at.links.next);
    assert.deepEqual(
      walked.map((each) => each.numbers),
      numbers,
      query,
    );
    const back = [walked.at(-1)!];
    for (let at = back[0]!; at.links.previous !== null; back.push(at)) at = await page(at.links.previous);
    assert.deepEqual(
      back.toReversed().map((each) => each.numbers),
      numbers,
      query,
    );
    for (const { links, link, pagination } of [...walked, ...back]) {
      assert.equal(pagination.hasMore, links.next !== null);
      const named = [...(link ?? '').matchAll(/<([^>]+)>; rel="(\w+)"/g)].map(([, to, rel]) => [rel, to]);
      const expected = { next: links.next ?? undefined, prev: links.previous ?? undefined };
      assert.deepEqual({ next: undefined, prev: undefined, ...Object.fromEntries(named) }, expected);
    }
  }
});

test('links stay in the place where the list was asked for', async () => {
  for (const path of ['/api/event-streams?limit=2&api-version=2.0', '/api/v2/event-streams?limit=2']) {
    const first = await page(path);
    assert.equal(first.links.self, path);
    assert.ok(first.links.next?.startsWith(path), String(first.links.next));
    assert.deepEqual((await page(first.links.next ?? '')).numbers, [4, 3]);
  }
});

test('a cursor that is altered, for another list or of another tenant is refused with its own code', async () => {
  const { cursor } = (await page(`${PATH}?limit=2&status=Sealed`)).pagination;
  const altered = `${cursor!.slice(0, -1)}${cursor!.endsWith('A') ? 'B' : 'A'}`;
  const table: [query: string, tenant: string, answer: [number, string | undefined]][] = [
    [`status=Sealed&cursor=${cursor}`, 'acme', [200, undefined]],
    [`status=Sealed&cursor=${altered}`, 'acme', [400, 'CURSOR_INVALID']],
    ['cursor=', 'acme', [400, 'CURSOR_INVALID']],
    ['cursor=next', 'acme', [400, 'CURSOR_INVALID']],
    [`cursor=${'A'.repeat(4097)}`, 'acme', [400, 'CURSOR_INVALID']],
    [`cursor=${cursor}`, 'acme', [400, 'CURSOR_MISMATCH']],
    [`status=Open&cursor=${cursor}`, 'acme', [400, 'CURSOR_MISMATCH']],
    [`status=Sealed&cursor=${cursor}`, 'other', [400, 'CURSOR_MISMATCH']],
    [`status=Sealed&cursor=${cursor}`, 'never-wrote', [400, 'CURSOR_MISMATCH']],
    [`status=Sealed&cursor=${altered}`, 'other', [400, 'CURSOR_INVALID']],
    ['limit=0', 'acme', [400, 'INVALID_PARAMETER']],
    ['limit=1001', 'acme', [400, 'INVALID_PARAMETER']],
  ];
  for (const [query, tenant, answer] of table) {
    assert.deepEqual(await codeOf(`${PATH}?${query}`, tenant), answer, `${query} ${tenant}`);
  }
});

test('HEAD of a list has the headers of GET', async () => {
  const answer = await fetch(`${app.url}${PATH}?limit=2`, { method: 'HEAD', headers: headersFor('acme') });
  assert.match(answer.headers.get('link') ?? '', /rel="next"/);
  assert.equal(await answer.text(), '');
});
