// P5: hashed = stored = returned, byte for byte, for events of any shape and in any spelling. The service reads an event
// in one of several ways, by how it is spelled and what is in it: in each of them the log must have the same texts of
// it, the hashes must be those of the texts, and the reader must get them.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { operationNamed } from '@tallystick/contract';
import { canonicalBytes, parseJson, toHex } from '@tallystick/evidence';
import * as fc from 'fast-check';
import type { UnreadValue } from '../../packages/server/src/call.ts';
import { createFindPlain } from '../../packages/server/src/events/plain-event.ts';
import { leanValue } from '../../packages/server/src/protocols/input/lean-body.ts';
import { textMembersOf } from '../../packages/server/src/protocols/input/text-members.ts';
import { recompute } from '../../packages/server/src/storage/conformance/log-chain.ts';
import { believeClearance, KEY_ID } from '../../packages/server/src/testing/event-caller.ts';
import { openRunningJournal } from '../../packages/server/src/testing/running-journal.ts';
import { startTestApp, type TestApp } from '../../packages/server/src/testing/test-app.ts';
import { type AnyEvent, anyBatch } from './any-event.ts';
import { type EventInLog, readLog } from './read-log.ts';
import { SIZE } from './size.ts';
import { canonical, spell } from './spelling.ts';

const BATCH_EVENTS = 100;
/** So that a store does not grow without end, each has a part of the events. */
const EVENTS_PER_STORE = 10_000;
const CORRELATION_ID = '7d3f0c52-6a3e-4b51-9a0e-2f6b1f3c9d11';
const LOG_ORIGIN = 'audit.example.com';

/** How one batch is sent again and again. */
const WAYS = {
  'in the text of RFC 8785': { isLoose: false, hasEscapes: false },
  'in another order and spelling': { isLoose: true, hasEscapes: false },
  'with escapes, which are read by others': { isLoose: true, hasEscapes: true },
  'with members that say nothing, so that each event is read': {
    isLoose: true,
    hasEscapes: false,
    isWordy: true,
  },
} as const;
type Way = (typeof WAYS)[keyof typeof WAYS];

const BATCH = textMembersOf(operationNamed('events.ingestBatch'))!;

/** Without encryption, since the log is read here without any code of the service. */
const startApp = () =>
  startTestApp(
    { Log__Origin: LOG_ORIGIN, Encryption__Classifications: 'None' },
    { authenticate: believeClearance },
  );

function ask(app: TestApp, tenant: string, path: string, body?: string): Promise<Response> {
  return fetch(`${app.url}/api/v1/audit-events${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: {
      'X-API-Key': 'Secret',
      'X-Tenant-Id': tenant,
      'X-Correlation-Id': CORRELATION_ID,
      'Content-Type': 'application/json',
    },
    ...(body !== undefined && { body }),
  });
}

/** The ids of the events, in their order. */
async function sendBatch(app: TestApp, tenant: string, body: string): Promise<string[]> {
  const response = await ask(app, tenant, '/batch', body);
  const text = await response.text();
  assert.equal(response.status, 201, text);
  return (parseJson(text) as { results: { eventId: string }[] }).results.map(({ eventId }) => eventId);
}

const OPTIONAL = ['context', 'payload', 'correlationId', 'outcome', 'classification', 'eventId'];

function bodyOf(batch: readonly AnyEvent[], tenant: string, way: Way, seed: number): string {
  const nulls = Object.fromEntries(OPTIONAL.map((name) => [name, null]));
  const events = batch.map(({ sent }) => ('isWordy' in way ? { ...nulls, tenantId: tenant, ...sent } : sent));
  return spell({ events }, way, seed);
}

/** What the log must have of an event: the texts of its two groups. */
function textsOf({ sent, timestamp }: AnyEvent): [string, string] {
  const { context, payload, classification, ...others } = sent;
  const facts = {
    correlationId: CORRELATION_ID,
    outcome: 'Success',
    submittedBy: `key:${KEY_ID}`,
    ...others,
    // A hint does not lower what the tenant has by default.
    classification: classification === undefined || classification === 'Public' ? 'Internal' : classification,
    timestamp,
  };
  const content = { ...(context !== undefined && { context }), ...(payload !== undefined && { payload }) };
  return [canonical(facts), canonical(content)];
}

/** How many events of a body are judged in their bytes; the others are read. */
function plainIn(body: string): number {
  const text = canonicalBytes(Buffer.from(body), { depthMax: 34, outlineLevels: BATCH.levels });
  assert.ok(text !== undefined, 'the spelling of a sound body does not matter');
  const { events } = leanValue(text.outline, BATCH) as { events: UnreadValue[] };
  const findPlain = createFindPlain(false);
  return events.filter((one) => findPlain(one, '2026-06-01T00:00:00.000Z') !== undefined).length;
}

/** By the code of the verifier; read-log.ts has done it without. */
function recomputeByVerifier(tenant: string, found: readonly EventInLog[]): number {
  const rows = found.map(({ row, index }) => ({
    index,
    entry: row.entry,
    leaf: row.leaf,
    roots: [row.root1, row.root2] as const,
    texts: [row.text1, row.text2] as const,
    seeds: [row.seeds.subarray(0, 16), row.seeds.subarray(16)] as const,
  }));
  return recompute(rows, tenant, LOG_ORIGIN);
}

async function assertReturned(
  app: TestApp,
  tenant: string,
  { eventId, texts, row }: EventInLog,
): Promise<void> {
  const response = await ask(app, tenant, `/${eventId}`);
  const shown = parseJson(await response.text()) as Record<string, unknown>;
  for (const text of texts) {
    const names = Object.keys(parseJson(text) as object);
    assert.equal(canonical(Object.fromEntries(names.map((name) => [name, shown[name]]))), text);
  }
  assert.equal((shown['integrity'] as { leafHash: string }).leafHash, toHex(row.leaf));
}

const counts = { sent: 0, stored: 0, plain: 0, read: 0, returned: 0 };

async function holds(app: TestApp, tenant: string, batch: readonly AnyEvent[], seed: number): Promise<void> {
  const eventIds: string[] = [];
  for (const way of Object.values(WAYS)) {
    const body = bodyOf(batch, tenant, way, seed);
    eventIds.push(...(await sendBatch(app, tenant, body)));
    const plain = plainIn(body);
    counts.plain += plain;
    counts.read += batch.length - plain;
  }
  const found = readLog(app.dataDirectory, tenant).get(tenant) ?? [];
  assert.equal(recomputeByVerifier(tenant, found), eventIds.length);
  const expected = batch.map(textsOf);
  for (const [i, event] of found.entries()) {
    assert.equal(event.eventId, eventIds[i]);
    assert.deepEqual(
      event.texts,
      expected[i % batch.length],
      Object.keys(WAYS)[Math.floor(i / batch.length)],
    );
  }
  for (let i = seed % batch.length; i < found.length; i += batch.length) {
    await assertReturned(app, tenant, found[i]!);
    counts.returned += 1;
  }
  counts.sent += batch.length;
  counts.stored += found.length;
}

test(`${SIZE.events} events of any shape, each in ${Object.keys(WAYS).length} spellings: hashed, stored and returned are the same`, async (t) => {
  for (let done = 0; done < SIZE.events; done += EVENTS_PER_STORE) {
    await using app = await startApp();
    let tenants = 0;
    await fc.assert(
      fc.asyncProperty(anyBatch(BATCH_EVENTS), fc.nat(), (batch, seed) =>
        holds(app, `t-${++tenants}`, batch, seed),
      ),
      {
        numRuns: Math.min(SIZE.events, EVENTS_PER_STORE) / BATCH_EVENTS,
        seed: 20260701 + done,
        endOnFailure: true,
      },
    );
  }
  assert.equal(counts.sent, SIZE.events);
  // Each way of reading has had its share, or little was tried.
  for (const count of [counts.plain, counts.read])
    assert.ok(count > counts.stored / 10, JSON.stringify(counts));
  t.diagnostic(JSON.stringify(counts));
});

test('control: a changed character of a stored text is seen, with our code and without it', async () => {
  await using app = await startApp();
  const batch = [{ sent: SMALL, timestamp: SMALL.timestamp }];
  await holds(app, 'acme', batch, 0);
  const found = readLog(app.dataDirectory, 'acme').get('acme')!;
  {
    using db = openRunningJournal(app.dataDirectory);
    db.exec("UPDATE contents SET text2 = CAST(replace(text2, '41', '42') AS BLOB) WHERE id = 2");
  }
  assert.throws(() => readLog(app.dataDirectory, 'acme'), /acme at 0: root of group 2/);
  const [first, ...rest] = found;
  const text2 = Buffer.from(first!.texts[1].replace('41', '42'));
  const changed = [{ ...first!, row: { ...first!.row, text2 } }, ...rest];
  assert.throws(() => recomputeByVerifier('acme', changed));
});

const SMALL = {
  timestamp: '2026-01-02T03:04:05.678Z',
  actor: { actorType: 'User', userId: 'u-1' },
  action: 'Approve.Invoice',
  resource: { resourceType: 'Invoice', resourceId: 'INV-42' },
  payload: { amount: 41 },
};
