// What readers are told about the rules that have decided about an event, through the whole service.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { EventExplanation, RuleMatch } from '@tallystick/contract';
import { WITH_PLATFORM_KEY } from '../testing/admin-caller.ts';
import { policedTenant, type PolicedTenant } from '../testing/policed-tenant.ts';
import { startTestApp, type TestApp } from '../testing/test-app.ts';

let app: TestApp;
before(async () => {
  app = await startTestApp(WITH_PLATFORM_KEY);
});
after(() => app[Symbol.asyncDispose]());

const explained = (tenant: PolicedTenant, eventId: string, key?: string) =>
  tenant.ask<EventExplanation>('GET', `/audit-events/${eventId}/explanation`, undefined, key);
const said = (rules: readonly RuleMatch[]) =>
  rules.map(({ policyName, decided }) => `${policyName} ${decided ? 'decided' : 'matched'}`);
const ALL = { access: 'Allow', roles: ['Viewer', 'Admin'] };

test('a notice is explained without a retention and without Access rules: neither is about it', async () => {
  const tenant = policedTenant(app, 'notices');
  const viewer = await tenant.keyWith({ roles: ['Viewer'] });
  await tenant.put('Retention', [{ effect: { retentionPeriod: 'P1D' } }]);
  await tenant.put('Classification', [{ effect: { classification: 'Secret' } }]);
  await tenant.put('Access', [
    { effect: { ...ALL, maxClassification: 'Public', redactFields: ['payload'] } },
  ]);
  const notice = await tenant.noticeOf('Create.Policy');
  const { eventId, classification, retention, access } = await explained(tenant, notice, viewer);
  assert.equal(eventId, notice);
  assert.deepEqual([classification.rules, retention], [[], { rules: [], holdIds: [] }]);
  assert.deepEqual(access, { clearance: access.clearance, rules: [] });
});

test('a rule about content that is withheld from a reader is left out, whether it has decided or not', async () => {
  const tenant = policedTenant(app, 'withheld');
  const viewer = await tenant.keyWith({ roles: ['Viewer'] });
  await tenant.put('Classification', [
    { conditions: { 'payload.sum': { gt: 1000 } }, effect: { classification: 'Confidential' } },
    { conditions: { action: 'Delete.*' }, effect: { classification: 'Confidential' } },
  ]);
  await tenant.put('Retention', [
    { conditions: { 'context.ip': { exists: true } }, effect: { retentionPeriod: 'P9Y' } },
    { conditions: { 'actor.userId': 'u-1' }, effect: { retentionPeriod: 'P1Y' } },
  ]);
  const [eventId] = await tenant.send({ payload: { sum: 2000 }, context: { ip: '10.0.0.1' } });
  const whole = await explained(tenant, eventId!);
  assert.deepEqual(said(whole.classification.rules), ['Classification decided', 'Classification decided']);
  assert.deepEqual(said(whole.retention.rules), ['Retention decided', 'Retention matched']);
  assert.deepEqual(whole.classification.rules[0]!.values, [{ field: 'payload.sum', value: 2000 }]);
  const part = await explained(tenant, eventId!, viewer);
  assert.deepEqual(part.classification.rules, [whole.classification.rules[1]]);
  assert.deepEqual(part.retention.rules, [whole.retention.rules[1]]);
  assert.deepEqual(part.access.redaction?.fields, ['payload', 'context']);
  assert.ok(!JSON.stringify(part).includes('2000') && !JSON.stringify(part).includes('10.0.0.1'));
});

test('a rule about a single field that is withheld is left out with it', async () => {
  const tenant = policedTenant(app, 'field');
  const viewer = await tenant.keyWith({ roles: ['Viewer'] });
  await tenant.put('Retention', [
    { conditions: { 'payload.sum': 2000 }, effect: { retentionPeriod: 'P9Y' } },
    { conditions: { 'actor.userName': 'Ana' }, effect: { retentionPeriod: 'P9Y' } },
    { effect: { retentionPeriod: 'P1Y' } },
  ]);
  const redactFields = ['payload.iban', 'actor.userName'];
  await tenant.put('Access', [{ effect: { access: 'Allow', roles: ['Viewer'], redactFields } }]);
  const [eventId] = await tenant.send({
    actor: { actorType: 'User', userId: 'u-1', userName: 'Ana' },
    payload: { sum: 2000, iban: 'DE02120300000000202051' },
  });
  assert.equal((await explained(tenant, eventId!)).retention.rules.length, 3);
  // Content of which a part is withheld counts as withheld.
  const { retention, access } = await explained(tenant, eventId!, viewer);
  assert.deepEqual([said(retention.rules), said(access.rules)], [['Retention matched'], ['Access decided']]);
});

test('of Access rules those have decided that allow the least, and those that withhold something', async () => {
  const tenant = policedTenant(app, 'lowest');
  const viewer = await tenant.keyWith({ roles: ['Viewer'] });
  const [eventId] = await tenant.send({ payload: { note: 'a' }, classification: 'Internal' });
  const allow = (more: object) => [{ effect: { access: 'Allow', roles: ['Viewer'], ...more } }];
  await tenant.put('Access', allow({ maxClassification: 'Secret' }), 'most');
  await tenant.put('Access', allow({ maxClassification: 'Internal' }), 'least');
  await tenant.put('Access', allow({ maxClassification: 'Confidential' }), 'middle');
  await tenant.put('Access', allow({}), 'nothing');
  await tenant.put('Access', allow({ redactFields: ['context.ip'] }), 'withholding');
  await tenant.put(
    'Access',
    [{ effect: { ...ALL, roles: ['Auditor'], maxClassification: 'Public' } }],
    'other',
  );
  const { access } = await explained(tenant, eventId!, viewer);
  assert.equal(access.clearance, 'Internal');
  assert.deepEqual(said(access.rules), [
    'most matched',
    'least decided',
    'middle matched',
    'nothing matched',
    'withholding decided',
  ]);
});

test('what a policy has decided is explained by its version of then, also when it is changed or deleted', async () => {
  const tenant = policedTenant(app, 'deleted');
  const rules = [{ conditions: { action: 'Delete.*' }, effect: { classification: 'Confidential' } }];
  const policy = await tenant.put('Classification', rules);
  const [eventId] = await tenant.send({});
  const first = await explained(tenant, eventId!);
  assert.deepEqual(first.classification.rules, [
    {
      policyId: policy.policyId,
      policyName: 'Classification',
      policyVersion: 1,
      ruleId: policy.rules[0]!.ruleId,
      decided: true,
      values: [{ field: 'action', value: 'Delete.Invoice' }],
    },
  ]);
  const path = `/policies/${policy.policyId}`;
  await tenant.ask('PUT', path, { ...policy, rules: [], status: 'Inactive', active: undefined });
  assert.deepEqual(await explained(tenant, eventId!), first);
  await tenant.ask('DELETE', path);
  assert.deepEqual(await explained(tenant, eventId!), first);
});

test('the hint of the sender is told, and no rule has decided what it has raised', async () => {
  const tenant = policedTenant(app, 'hinted');
  await tenant.put('Classification', [{ effect: { classification: 'Internal' } }]);
  const [eventId] = await tenant.send({ classification: 'Confidential' });
  const { classification } = await explained(tenant, eventId!);
  assert.deepEqual(
    [classification.value, classification.hint, said(classification.rules)],
    ['Confidential', 'Confidential', ['Classification matched']],
  );
});
