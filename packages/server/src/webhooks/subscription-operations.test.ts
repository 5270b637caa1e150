// Callers make, read, change and delete webhook subscriptions, through the whole service.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AuditEvent, List, RotatedSecret, Subscription } from '@tallystick/contract';
import type { Told } from '../testing/ask.ts';
import { startDelivering } from '../testing/delivering-app.ts';
import { policedTenant } from '../testing/policed-tenant.ts';
import { detailsOf, subscribed, subscribing, SUBSCRIPTION, SUBSCRIPTIONS } from '../testing/subscribing.ts';

const app = startDelivering();

const ULID = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/;
const NOWHERE = '01KE0000000000000000000042';
const askerOf = (tenant: string) => subscribing(() => app, tenant);

test('a subscription is made with its defaults and a secret that is shown this once', async () => {
  const ask = askerOf('story');
  const told = await ask('POST', '', SUBSCRIPTION);
  const { subscriptionId, createdAt, createdBy, updatedAt, secret, ...facts } = told.body;
  assert.equal(told.code, '201');
  assert.match(subscriptionId, ULID);
  assert.equal(told.headers.get('Location'), `/api/v1${SUBSCRIPTIONS}/${subscriptionId}`);
  assert.match(secret!, /^whsec_[A-Za-z0-9+/]{43}=$/);
  assert.match(createdBy, /^key:/);
  assert.equal(createdAt, updatedAt);
  assert.deepEqual(facts, {
    tenantId: 'story',
    ...SUBSCRIPTION,
    filters: {},
    headers: {},
    active: true,
    status: 'Active',
    timeoutSeconds: 10,
    retry: { strategy: 'Schedule' },
    retryClientErrors: true,
    ordered: false,
    clearance: 'Secret',
    circuit: { state: 'Closed', consecutiveFailures: 0 },
  });
  const got = await ask('GET', `/${subscriptionId.toLowerCase()}`);
  const { secret: _, ...shown } = told.body;
  assert.deepEqual([got.code, got.body], ['200', shown]);
  assert.equal(got.headers.get('ETag'), '"1"');
  const unchanged = await ask('GET', `/${subscriptionId}`, undefined, { 'If-None-Match': '"1"' });
  assert.equal(unchanged.status, 304);
});

test('everything may be set, and a secret that is given is the one', async () => {
  const ask = askerOf('everything');
  const all = {
    name: 'All',
    url: 'http://127.0.0.1:8125/hook?x=1',
    eventTypes: ['*', 'event.notification', 'EventStreamSealed'],
    filters: { classifications: ['Secret'], 'payload.amount': { gt: 1000 }, actor: { userId: 'u' } },
    headers: { 'X-Team': 'security' },
    active: false,
    timeoutSeconds: 30,
    retry: { strategy: 'Exponential', initialDelay: 'PT1S', maxDelay: 'PT1H' },
    retryClientErrors: false,
    ordered: true,
    clearance: 'Public',
  };
  const { secret, ...answer } = await subscribed(ask, { ...all, secret: 'given-by-hand' });
  assert.equal(secret, 'given-by-hand');
  assert.deepEqual({ ...answer, ...all }, answer);
  assert.equal(answer.status, 'Paused');
});

test('lists are newest first, by status, in pages, and without what is deleted', async () => {
  const ask = askerOf('listed');
  const first = await subscribed(ask, { name: 'one' });
  await subscribed(ask, { name: 'two', active: false });
  const third = await subscribed(ask, { name: 'three' });
  const list = (query = '') => ask<List<Subscription>>('GET', query);
  const names = async (query?: string) => (await list(query)).body.data.map(({ name }) => name);
  assert.deepEqual(await names(), ['three', 'two', 'one']);
  assert.deepEqual(await names('?status=Paused'), ['two']);
  assert.deepEqual(await names('?status=Active,Failed'), ['three', 'one']);
  const page = await list('?limit=2');
  assert.deepEqual([page.body.pagination.total, page.body.pagination.hasMore], [3, true]);
  const { cursor } = page.body.pagination;
  assert.deepEqual(await names(`?limit=2&cursor=${cursor}`), ['one']);
  assert.equal((await list('?status=Asleep')).code, '400 INVALID_PARAMETER');
  assert.ok(!page.text.includes('secret'));

  assert.equal((await ask('DELETE', `/${third.subscriptionId}`)).code, '204');
  assert.deepEqual(await names(), ['two', 'one']);
  for (const method of ['GET', 'DELETE'] as const)
    assert.equal((await ask(method, `/${third.subscriptionId}`)).code, '404 SUBSCRIPTION_NOT_FOUND');
  assert.equal((await ask('GET', `/${first.subscriptionId}`)).code, '200');
});

test('what does not exist, or is not an id, is not found by any operation', async () => {
  const ask = askerOf('nowhere');
  await subscribed(ask);
  for (const id of [NOWHERE, 'x', '..%2f', NOWHERE.slice(1)])
    for (const [method, path, body] of [
      ['GET', '', undefined],
      ['PUT', '', SUBSCRIPTION],
      ['PATCH', '', { name: 'x' }],
      ['DELETE', '', undefined],
      ['POST', '/pause', undefined],
      ['POST', '/resume', undefined],
      ['POST', '/rotate-secret', {}],
    ] as const) {
      const { code } = await ask(method, `/${id}${path}`, body);
      assert.equal(code, '404 SUBSCRIPTION_NOT_FOUND', `${method} ${id}${path}`);
    }
});

test('PUT replaces all but the secret, and what belongs to the service may be sent back', async () => {
  const ask = askerOf('replaced');
  const { secret: _, ...before } = await subscribed(ask, { headers: { 'X-Team': 'a' }, ordered: true });
  const { subscriptionId } = before;
  const same = await ask('PUT', `/${subscriptionId}`, before);
  const { updatedAt, ...rest } = same.body;
  assert.equal(same.code, '200');
  assert.deepEqual({ ...rest, updatedAt: before.updatedAt }, before);
  assert.ok(Date.parse(updatedAt) >= Date.parse(before.updatedAt));
  assert.equal(same.headers.get('ETag'), '"2"');
  const bare = await ask('PUT', `/${subscriptionId}`, { ...SUBSCRIPTION, name: 'Bare' });
  assert.deepEqual(bare.body, {
    ...before,
    name: 'Bare',
    headers: {},
    ordered: false,
    updatedAt: bare.body.updatedAt,
  });
  const foreign = await ask('PUT', `/${subscriptionId}`, { ...before, tenantId: 'other' });
  assert.equal(foreign.code, '403 TENANT_MISMATCH');
});

test('PATCH is a merge patch: what is absent stays, null goes back to the default', async () => {
  const ask = askerOf('patched');
  const filters = { 'payload.amount': { gt: 1000 }, actions: ['Delete.*'] };
  const before = await subscribed(ask, { filters, headers: { 'X-A': 'a', 'X-B': 'b' }, timeoutSeconds: 5 });
  const patch = async (body: unknown, headers = {}) =>
    ask('PATCH', `/${before.subscriptionId}`, body, {
      'Content-Type': 'application/merge-patch+json',
      ...headers,
    });
  const one = await patch({ name: 'New', filters: { actions: null }, headers: { 'X-B': null, 'X-C': 'c' } });
  assert.equal(one.code, '200', one.text);
  const { secret: _, ...rest } = before;
  const expected = {
    ...rest,
    name: 'New',
    filters: { 'payload.amount': { gt: 1000 } },
    headers: { 'X-A': 'a', 'X-C': 'c' },
    updatedAt: one.body.updatedAt,
  };
  assert.deepEqual(one.body, expected);
  const two = await patch({ filters: null, headers: null, timeoutSeconds: null, secret: null });
  assert.deepEqual(two.body, {
    ...expected,
    filters: {},
    headers: {},
    timeoutSeconds: 10,
    updatedAt: two.body.updatedAt,
  });
  const nothing = await patch({});
  assert.deepEqual(nothing.body, { ...two.body, updatedAt: nothing.body.updatedAt });

  assert.deepEqual(detailsOf(await patch({ name: null, eventTypes: null })), [
    'name is required: text of 1 to 200 characters, without control characters',
    'eventTypes is required: a list of 1 to 14 items',
  ]);
  assert.deepEqual(detailsOf(await patch({ colour: 'red' })).length, 1);
  const bad = await patch({ filters: { 'weather.rain': 1 }, headers: { Host: 'x' } });
  assert.equal(bad.code, '422 VALIDATION_FAILED');
  assert.match(detailsOf(bad).join('\n'), /^filters\.weather\.rain .*\nheaders\.Host belongs/);
  assert.deepEqual((await ask('GET', `/${before.subscriptionId}`)).body, nothing.body, 'nothing was changed');
});

test('a stale If-Match is a conflict, and a matching one is not', async () => {
  const ask = askerOf('matched');
  const { subscriptionId } = await subscribed(ask);
  const path = `/${subscriptionId}`;
  const match = (tag: string) => ({ 'If-Match': tag });
  assert.equal((await ask('PUT', path, SUBSCRIPTION, match('"1"'))).code, '200');
  assert.equal((await ask('PUT', path, SUBSCRIPTION, match('"1"'))).code, '409 VERSION_CONFLICT');
  assert.equal((await ask('PATCH', path, { name: 'x' }, match('"1", "3"'))).code, '409 VERSION_CONFLICT');
  assert.equal((await ask('PATCH', path, { name: 'x' }, match('"1", "2-0a1b2c3d"'))).code, '200');
  assert.equal((await ask('DELETE', path, undefined, match('"2"'))).code, '409 VERSION_CONFLICT');
  assert.equal((await ask('DELETE', path, undefined, match('nonsense'))).code, '400 INVALID_HEADER');
  assert.equal((await ask('DELETE', path, undefined, match('*'))).code, '204');
});

test('pausing and resuming change the status, and nothing where nothing changes', async () => {
  const ask = askerOf('switched');
  const { subscriptionId } = await subscribed(ask);
  const told = async (method: string, path: string, body?: object) => {
    const { code, body: answer, headers } = await ask(method, `/${subscriptionId}${path}`, body);
    assert.equal(code, '200');
    return [answer.status, answer.active, answer.circuit.state, headers.get('ETag')];
  };
  assert.deepEqual(await told('POST', '/pause'), ['Paused', false, 'Closed', '"2"']);
  assert.deepEqual(await told('POST', '/pause'), ['Paused', false, 'Closed', '"2"']);
  assert.deepEqual(await told('PATCH', '', { name: 'x' }), ['Paused', false, 'Closed', '"3"']);
  assert.deepEqual(await told('POST', '/resume'), ['Active', true, 'Closed', '"4"']);
  assert.deepEqual(await told('POST', '/resume'), ['Active', true, 'Closed', '"4"']);
  assert.deepEqual(await told('PUT', '', { ...SUBSCRIPTION, active: false }), [
    'Paused',
    false,
    'Closed',
    '"5"',
  ]);
  assert.deepEqual(await told('PATCH', '', { active: null }), ['Active', true, 'Closed', '"6"']);
});

test('a rotation answers the new secret and how long the old one counts', async () => {
  const ask = askerOf('rotated');
  const { subscriptionId, secret } = await subscribed(ask);
  const rotate = (body?: object) => ask<RotatedSecret>('POST', `/${subscriptionId}/rotate-secret`, body);
  const beganMs = Date.now() - 1;
  const inDays = ({ body }: Told<RotatedSecret>) =>
    Math.round((Date.parse(body.previousSecretExpiresAt) - beganMs) / 86_400_000);
  const first = await rotate();
  assert.deepEqual([first.code, first.body.subscriptionId, inDays(first)], ['200', subscriptionId, 1]);
  assert.match(first.body.secret!, /^whsec_/);
  assert.notEqual(first.body.secret, secret);
  assert.equal(inDays(await rotate({ gracePeriod: 'P7D' })), 7);
  assert.equal(inDays(await rotate({ gracePeriod: 'PT0S' })), 0);
  for (const gracePeriod of ['P7DT1S', 'P1M', 'PT200H'])
    assert.deepEqual(detailsOf(await rotate({ gracePeriod })), ['gracePeriod must be at most P7D']);
  assert.equal((await rotate({ gracePeriod: 'soon' })).code, '422 VALIDATION_FAILED');
  assert.equal((await rotate({ secret: 'mine' })).code, '422 VALIDATION_FAILED');
});

test('a repeat gets the first answer without the secret, and makes nothing', async () => {
  const ask = askerOf('repeated');
  const once = { 'Idempotency-Key': 'k' };
  const first = await ask('POST', '', SUBSCRIPTION, once);
  const again = await ask('POST', '', SUBSCRIPTION, once);
  const { secret: _, ...shown } = first.body;
  assert.deepEqual([again.code, again.body], ['200', shown]);
  assert.equal(again.headers.get('Location'), first.headers.get('Location'));
  assert.equal(
    (await ask('POST', '', { ...SUBSCRIPTION, name: 'x' }, once)).code,
    '409 IDEMPOTENCY_KEY_REUSED',
  );
  assert.equal((await ask<List<Subscription>>('GET')).body.data.length, 1);

  const path = `/${first.body.subscriptionId}`;
  const rotated = await ask<RotatedSecret>('POST', `${path}/rotate-secret`, {}, once);
  const rotatedAgain = await ask<RotatedSecret>('POST', `${path}/rotate-secret`, {}, once);
  const { secret: __, ...end } = rotated.body;
  assert.deepEqual([rotatedAgain.code, rotatedAgain.body], ['200', end]);
  const paused = await ask('POST', `${path}/pause`, undefined, once);
  await ask('POST', `${path}/resume`);
  assert.deepEqual((await ask('POST', `${path}/pause`, undefined, once)).body, paused.body);
  assert.equal((await ask('GET', path)).body.status, 'Active', 'the repeat has paused nothing');
  const idle = { 'Idempotency-Key': 'nothing-to-change' };
  const left = await ask('POST', `${path}/resume`, undefined, idle);
  assert.equal((await ask('POST', `${path}/pause`)).body.status, 'Paused');
  assert.deepEqual((await ask('POST', `${path}/resume`, undefined, idle)).body, left.body);
  assert.equal((await ask('GET', path)).body.status, 'Paused', 'the repeat has resumed nothing');
  const { subscriptionId: other } = await subscribed(ask, { name: 'other' });
  const elsewhere = await ask('POST', `/${other}/resume`, undefined, idle);
  assert.equal(elsewhere.code, '409 IDEMPOTENCY_KEY_REUSED');
  const put = await ask('PUT', path, { ...SUBSCRIPTION, name: 'put' }, once);
  await ask('PATCH', path, { name: 'patched' });
  assert.deepEqual((await ask('PUT', path, { ...SUBSCRIPTION, name: 'put' }, once)).body, put.body);
  assert.equal((await ask('GET', path)).body.name, 'patched');
});

test('each change is a notice that names the subscription and commits to it, with nothing that it holds', async () => {
  const tenant = policedTenant(app, 'noticed');
  const ask = askerOf('noticed');
  const { subscriptionId } = await subscribed(ask, {
    name: 'Ana',
    headers: { Authorization: 'Bearer hunter2' },
  });
  const path = `/${subscriptionId}`;
  await ask('PATCH', path, { name: 'Ana B' });
  await ask('POST', `${path}/pause`);
  await ask('POST', `${path}/resume`);
  await ask('POST', `${path}/rotate-secret`);
  await ask('DELETE', path);
  for (const [action, act] of [
    ['Create.Subscription', 'SubscriptionCreated'],
    ['Update.Subscription', 'SubscriptionUpdated'],
    ['Pause.Subscription', 'SubscriptionPaused'],
    ['Resume.Subscription', 'SubscriptionResumed'],
    ['Rotate.Secret', 'SubscriptionSecretRotated'],
    ['Delete.Subscription', 'SubscriptionDeleted'],
  ] as const) {
    const { payload, resource } = await tenant.ask<AuditEvent>(
      'GET',
      `/audit-events/${await tenant.noticeOf(action)}`,
    );
    const { commitment, requestId, ...rest } = payload as Record<string, unknown>;
    assert.deepEqual(rest, { act, subjectIds: [subscriptionId], count: 1 });
    assert.match(String(commitment), /^[A-Za-z0-9+/]{43}=$/);
    assert.match(String(requestId), ULID);
    assert.deepEqual(resource, { resourceType: 'Subscription', resourceId: subscriptionId });
  }
  assert.ok(!JSON.stringify(app.lines).includes('hunter2'));
});
