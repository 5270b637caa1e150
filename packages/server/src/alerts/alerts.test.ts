// Alert policies: what breaks a rule, or crosses a threshold, is raised once, stored, listed and acknowledged.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { AuditEvent, List, Policy, PolicyViolation } from '@tallystick/contract';
import { type AdminCaller, adminCaller, callerOf, WITH_PLATFORM_KEY } from '../testing/admin-caller.ts';
import { ask } from '../testing/ask.ts';
import { EVENT } from '../testing/bound-operations.ts';
import { startTestApp, type TestApp } from '../testing/test-app.ts';
import { until } from '../testing/until.ts';

let app: TestApp;
before(async () => {
  app = await startTestApp(WITH_PLATFORM_KEY);
});
after(() => app[Symbol.asyncDispose]());

const CARD = '4111 1111 1111 1111';

async function post<T>(caller: AdminCaller, path: string, body: unknown, expected = '201'): Promise<T> {
  const { code, text } = await caller.post(`/api/v1${path}`, body);
  assert.equal(code, expected, text);
  return JSON.parse(text) as T;
}

async function violations(caller: AdminCaller, query = ''): Promise<readonly PolicyViolation[]> {
  return (await listed(caller, query)).data;
}

async function listed(caller: AdminCaller, query = ''): Promise<List<PolicyViolation>> {
  const { code, text } = await caller.get(`/api/v1/violations${query}`);
  assert.equal(code, '200', text);
  return JSON.parse(text) as List<PolicyViolation>;
}

function alertPolicy(caller: AdminCaller, rules: readonly object[], name = 'Watch'): Promise<Policy> {
  return post(caller, '/policies', { name, policyType: 'Alert', rules });
}

async function send(caller: AdminCaller, event: object = {}): Promise<string> {
  return (await post<{ eventId: string }>(caller, '/audit-events', { ...EVENT, ...event })).eventId;
}

/** Waits until an event that comes now is judged: then all before it are. */
async function settle(caller: AdminCaller): Promise<void> {
  const marker = await send(caller, { action: 'Mark.Place' });
  await until(async () =>
    (await violations(caller, '?violationType=Marked')).some(({ eventId }) => eventId === marker),
  );
}

const MARK = { conditions: { action: 'Mark.Place' }, effect: { violationType: 'Marked', severity: 'Low' } };

test('an event that matches raises one violation, with the paths of what was found and never what was', async () => {
  const admin = adminCaller(app, 'found');
  const before = await send(admin, { payload: { card: CARD } });
  const { policyId } = await alertPolicy(admin, [
    {
      name: 'cards',
      conditions: { payload: { detects: 'CardNumber' } },
      effect: { violationType: 'SensitiveData', severity: 'High' },
    },
    MARK,
  ]);
  await send(admin);
  const eventId = await send(admin, { payload: { note: `paid with ${CARD}`, lines: [{ card: CARD }] } });
  await settle(admin);
  const [found, ...others] = await violations(admin, '?violationType=SensitiveData');
  assert.deepEqual(others, []);
  const { violationId, ruleId, detectedAt, ...facts } = found!;
  assert.deepEqual(facts, {
    kind: 'Violation',
    eventId,
    policyId,
    policyName: 'Watch',
    policyVersion: 1,
    violationType: 'SensitiveData',
    severity: 'High',
    fields: ['payload.lines[0].card', 'payload.note'],
    status: 'Open',
  });
  assert.notEqual(eventId, before, 'a policy is in force for what comes after it');
  assert.ok(!JSON.stringify(found).includes('4111'));
  const { text } = await admin.get(`/api/v1/violations/${violationId}`);
  assert.deepEqual(JSON.parse(text), found);
  assert.equal((await admin.get(`/api/v1/violations/${ruleId}`)).code, '404 VIOLATION_NOT_FOUND');
  assert.ok(Math.abs(Date.parse(detectedAt) - Date.now()) < 120_000);
});

test('each version of a policy is in force for the entries between its notice and the next', async () => {
  const admin = adminCaller(app, 'versions');
  const rule = { conditions: { action: 'Read.Invoice' }, effect: { violationType: 'Watched' } };
  const { policyId } = await alertPolicy(admin, [rule, MARK]);
  const first = await send(admin, { action: 'Read.Invoice' });
  const put = async (body: object) => {
    const asking = {
      key: admin.key,
      tenant: 'versions',
      body: { name: 'Watch', policyType: 'Alert', ...body },
    };
    const { code, text } = await ask(app, 'PUT', `/api/v1/policies/${policyId}`, asking);
    assert.equal(code, '200', text);
  };
  await put({ rules: [MARK] });
  await send(admin, { action: 'Read.Invoice' });
  await put({ rules: [rule, MARK] });
  const third = await send(admin, { action: 'Read.Invoice' });
  await put({ rules: [rule, MARK], status: 'Inactive' });
  await send(admin, { action: 'Read.Invoice' });
  await put({ rules: [MARK] });
  await settle(admin);
  assert.deepEqual(
    (await violations(admin, '?violationType=Watched')).map(({ eventId, policyVersion, severity }) => ({
      eventId,
      policyVersion,
      severity,
    })),
    [
      { eventId: third, policyVersion: 3, severity: 'Medium' },
      { eventId: first, policyVersion: 1, severity: 'Medium' },
    ],
  );
});

test('a threshold is crossed once for each window and group', async () => {
  const admin = adminCaller(app, 'threshold');
  const threshold = { count: 3, window: 'PT1H', groupBy: 'actor.userId' };
  await alertPolicy(admin, [
    {
      conditions: { action: 'Login.Failed' },
      effect: { violationType: 'Anomaly', severity: 'Critical', threshold },
    },
    MARK,
  ]);
  const login = (userId: string) =>
    send(admin, { action: 'Login.Failed', actor: { actorType: 'User', userId } });
  const ids: string[] = [];
  for (let i = 0; i < 7; i++) ids.push(await login('ana'));
  await login('ben');
  await login('ben');
  await send(admin, { action: 'Login.Failed', actor: { actorType: 'Service', serviceName: 'cron' } });
  await settle(admin);
  const crossed = await violations(admin, '?violationType=Anomaly');
  assert.deepEqual(
    crossed.map(({ kind, eventId, groupKey, observedValue, threshold: crossedOne }) => ({
      kind,
      eventId,
      groupKey,
      observedValue,
      crossedOne,
    })),
    [{ kind: 'Threshold', eventId: ids[2], groupKey: 'ana', observedValue: 3, crossedOne: threshold }],
  );
  await login('ben');
  await settle(admin);
  assert.deepEqual(
    (await violations(admin, '?violationType=Anomaly')).map(({ groupKey }) => groupKey),
    ['ben', 'ana'],
  );
});

test('violations are filtered, paged, and acknowledged once', async () => {
  const admin = adminCaller(app, 'acknowledged');
  const severities = ['Low', 'Medium', 'High', 'Critical'];
  await alertPolicy(admin, [
    ...severities.map((severity) => ({
      conditions: { 'resource.resourceId': severity },
      effect: { severity, violationType: 'Sorted' },
    })),
    MARK,
  ]);
  const resource = (resourceId: string) => ({ resource: { resourceType: 'Thing', resourceId } });
  for (let i = 0; i < 5; i++) for (const severity of severities) await send(admin, resource(severity));
  await settle(admin);
  assert.equal((await listed(admin, '?violationType=Sorted')).pagination.total, 20);
  const high = await listed(admin, '?severity=High&severity=Critical&limit=3');
  assert.deepEqual(
    high.data.map(({ severity }) => severity),
    ['Critical', 'High', 'Critical'],
  );
  assert.equal(high.pagination.total, 10);
  const next = await listed(admin, high.links.next!.slice(high.links.next!.indexOf('?')));
  assert.deepEqual(
    next.data.map(({ severity }) => severity),
    ['High', 'Critical', 'High'],
  );
  const [one] = next.data;
  const path = `/violations/${one!.violationId}`;
  const acknowledged = await post<PolicyViolation>(
    admin,
    `${path}/acknowledge`,
    { comment: 'a test' },
    '200',
  );
  const expected = {
    ...one!,
    status: 'Acknowledged',
    acknowledgedBy: acknowledged.acknowledgedBy,
    comment: 'a test',
  };
  assert.deepEqual(acknowledged, expected);
  assert.ok(acknowledged.acknowledgedBy!.length > 0);
  assert.deepEqual(await post(admin, `${path}/acknowledge`, { comment: 'again' }, '200'), expected);
  assert.deepEqual(await violations(admin, '?status=Acknowledged'), [expected]);
  assert.equal((await listed(admin, '?status=Open&violationType=Sorted')).pagination.total, 19);
  const past = `?violationType=Sorted&endTime=${encodeURIComponent(new Date(Date.now() - 600_000).toISOString())}`;
  assert.deepEqual(await violations(admin, past), []);
  assert.equal((await admin.get('/api/v1/violations?severity=Loud')).code, '400 INVALID_PARAMETER');
});

test('who may not see the event does not learn of the violation; who sees a part gets no paths and no values', async () => {
  const admin = adminCaller(app, 'withheld');
  const [viewer, auditor] = [
    await callerOf(app, 'withheld', ['Viewer']),
    await callerOf(app, 'withheld', ['Auditor']),
  ];
  const threshold = { count: 2, window: 'P1D', groupBy: 'payload.iban' };
  await alertPolicy(admin, [
    { conditions: { payload: { detects: 'CardNumber' } }, effect: { violationType: 'Cards' } },
    { conditions: { action: 'Pay.Bill' }, effect: { violationType: 'Many', threshold } },
    MARK,
  ]);
  const payload = { card: CARD, iban: 'DE00' };
  await send(admin, { classification: 'Secret', payload });
  const confidential = await send(admin, { classification: 'Confidential', payload });
  await send(admin, { action: 'Pay.Bill', classification: 'Confidential', payload: { iban: 'DE00' } });
  await send(admin, { action: 'Pay.Bill', classification: 'Internal', payload: { iban: 'DE00' } });
  await settle(admin);
  assert.equal((await violations(admin, '?violationType=Cards')).length, 2);
  const [byViewer, ...others] = await violations(viewer, '?violationType=Cards');
  assert.deepEqual([byViewer!.eventId, byViewer!.fields, others], [confidential, undefined, []]);
  assert.equal((await listed(viewer, '?violationType=Cards')).pagination.total, 1);
  const [secret] = (await violations(admin, '?violationType=Cards')).filter(
    ({ eventId }) => eventId !== confidential,
  );
  assert.equal(
    (await viewer.get(`/api/v1/violations/${secret!.violationId}`)).code,
    '404 VIOLATION_NOT_FOUND',
  );
  const [many] = await violations(admin, '?violationType=Many');
  assert.equal(many!.groupKey, 'DE00');
  const [ofViewer] = await violations(viewer, '?violationType=Many');
  assert.deepEqual([ofViewer!.violationId, ofViewer!.groupKey], [many!.violationId, undefined]);

  assert.equal((await violations(auditor, '?violationType=Cards')).length, 2);
  const rules = [
    { conditions: { classification: 'Secret' }, effect: { access: 'Deny', roles: ['Auditor'] } },
    {
      conditions: { 'payload.card': { exists: true } },
      effect: { access: 'Allow', roles: ['Auditor'], redactFields: ['payload.iban'] },
    },
  ];
  await post(admin, '/policies', { name: 'Access', policyType: 'Access', rules });
  const left = await listed(auditor, '?violationType=Cards');
  assert.deepEqual(
    left.data.map(({ eventId, fields }) => ({ eventId, fields })),
    [{ eventId: confidential, fields: undefined }],
  );
  assert.deepEqual([left.pagination.total, left.pagination.totalRelation], [1, 'Exact']);
  assert.equal((await violations(auditor, '?violationType=Many'))[0]!.groupKey, 'DE00');
});

test('to read the fields of a violation of a secret event is noted in the log, once for each request', async () => {
  const admin = adminCaller(app, 'noted');
  const auditor = await callerOf(app, 'noted', ['Auditor']);
  await alertPolicy(admin, [
    { conditions: { payload: { detects: 'CardNumber' } }, effect: { violationType: 'Cards' } },
    { conditions: { action: 'Read.Invoice' }, effect: { violationType: 'Reads' } },
    MARK,
  ]);
  const cards = { payload: { card: CARD } };
  const secret = await send(admin, { ...cards, action: 'Pay.Bill', classification: 'Secret' });
  await send(admin, { ...cards, action: 'Pay.Bill', classification: 'Confidential' });
  await send(admin, { action: 'Read.Invoice', classification: 'Secret' });
  await settle(admin);
  const noted = async () => {
    const { text } = await admin.get('/api/v1/audit-events?kind=Notice&action=Read.SecretEvent');
    return (JSON.parse(text) as List<AuditEvent>).data.map(({ payload }) => payload);
  };
  assert.deepEqual(await noted(), []);
  assert.equal((await violations(auditor, '?violationType=Reads')).length, 1);
  assert.deepEqual(await noted(), [], 'nothing is told of what is in it');
  const found = await violations(auditor, '?violationType=Cards');
  assert.equal(found.length, 2);
  const { violationId } = found.find(({ eventId }) => eventId === secret)!;
  await auditor.get(`/api/v1/violations/${violationId}`);
  await post(admin, `/violations/${violationId}/acknowledge`, {}, '200');
  const reads = await noted();
  assert.equal(reads.length, 3);
  for (const { subjectIds, count } of reads as { subjectIds: string[]; count: number }[])
    assert.deepEqual([subjectIds, count], [[secret], 1]);
});
