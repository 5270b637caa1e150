// Who may do what with subscriptions, and by whose rights they see events: through the whole service.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { List, Role, Subscription } from '@tallystick/contract';
import { startDelivering } from '../testing/delivering-app.ts';
import { policedTenant } from '../testing/policed-tenant.ts';
import { detailsOf, subscribed, subscribing, SUBSCRIPTION } from '../testing/subscribing.ts';

const app = startDelivering();

const askerOf = (tenant: string) => subscribing(() => app, tenant);
const keyWith = (tenant: string, more: object) => policedTenant(app, tenant).keyWith(more);
const keyOf = (tenant: string, role: Role) => keyWith(tenant, { roles: [role] });

test('Admins and Operators manage subscriptions, Auditors and Viewers do not, and a scope is enough', async () => {
  const ask = askerOf('roles');
  const asked = async (key: string) => {
    const { subscriptionId } = await subscribed(ask);
    const codes = new Set<string>();
    for (const [method, path, body] of [
      ['POST', '', SUBSCRIPTION],
      ['GET', '', undefined],
      ['GET', `/${subscriptionId}`, undefined],
      ['PUT', `/${subscriptionId}`, SUBSCRIPTION],
      ['PATCH', `/${subscriptionId}`, { name: 'x' }],
      ['POST', `/${subscriptionId}/pause`, undefined],
      ['POST', `/${subscriptionId}/resume`, undefined],
      ['POST', `/${subscriptionId}/rotate-secret`, {}],
      ['DELETE', `/${subscriptionId}`, undefined],
    ] as const)
      codes.add((await ask(method, path, body, {}, key)).code);
    return [...codes].toSorted();
  };
  const allowed = ['200', '201', '204'];
  for (const role of ['Admin', 'Operator'] as const)
    assert.deepEqual(await asked(await keyOf('roles', role)), allowed, role);
  for (const role of ['Auditor', 'Viewer'] as const)
    assert.deepEqual(await asked(await keyOf('roles', role)), ['403 FORBIDDEN'], role);
  assert.deepEqual(await asked(await keyWith('roles', { scopes: ['audit:webhooks'] })), allowed);
  const other = await keyWith('roles', { scopes: ['audit:read'] });
  assert.deepEqual(await asked(other), ['403 INSUFFICIENT_SCOPE']);
  assert.equal((await ask('GET', '', undefined, {}, 'nobody-has-this-key-here')).status, 401);
});

test('a tenant neither sees nor changes the subscriptions of another', async () => {
  const [one, other] = [askerOf('one'), askerOf('other')];
  const { subscriptionId } = await subscribed(one, { name: 'of one' });
  await subscribed(other, { name: 'of other' });
  const [ownKey, foreignKey] = [await keyOf('one', 'Admin'), await keyOf('other', 'Admin')];
  const names = async (ask: typeof one, key: string) =>
    (await ask<List<Subscription>>('GET', '', undefined, {}, key)).body.data.map(({ name }) => name);
  assert.deepEqual([await names(one, ownKey), await names(other, foreignKey)], [['of one'], ['of other']]);
  for (const [method, path, body] of [
    ['GET', '', undefined],
    ['PUT', '', SUBSCRIPTION],
    ['PATCH', '', { name: 'x' }],
    ['DELETE', '', undefined],
    ['POST', '/pause', undefined],
    ['POST', '/rotate-secret', undefined],
  ] as const) {
    const there = `/${subscriptionId}${path}`;
    assert.equal((await other(method, there, body, {}, foreignKey)).code, '404 SUBSCRIPTION_NOT_FOUND');
    assert.equal((await one(method, there, body, {}, foreignKey)).code, '403 TENANT_MISMATCH');
  }
  assert.equal((await one('GET', `/${subscriptionId}`)).body.name, 'of one');
});

test('its clearance is its creator’s, or a lower one, and no higher one', async () => {
  const ask = askerOf('cleared');
  const operator = await keyOf('cleared', 'Operator');
  assert.equal((await subscribed(ask, {}, operator)).clearance, 'Internal');
  assert.equal((await subscribed(ask, { clearance: 'Public' }, operator)).clearance, 'Public');
  assert.equal((await subscribed(ask, { clearance: 'Confidential' })).clearance, 'Confidential');
  const raised = await ask('POST', '', { ...SUBSCRIPTION, clearance: 'Confidential' }, {}, operator);
  assert.equal(raised.code, '422 VALIDATION_FAILED');
  assert.deepEqual(detailsOf(raised), [
    'clearance must be at most Internal: nobody has more sent than they may see',
  ]);
});

test('who has less clearance changes what they like, but neither raises it nor says where events go', async () => {
  const ask = askerOf('moved');
  const operator = await keyOf('moved', 'Operator');
  const { subscriptionId } = await subscribed(ask);
  const patch = (body: object, key?: string) => ask('PATCH', `/${subscriptionId}`, body, {}, key);
  const renamed = await patch({ name: 'x', filters: {} }, operator);
  assert.deepEqual([renamed.code, renamed.body.clearance], ['200', 'Secret']);
  // By what is then delivered, they could find out what is in events that they may not see.
  const filtered = await patch({ filters: { 'payload.iban': { startsWith: 'DE1' } } }, operator);
  assert.match(detailsOf(filtered).join(), /^clearance must be at most Internal/);
  const moved = await patch({ url: 'https://127.0.0.1/mine' }, operator);
  assert.match(detailsOf(moved).join(), /^clearance must be at most Internal/);
  const lowered = await patch({ url: 'https://127.0.0.1/mine', clearance: 'Internal' }, operator);
  assert.deepEqual([lowered.code, lowered.body.clearance], ['200', 'Internal']);
  // Not even by an Admin, as long as it goes where the Operator has said.
  assert.match(detailsOf(await patch({ clearance: 'Secret' })).join(), /^clearance must be at most Internal/);
  const taken = await patch({ url: 'https://127.0.0.1/ours', clearance: 'Secret' });
  assert.deepEqual([taken.code, taken.body.clearance], ['200', 'Secret']);
  const again = await patch({ clearance: 'Public' }, operator);
  assert.deepEqual([again.code, again.body.clearance], ['200', 'Public']);
  assert.match(detailsOf(await patch({ clearance: 'Secret' }, operator)).join(), /^clearance must be/);
  assert.equal((await patch({ clearance: null }, operator)).body.clearance, 'Internal');
});
