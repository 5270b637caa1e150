// Access policies decide what a reader sees, on every way to an event, and so do the fields that
// Classification policies withhold.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { EventExplanation, EventProof, List, Policy, SearchAnswer } from '@tallystick/contract';
import { WITH_PLATFORM_KEY } from '../testing/admin-caller.ts';
import { EVENT } from '../testing/bound-operations.ts';
import { AccessReaders } from './testing/access-readers.ts';
import { startTestApp, type TestApp } from '../testing/test-app.ts';

let app: TestApp;
before(async () => {
  app = await startTestApp(WITH_PLATFORM_KEY);
});
after(() => app[Symbol.asyncDispose]());

const { ask, keyFor, put, send, seenBy } = new AccessReaders(() => app);

test('what a rule denies to a role is invisible to it on every way, and to no other', async () => {
  const tenant = 'denied';
  const [viewer, auditor] = [await keyFor(tenant, 'Viewer'), await keyFor(tenant, 'Auditor')];
  const denied = await send(tenant, { action: 'Fire.Person', actor: { actorType: 'User', userId: 'boss' } });
  const open = await send(tenant, { action: 'Read.Invoice' });
  await put(tenant, [
    { conditions: { action: 'Fire.Person' }, effect: { access: 'Deny', roles: ['Viewer'] } },
  ]);
  const byViewer = await seenBy(viewer, tenant, denied);
  assert.equal(byViewer.got.code, '404 EVENT_NOT_FOUND');
  assert.deepEqual(
    byViewer.listed.map(({ eventId }) => eventId),
    [open],
  );
  assert.equal(byViewer.found.totalCount, 1);
  assert.deepEqual(
    byViewer.found.aggregations?.byAction?.map(({ key }) => key),
    ['Read.Invoice'],
  );
  assert.ok(!byViewer.found.aggregations?.byActor?.some(({ key }) => key === 'boss'));
  for (const way of ['explanation', 'proof'])
    assert.equal(
      (await ask('GET', `/audit-events/${denied}/${way}`, { key: viewer, tenant })).code,
      '404 EVENT_NOT_FOUND',
      way,
    );
  const byAuditor = await seenBy(auditor, tenant, denied);
  assert.deepEqual([byAuditor.got.code, byAuditor.found.totalCount], ['200', 2]);
});

test('a withheld field keeps its key, is found by nothing, and the explanation names the rule', async () => {
  const tenant = 'withheld';
  const viewer = await keyFor(tenant, 'Viewer');
  const eventId = await send(tenant, { payload: { iban: 'DE02120300000000202051', note: 'refund' } });
  await put(tenant, [{ effect: { access: 'Allow', roles: ['Viewer'], redactFields: ['payload.iban'] } }]);
  const { got, listed } = await seenBy(viewer, tenant, eventId);
  assert.deepEqual(got.body.payload, { iban: '[REDACTED]', note: 'refund' });
  assert.deepEqual(got.body.redaction, { fields: ['payload.iban'], reason: 'AccessPolicy' });
  assert.deepEqual(listed[0]!.payload, got.body.payload);
  const total = async (query: string) =>
    (await ask<SearchAnswer>('POST', '/audit-events/search', { key: viewer, tenant, body: { query } })).body
      .totalCount;
  assert.deepEqual(
    [await total('DE02120300000000202051'), await total('refund'), await total('redacted')],
    [0, 1, 0],
  );
  const { body } = await ask<EventExplanation>('GET', `/audit-events/${eventId}/explanation`, {
    key: viewer,
    tenant,
  });
  assert.deepEqual(body.access.redaction, got.body.redaction);
  assert.deepEqual(
    body.access.rules.map(({ policyName, decided }) => [policyName, decided]),
    [['Access', true]],
  );
});

test('a rule may show a role more, or less, than its clearance', async () => {
  const tenant = 'cleared';
  const viewer = await keyFor(tenant, 'Viewer');
  const [payroll, invoice] = [
    await send(tenant, {
      resource: { resourceType: 'Payroll', resourceId: 'p' },
      classification: 'Secret',
      payload: { sum: 'enormous' },
    }),
    await send(tenant, {
      resource: { resourceType: 'Invoice', resourceId: 'i' },
      payload: { sum: 'modest' },
    }),
  ];
  assert.equal((await seenBy(viewer, tenant, payroll)).got.code, '404 EVENT_NOT_FOUND');
  const allow = (resourceType: string, maxClassification: string) => ({
    conditions: { 'resource.resourceType': resourceType },
    effect: { access: 'Allow', roles: ['Viewer'], maxClassification },
  });
  await put(tenant, [allow('Payroll', 'Secret'), allow('Invoice', 'Public')]);
  const secret = await seenBy(viewer, tenant, payroll);
  assert.deepEqual([secret.got.code, secret.got.body.payload], ['200', { sum: 'enormous' }]);
  const withheld = await seenBy(viewer, tenant, invoice);
  assert.deepEqual(withheld.got.body.redaction?.reason, 'ClassificationAboveClearance');
  const total = async (query: string) =>
    (await ask<SearchAnswer>('POST', '/audit-events/search', { key: viewer, tenant, body: { query } })).body
      .totalCount;
  assert.deepEqual([await total('enormous'), await total('modest')], [1, 0]);
});

const PAYROLL = {
  action: 'Raise.Salary',
  actor: { actorType: 'User', userId: 'u-7', userName: 'Ana Fidler' },
  resource: { resourceType: 'Payroll', resourceId: 'p-1', resourceName: 'Board' },
  payload: { sum: 'enormous' },
};
const WITHHOLDING = {
  conditions: { 'resource.resourceType': 'Payroll' },
  effect: {
    classification: 'Confidential',
    redactFields: ['actor.userName', 'resource.resourceName', 'payload.sum'],
  },
};

test('names that a Classification rule withholds are withheld below the classification, on every way, and from no other', async () => {
  const tenant = 'names';
  const [viewer, auditor] = [await keyFor(tenant, 'Viewer'), await keyFor(tenant, 'Auditor')];
  await put(tenant, [WITHHOLDING], 'Classification');
  const eventId = await send(tenant, PAYROLL);
  const open = await send(tenant, { ...PAYROLL, resource: { resourceType: 'Invoice', resourceId: 'i-1' } });
  const { got, listed, found } = await seenBy(viewer, tenant, eventId);
  assert.deepEqual(got.body.actor, { ...PAYROLL.actor, userName: '[REDACTED]' });
  assert.deepEqual(got.body.resource, { ...PAYROLL.resource, resourceName: '[REDACTED]' });
  assert.deepEqual(got.body.redaction, {
    fields: ['payload', 'context', 'actor.userName', 'resource.resourceName'],
    reason: 'ClassificationAboveClearance',
  });
  assert.deepEqual(listed.find((event) => event.eventId === eventId)?.actor, got.body.actor);
  assert.deepEqual(found.aggregations?.byActor, [{ key: 'u-7', label: 'Ana Fidler', count: 2 }]);
  const total = async (key: string, query: string) =>
    (await ask<SearchAnswer>('POST', '/audit-events/search', { key, tenant, body: { query } })).body
      .totalCount;
  assert.deepEqual([await total(viewer, 'fidler'), await total(viewer, 'board')], [1, 0]);
  assert.deepEqual([await total(auditor, 'fidler'), await total(auditor, 'board')], [2, 1]);
  const proof = await ask<EventProof>('GET', `/audit-events/${eventId}/proof`, { key: viewer, tenant });
  assert.ok(!JSON.stringify(proof.body).includes('Fidler'));
  assert.deepEqual(
    [proof.body.closed.length, proof.body.groups.map((root) => root === null)],
    [2, [true, false]],
  );
  const { body } = await ask<EventExplanation>('GET', `/audit-events/${eventId}/explanation`, {
    key: viewer,
    tenant,
  });
  for (const { rules } of [body.access, body.classification])
    assert.deepEqual(
      rules.map(({ policyName, decided }) => [policyName, decided]),
      [['Classification', true]],
    );
  assert.equal((await seenBy(viewer, tenant, open)).got.body.redaction, undefined);
  const byAuditor = await seenBy(auditor, tenant, eventId);
  assert.deepEqual([byAuditor.got.body.actor, byAuditor.got.body.redaction], [PAYROLL.actor, undefined]);
});

test('an Access rule that lowers or raises the clearance decides who is below the classification', async () => {
  const tenant = 'lowered';
  const [viewer, auditor] = [await keyFor(tenant, 'Viewer'), await keyFor(tenant, 'Auditor')];
  await put(tenant, [WITHHOLDING], 'Classification');
  const eventId = await send(tenant, PAYROLL);
  const allow = (role: string, maxClassification: string) => ({
    effect: { access: 'Allow', roles: [role], maxClassification },
  });
  await put(tenant, [allow('Viewer', 'Confidential'), allow('Auditor', 'Internal')]);
  assert.deepEqual((await seenBy(viewer, tenant, eventId)).got.body.actor, PAYROLL.actor);
  const { got } = await seenBy(auditor, tenant, eventId);
  assert.equal(got.body.actor.userName, '[REDACTED]');
});

test('a Classification rule withholds names in events that were classified before it, and in none once it is inactive', async () => {
  const tenant = 'later';
  const viewer = await keyFor(tenant, 'Viewer');
  const eventId = await send(tenant, { ...PAYROLL, classification: 'Confidential' });
  const nameSeen = async () => (await seenBy(viewer, tenant, eventId)).got.body.actor.userName;
  assert.equal(await nameSeen(), 'Ana Fidler');
  await put(tenant, [WITHHOLDING], 'Classification');
  assert.equal(await nameSeen(), '[REDACTED]');
  const { body } = await ask<List<Policy>>('GET', '/policies', { tenant });
  const [policy] = body.data;
  await ask('PUT', `/policies/${policy!.policyId}`, { tenant, body: { ...policy, active: false } });
  assert.equal(await nameSeen(), 'Ana Fidler');
});

test('which policy keeps an event is told to those who see all of it: it may be about what they do not see', async () => {
  const tenant = 'kept';
  const [viewer, auditor] = [await keyFor(tenant, 'Viewer'), await keyFor(tenant, 'Auditor')];
  await put(
    tenant,
    [{ conditions: { 'payload.sum': 'enormous' }, effect: { retentionPeriod: 'P1Y' } }],
    'Retention',
  );
  const eventId = await send(tenant, { ...PAYROLL, classification: 'Confidential' });
  const [seen, whole] = [await seenBy(viewer, tenant, eventId), await seenBy(auditor, tenant, eventId)];
  assert.equal(seen.got.body.retention!.policyId, undefined);
  assert.match(whole.got.body.retention!.policyId!, /^\w{26}$/);
  assert.equal(seen.got.body.retention!.expiresAt, whole.got.body.retention!.expiresAt);
});

test('a proof does not even tell the keys of what is withheld as a whole, and closes no unit without a withheld field', async () => {
  const tenant = 'proven';
  const viewer = await keyFor(tenant, 'Viewer');
  const [open, withheld, absent] = [
    await send(tenant, { payload: { note: 'open' } }),
    await send(tenant, { action: 'Withhold.All', payload: { note: 'a', iban: 'b' }, context: { ip: 'c' } }),
    await send(tenant, { action: 'Withhold.All', context: { agent: { name: 'd' } } }),
  ];
  const redactFields = ['payload', 'context.agent.agentId'];
  await put(tenant, [
    { conditions: { action: 'Withhold.All' }, effect: { access: 'Allow', roles: ['Viewer'], redactFields } },
  ]);
  const shownIn = async (eventId: string) => {
    const { body } = await ask<EventProof>('GET', `/audit-events/${eventId}/proof`, { key: viewer, tenant });
    const content = body.open.filter(([path]) => /^.(payload|context)/.test(path));
    return [content.map(([path]) => path), body.closed.length, body.groups[1] !== null];
  };
  assert.deepEqual(await shownIn(open), [['/payload/note'], 0, false]);
  assert.deepEqual(await shownIn(withheld), [[], 0, true]);
  assert.deepEqual(await shownIn(absent), [['/context/agent'], 0, false]);
});

test('an explanation names no rule that asks for what is withheld, whether it matches or not', async () => {
  const tenant = 'asked';
  const viewer = await keyFor(tenant, 'Viewer');
  const withholding = { access: 'Allow', roles: ['Viewer'], redactFields: ['actor.userName'] };
  await put(tenant, [
    { conditions: { 'payload.sum': { ne: 'enormous' } }, effect: withholding },
    { conditions: { 'actor.userId': 'u-7' }, effect: { access: 'Allow', roles: ['Viewer'] } },
  ]);
  for (const sum of ['enormous', 'modest']) {
    const eventId = await send(tenant, { ...PAYROLL, classification: 'Confidential', payload: { sum } });
    const { body } = await ask<EventExplanation>('GET', `/audit-events/${eventId}/explanation`, {
      key: viewer,
      tenant,
    });
    assert.deepEqual(
      body.access.rules.map(({ decided }) => decided),
      [false],
      sum,
    );
  }
});

test('nobody learns by guessing what a rule withholds; who sees all of an event may repeat it for others', async () => {
  const tenant = 'guessed';
  const [one, other] = [await keyFor(tenant, 'Operator'), await keyFor(tenant, 'Operator')];
  const effect = { access: 'Allow', roles: ['Operator'], redactFields: ['payload.pin'] };
  await put(tenant, [
    { conditions: { action: 'Withhold.Pin' }, effect },
    { conditions: { 'payload.pin': 4711 }, effect: { access: 'Deny', roles: ['Operator'] } },
  ]);
  const pinned = (action: string, pin: number) => ({ ...EVENT, action, payload: { pin } });
  let sent = 0;
  const send = async (way: 'Id' | 'Key' | 'Batch', key: string, event: object) => {
    const name = `01KE00000000000000000000${String(sent).padStart(2, '0')}`;
    const body = way === 'Id' ? { eventId: name, ...event } : way === 'Key' ? event : { events: [event] };
    const { status } = await fetch(`${app.url}/api/v1/audit-events${way === 'Batch' ? '/batch' : ''}`, {
      method: 'POST',
      headers: {
        'X-API-Key': key,
        'X-Tenant-Id': tenant,
        'Content-Type': 'application/json',
        ...(way !== 'Id' && { 'Idempotency-Key': name }),
      },
      body: JSON.stringify(body),
    });
    return status;
  };
  /** Sent, sent again, and guessed by another. */
  const repeat = async (way: 'Id' | 'Key' | 'Batch', action: string, pin: number, guess: number) => {
    sent++;
    const event = pinned(action, pin);
    const own = [await send(way, one, event), await send(way, one, event)];
    return [...own, await send(way, other, pinned(action, guess))];
  };
  for (const way of ['Id', 'Key', 'Batch'] as const) {
    assert.deepEqual(await repeat(way, 'Withhold.Pin', 1, 1), [201, 200, 409], way);
    assert.deepEqual(await repeat(way, 'Withhold.Pin', 1, 2), [201, 200, 409], way);
    assert.deepEqual(await repeat(way, 'Show.Pin', 4711, 4711), [201, 200, 409], way);
    assert.deepEqual(await repeat(way, 'Show.Pin', 1, 1), [201, 200, 200], way);
    assert.deepEqual(await repeat(way, 'Show.Pin', 1, 2), [201, 200, 409], way);
  }
});
