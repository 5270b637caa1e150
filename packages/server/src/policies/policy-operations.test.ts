// A tenant's Admin makes, changes and tries policies, through the whole service.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type {
  ErrorBody,
  EventExplanation,
  List,
  Policy,
  PolicyTemplate,
  PolicyValidation,
  Rule,
} from '@tallystick/contract';
import { PLATFORM_KEY, WITH_PLATFORM_KEY } from '../testing/admin-caller.ts';
import { ask as askOf, type Told } from '../testing/ask.ts';
import { EVENT } from '../testing/bound-operations.ts';
import { startTestApp, type TestApp } from '../testing/test-app.ts';

let app: TestApp;
before(async () => {
  app = await startTestApp(WITH_PLATFORM_KEY);
});
after(() => app[Symbol.asyncDispose]());

const ask = <T = Policy>(method: string, path: string, body?: object, headers: Record<string, string> = {}) =>
  askOf<T>(app, method, `/api/v1${path}`, { key: PLATFORM_KEY, tenant: 'acme', headers, body });
const etagOf = ({ headers }: Told) => headers.get('ETag');

const details = ({ body }: Told) => (body as ErrorBody).error.details.map(({ field }) => field);
const of = (tenant: string) => ({ 'X-Tenant-Id': tenant });
const rule = (conditions: object, effect: object) => ({ conditions, effect });
const secretDeletes = {
  name: 'Deletes are confidential',
  policyType: 'Classification',
  rules: [rule({ actions: ['Delete.*'] }, { classification: 'Confidential' })],
};

async function send(tenant: string, event: object = {}): Promise<string> {
  const { code, body } = await ask<{ eventId: string }>(
    'POST',
    '/audit-events',
    { ...EVENT, ...event },
    of(tenant),
  );
  assert.equal(code, '201');
  return body.eventId;
}

test('a policy is made with its defaults, read, listed, replaced and deleted, and every version stays', async () => {
  const made = await ask('POST', '/policies', { name: 'First', policyType: 'Access' }, of('crud'));
  const { policyId, createdAt, updatedAt, createdBy, updatedBy, ...facts } = made.body;
  assert.deepEqual([made.code, etagOf(made)], ['201', '"1"']);
  assert.deepEqual(facts, {
    tenantId: 'crud',
    name: 'First',
    policyType: 'Access',
    status: 'Active',
    active: true,
    version: 1,
    priority: 100,
    rules: [],
  });
  assert.deepEqual([createdAt, createdBy], [updatedAt, updatedBy]);
  const path = `/policies/${policyId}`;
  const got = await ask('GET', path, undefined, of('crud'));
  assert.deepEqual([got.code, etagOf(got), got.body], ['200', etagOf(made), made.body]);
  assert.equal((await ask('GET', path, undefined, of('other'))).code, '404 POLICY_NOT_FOUND');

  const next = { ...made.body, description: 'changed', active: false };
  const changed = await ask('PUT', path, next, { ...of('crud'), 'If-Match': '"1"' });
  assert.deepEqual(
    [changed.code, etagOf(changed), changed.body.status, changed.body.version],
    ['200', '"2"', 'Inactive', 2],
  );
  assert.equal(
    (await ask('PUT', path, next, { ...of('crud'), 'If-Match': '"1"' })).code,
    '409 VERSION_CONFLICT',
  );
  const versions = await ask<List<Policy>>('GET', `${path}/versions`, undefined, of('crud'));
  assert.deepEqual(
    versions.body.data.map(({ version, status }) => [version, status]),
    [
      [2, 'Inactive'],
      [1, 'Active'],
    ],
  );
  assert.deepEqual((await ask('GET', `${path}/versions/1`, undefined, of('crud'))).body, made.body);
  assert.equal((await ask('GET', `${path}/versions/3`, undefined, of('crud'))).code, '404 POLICY_NOT_FOUND');

  assert.equal((await ask('DELETE', path, undefined, of('crud'))).code, '204');
  assert.equal((await ask('GET', path, undefined, of('crud'))).code, '404 POLICY_NOT_FOUND');
  const listed = async (query: string) =>
    (await ask<List<Policy>>('GET', `/policies${query}`, undefined, of('crud'))).body.data.length;
  assert.deepEqual([await listed(''), await listed('?status=Deleted')], [0, 1]);
  // Its name is free again.
  assert.equal(
    (await ask('POST', '/policies', { name: 'First', policyType: 'Alert' }, of('crud'))).code,
    '201',
  );
});

test('of a hundred that replace one version, one does', async () => {
  const { body } = await ask('POST', '/policies', { name: 'Raced', policyType: 'Retention' }, of('race'));
  const path = `/policies/${body.policyId}`;
  const answers = await Promise.all(
    Array.from({ length: 100 }, (_, i) =>
      ask('PUT', path, { ...body, description: `by ${i}` }, { ...of('race'), 'If-Match': '"1"' }),
    ),
  );
  const codes = Object.groupBy(answers, ({ code }) => code);
  assert.deepEqual([codes['200']?.length, codes['409 VERSION_CONFLICT']?.length], [1, 99]);
});

test('names are unique, and a request that is repeated under its key makes one policy', async () => {
  const key = { ...of('names'), 'Idempotency-Key': 'k1' };
  const first = await ask('POST', '/policies', secretDeletes, key);
  await ask('PUT', `/policies/${first.body.policyId}`, { ...first.body, priority: 5 }, of('names'));
  const again = await ask('POST', '/policies', secretDeletes, key);
  assert.deepEqual([again.code, again.body], ['200', first.body]);
  assert.equal((await ask('POST', '/policies', secretDeletes, of('names'))).code, '409 DUPLICATE_NAME');
});

test('rules are added and removed, each in a new version; known ones keep their ids', async () => {
  const { body } = await ask('POST', '/policies', secretDeletes, of('rules'));
  const path = `/policies/${body.policyId}`;
  const sent = { name: 'Reads', ...rule({ action: 'Read.Invoice' }, { classification: 'Internal' }) };
  const added = await ask<Rule>('POST', `${path}/rules`, sent, of('rules'));
  assert.deepEqual(
    [added.code, etagOf(added), added.body.name, added.body.enabled],
    ['201', '"2"', 'Reads', true],
  );
  const { rules } = (await ask('GET', path, undefined, of('rules'))).body;
  assert.deepEqual(
    rules.map(({ ruleId }) => ruleId),
    [body.rules[0]!.ruleId, added.body.ruleId],
  );
  const replaced = await ask('PUT', path, { ...body, rules: [rules[1]!, sent] }, of('rules'));
  assert.equal(replaced.body.rules[0]!.ruleId, added.body.ruleId);
  assert.notEqual(replaced.body.rules[1]!.ruleId, added.body.ruleId);
  const rulePath = `${path}/rules/${added.body.ruleId}`;
  assert.equal((await ask('DELETE', rulePath, undefined, of('rules'))).code, '204');
  assert.equal((await ask('DELETE', rulePath, undefined, of('rules'))).code, '404 RULE_NOT_FOUND');
  const sentWrong = { ...rule({ nowhere: 1 }, { retentionPeriod: 'P1Y' }), enabled: 'yes' };
  const wrong = await ask('POST', `${path}/rules`, sentWrong, of('rules'));
  assert.equal(wrong.code, '422 VALIDATION_FAILED');
  assert.deepEqual(details(wrong).toSorted(), [
    'conditions.nowhere',
    'effect.classification',
    'effect.retentionPeriod',
    'enabled',
  ]);
});

test('what no schema says is refused as well, with the path of each fault', async () => {
  const refused = await ask('POST', '/policies', {
    name: 'Wrong',
    policyType: 'Classification',
    rules: [
      rule({ 'payload.amount': { gt: true }, nowhere: 1 }, { classification: 'Secret' }),
      rule({}, { retentionPeriod: 'P1Y' }),
      rule({}, { classification: 'Secret', redactFields: ['actor.userId', 'payload.iban'] }),
    ],
  });
  assert.equal(refused.code, '422 VALIDATION_FAILED');
  assert.deepEqual(details(refused), [
    'rules[0].conditions.payload.amount.gt',
    'rules[0].conditions.nowhere',
    'rules[1].effect.classification',
    'rules[1].effect.retentionPeriod',
    'rules[2].effect.redactFields[0]',
  ]);
});

test('every template is a policy that is accepted as it is', async () => {
  const { body } = await ask<List<PolicyTemplate>>('GET', '/policies/templates', undefined, of('templates'));
  const frameworks = new Set(body.data.map(({ framework }) => framework));
  for (const framework of ['SOC 2', 'ISO 27001', 'HIPAA', 'PCI DSS', 'GDPR', 'SOX'])
    assert.ok(frameworks.has(framework), framework);
  for (const { policy } of body.data)
    assert.equal((await ask('POST', '/policies', policy, of('templates'))).code, '201', policy.name);
});

test('a rule classifies what is received after it, and the policy is in use while that is stored', async () => {
  const tenant = 'classified';
  const before = await send(tenant, { action: 'Delete.Invoice' });
  const { body: policy } = await ask('POST', '/policies', secretDeletes, of(tenant));
  const after = await send(tenant, { action: 'Delete.Invoice' });
  const other = await send(tenant, { action: 'Read.Invoice' });
  const hinted = await send(tenant, { action: 'Delete.Invoice', classification: 'Secret' });
  const classOf = async (eventId: string) =>
    (await ask<{ classification: string }>('GET', `/audit-events/${eventId}`, undefined, of(tenant))).body
      .classification;
  assert.deepEqual(await Promise.all([before, after, other, hinted].map(classOf)), [
    'Internal',
    'Confidential',
    'Internal',
    'Secret',
  ]);
  const { body } = await ask<EventExplanation>(
    'GET',
    `/audit-events/${after}/explanation`,
    undefined,
    of(tenant),
  );
  assert.deepEqual(body.classification, {
    value: 'Confidential',
    rules: [
      {
        policyId: policy.policyId,
        policyName: policy.name,
        policyVersion: 1,
        ruleId: policy.rules[0]!.ruleId,
        decided: true,
        values: [{ field: 'action', value: 'Delete.Invoice' }],
      },
    ],
  });
  const path = `/policies/${policy.policyId}`;
  assert.equal((await ask('DELETE', path, undefined, of(tenant))).code, '409 POLICY_IN_USE');
  await ask('PUT', path, { ...policy, status: 'Inactive', active: undefined }, of(tenant));
  assert.equal((await ask('DELETE', path, undefined, of(tenant))).code, '204');
  assert.equal(await classOf(await send(tenant, { action: 'Delete.Invoice' })), 'Internal');
});

test('the longest retention wins, and the event names the policy', async () => {
  const tenant = 'retained';
  const rules = [
    rule({}, { retentionPeriod: 'P1D' }),
    rule({ 'payload.amount': { gt: 1000 } }, { retentionPeriod: 'P10Y' }),
  ];
  const { body: policy } = await ask(
    'POST',
    '/policies',
    { name: 'R', policyType: 'Retention', rules },
    of(tenant),
  );
  const retentionOf = async (event: object) => {
    const eventId = await send(tenant, event);
    const { body } = await ask<{ receivedAt: string; retention: { policyId: string; expiresAt: string } }>(
      'GET',
      `/audit-events/${eventId}`,
      undefined,
      of(tenant),
    );
    assert.equal(body.retention.policyId, policy.policyId);
    return Math.round((Date.parse(body.retention.expiresAt) - Date.parse(body.receivedAt)) / 86_400_000);
  };
  assert.equal(await retentionOf({}), 1);
  assert.ok((await retentionOf({ payload: { amount: 2000 } })) > 3650);
});

test('a trial says what is wrong, what is odd, and what the policy would have done', async () => {
  const tenant = 'trials';
  const ids = [];
  for (let i = 0; i < 5; i++)
    ids.push(await send(tenant, { action: i < 4 ? 'Delete.Invoice' : 'Read.Invoice' }));
  const trial = async (policy: object) =>
    (await ask<PolicyValidation>('POST', '/policies/validate', policy, of(tenant))).body;
  const good = await trial(secretDeletes);
  assert.deepEqual(
    [good.valid, good.errors, good.warnings, good.impact.sampledEvents, good.impact.matchedEvents],
    [true, [], [], 5, 4],
  );
  assert.deepEqual(good.impact.sampleEventIds.toSorted(), ids.slice(1, 4).toSorted());
  const past = await trial({ ...secretDeletes, timeRange: { to: '2001-01-01T00:00:00Z' } });
  assert.equal(past.impact.sampledEvents, 0);
  const bad = await trial({ ...secretDeletes, policyType: 'Nothing', rules: [{}] });
  assert.equal(bad.valid, false);
  assert.deepEqual(
    bad.errors.map(({ field }) => field),
    ['policyType', 'rules[0].effect'],
  );
  const odd = await trial({
    ...secretDeletes,
    rules: [
      rule({ outcome: 'Denied' }, { classification: 'Secret' }),
      rule({ outcome: 'Denied', action: 'A.B' }, { classification: 'Internal' }),
      rule({ 'payload.n': { gt: 5, lt: 3 } }, { classification: 'Public' }),
    ],
  });
  assert.deepEqual(
    odd.warnings.map(({ field }) => field),
    ['rules[2].conditions', 'rules[1]'],
  );
});

test('the policies of a tenant may be so much together, and validate says so too', async () => {
  const tenant = 'large';
  const detecting = (count: number) =>
    Array.from({ length: count }, () => rule({ payload: { detects: 'Iban' } }, { classification: 'Secret' }));
  const policy = (name: string, rules: object[], status = 'Active') => ({
    name,
    policyType: 'Classification',
    status,
    rules,
  });
  const twelve = policy('twelve', detecting(12));
  assert.equal((await ask('POST', '/policies', twelve, of(tenant))).code, '201');
  const refused = await ask('POST', '/policies', policy('nine', detecting(9)), of(tenant));
  assert.equal(refused.code, '422 VALIDATION_FAILED');
  assert.deepEqual(details(refused), ['rules']);
  const tried = await ask<PolicyValidation>(
    'POST',
    '/policies/validate',
    policy('nine', detecting(9)),
    of(tenant),
  );
  assert.match(tried.body.errors[0]!.issue, /^must leave at most 20 conditions with detects .* would be 21$/);
  assert.equal(
    (await ask('POST', '/policies', policy('draft', detecting(9), 'Draft'), of(tenant))).code,
    '201',
  );
  const again = await ask<PolicyValidation>('POST', '/policies/validate', twelve, of(tenant));
  assert.equal(again.body.valid, true, 'the one with this name would be replaced');
  const named = again.body.warnings.map(({ field, value }) => [field, value]);
  assert.deepEqual(named.at(0), ['name', 'twelve'], 'POST would answer 409');
  const many = Array.from({ length: 500 }, (_, i) =>
    rule(Object.fromEntries(Array.from({ length: 21 }, (__, j) => [`payload.f${i}.g${j}`, 1])), {
      classification: 'Secret',
    }),
  );
  const tooMany = await ask('POST', '/policies', policy('many', many), of(tenant));
  assert.deepEqual([tooMany.code, details(tooMany)], ['422 VALIDATION_FAILED', ['rules']]);
});

test('the versions of a deleted policy stay readable', async () => {
  const tenant = 'gone';
  const { body: policy } = await ask('POST', '/policies', secretDeletes, of(tenant));
  const path = `/policies/${policy.policyId}`;
  assert.equal((await ask('DELETE', path, undefined, of(tenant))).code, '204');
  assert.equal((await ask('GET', path, undefined, of(tenant))).code, '404 POLICY_NOT_FOUND');
  assert.deepEqual((await ask('GET', `${path}/versions/1`, undefined, of(tenant))).body, policy);
  const { body } = await ask<List<Policy>>('GET', `${path}/versions`, undefined, of(tenant));
  assert.deepEqual(
    body.data.map(({ version, status }) => [version, status]),
    [
      [2, 'Deleted'],
      [1, 'Active'],
    ],
  );
});

test('a policy that names another tenant is refused', async () => {
  const foreign = { ...secretDeletes, tenantId: 'other' };
  assert.equal((await ask('POST', '/policies/validate', foreign, of('own'))).code, '403 TENANT_MISMATCH');
  const refused = await ask('POST', '/policies', { ...secretDeletes, tenantId: 'other' }, of('own'));
  assert.equal(refused.code, '403 TENANT_MISMATCH');
  assert.equal(
    (await ask('POST', '/policies', { ...secretDeletes, tenantId: 'own' }, of('own'))).code,
    '201',
  );
});
