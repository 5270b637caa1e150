// Streams, proofs and the log files, with the whole service and a real store.

import assert from 'node:assert/strict';
import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Checkpoint, Classification, EventStream, List, StreamEvent } from '@tallystick/contract';
import {
  CompactRange,
  decodeEntryBundle,
  decodeTile,
  EMPTY_ROOT,
  fromBase64,
  fromHex,
  leafHash,
  noteVerifier,
  openCheckpoint,
  parseEventProof,
  parseTlogProof,
  toHex,
  verifyConsistency,
  verifyEventProof,
  verifyTlogProof,
} from '@tallystick/evidence';
import { EVENT } from '../testing/bound-operations.ts';
import { believeClearance, eventCaller } from '../testing/event-caller.ts';
import { startEventsApp } from '../testing/events-app.ts';
import { startTestApp } from '../testing/test-app.ts';
import { openRunningJournal } from '../testing/running-journal.ts';

const { app } = startEventsApp();

interface Asked {
  readonly tenant?: string;
  readonly clearance?: Classification;
  readonly method?: string;
  readonly headers?: Record<string, string>;
}

async function ask(
  path: string,
  { tenant = 'acme', clearance = 'Secret', method = 'GET', headers }: Asked = {},
) {
  const response = await fetch(`${app.url}/api/v1${path}`, {
    method,
    headers: { 'X-API-Key': clearance, 'X-Tenant-Id': tenant, ...headers },
  });
  const bytes = new Uint8Array(await response.arrayBuffer());
  const text = new TextDecoder().decode(bytes);
  const body = () => JSON.parse(text) as never;
  const isJson = response.headers.get('content-type')?.startsWith('application/json') ?? false;
  const code =
    isJson && response.status >= 400 ? (JSON.parse(text) as { error: { code: string } }).error.code : '';
  return {
    status: response.status,
    headers: response.headers,
    bytes,
    text,
    body,
    code: `${response.status} ${code}`.trim(),
  };
}

const fill = async (tenant: string, count: number, more: object = {}) => {
  const caller = eventCaller(app, tenant);
  for (let left = count; left > 0; left -= 1000) {
    const events = Array.from({ length: Math.min(left, 1000) }, () => ({ ...EVENT, ...more }));
    const { status, body } = await caller.ingestBatch({ events });
    assert.equal(status, 201, JSON.stringify(body).slice(0, 300));
  }
};
const ingested = async (tenant: string, more: object = {}) =>
  (await eventCaller(app, tenant).ingest({ ...EVENT, ...more })).body.eventId as string;

async function trustIn(tenant: string) {
  const keys = (await ask(`/log/t/${tenant}/key`, { tenant })).text.trim().split('\n');
  return { verifiers: await Promise.all(keys.map(noteVerifier)) };
}

async function streamsOf(tenant: string, query = ''): Promise<List<EventStream>> {
  return (await ask(`/event-streams${query}`, { tenant })).body();
}

/** Waits until a checkpoint covers this number of entries. */
async function checkpointOf(tenant: string, size: number): Promise<Checkpoint> {
  for (;;) {
    const latest: Checkpoint = (await ask('/checkpoints/latest', { tenant })).body();
    if (latest.treeSize >= size) return latest;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

test('a new event is proven at once, in both forms, and a third party can verify it', async () => {
  const eventId = await ingested('proofs', { payload: { iban: 'SK31' } });
  const json = await ask(`/audit-events/${eventId}/proof`, { tenant: 'proofs' });
  const text = await ask(`/audit-events/${eventId}/proof`, {
    tenant: 'proofs',
    headers: { Accept: 'text/plain' },
  });
  assert.deepEqual([json.status, text.status], [200, 200]);
  assert.match(text.headers.get('content-type')!, /^text\/plain/);
  assert.match(text.text, /^c2sp\.org\/tlog-proof@v1\n/);
  for (const form of [json.text, text.text]) {
    const verdict = await verifyEventProof(parseEventProof(form), await trustIn('proofs'));
    assert.equal(verdict.entry.eventId, eventId);
    assert.deepEqual(
      [verdict.whole, verdict.event['payload']],
      [true, Object.assign(Object.create(null), { iban: 'SK31' })],
    );
  }
  assert.equal(
    (await ask(`/audit-events/${eventId}`, { tenant: 'proofs' })).text.includes('"Checkpointed"'),
    true,
  );
  assert.equal(
    (await ask(`/audit-events/${eventId}/proof`, { tenant: 'others' })).code,
    '404 EVENT_NOT_FOUND',
  );
});

test('fields that a reader may not see are closed in the proof, which still verifies', async () => {
  const of = (eventId: string, clearance: Classification) =>
    ask(`/audit-events/${eventId}/proof`, { tenant: 'closed', clearance });
  const confidential = await ingested('closed', {
    classification: 'Confidential',
    payload: { iban: 'SK31' },
  });
  const proof = await of(confidential, 'Internal');
  assert.doesNotMatch(proof.text, /iban|SK31/);
  const verdict = await verifyEventProof(parseEventProof(proof.text), await trustIn('closed'));
  assert.deepEqual(
    [verdict.whole, 'payload' in verdict.event, verdict.event['action']],
    [false, false, 'Delete.Invoice'],
  );
  const secret = await ingested('closed', { classification: 'Secret', payload: { a: 1 } });
  assert.equal((await of(secret, 'Internal')).code, '404 EVENT_NOT_FOUND');
  assert.doesNotMatch((await of(secret, 'Confidential')).text, /payload/);
  assert.equal((await of(secret, 'Secret')).status, 200);
  // Both reads are recorded in the log.
  const { streamId } = (await streamsOf('closed')).data[0]!;
  const readsIn = async () =>
    (await ask(`/event-streams/${streamId}/events`, { tenant: 'closed' })).text.match(/Read\.SecretEvent/g)
      ?.length;
  assert.equal(await readsIn(), 2);
  assert.equal(await readsIn(), 3, 'the page showed the secret too');
});

test('the log is served in tiles that a third party can recompute', async () => {
  await fill('tiles', 700);
  const { treeSize, rootHash } = await checkpointOf('tiles', 700);
  const get = (path: string) => ask(`/log/t/tiles/${path}`, { tenant: 'tiles' });
  const note = (await get('checkpoint')).text;
  const key = (await get('key')).text.trim();
  const origin = key.slice(0, key.indexOf('+'));
  const opened = await openCheckpoint(note, { origin, verifiers: [await noteVerifier(key)] });
  assert.deepEqual([opened.size, toHex(opened.root)], [treeSize, rootHash]);
  const leaves: Uint8Array[] = [];
  for (const [path, width] of [
    ['000', 256],
    ['001', 256],
    ['002.p/188', 188],
  ] as const) {
    const tile = await get(`tile/0/${path}`);
    assert.equal(tile.headers.get('cache-control'), 'private, max-age=31536000, immutable');
    assert.equal(tile.headers.get('content-type'), 'application/octet-stream');
    const entries = decodeEntryBundle((await get(`tile/entries/${path}`)).bytes, width);
    assert.deepEqual(decodeTile(tile.bytes, width), entries.map(leafHash));
    leaves.push(...entries.map(leafHash));
  }
  const above = decodeTile((await get('tile/1/000.p/2')).bytes, 2);
  for (const place of [0, 1]) {
    assert.deepEqual(CompactRange.of(0, leaves.slice(256 * place, 256 * (place + 1))).root(), above[place]);
  }
  assert.equal(toHex(CompactRange.of(0, leaves).root()), rootHash);
  const absent = [
    'tile/0/003',
    'tile/0/002',
    'tile/0/002.p/189',
    'tile/0/0',
    'tile/00/000',
    'tile/0/x000/000',
    'tile/0/000.p/256',
    'tile/64/000',
    'tile/-1/000',
    'tile/0/%30%30%30',
    'tile/entries/',
    'tile/0/002.p/0188',
  ];
  for (const path of absent) assert.equal((await get(path)).code, '404 TILE_NOT_FOUND', path);
  assert.equal((await get('checkpoint')).headers.get('cache-control'), 'no-store');
});

test('the tenant in the path of a file of the log is the tenant of the call', async () => {
  await fill('paths', 1);
  await checkpointOf('paths', 1);
  assert.equal((await ask('/log/t/paths/checkpoint', { tenant: 'tiles' })).code, '403 TENANT_MISMATCH');
  assert.equal(
    (await ask('/log/t/nobody-at-all/checkpoint', { tenant: 'nobody-at-all' })).code,
    '404 TENANT_NOT_FOUND',
  );
});

test('two sizes of the log are proven to be one history', async () => {
  await fill('growing', 3);
  const old = await checkpointOf('growing', 3);
  await fill('growing', 300);
  const now = await checkpointOf('growing', old.treeSize + 300);
  const proof: {
    hashes: string[];
    from: number;
    to: number;
    fromRootHash: string;
    toRootHash: string;
    checkpoint: string;
  } = (await ask(`/checkpoints/consistency?from=${old.treeSize}`, { tenant: 'growing' })).body();
  assert.deepEqual(
    [proof.fromRootHash, proof.toRootHash, proof.checkpoint],
    [old.rootHash, now.rootHash, now.checkpoint],
  );
  verifyConsistency({
    from: proof.from,
    to: proof.to,
    fromRoot: fromHex(proof.fromRootHash),
    toRoot: fromHex(proof.toRootHash),
    proof: proof.hashes.map(fromBase64),
  });
  for (const query of ['from=0', 'from=9999', 'from=5&to=4', 'from=1&to=99999', '', 'from=x']) {
    assert.equal(
      (await ask(`/checkpoints/consistency?${query}`, { tenant: 'growing' })).code,
      '400 INVALID_PARAMETER',
      query,
    );
  }
});

test('a stream is sealed by hand, once, with the checkpoint of its end, and the next one links to it', async () => {
  await fill('sealing', 2);
  const [open] = (await streamsOf('sealing')).data;
  const seal = (headers = {}) =>
    ask(`/event-streams/${open!.streamId}/seal`, { tenant: 'sealing', method: 'POST', headers });
  assert.equal(
    (await ask(`/event-streams/${open!.streamId}/seal`, { tenant: 'tiles', method: 'POST' })).code,
    '404 STREAM_NOT_FOUND',
  );
  const first = await seal({ 'Idempotency-Key': 'k1' });
  const sealed: EventStream = first.body();
  assert.deepEqual(
    [
      first.status,
      sealed.status,
      sealed.eventCount,
      sealed.firstSequence,
      sealed.lastSequence,
      sealed.hashChain.treeSize,
    ],
    [200, 'Sealed', 3, 1, 3, 3],
  );
  assert.match(sealed.hashChain.checkpoint!, /\n3\n/);
  assert.equal((await seal({ 'Idempotency-Key': 'k1' })).status, 200);
  assert.equal((await seal()).code, '409 STREAM_SEALED');
  const [next, before] = (await streamsOf('sealing')).data;
  assert.deepEqual(
    [next!.status, next!.eventCount, next!.previousStreamId, before!.streamId],
    ['Open', 0, sealed.streamId, sealed.streamId],
  );
  assert.equal(next!.hashChain.genesisHash, sealed.hashChain.headHash);
  const empty = await ask(`/event-streams/${next!.streamId}/seal`, { tenant: 'sealing', method: 'POST' });
  assert.equal(empty.code, '409 STREAM_SEALED');
  assert.deepEqual(
    (await streamsOf('sealing', '?status=Open')).data.map(({ streamId }) => streamId),
    [next!.streamId],
  );
  assert.deepEqual((await streamsOf('sealing', '?status=Sealed,Purged')).pagination.total, 1);
  assert.deepEqual((await streamsOf('sealing', '?status=Purged')).data, []);
});

test('while nothing can be signed, proofs are refused at once and a stream is sealed without a checkpoint', async () => {
  await using own = await startTestApp({}, { authenticate: believeClearance });
  const headers = { 'X-API-Key': 'Secret', 'X-Tenant-Id': 'acme' };
  const call = async (method: string, path: string, key?: string) => {
    const more = key === undefined ? {} : { 'Idempotency-Key': key };
    const response = await fetch(`${own.url}/api/v1${path}`, { method, headers: { ...headers, ...more } });
    return { status: response.status, body: (await response.json()) as EventStream };
  };
  const ingest = async () => (await eventCaller(own).ingest(EVENT)).body.eventId;
  const proofOf = async (eventId: string) => (await call('GET', `/audit-events/${eventId}/proof`)).status;
  const first = await ingest();
  assert.equal(await proofOf(first), 200);
  const anchor = join(own.dataDirectory, 'anchor');
  renameSync(anchor, `${anchor}.away`);
  const second = await ingest();
  const { data } = (await call('GET', '/event-streams')).body as unknown as List<EventStream>;
  const path = `/event-streams/${data[0]!.streamId}`;
  const beganMs = performance.now();
  assert.equal(await proofOf(second), 503);
  assert.equal(await proofOf(first), 200, 'what is signed is proven as ever');
  const seals = [await call('POST', `${path}/seal`, 'k1'), await call('POST', `${path}/seal`, 'k1')];
  const shown = await call('GET', path);
  // An operation is given 35 seconds.
  assert.ok(performance.now() - beganMs < 30_000, 'callers do not wait for a checkpoint that cannot come');
  for (const { status, body } of [...seals, shown]) {
    const { checkpoint, treeSize, rootHash } = body.hashChain;
    // The hashes of a smaller tree would not be those of its end.
    assert.deepEqual([status, body.status, checkpoint, treeSize], [200, 'Sealed', undefined, 0]);
    assert.equal(rootHash, toHex(EMPTY_ROOT));
  }
  assert.equal((await call('POST', `${path}/seal`)).status, 409);
  renameSync(`${anchor}.away`, anchor);
  let end = await call('GET', path);
  for (; end.body.hashChain.checkpoint === undefined; end = await call('GET', path)) {
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  assert.equal(end.body.hashChain.treeSize, end.body.lastSequence);
});

test('the pages of a stream are gap-free for every reader, and walk both ways', async () => {
  await ingested('pages');
  await ingested('pages', { classification: 'Secret', payload: { a: 1 } });
  await fill('pages', 5);
  const { streamId } = (await streamsOf('pages')).data[0]!;
  const read = async (path: string): Promise<List<StreamEvent>> =>
    (await ask(path, { tenant: 'pages', clearance: 'Internal' })).body();
  const below = (link: string) => link.slice('/api/v1'.length);
  const seen: number[] = [];
  const pages: List<StreamEvent>[] = [await read(`/event-streams/${streamId}/events?limit=3`)];
  while (pages.at(-1)!.links.next !== null) pages.push(await read(below(pages.at(-1)!.links.next!)));
  for (const { data } of pages) seen.push(...data.map(({ sequence }) => sequence));
  assert.deepEqual(seen, [1, 2, 3, 4, 5, 6, 7]);
  const [, second] = pages[0]!.data;
  assert.deepEqual(Object.keys(second!).toSorted(), ['eventId', 'integrity', 'sequence', 'withheld']);
  assert.equal('withheld' in second! && second.withheld, 'Clearance');
  const back = await read(below(pages.at(-1)!.links.previous!));
  assert.deepEqual(
    back.data.map(({ sequence }) => sequence),
    pages.at(-2)!.data.map(({ sequence }) => sequence),
  );
  const part = await read(`/event-streams/${streamId}/events?fromSequence=3&toSequence=4`);
  assert.deepEqual([part.data.map(({ sequence }) => sequence), part.pagination.total], [[3, 4], 2]);
  const other = `/event-streams/${streamId}/events?fromSequence=2&cursor=${pages[0]!.pagination.cursor}`;
  assert.equal((await ask(other, { tenant: 'pages' })).code, '400 CURSOR_MISMATCH');
  assert.equal(
    (await ask(`/event-streams/${streamId}/events?fromSequence=4&toSequence=3`, { tenant: 'pages' })).code,
    '400 INVALID_PARAMETER',
  );
  assert.equal(
    (await ask(`/event-streams/${streamId}/events`, { tenant: 'tiles' })).code,
    '404 STREAM_NOT_FOUND',
  );
});

test('a text proof is a tlog-proof without extensions of ours', async () => {
  const eventId = await ingested('tlog');
  const { text } = await ask(`/audit-events/${eventId}/proof`, {
    tenant: 'tlog',
    headers: { Accept: 'text/plain' },
  });
  const leaf = leafHash(parseEventProof(text).entry);
  const { verifiers } = await trustIn('tlog');
  await verifyTlogProof(parseTlogProof(text), { leaf, origin: verifiers[0]!.name, verifiers });
});

test('a value that was changed in the store is not proven', async () => {
  const eventId = await ingested('changed', { payload: { amount: 1 } });
  const prove = async () => (await ask(`/audit-events/${eventId}/proof`, { tenant: 'changed' })).code;
  assert.equal(await prove(), '200');
  using db = openRunningJournal(app.dataDirectory);
  db.exec(
    `UPDATE contents SET text2 = CAST('{"payload":{"amount":2}}' AS BLOB) WHERE id =
     (SELECT id FROM entries JOIN tenants USING (tenant) WHERE tenant_id = 'changed' AND leaf_index = 0)`,
  );
  assert.equal(await prove(), '500 INTERNAL_ERROR');
});
