// Erasures of a whole tenant, through the whole service on the real store.

import assert from 'node:assert/strict';
import { copyFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import type { List, PolicyViolation } from '@tallystick/contract';
import { noteVerifier, parseEventProof, verifyEventProof } from '@tallystick/evidence';
import { checkStore } from '../check-store.ts';
import { JOURNAL_FILE } from '../storage/sqlite/connection/database.ts';
import { WORK_FILE } from '../storage/sqlite/work/work-database.ts';
import { PLATFORM_KEY } from '../testing/admin-caller.ts';
import { ask as askOf } from '../testing/ask.ts';
import { EVENT } from '../testing/bound-operations.ts';
import { policedTenant } from '../testing/policed-tenant.ts';
import { type Ask, filesWith, lookAgainNow, startRedacting } from '../testing/redacting.ts';
import { until } from '../testing/until.ts';

const CANARY = 'canary-of-a-tenant-4711';
const OTHER = 'canary-of-another-4711';

/** Waits until it is completed. */
async function erased(ask: Ask, more: object = {}) {
  const made = await ask('POST', '/erasures', { tenantId: 'acme', reason: 'the contract ended', ...more });
  assert.equal(made.status, 202, made.text);
  const path = `/erasures/${made.body.erasureId}`;
  await until(async () => (await ask('GET', path)).body.status === 'Completed');
  return (await ask('GET', path)).body;
}

function fingerprintKeyIn(directory: string): Buffer {
  using db = new DatabaseSync(join(directory, JOURNAL_FILE), { readOnly: true });
  const row = db.prepare("SELECT fingerprint_key FROM tenants WHERE tenant_id = 'acme'").get();
  return Buffer.from(row!['fingerprint_key'] as Uint8Array);
}

function windowsIn(directory: string): number {
  using db = new DatabaseSync(join(directory, WORK_FILE), { readOnly: true });
  return Number(db.prepare('SELECT count(*) AS count FROM windows').get()!['count']);
}

const countsOf = (body: { matchedEvents: number; erasedEvents: number; heldEvents: number }) => [
  body.matchedEvents,
  body.erasedEvents,
  body.heldEvents,
];

for (const [sealed, classifications] of [
  ['sealed', 'All'],
  ['not sealed', 'None'],
] as const) {
  test(`all content of a tenant goes where it is ${sealed}, and no other tenant loses any`, async (t) => {
    const settings = { Encryption__Classifications: classifications };
    const { app, ask, sent } = await startRedacting(t, undefined, settings);
    const ids: string[] = [];
    for (let i = 0; i < 5; i++) ids.push(await sent({ payload: { note: CANARY, i } }));
    const elsewhere = { key: PLATFORM_KEY, tenant: 'other' };
    const kept = await askOf<{ eventId: string }>(app, 'POST', '/api/v1/audit-events', {
      ...elsewhere,
      body: { ...EVENT, payload: { note: OTHER } },
    });
    const own = { ...EVENT, payload: { note: CANARY } };
    const first = await ask('POST', '/audit-events', own, { 'Idempotency-Key': 'one' });
    await until(async () => (await ask('GET', `/audit-events/${ids[0]}/proof`)).status === 200);
    const proof = (await ask('GET', `/audit-events/${ids[0]}/proof`)).text;
    const keyring = join(app.dataDirectory, 'keyring.json');
    const before = sealed === 'sealed' ? readFileSync(keyring, 'utf8') : undefined;
    const erasure = await erased(ask);
    assert.deepEqual(countsOf(erasure), [6, 6, 0]);
    assert.equal(
      (await ask('GET', `/audit-events/${erasure.noticeId}`)).body.payload.act,
      'ErasureRequested',
    );
    const { body: tombstone } = await ask('GET', `/audit-events/${ids[0]}`);
    assert.deepEqual(['purgedAt' in tombstone, 'action' in tombstone], [true, false]);
    assert.equal((await ask('GET', '/audit-events?kind=Event')).body.pagination.total, 0);
    await until(() => filesWith(app.dataDirectory, CANARY).length === 0);
    const again = await ask('POST', '/audit-events', own, { 'Idempotency-Key': 'one' });
    assert.equal(again.status, 201, 'the key from before recognises nothing');
    assert.notEqual(again.body.eventId, first.body.eventId);
    const signer = await ask('GET', '/log/t/acme/key');
    const verifier = await noteVerifier(signer.text.trim());
    assert.ok((await verifyEventProof(parseEventProof(proof), { verifiers: [verifier] })).whole);
    const { eventId } = kept.body;
    const there = await askOf<{ payload: object }>(app, 'GET', `/api/v1/audit-events/${eventId}`, elsewhere);
    assert.deepEqual(there.body.payload, { note: OTHER });
    const later = await sent({ payload: { note: 'later' } });
    assert.deepEqual((await ask('GET', `/audit-events/${later}`)).body.payload, { note: 'later' });
    if (before !== undefined) assert.notEqual(readFileSync(keyring, 'utf8'), before);
    const { body: notices } = await ask('GET', '/audit-events?kind=Notice');
    const purges = notices.data.filter(({ action }) => action === 'Purge.Events');
    assert.deepEqual(
      purges.map(({ payload }) => [payload?.['cause'], payload?.['count']]),
      [['KeyDestroyed', 6]],
    );
    assert.ok(!app.lines.some(({ message }) => message === 'a job has failed'));
    const { faults, totals } = await checkStore(app.dataDirectory, { keys: [], seen: [] });
    assert.deepEqual([faults, totals.deleted], [[], 6]);
  });
}

test('exactly one of a subject and the own tenant is to be erased', async (t) => {
  const { ask, sent } = await startRedacting(t);
  const id = await sent();
  const refused = async (body: object) => {
    const told = await ask('POST', '/erasures', { reason: 'x', ...body });
    return [told.status, told.body.error.code, told.body.error.details?.[0]?.field];
  };
  assert.deepEqual(await refused({ tenantId: 'other' }), [403, 'TENANT_MISMATCH', 'tenantId']);
  const subject = { userId: 'u-1' };
  assert.deepEqual(await refused({ tenantId: 'other', subject }), [403, 'TENANT_MISMATCH', 'tenantId']);
  assert.deepEqual(await refused({ tenantId: 'acme', subject }), [422, 'VALIDATION_FAILED', 'tenantId']);
  assert.deepEqual(await refused({ tenantId: 'acme', fields: ['payload'] }), [
    422,
    'VALIDATION_FAILED',
    'fields',
  ]);
  assert.deepEqual(await refused({}), [422, 'VALIDATION_FAILED', 'subject']);
  assert.ok('action' in (await ask('GET', `/audit-events/${id}`)).body);
});

test('what a hold keeps is left with its key until the hold ends, and goes then', async (t) => {
  const { app, ask, sent } = await startRedacting(t, undefined, { Encryption__Classifications: 'All' });
  const [, held] = [await sent(), await sent({ payload: { iban: 'kept', note: CANARY } }), await sent()];
  const hold = { name: 'court', reason: 'a case', conditions: { 'payload.iban': 'kept' } };
  const { holdId } = (await ask('POST', '/legal-holds', hold)).body as unknown as { holdId: string };
  const keyring = join(app.dataDirectory, 'keyring.json');
  const copy = join(app.dataDirectory, '..', 'keyring.before');
  copyFileSync(keyring, copy);
  const made = await ask('POST', '/erasures', { tenantId: 'acme', reason: 'x' });
  const path = `/erasures/${made.body.erasureId}`;
  await until(async () => (await ask('GET', path)).body.heldEvents === 1);
  const { body: so } = await ask('GET', path);
  assert.deepEqual([so.status, ...countsOf(so)], ['Processing', 3, 2, 1]);
  assert.deepEqual((await ask('GET', `/audit-events/${held}`)).body.payload, { iban: 'kept', note: CANARY });
  assert.equal(readFileSync(keyring, 'utf8'), readFileSync(copy, 'utf8'), 'the key is needed');
  const later = await sent();
  assert.equal((await ask('POST', `/legal-holds/${holdId}/release`, { reason: 'over' })).status, 200);
  lookAgainNow(app.dataDirectory);
  await until(async () => (await ask('GET', path)).body.status === 'Completed');
  assert.deepEqual(countsOf((await ask('GET', path)).body), [3, 3, 0]);
  assert.ok('purgedAt' in (await ask('GET', `/audit-events/${held}`)).body);
  assert.ok('action' in (await ask('GET', `/audit-events/${later}`)).body, 'it came behind the request');
  assert.notEqual(readFileSync(keyring, 'utf8'), readFileSync(copy, 'utf8'));
  const { faults, totals } = await checkStore(app.dataDirectory, { keys: [], seen: [] });
  assert.deepEqual([faults, totals.deleted], [[], 3]);
});

test('what alerts have found in erased events goes with them; what is held, or came later, keeps its own', async (t) => {
  const { app, ask, sent } = await startRedacting(t);
  const tenant = policedTenant(app, 'acme');
  const hold = { name: 'court', reason: 'a case', conditions: { 'payload.iban': 'kept' } };
  await tenant.ask('POST', '/legal-holds', hold);
  const threshold = { count: 1, window: 'P1D', groupBy: 'payload.iban' };
  await tenant.put('Alert', [
    { conditions: {}, effect: { violationType: 'Counted', threshold } },
    { conditions: {}, effect: { violationType: 'Matched' } },
  ]);
  const violations = async () => (await tenant.ask<List<PolicyViolation>>('GET', '/violations')).data;
  const gone = [await sent({ payload: { iban: CANARY } }), await sent({ payload: { iban: CANARY } })];
  const held = await sent({ payload: { iban: 'kept' } });
  // One event crosses each threshold, and each event matches.
  await until(async () => (await violations()).length === 5);
  const [crossed] = (await violations()).filter(({ groupKey }) => groupKey === CANARY);
  await tenant.ask('POST', `/violations/${crossed!.violationId}/acknowledge`, { comment: 'seen' });
  const made = await ask('POST', '/erasures', { tenantId: 'acme', reason: 'x' });
  await until(async () => (await ask('GET', `/erasures/${made.body.erasureId}`)).body.heldEvents === 1);
  const left = await violations();
  assert.deepEqual(
    new Set(left.map(({ eventId, violationType, groupKey }) => [eventId, violationType, groupKey].join())),
    new Set([`${held},Counted,kept`, `${held},Matched,`]),
  );
  for (const id of gone) assert.ok(!left.some(({ eventId }) => eventId === id));
  const told = await ask('GET', `/violations/${crossed!.violationId}`);
  assert.equal(told.status, 404);
  assert.equal(windowsIn(app.dataDirectory), 0, 'what was counted by values that are gone');
  await sent({ payload: { iban: 'later' } });
  await until(async () => (await violations()).length === 4);
  await until(() => filesWith(app.dataDirectory, CANARY).length === 0);
});

test('the key of fingerprints goes at the request, and what comes from then on is recognised by a new one', async (t) => {
  const { app, ask, sent } = await startRedacting(t);
  const eventId = '01KE0000000000000000000042';
  const send = (key: string, more: object = {}) =>
    ask('POST', '/audit-events', { ...EVENT, ...more }, { 'Idempotency-Key': key });
  assert.equal((await send('before')).status, 201);
  await sent({ eventId });
  const [stream] = (await ask('GET', '/event-streams')).body.data as unknown as { streamId: string }[];
  const verify = () =>
    ask('POST', `/event-streams/${stream!.streamId}/verify`, {}, { 'Idempotency-Key': 'v' });
  const asked = await verify();
  assert.equal(asked.status, 202, asked.text);
  const key = fingerprintKeyIn(app.dataDirectory);
  const request = { tenantId: 'acme', reason: 'x' };
  const once = () => ask('POST', '/erasures', request, { 'Idempotency-Key': 'erasure' });
  const made = await once();
  assert.equal(made.status, 202, made.text);
  assert.notDeepEqual(fingerprintKeyIn(app.dataDirectory), key);
  const during = await send('during');
  const path = `/erasures/${made.body.erasureId}`;
  await until(async () => (await ask('GET', path)).body.status === 'Completed');
  await until(() => filesWith(app.dataDirectory, key).length === 0);
  assert.deepEqual([(await once()).status, (await once()).body], [200, made.body]);
  assert.deepEqual([(await send('before')).status, (await send('before')).status], [201, 200]);
  assert.deepEqual([during.status, (await send('during')).body.eventId], [201, during.body.eventId]);
  assert.equal((await send('of-an-event', { eventId })).status, 409, 'its id stays in use');
  const later = { eventId: '01KE0000000000000000000043' };
  assert.deepEqual([(await send('a', later)).status, (await send('b', later)).status], [201, 200]);
  assert.deepEqual([(await verify()).status, (await verify()).status], [202, 200], 'a job is asked for anew');
});

test('with four eyes the key of fingerprints goes when the second caller confirms', async (t) => {
  const { app, ask, sent, secondCaller } = await startRedacting(t);
  await sent();
  await ask('PUT', '/admin/tenants/acme', { fourEyes: true });
  const other = await secondCaller();
  const key = fingerprintKeyIn(app.dataDirectory);
  const { body } = await ask('POST', '/erasures', { tenantId: 'acme', reason: 'x' });
  assert.deepEqual(fingerprintKeyIn(app.dataDirectory), key);
  const confirm = () =>
    other('POST', `/admin/operations/${body.operationId}/confirm`, undefined, { 'Idempotency-Key': 'c' });
  const confirmed = await confirm();
  assert.equal(confirmed.status, 200, confirmed.text);
  assert.notDeepEqual(fingerprintKeyIn(app.dataDirectory), key);
  assert.deepEqual((await confirm()).body, confirmed.body);
  const path = `/erasures/${body.operationId}`;
  await until(async () => (await ask('GET', path)).body.status === 'Completed');
  await until(() => filesWith(app.dataDirectory, key).length === 0);
});

test('an erasure of a person that waits for a hold knows the person also when the tenant is to be erased', async (t) => {
  const { app, ask, sent } = await startRedacting(t);
  const held = await sent({ actor: { actorType: 'User', userId: 'u-7' } });
  const { holdId } = (await ask('POST', '/legal-holds', { name: 'court', reason: 'a case' }))
    .body as unknown as { holdId: string };
  const waiting = async (scope: object) => {
    const { erasureId } = (await ask('POST', '/erasures', { ...scope, reason: 'x' })).body;
    const path = `/erasures/${erasureId}`;
    await until(async () => (await ask('GET', path)).body.heldEvents === 1);
    return { erasureId, path };
  };
  const person = await waiting({ subject: { userId: 'u-7' } });
  await waiting({ tenantId: 'acme' });
  assert.equal((await ask('POST', `/legal-holds/${holdId}/release`, { reason: 'over' })).status, 200);
  lookAgainNow(app.dataDirectory, person.erasureId);
  await until(async () => (await ask('GET', person.path)).body.status === 'Completed');
  assert.deepEqual(countsOf((await ask('GET', person.path)).body), [1, 1, 0]);
  assert.equal((await ask('GET', `/audit-events/${held}`)).body.actor.userId, undefined);
});

test('a second erasure counts nothing that the first has erased', async (t) => {
  const { app, ask, sent } = await startRedacting(t);
  for (let i = 0; i < 20; i++) await sent();
  const made = await ask('POST', '/erasures', { tenantId: 'acme', reason: 'x' });
  const path = `/erasures/${made.body.erasureId}`;
  await until(async () => (await ask('GET', path)).body.status === 'Completed');
  assert.deepEqual(countsOf((await ask('GET', path)).body), [20, 20, 0]);
  const again = await erased(ask);
  assert.deepEqual(countsOf(again), [0, 0, 0]);
  assert.equal((await checkStore(app.dataDirectory, { keys: [], seen: [] })).faults.length, 0);
});

/** Of segments, which a log has from so many events on. */
const SEGMENT_EVENTS = 2048;

test('the index of a tenant can be read while its erasure waits for a hold, and once its keys are destroyed', async (t) => {
  const { app, ask, sent } = await startRedacting(t, undefined, { Encryption__Classifications: 'All' });
  const events = Array.from({ length: 500 }, (_, i) => ({ ...EVENT, payload: { i } }));
  for (let stored = 0; stored < SEGMENT_EVENTS; stored += events.length)
    assert.equal((await ask('POST', '/audit-events/batch', { events })).status, 201);
  const checked = () => checkStore(app.dataDirectory, { keys: [], seen: [] });
  const verified = async () => (await checked()).faults;
  await until(async () => (await checked()).index.events >= SEGMENT_EVENTS);
  assert.deepEqual(await verified(), []);
  const hold = { name: 'court', reason: 'a case', range: { fromSequence: 1, toSequence: 1 } };
  const { holdId } = (await ask('POST', '/legal-holds', hold)).body as unknown as { holdId: string };
  const { body: made } = await ask('POST', '/erasures', { tenantId: 'acme', reason: 'it ended' });
  const path = `/erasures/${made.erasureId}`;
  await until(async () => (await ask('GET', path)).body.heldEvents === 1);
  assert.deepEqual(await verified(), [], 'its key takes no new content');
  // The segment is made again under the key that comes with it.
  await sent();
  await ask('POST', `/legal-holds/${holdId}/release`, { reason: 'over' });
  await until(async () => {
    lookAgainNow(app.dataDirectory);
    return (await ask('GET', path)).body.status === 'Completed';
  });
  assert.deepEqual(await verified(), [], 'its key is destroyed');
  await erased(ask);
  assert.deepEqual(await verified(), [], 'the next one, too, and nothing of the segment was left to erase');
});
