// Sound values are accepted, wrong ones are refused where they are wrong.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TSchema } from 'typebox';
import { publicSchemas } from '../reference/schemas-page.ts';
import { asJson } from '../schema.ts';
import { componentsOf } from '../schema-walk.ts';
import { faultsOf } from '../testing.ts';
import { KeyRotation, TenantRequest, TenantSettings } from './admin.ts';
import { BatchRequest } from './batch.ts';
import { EventDraft } from './event.ts';
import { EXAMPLE_DRAFT, EXAMPLES, SYSTEM_CHANGE, THRESHOLD_CROSSING } from '../examples.ts';
import { DeliverRequest, ExportRequest } from './export.ts';
import { HealthReport } from './health.ts';
import { ListOf } from './list.ts';
import { Notification, SystemChange, ThresholdCrossing } from './notification.ts';
import { EFFECT_MEMBERS, Policy, PolicyConfiguration, RuleEffect } from './policy.ts';
import { SearchRequest } from './search.ts';
import { EventProof } from './stream.ts';
import { SecretRotation, SubscriptionConfiguration, SubscriptionPatch } from './webhook.ts';

const components = componentsOf(publicSchemas());

for (const [title, example] of Object.entries(EXAMPLES)) {
  test(`accepts the example of ${title}`, () => {
    const schema = components.get(title);
    assert.ok(schema, `${title} is a component`);
    assert.deepEqual(faultsOf(schema, example), []);
  });
}

function refuses(title: string, schema: TSchema, cases: Record<string, unknown>): void {
  test(title, () => {
    for (const [fault, value] of Object.entries(cases)) {
      const faults = faultsOf(schema, value);
      assert.ok(faults.includes(fault), `expected ${fault}, found ${JSON.stringify(faults)}`);
    }
  });
}

const draft = EXAMPLE_DRAFT;
const long = (length: number) => 'x'.repeat(length);

refuses('refuses a draft where it is wrong', EventDraft, {
  ' required': { ...draft, actor: undefined },
  ' additionalProperties': { ...draft, colour: 'red' },
  '/actor additionalProperties': { ...draft, actor: { actorType: 'User', shoeSize: 42 } },
  '/actor/actorType enum': { ...draft, actor: { actorType: 'Robot' } },
  '/actor/userName maxLength': { ...draft, actor: { actorType: 'User', userName: long(321) } },
  '/actor/userId minLength': { ...draft, actor: { actorType: 'User', userId: '' } },
  '/resource required': { ...draft, resource: { resourceType: 'Invoice' } },
  '/resource/resourceId maxLength': { ...draft, resource: { resourceType: 'I', resourceId: long(513) } },
  '/action pattern': { ...draft, action: 'DeleteInvoice' },
  '/action maxLength': { ...draft, action: `${long(50)}.${long(50)}` },
  '/timestamp format': { ...draft, timestamp: '2026-02-30T00:00:00Z' },
  '/timestamp type': { ...draft, timestamp: 1_767_323_046_000 },
  '/context type': { ...draft, context: 'none' },
  '/payload type': { ...draft, payload: [] },
  '/eventId pattern': { ...draft, eventId: '81KE0000000000000000000042' },
  '/correlationId format': { ...draft, correlationId: 'c-1' },
  '/classification enum': { ...draft, classification: 'Top' },
  '/tenantId type': { ...draft, tenantId: 7 },
});

test('a tenant id that only repeats the tenant of the call is any text: the comparison judges it', () => {
  assert.deepEqual(faultsOf(EventDraft, { ...draft, tenantId: '../acme' }), []);
});

test('one pass names every violation of a draft', () => {
  const value = { ...draft, action: 'x', actor: {}, resource: null, extra: 1 };
  assert.deepEqual(faultsOf(EventDraft, value), [
    ' additionalProperties',
    '/action minLength',
    '/action pattern',
    '/actor required',
    '/resource type',
  ]);
});

refuses('refuses a batch without events, with too many, or with unknown members', BatchRequest, {
  '/events minItems': { events: [] },
  '/events maxItems': { events: Array.from({ length: 1001 }, () => draft) },
  '/transactional type': { events: [draft], transactional: 'yes' },
  ' additionalProperties': { events: [draft], atomic: true },
});

refuses('refuses a search that asks for what there is not', SearchRequest, {
  '/pagination/limit maximum': { pagination: { limit: 1001 } },
  '/pagination/limit type': { pagination: { limit: 1.5 } },
  '/sort/0/field enum': { sort: [{ field: 'price' }] },
  '/filters/classifications/0 enum': { filters: { classifications: ['Top'] } },
  '/filters/timeRange/from format': { filters: { timeRange: { from: 'yesterday' } } },
  '/aggregations/0 enum': { aggregations: ['byPrice'] },
  '/filters additionalProperties': { filters: { price: 1 } },
});

const policy = { name: 'p', policyType: 'Alert' };

refuses('refuses a policy with a wrong type, status, rule or effect', PolicyConfiguration, {
  '/policyType enum': { ...policy, policyType: 'Weather' },
  '/status enum': { ...policy, status: 'Deleted' },
  '/rules/0 required': { ...policy, rules: [{ name: 'r' }] },
  '/rules/0/effect additionalProperties': { ...policy, rules: [{ effect: { colour: 'red' } }] },
  '/rules/0/effect/retentionPeriod format': {
    ...policy,
    rules: [{ effect: { retentionPeriod: '7 years' } }],
  },
  '/rules/0/effect/violationType pattern': {
    ...policy,
    rules: [{ effect: { violationType: 'not-a-word' } }],
  },
  '/rules/0/effect/threshold/window pattern': {
    ...policy,
    rules: [{ effect: { threshold: { count: 1, window: 'PT0S' } } }],
  },
  '/rules/0/effect/roles minItems': { ...policy, rules: [{ effect: { roles: [] } }] },
  '/rules/0/effect/roles maxItems': {
    ...policy,
    rules: [{ effect: { roles: Array.from({ length: 5 }, () => 'Admin') } }],
  },
  '/name minLength': { ...policy, name: '' },
});

test('a grace period may be none at all', () => {
  for (const schema of [KeyRotation, SecretRotation]) {
    assert.deepEqual(faultsOf(schema, { gracePeriod: 'PT0S' }), []);
  }
});

test('every member of an effect belongs to a type of policy, and is there only once', () => {
  const types = Object.entries(EFFECT_MEMBERS);
  const belonging = new Set(types.flatMap(([, { requires, allows }]) => [...requires, ...allows]));
  assert.deepEqual([...belonging].sort(), Object.keys(RuleEffect.properties).sort());
  for (const [type, { requires, allows }] of types) {
    assert.equal(new Set([...requires, ...allows]).size, requires.length + allows.length, type);
  }
  assert.deepEqual(EFFECT_MEMBERS.Retention.requires, ['retentionPeriod']);
  assert.deepEqual(EFFECT_MEMBERS.Access.requires, ['access', 'roles']);
});

test('a rule and its policy come with no default that only another type, or nobody, asked for', () => {
  const defaults = (schema: TSchema) =>
    Object.entries(asJson(schema).properties ?? {}).filter(([, member]) => member.default !== undefined);
  assert.deepEqual(defaults(RuleEffect), []);
  assert.deepEqual(defaults(TenantSettings), []);
  assert.deepEqual(
    defaults(PolicyConfiguration).map(([name]) => name),
    ['priority', 'rules'],
  );
});

const bucket = { type: 'ObjectStorage', provider: 'S3', region: 'eu', bucket: 'b', accessKeyId: 'k' };

refuses('refuses a destination by the rules of its own type', DeliverRequest, {
  '/destination required': { destination: bucket },
  '/destination discriminator': { destination: { type: 'Download' } },
  '/destination/port maximum': { destination: { type: 'Sftp', port: 70_000 } },
  ' required': {},
});

test('a wrong destination is told apart by its tag: rules of other types are not named', () => {
  const faults = faultsOf(ExportRequest, { destination: bucket });
  assert.deepEqual(faults, ['/destination required']);
});

refuses('refuses a subscription without types, with a wrong URL or timeout', SubscriptionConfiguration, {
  '/eventTypes minItems': { name: 's', url: 'https://example.com', eventTypes: [] },
  '/eventTypes/0 enum': { name: 's', url: 'https://example.com', eventTypes: ['Rain'] },
  '/url format': { name: 's', url: 'example.com', eventTypes: ['*'] },
  '/timeoutSeconds maximum': { name: 's', url: 'https://example.com', eventTypes: ['*'], timeoutSeconds: 31 },
  '/secret pattern': { name: 's', url: 'https://example.com', eventTypes: ['*'], secret: 'with space' },
});

refuses('refuses a patch with an unknown member', SubscriptionPatch, {
  ' additionalProperties': { colour: 'red' },
  '/timeoutSeconds anyOf': { timeoutSeconds: 'soon' },
});

refuses('refuses a tenant id that could climb a path', TenantRequest, {
  '/tenantId pattern': { tenantId: '..' },
  '/tier enum': { tenantId: 'acme', tier: 'Gold' },
});

refuses('refuses a proof whose units have the wrong number of parts', EventProof, {
  '/open/0 minItems': { ...(EXAMPLES['EventProof'] as object), open: [['/action', 'salt']] },
  '/groups maxItems': { ...(EXAMPLES['EventProof'] as object), groups: [null, null, null] },
});

refuses('refuses a notification that is not what its type says', Notification, {
  ' required': { ...(EXAMPLES['EventNotification'] as object), webhookType: 'system.event' },
  ' discriminator': { ...(EXAMPLES['EventNotification'] as object), webhookType: 'rain.event' },
  '/signature pattern': { ...(EXAMPLES['EventNotification'] as object), signature: 'sha1=00' },
});

test('a change has its previous status and a crossing its group, if only an empty one', () => {
  const { previousStatus: _, ...change } = SYSTEM_CHANGE;
  assert.deepEqual(faultsOf(SystemChange, change), [' required']);
  const { groupKey: __, ...crossing } = THRESHOLD_CROSSING;
  assert.deepEqual(faultsOf(ThresholdCrossing, crossing), [' required']);
});

refuses('refuses a health report with a span in words', HealthReport, {
  '/totalDuration pattern': { status: 'Healthy', totalDuration: '12 ms', entries: {} },
});

test('a list is a page with links; what does not exist is null, not absent', () => {
  const pagination = {
    total: 1,
    totalRelation: 'Exact',
    limit: 100,
    cursor: null,
    previousCursor: null,
    hasMore: false,
  };
  const links = { self: '/api/v1/policies?limit=100', next: null, previous: null };
  const data = [EXAMPLES['Policy']];
  assert.deepEqual(faultsOf(ListOf(Policy), { data, pagination, links }), []);
  const { cursor: _, ...without } = pagination;
  assert.deepEqual(faultsOf(ListOf(Policy), { data, pagination: without, links }), ['/pagination required']);
});
