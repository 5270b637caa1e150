// Erasures of a person, and four eyes, through the whole service on the real store.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkStore } from '../check-store.ts';
import { type Clock, systemClock } from '../runtime/clock.ts';
import { ask as askOf } from '../testing/ask.ts';
import { policedTenant } from '../testing/policed-tenant.ts';
import { createSystemRandom } from '../runtime/random.ts';
import {
  alterJob,
  type AnyBody,
  type Ask,
  filesWith,
  jobBodies,
  lookAgainNow,
  startRedacting,
} from '../testing/redacting.ts';
import { until } from '../testing/until.ts';
import { hashesOf } from './subject.ts';

const PERSON = 'u-canary-4711';
const NAME = 'Ottokar Canarius';

test('an erasure takes what is stored about a person, says how much, and names nobody', async (t) => {
  const { app, ask, sent } = await startRedacting(t);
  const actor = { actorType: 'User', userId: PERSON, userName: NAME };
  const own = [];
  for (let i = 0; i < 5; i++) own.push(await sent({ actor, payload: { note: `seen ${NAME}`, i } }));
  const other = await sent({ actor: { actorType: 'User', userId: 'u-2' }, payload: { note: 'stays' } });
  const made = await ask('POST', '/erasures', { subject: { userId: PERSON }, reason: 'asked for' });
  assert.equal(made.status, 202, made.text);
  assert.deepEqual([made.body.matchedEvents, made.body.erasedEvents], [undefined, 0], 'not counted yet');
  const path = `/erasures/${made.body.erasureId}`;
  await until(async () => (await ask('GET', path)).body.status === 'Completed');
  const { body: erasure, text } = await ask('GET', path);
  assert.deepEqual([erasure.matchedEvents, erasure.erasedEvents, erasure.heldEvents], [5, 5, 0]);
  assert.equal(erasure.noticeId, made.body.noticeId);
  assert.ok(erasure.completedAt >= erasure.requestedAt);
  assert.ok(!text.includes(PERSON));
  const { body: shown } = await ask('GET', `/audit-events/${own[0]}`);
  assert.deepEqual(shown.actor, { actorType: 'User' });
  assert.deepEqual([shown.payload, shown.redaction.reason], [undefined, 'RedactedAtRest']);
  assert.deepEqual((await ask('GET', `/audit-events/${other}`)).body.payload, { note: 'stays' });
  const { body: notices } = await ask('GET', '/audit-events?kind=Notice&sort=timestamp');
  const acts = notices.data.map((each: { action: string }) => each.action);
  assert.equal(acts.filter((act: string) => act === 'Erase.Event').length, 5);
  assert.ok(acts.includes('Request.Erasure') && acts.includes('Update.Erasure'));
  assert.equal((await ask('GET', `/audit-events/${erasure.noticeId}`)).body.payload.act, 'ErasureRequested');
  for (const value of [PERSON, NAME])
    await until(async () => filesWith(app.dataDirectory, value).length === 0);
  const { faults, totals } = await checkStore(app.dataDirectory, { keys: [], seen: [] });
  assert.deepEqual([faults, totals.deleted], [[], 5]);
  assert.ok(
    !app.lines.some(({ message }) => message === 'a job has failed'),
    'it is done at the first attempt',
  );
});

const HEADER = '0d6c1a6e-4f0e-4b7e-9c55-3a4e0d1b2c3d';

/** Of all notices of the erasures of a tenant, by what they say was done; in the order of the log. */
async function correlations(ask: Ask): Promise<[action: string, correlationId: string][]> {
  const { body } = await ask('GET', '/audit-events?kind=Notice&sort=timestamp');
  return body.data
    .filter(({ action }) => /Erasure|^Erase\.|^Purge\./.test(action))
    .map(({ action, correlationId }) => [action, correlationId]);
}

for (const [scope, erased] of [
  [{ subject: { userId: PERSON } }, 'Erase.Event'],
  [{ tenantId: 'acme' }, 'Purge.Events'],
] as const)
  test(`all notices of an erasure by ${Object.keys(scope).join()} bear the correlation id that it names`, async (t) => {
    const { ask, sent, secondCaller, app } = await startRedacting(t);
    const actor = { actorType: 'User', userId: PERSON };
    const requested = async (correlation: string) => {
      await sent({ actor });
      const headers = { 'X-Correlation-Id': correlation };
      return ask('POST', '/erasures', { ...scope, reason: 'asked for' }, headers);
    };
    const ended = async (path: string) => {
      await until(async () => (await ask('GET', path)).body.status === 'Completed');
      return (await ask('GET', path)).body.correlationId;
    };
    const held = await sent({ actor, payload: { iban: 'kept' } });
    const hold = { name: 'court', reason: 'a case', conditions: { 'payload.iban': 'kept' } };
    const { holdId } = (await ask('POST', '/legal-holds', hold)).body as unknown as { holdId: string };
    const first = await requested(HEADER);
    assert.equal(first.body.correlationId, HEADER);
    const path = `/erasures/${first.body.erasureId}`;
    await until(async () => (await ask('GET', path)).body.heldEvents === 1);
    await ask('POST', `/legal-holds/${holdId}/release`, { reason: 'over' });
    lookAgainNow(app.dataDirectory);
    assert.equal(await ended(path), HEADER);
    assert.ok(!JSON.stringify((await ask('GET', `/audit-events/${held}`)).body).includes('kept'));
    const ofFirst = ['Request.Erasure', erased, 'Update.Erasure', erased, 'Update.Erasure'];
    const told = await correlations(ask);
    assert.deepEqual(
      told,
      ofFirst.map((action) => [action, HEADER]),
    );
    await ask('PUT', '/admin/tenants/acme', { fourEyes: true });
    const other = await secondCaller();
    // No UUID, so that it is no event's.
    const { operationId } = (await requested('ticket-17')).body;
    const headers = { 'X-Correlation-Id': HEADER };
    await other('POST', `/admin/operations/${operationId}/confirm`, undefined, headers);
    const own = await ended(`/erasures/${operationId}`);
    const later = (await correlations(ask)).slice(told.length);
    assert.deepEqual(
      later,
      ['Request.Erasure', 'Confirm.Erasure', erased, 'Update.Erasure'].map((action) => [action, own]),
    );
  });

test('an erasure of a tenant counts nothing of another one whose request bore the same correlation id', async (t) => {
  const { app, ask, sent } = await startRedacting(t);
  const held = { payload: { iban: 'kept' } };
  await sent(held);
  await sent();
  const hold = { name: 'court', reason: 'a case', conditions: { 'payload.iban': 'kept' } };
  const { holdId } = (await ask('POST', '/legal-holds', hold)).body as unknown as { holdId: string };
  const headers = { 'X-Correlation-Id': HEADER };
  const erase = async (heldEvents: number) => {
    const { body } = await ask('POST', '/erasures', { tenantId: 'acme', reason: 'x' }, headers);
    const path = `/erasures/${body.erasureId}`;
    await until(async () => (await ask('GET', path)).body.heldEvents === heldEvents);
    return path;
  };
  const first = await erase(1);
  await sent();
  const second = await erase(1);
  await ask('POST', `/legal-holds/${holdId}/release`, { reason: 'over' });
  lookAgainNow(app.dataDirectory);
  const counts = [];
  for (const path of [first, second]) {
    await until(async () => (await ask('GET', path)).body.status === 'Completed');
    counts.push((await ask('GET', path)).body.erasedEvents);
  }
  assert.equal(counts[0]! + counts[1]!, 3, 'each event is erased once');
  assert.ok(counts[0]! >= 1 && counts[1]! >= 1, String(counts));
});

test('erasures that are asked for under one correlation id, even at once, are told apart by their own', async (t) => {
  const { ask, sent } = await startRedacting(t);
  const people = ['u-10', 'u-11', 'u-12', 'u-13'];
  for (const userId of people) await sent({ actor: { actorType: 'User', userId } });
  const headers = { 'X-Correlation-Id': HEADER };
  const made = await Promise.all(
    people.map((userId) => ask('POST', '/erasures', { subject: { userId }, reason: 'x' }, headers)),
  );
  const ids = made.map(({ body }) => body.correlationId);
  assert.deepEqual([new Set(ids).size, ids.filter((id) => id === HEADER).length], [4, 1]);
  for (const { body, status } of made) {
    assert.equal(status, 202);
    const path = `/erasures/${body.erasureId}`;
    await until(async () => (await ask('GET', path)).body.status === 'Completed');
    const shown = (await ask('GET', path)).body;
    assert.deepEqual(
      [shown.matchedEvents, shown.erasedEvents, shown.correlationId],
      [1, 1, body.correlationId],
    );
  }
});

test('only the named fields go, and a subject or a field that is none is refused', async (t) => {
  const { ask, sent } = await startRedacting(t);
  const one = await sent({ actor: { actorType: 'User', userId: PERSON }, payload: { iban: 'x', amount: 1 } });
  const wrong = async (body: object) => {
    const { status, body: answer } = await ask('POST', '/erasures', { reason: 'x', ...body });
    return [status, answer.error?.details[0]?.field];
  };
  assert.deepEqual(await wrong({ subject: {} }), [422, 'subject']);
  assert.deepEqual(await wrong({ subject: { resourceId: 'x' } }), [422, 'subject.resourceType']);
  assert.deepEqual(await wrong({ subject: { userId: 'x' }, fields: ['action'] }), [422, 'fields[0]']);
  const several = {
    subject: { resourceId: 'x', userName: '' },
    fields: ['action', null],
    more: 1,
    reason: '',
  };
  const { body: refused } = await ask('POST', '/erasures', several);
  assert.deepEqual(
    refused.error.details.map((each: { field: string }) => each.field).toSorted(),
    ['fields[0]', 'fields[1]', 'more', 'reason', 'subject.resourceType', 'subject.userName'],
    'all in one answer',
  );
  const request = { subject: { userId: PERSON }, fields: ['payload.iban'], reason: 'asked for' };
  const once = () => ask('POST', '/erasures', request, { 'Idempotency-Key': 'one' });
  const [made, again] = [await once(), await once()];
  assert.deepEqual([made.status, again.status, again.body], [202, 200, made.body]);
  await until(async () => (await ask('GET', `/erasures/${made.body.erasureId}`)).body.status === 'Completed');
  const { body: shown } = await ask('GET', `/audit-events/${one}`);
  assert.deepEqual([shown.payload, shown.actor.userId], [{ amount: 1 }, PERSON]);
  assert.equal((await ask('GET', '/erasures/01KE0000000000000000000099')).status, 404);
});

test('a caller from whom events are withheld is not told how many there are of a person', async (t) => {
  const { app, ask, sent } = await startRedacting(t);
  const key = await policedTenant(app, 'acme').keyWith({ roles: ['Admin'], clearance: 'Internal' });
  await sent({ actor: { actorType: 'User', userId: PERSON }, classification: 'Secret' });
  const request = { subject: { userId: PERSON }, fields: ['payload.nothing'], reason: 'to learn of it' };
  const { body: made } = await ask('POST', '/erasures', request);
  const path = `/erasures/${made.erasureId}`;
  await until(async () => (await ask('GET', path)).body.status === 'Completed');
  assert.deepEqual((await ask('GET', path)).body.matchedEvents, 1, 'whoever sees all of it is told');
  const { body } = await askOf<AnyBody>(app, 'GET', `/api/v1${path}`, { key, tenant: 'acme' });
  assert.equal(body.status, 'Completed');
  assert.deepEqual(
    [body.matchedEvents, body.erasedEvents, body.heldEvents],
    [undefined, undefined, undefined],
  );
});

test('what a hold keeps is counted and left, and how far it came is in the log', async (t) => {
  const { ask, sent } = await startRedacting(t);
  const actor = { actorType: 'User', userId: PERSON };
  const [free, held] = [await sent({ actor }), await sent({ actor, payload: { iban: 'kept' } })];
  const hold = { name: 'court', reason: 'a case', conditions: { 'payload.iban': 'kept' } };
  assert.equal((await ask('POST', '/legal-holds', hold)).status, 201);
  const made = await ask('POST', '/erasures', { subject: { userId: PERSON }, reason: 'asked for' });
  const path = `/erasures/${made.body.erasureId}`;
  await until(async () => (await ask('GET', path)).body.heldEvents === 1);
  const { body: erasure } = await ask('GET', path);
  assert.deepEqual([erasure.status, erasure.matchedEvents, erasure.erasedEvents], ['Processing', 2, 1]);
  assert.equal((await ask('GET', `/audit-events/${free}`)).body.actor.userId, undefined);
  assert.equal((await ask('GET', `/audit-events/${held}`)).body.actor.userId, PERSON);
});

test('what a hold has kept through several looks is erased once it ends', async (t) => {
  let passedMs = 0;
  const clock: Clock = {
    ...systemClock,
    now: () => systemClock.now() + passedMs,
    monotonicNs: () => systemClock.monotonicNs() + passedMs * 1e6,
  };
  const { ask, sent } = await startRedacting(t, { clock });
  const held = await sent({ actor: { actorType: 'User', userId: PERSON } });
  const hold = await ask('POST', '/legal-holds', { name: 'court', reason: 'a case' });
  const { holdId } = hold.body as unknown as { readonly holdId: string };
  const made = await ask('POST', '/erasures', { subject: { userId: PERSON }, reason: 'asked for' });
  const path = `/erasures/${made.body.erasureId}`;
  for (let look = 0; look < 3; look++) {
    await until(async () => (await ask('GET', path)).body.heldEvents === 1);
    passedMs += 61_000;
  }
  assert.equal((await ask('POST', `/legal-holds/${holdId}/release`, { reason: 'over' })).status, 200);
  passedMs += 61_000;
  await until(async () => (await ask('GET', path)).body.status === 'Completed');
  const { body: erasure } = await ask('GET', path);
  assert.deepEqual([erasure.matchedEvents, erasure.erasedEvents, erasure.heldEvents], [1, 1, 0]);
  assert.equal((await ask('GET', `/audit-events/${held}`)).body.actor.userId, undefined);
});

test('an erasure before which there is no event completes, and no attempt fails', async (t) => {
  const { app, ask, sent } = await startRedacting(t);
  const first = await ask('POST', '/erasures', { subject: { userId: PERSON }, reason: 'asked for' });
  await sent({ actor: { actorType: 'User', userId: PERSON } });
  const second = await ask('POST', '/erasures', { subject: { userId: PERSON }, reason: 'asked again' });
  for (const [made, matched] of [
    [first, 0],
    [second, 1],
  ] as const) {
    const path = `/erasures/${made.body.erasureId}`;
    await until(async () => (await ask('GET', path)).body.status === 'Completed');
    assert.equal((await ask('GET', path)).body.matchedEvents, matched);
  }
  const failed = app.lines.filter(({ message }) => message === 'a job has failed');
  assert.deepEqual(failed, []);
});

test('where the tenant wants four eyes, another caller confirms, and once is enough', async (t) => {
  const { ask, sent, secondCaller } = await startRedacting(t);
  const actor = { actorType: 'User', userId: PERSON };
  const [one, two] = [await sent({ actor }), await sent({ actor })];
  await ask('PUT', '/admin/tenants/acme', { fourEyes: true });
  const other = await secondCaller();
  const request = { fields: ['payload.iban'], reason: 'x' };
  const asked = await ask('POST', `/audit-events/${one}/redact`, request);
  assert.deepEqual([asked.status, asked.body.status], [202, 'AwaitingConfirmation'], asked.text);
  const { operationId } = asked.body;
  assert.equal(asked.headers.get('Location'), `/api/v1/admin/operations/${operationId}`);
  assert.equal((await ask('GET', `/audit-events/${one}`)).body.redaction, undefined);
  const { body: operation } = await ask('GET', `/admin/operations/${operationId}`);
  assert.deepEqual([operation.kind, operation.status], ['Redaction', 'AwaitingConfirmation']);
  const confirm = `/admin/operations/${operationId}/confirm`;
  const own = await ask('POST', confirm);
  assert.deepEqual([own.status, own.body.error.code], [403, 'FORBIDDEN']);
  const confirmed = await other('POST', confirm);
  assert.equal(confirmed.status, 200, confirmed.text);
  assert.deepEqual(confirmed.body.fields, ['payload.iban']);
  assert.deepEqual((await other('POST', confirm)).body, confirmed.body);
  assert.equal((await ask('GET', `/audit-events/${one}`)).body.redaction.reason, 'RedactedAtRest');
  const unknown = await other('POST', '/admin/operations/01KE0000000000000000000099/confirm');
  assert.deepEqual([unknown.status, unknown.body.error.code], [404, 'OPERATION_NOT_FOUND']);
  const erasure = await ask('POST', '/erasures', { subject: { userId: PERSON }, reason: 'x' });
  assert.equal(erasure.body.status, 'AwaitingConfirmation', erasure.text);
  assert.equal(erasure.headers.get('Location'), `/api/v1/erasures/${erasure.body.operationId}`);
  assert.equal((await ask('GET', `/audit-events/${two}`)).body.actor.userId, PERSON);
  const started = await other('POST', `/admin/operations/${erasure.body.operationId}/confirm`);
  assert.equal(started.status, 200, started.text);
  const path = `/erasures/${erasure.body.operationId}`;
  await until(async () => (await ask('GET', path)).body.status === 'Completed');
  assert.equal((await ask('GET', `/audit-events/${two}`)).body.actor.userId, undefined);
});

test('a job that somebody has altered erases nobody else, and not the whole tenant', async (t) => {
  const { app, ask, sent } = await startRedacting(t);
  const one = await sent({ actor: { actorType: 'User', userId: PERSON } });
  const other = await sent({ actor: { actorType: 'User', userId: 'u-2' } });
  const conditions = { 'actor.userId': PERSON };
  const { body: hold } = await ask('POST', '/legal-holds', { name: 'case', reason: 'x', conditions });
  const { body: made } = await ask('POST', '/erasures', { subject: { userId: PERSON }, reason: 'x' });
  const path = `/erasures/${made.erasureId}`;
  await until(async () => (await ask('GET', path)).body.heldEvents === 1);
  // The job that waits is stored behind the record.
  const bodyOfJob = () => jobBodies(app.dataDirectory, made.erasureId)[0];
  await until(async () => bodyOfJob() !== undefined);
  const asked = bodyOfJob()!;
  await ask('POST', `/legal-holds/${(hold as { holdId?: string }).holdId}/release`, { reason: 'over' });
  const isReported = () =>
    app.lines.filter(({ message }) => message === 'an erasure was altered, and is not carried out').length;
  const subject = hashesOf({ userId: 'u-2' }, createSystemRandom());
  for (const [i, forged] of [{ ofAll: { keysBeforeMs: 0 } }, { subject }].entries()) {
    await until(async () => bodyOfJob() !== undefined);
    alterJob(app.dataDirectory, made.erasureId, JSON.stringify(forged));
    lookAgainNow(app.dataDirectory);
    await until(async () => isReported() > i);
    for (const eventId of [one, other])
      assert.deepEqual((await ask('GET', `/audit-events/${eventId}`)).body.payload, {
        iban: 'DE1',
        amount: 1,
      });
  }
  alterJob(app.dataDirectory, made.erasureId, asked);
  lookAgainNow(app.dataDirectory);
  await until(async () => (await ask('GET', path)).body.status === 'Completed');
  assert.equal((await ask('GET', `/audit-events/${one}`)).body.payload, undefined);
  assert.deepEqual((await ask('GET', `/audit-events/${other}`)).body.payload, { iban: 'DE1', amount: 1 });
});
