// An Auditor places legal holds, sees what they keep, and releases them, through the whole service.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { AuditEvent, ErrorBody, EventExplanation, LegalHold, List, Policy } from '@tallystick/contract';
import { callerOf, PLATFORM_KEY, WITH_PLATFORM_KEY } from '../testing/admin-caller.ts';
import { ask as askOf, type Told } from '../testing/ask.ts';
import { policedTenant } from '../testing/policed-tenant.ts';
import { startTestApp, type TestApp } from '../testing/test-app.ts';
import { until } from '../testing/until.ts';

let app: TestApp;
before(async () => {
  app = await startTestApp(WITH_PLATFORM_KEY);
});
after(() => app[Symbol.asyncDispose]());

const ULID = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/;
const NOWHERE = '01KE0000000000000000000042';
const HOLDS = '/legal-holds';

interface Asker {
  <T = LegalHold>(
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
    key?: string,
  ): Promise<Told<T>>;
}

const askerOf =
  (tenant: string): Asker =>
  (method, path, body, headers = {}, key = PLATFORM_KEY) =>
    askOf(app, method, `/api/v1${path}`, { key, tenant, headers, body });

const placed = async (ask: Asker, more: object = {}) => {
  const { code, body } = await ask('POST', HOLDS, { name: 'Case 7', reason: 'Court order', ...more });
  assert.equal(code, '201');
  return body;
};

const isHeld = async (ask: Asker, eventId: string) =>
  (await ask<AuditEvent>('GET', `/audit-events/${eventId}`)).body.retention?.legalHold;

test('a hold is placed, read, listed and released, and released again without a change', async () => {
  const ask = askerOf('story');
  const sent = {
    name: 'Case 7',
    reason: 'Court order',
    conditions: { 'resource.resourceType': 'Invoice' },
    range: { fromSequence: 1, toSequence: 100 },
  };
  const made = await ask('POST', HOLDS, sent);
  const { holdId, createdAt, createdBy, ...facts } = made.body;
  assert.equal(made.code, '201');
  assert.equal(made.headers.get('Location'), `/api/v1/legal-holds/${holdId}`);
  assert.match(holdId, ULID);
  assert.match(createdBy, /^key:/);
  assert.ok(Date.parse(createdAt) > 0);
  assert.deepEqual(facts, { tenantId: 'story', ...sent, status: 'Active' });
  const got = await ask('GET', `${HOLDS}/${holdId.toLowerCase()}`);
  assert.deepEqual([got.code, got.body], ['200', { ...made.body, heldEvents: 0 }]);
  const bare = await placed(ask, { name: 'Case 8' });
  assert.ok(!('conditions' in bare) && !('range' in bare));

  const list = await ask<List<LegalHold>>('GET', HOLDS);
  assert.deepEqual(
    list.body.data.map(({ name }) => name),
    ['Case 8', 'Case 7'],
  );
  assert.equal(list.body.pagination.total, 2);
  const released = await ask('POST', `${HOLDS}/${holdId}/release`, { reason: 'Settled' });
  const { releasedAt, ...end } = released.body;
  assert.ok(Date.parse(releasedAt!) >= Date.parse(createdAt));
  assert.deepEqual(end, {
    ...made.body,
    status: 'Released',
    releasedBy: createdBy,
    releaseReason: 'Settled',
  });
  const again = await ask('POST', `${HOLDS}/${holdId}/release`, { reason: 'Twice' });
  assert.deepEqual([again.code, again.body], ['200', released.body]);
  assert.deepEqual((await ask('GET', `${HOLDS}/${holdId}`)).body, released.body);
  const named = async (query: string) =>
    (await ask<List<LegalHold>>('GET', `${HOLDS}?${query}`)).body.data.map(({ name }) => name);
  assert.deepEqual(await named('status=Active'), ['Case 8']);
  assert.deepEqual(await named('status=Released'), ['Case 7']);
  assert.deepEqual(await named('status=Active,Released&limit=1'), ['Case 8']);
  assert.equal((await ask('GET', `${HOLDS}?status=Open`)).code, '400 INVALID_PARAMETER');
  const cursor = (await ask<List<LegalHold>>('GET', `${HOLDS}?limit=1`)).body.pagination.cursor!;
  assert.deepEqual(await named(`limit=1&cursor=${cursor}`), ['Case 7']);
});

test('both acts are notices of kind 5 with a commitment, which name the hold and nothing of its reason', async () => {
  const tenant = policedTenant(app, 'noticed');
  const ask = askerOf('noticed');
  const { holdId } = await placed(ask, { reason: 'against Ana' });
  await ask('POST', `${HOLDS}/${holdId}/release`, { reason: 'Ana has paid' });
  for (const [action, act] of [
    ['Place.LegalHold', 'Placed'],
    ['Release.LegalHold', 'Released'],
  ] as const) {
    const { body, text } = await ask<AuditEvent>('GET', `/audit-events/${await tenant.noticeOf(action)}`);
    const { commitment, ...payload } = body.payload as Record<string, unknown>;
    assert.deepEqual(payload, { holdId, act, policyId: null });
    assert.match(String(commitment), /^[A-Za-z0-9+/]{43}=$/);
    assert.deepEqual(
      [body.actor, body.resource],
      [{ actorType: 'System' }, { resourceType: 'LegalHold', resourceId: holdId }],
    );
    assert.ok(!text.includes('Ana') && body.retention === undefined);
  }
});

test('what is held says so at once, stored or to come, in every view, by conditions and by place', async () => {
  const tenant = policedTenant(app, 'views');
  const ask = askerOf('views');
  const [one, two] = await tenant.send({ action: 'Delete.Invoice' }, { action: 'Read.Invoice' });
  const before = (await ask('GET', `/audit-events/${one}`)).headers.get('ETag');
  const hold = await placed(ask, { conditions: { actions: ['Delete.*'] } });
  assert.deepEqual([await isHeld(ask, one!), await isHeld(ask, two!)], [true, false]);
  assert.notEqual((await ask('GET', `/audit-events/${one}`)).headers.get('ETag'), before);
  const [three] = await tenant.send({ action: 'Delete.Order' });
  const event = (await ask<AuditEvent>('GET', `/audit-events/${three}`)).body;
  assert.equal(event.retention?.legalHold, true);
  const held = { [one!]: true, [two!]: false, [three!]: true };
  const flags = (data: readonly AuditEvent[]) =>
    Object.fromEntries(data.map(({ eventId, retention }) => [eventId, retention?.legalHold]));
  await until(async () => (await ask<List<AuditEvent>>('GET', '/audit-events')).body.data.length === 3);
  assert.deepEqual(flags((await ask<List<AuditEvent>>('GET', '/audit-events')).body.data), held);
  const found = await ask<{ results: { event: AuditEvent }[] } & List<AuditEvent>>(
    'POST',
    '/audit-events/search',
    {
      query: 'invoice OR order',
    },
  );
  assert.equal(found.code, '200');
  const results = found.text.match(/"legalHold":(true|false)/g)!.toSorted();
  assert.deepEqual(results, ['"legalHold":false', '"legalHold":true', '"legalHold":true']);
  const page = await ask<List<AuditEvent>>('GET', `/event-streams/${event.integrity.streamId}/events`);
  const events = page.body.data.filter(({ kind }) => kind === 'Event');
  assert.deepEqual(flags(events), held);
  assert.ok(page.body.data.every(({ kind, retention }) => kind === 'Event' || retention === undefined));
  const why = await ask<EventExplanation>('GET', `/audit-events/${one}/explanation`);
  assert.deepEqual(why.body.retention.holdIds, [hold.holdId]);
  assert.equal(why.body.retention.value?.legalHold, true);

  // The notice of the hold stands between the second and the third.
  const { sequence } = event;
  const range = { fromSequence: 2, toSequence: sequence - 1 };
  const byPlace = await placed(ask, { name: 'Range', range });
  await ask('POST', `${HOLDS}/${hold.holdId}/release`, { reason: 'over' });
  assert.deepEqual(
    [await isHeld(ask, one!), await isHeld(ask, two!), await isHeld(ask, three!)],
    [false, true, false],
  );
  assert.deepEqual((await ask('GET', `${HOLDS}/${byPlace.holdId}`)).body.heldEvents, 1);
  await placed(ask, {
    name: 'Both',
    range: { fromSequence: 1, toSequence: 1 },
    conditions: { action: 'Read.Invoice' },
  });
  assert.equal(await isHeld(ask, one!), false, 'both must hold');
});

test('what a hold keeps is counted, goes on with the log, and is not told of one that is released', async () => {
  const tenant = policedTenant(app, 'counted');
  const ask = askerOf('counted');
  await tenant.send(...Array.from({ length: 5 }, () => ({})));
  const { holdId } = await placed(ask, { conditions: { action: 'Delete.Order' } });
  const count = async () => (await ask('GET', `${HOLDS}/${holdId}`)).body.heldEvents;
  assert.equal(await count(), 0);
  await tenant.send(...Array.from({ length: 3 }, () => ({ action: 'Delete.Order' })), {});
  assert.equal(await count(), 3);
  assert.equal((await ask<List<LegalHold>>('GET', HOLDS)).body.data[0]!.heldEvents, 3);
  await ask('POST', `${HOLDS}/${holdId}/release`, { reason: 'over' });
  assert.equal(await count(), undefined);
});

test('a repeat with the same key places nothing, and gives the first answer', async () => {
  const ask = askerOf('repeats');
  const key = { 'Idempotency-Key': 'hold-1' };
  const sent = { name: 'Once', reason: 'r' };
  const first = await ask('POST', HOLDS, sent, key);
  const end = await ask(
    'POST',
    `${HOLDS}/${first.body.holdId}/release`,
    { reason: 'x' },
    { 'Idempotency-Key': 'r' },
  );
  const again = await ask('POST', HOLDS, sent, key);
  assert.deepEqual([first.code, again.code, again.body], ['201', '200', first.body]);
  assert.equal(again.headers.get('Location'), first.headers.get('Location'));
  const endAgain = await ask(
    'POST',
    `${HOLDS}/${first.body.holdId}/release`,
    { reason: 'x' },
    { 'Idempotency-Key': 'r' },
  );
  assert.deepEqual([endAgain.code, endAgain.body], ['200', end.body]);
  assert.equal(
    (await ask('POST', HOLDS, { ...sent, name: 'Other' }, key)).code,
    '409 IDEMPOTENCY_KEY_REUSED',
  );
  assert.equal((await ask<List<LegalHold>>('GET', HOLDS)).body.pagination.total, 1);
});

test('several holds may have one name', async () => {
  const ask = askerOf('named');
  const ids = [await placed(ask), await placed(ask)].map(({ holdId }) => holdId);
  assert.equal(new Set(ids).size, 2);
  const { code } = await ask('POST', `${HOLDS}/${ids[0]}/release`, { reason: 'over' });
  assert.equal(code, '200');
  const { data } = (await ask<List<LegalHold>>('GET', `${HOLDS}?status=Active`)).body;
  assert.deepEqual(
    data.map(({ holdId }) => holdId),
    [ids[1]],
  );
});

test('holds are of one tenant, and what names none is not found', async () => {
  const [ask, other] = [askerOf('mine'), askerOf('theirs')];
  const [event] = await policedTenant(app, 'theirs').send({});
  const { holdId } = await placed(ask);
  for (const asking of [
    other('GET', `${HOLDS}/${holdId}`),
    other('POST', `${HOLDS}/${holdId}/release`, { reason: 'r' }),
    ask('GET', `${HOLDS}/${NOWHERE}`),
    ask('GET', `${HOLDS}/none`),
    ask('POST', `${HOLDS}/${NOWHERE}/release`, { reason: 'r' }),
    askerOf('unknown')('GET', `${HOLDS}/${holdId}`),
  ])
    assert.equal((await asking).code, '404 HOLD_NOT_FOUND');
  assert.equal(await isHeld(other, event!), false);
  assert.deepEqual((await askerOf('unknown')<List<LegalHold>>('GET', HOLDS)).body.data, []);
});

test('what is wrong with a hold is refused with its path, all of it at once', async () => {
  const ask = askerOf('wrong');
  const refused = async (body: object) => {
    const answer = await ask('POST', HOLDS, { name: 'n', reason: 'r', ...body });
    assert.equal(answer.code, '422 VALIDATION_FAILED', JSON.stringify(body));
    return (answer.body as unknown as ErrorBody).error.details.map(({ field }) => field);
  };
  const backwards = await ask('POST', HOLDS, {
    name: 'n',
    reason: 'r',
    range: { fromSequence: 5, toSequence: 4 },
  });
  const [detail] = (backwards.body as unknown as ErrorBody).error.details;
  assert.deepEqual([detail!.field, detail!.value], ['range.toSequence', 4], 'the value as it was sent');
  assert.deepEqual(await refused({ range: { fromSequence: 0, toSequence: 4 } }), ['range.fromSequence']);
  assert.deepEqual(await refused({ range: { fromSequence: 1 } }), ['range.toSequence']);
  assert.deepEqual(await refused({ range: { fromSequence: 1, toSequence: 2, more: 3 } }), ['range.more']);
  assert.deepEqual(await refused({ range: { fromSequence: 1.5, toSequence: '2' } }), [
    'range.fromSequence',
    'range.toSequence',
  ]);
  assert.deepEqual(await refused({ conditions: { colour: 'red', 'payload.amount': { over: 1, gt: 1 } } }), [
    'conditions.colour',
    'conditions.payload.amount',
  ]);
  assert.deepEqual(
    await refused({ conditions: { classification: 'Top' }, range: { fromSequence: 2, toSequence: 1 } }),
    ['conditions.classification', 'range.toSequence'],
  );
  assert.deepEqual(await refused({ status: 'Released' }), ['status']);
  assert.deepEqual(await refused({ name: '', reason: '' }), ['name', 'reason']);
  const deep = JSON.parse(`${'{"payload":'.repeat(30)}1${'}'.repeat(30)}`) as object;
  assert.match((await refused({ conditions: deep }))[0]!, /^conditions\.payload/);
  const many = Object.fromEntries(Array.from({ length: 65 }, (_, i) => [`payload.a${i}`, i]));
  assert.equal((await refused({ conditions: many })).length, 1);
  const { holdId } = await placed(ask);
  for (const body of [{}, { reason: '' }, { reason: 'r', more: 1 }])
    assert.equal((await ask('POST', `${HOLDS}/${holdId}/release`, body)).code, '422 VALIDATION_FAILED');
  await placed(ask, { name: 'one', range: { fromSequence: 4, toSequence: 4 } });
  await placed(ask, { name: 'ahead', range: { fromSequence: 1, toSequence: Number.MAX_SAFE_INTEGER } });
});

test('those who may manage holds are Admin and Auditor', async () => {
  const { holdId } = await placed(askerOf('roles'));
  for (const [role, isAllowed] of [
    ['Admin', true],
    ['Auditor', true],
    ['Operator', false],
    ['Viewer', false],
  ] as const) {
    const { key } = await callerOf(app, 'roles', [role]);
    const ask = (method: string, path: string, body?: object) =>
      askerOf('roles')(method, path, body, {}, key);
    const codes = [
      await ask('POST', HOLDS, { name: `By ${role}`, reason: 'r' }),
      await ask('GET', HOLDS),
      await ask('GET', `${HOLDS}/${holdId}`),
      await ask('POST', `${HOLDS}/${holdId}/release`, { reason: 'r' }),
    ].map(({ code }) => code);
    const expected = isAllowed ? ['201', '200', '200', '200'] : Array.from(codes, () => '403 FORBIDDEN');
    assert.deepEqual(codes, expected, role);
  }
});

test('a rule of a Retention policy holds what matches while its policy is active, and keeps it from being deleted', async () => {
  const tenant = policedTenant(app, 'ruled');
  const ask = askerOf('ruled');
  const [early] = await tenant.send({ action: 'Delete.Order' });
  const rules = [
    { conditions: { action: 'Delete.Order' }, effect: { retentionPeriod: 'P1D', legalHold: true } },
  ];
  const policy = await tenant.put('Retention', rules);
  const [late, free] = await tenant.send({ action: 'Delete.Order' }, { action: 'Read.Order' });
  const all = async () => [await isHeld(ask, early!), await isHeld(ask, late!), await isHeld(ask, free!)];
  assert.deepEqual(await all(), [true, true, false]);
  const why = await ask<EventExplanation>('GET', `/audit-events/${early}/explanation`);
  assert.deepEqual(why.body.retention.holdIds, [policy.policyId]);
  const path = `/policies/${policy.policyId}`;
  assert.equal((await ask('DELETE', path)).code, '409 POLICY_IN_USE');
  assert.equal((await ask<Policy>('PUT', path, { ...policy, active: false })).code, '200');
  assert.deepEqual(await all(), [false, false, false]);
  assert.equal((await ask('DELETE', path)).code, '204');

  const onlyHeld = await tenant.put('Retention', rules, 'Of what came before');
  assert.equal((await ask('DELETE', `/policies/${onlyHeld.policyId}`)).code, '409 POLICY_IN_USE');
  const nothing = [
    { conditions: { action: 'Close.Order' }, effect: { retentionPeriod: 'P1D', legalHold: true } },
  ];
  const unused = await tenant.put('Retention', nothing, 'Of nothing');
  assert.equal((await ask('DELETE', `/policies/${unused.policyId}`)).code, '204');
});

test('a reader learns of a hold only where all that it is about is shown', async () => {
  const tenant = policedTenant(app, 'withheld');
  const ask = askerOf('withheld');
  const [event] = await tenant.send({ classification: 'Confidential', payload: { iban: 'DE1' } });
  const viewer = await tenant.keyWith({ roles: ['Viewer'] });
  const seen = async (key: string) => {
    const { body } = await ask<AuditEvent>('GET', `/audit-events/${event}`, undefined, {}, key);
    const why = await ask<EventExplanation>('GET', `/audit-events/${event}/explanation`, undefined, {}, key);
    return [
      body.retention?.legalHold,
      why.body.retention.value?.legalHold,
      why.body.retention.holdIds.length,
    ];
  };
  await placed(ask, { conditions: { 'payload.iban': 'DE1' } });
  assert.deepEqual(await seen(PLATFORM_KEY), [true, true, 1]);
  assert.deepEqual(await seen(viewer), [false, false, 0]);
  await placed(ask, { name: 'Of facts', conditions: { 'resource.resourceType': { exists: true } } });
  assert.deepEqual(await seen(PLATFORM_KEY), [true, true, 2]);
  assert.deepEqual(await seen(viewer), [true, true, 1]);
});

test('how much a hold keeps is told only to those who see everything', async () => {
  const tenant = policedTenant(app, 'guessed');
  const ask = askerOf('guessed');
  await tenant.send({ classification: 'Secret', payload: { iban: 'DE1' } });
  const limited = await tenant.keyWith({ roles: ['Auditor'], clearance: 'Internal' });
  const { holdId } = await placed(ask, { conditions: { 'payload.iban': 'DE1' } });
  const path = `${HOLDS}/${holdId}`;
  assert.equal((await ask('GET', path)).body.heldEvents, 1);
  assert.equal((await ask('GET', path, undefined, {}, limited)).body.heldEvents, undefined);
  const [listed] = (await ask<List<LegalHold>>('GET', HOLDS, undefined, {}, limited)).body.data;
  assert.equal(listed?.heldEvents, undefined);
  const rules = [
    { conditions: { 'payload.iban': 'DE2' }, effect: { retentionPeriod: 'P1D', legalHold: true } },
  ];
  const policy = await tenant.put('Retention', rules);
  const admin = await tenant.keyWith({ roles: ['Admin'], clearance: 'Internal' });
  const refused = await ask('DELETE', `/policies/${policy.policyId}`, undefined, {}, admin);
  assert.equal(refused.code, '409 POLICY_IN_USE', 'whatever is there');
});
