// Every POST and PUT of the contract, but search and validate, over real HTTP: the first answer, the same again for a repeat, a
// refusal for another request under the same key. The list is made from the contract, so that an operation without a row fails.

import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { type OperationName, OPERATIONS } from '@tallystick/contract';
import { callerOf, PLATFORM_KEY } from '../testing/admin-caller.ts';
import { ask as askOf, type Told } from '../testing/ask.ts';
import { EVENT } from '../testing/bound-operations.ts';
import { Consumer } from '../testing/consumer.ts';
import { DELIVERING } from '../testing/delivering-app.ts';
import { startTestApp, type TestApp } from '../testing/test-app.ts';
import { until } from '../testing/until.ts';

type Facts = Record<string, unknown>;

interface Row {
  readonly path: string;
  readonly body?: unknown;
  /** A sound one that is not the same; undefined where there is none. */
  readonly other?: { readonly path?: string; readonly body?: unknown };
  /** Another caller asks, who is not the one that has asked for what is confirmed. */
  readonly key?: string;
}

const TENANT = 'acme';
const UNKNOWN = '01KE0000000000000000000042';
let app: TestApp;
let consumer: Consumer;
let rows: Readonly<Partial<Record<OperationName, Row | (() => Promise<Row>)>>>;

function ask(method: string, path: string, body?: unknown, headers = {}, key = PLATFORM_KEY) {
  return askOf<Facts>(app, method, `/api/v1${path}`, { key, tenant: TENANT, headers, body });
}

async function made(path: string, body?: unknown): Promise<Facts> {
  const told = await ask('POST', path, body);
  assert.ok(told.status < 300, `POST ${path} is answered ${told.code} ${told.text}`);
  return told.body;
}

async function listed(path: string): Promise<Facts> {
  let found: Facts | undefined;
  await until(async () => {
    found = ((await ask('GET', path)).body as { data: Facts[] }).data[0];
    return found !== undefined;
  });
  return found!;
}

before(async () => {
  consumer = await Consumer.start();
  consumer.reply = ({ path }) => (path === '/refused' ? 400 : 200);
  app = await startTestApp(DELIVERING);
  rows = { ...(await ofEvents()), ...(await ofExports()), ...(await ofWebhooks()), ...(await ofAdmin()) };
});
after(async () => {
  await app?.[Symbol.asyncDispose]();
  await consumer[Symbol.asyncDispose]();
});

async function ofEvents(): Promise<typeof rows> {
  const rule = { conditions: {}, effect: { violationType: 'Anomaly', severity: 'Low' } };
  await made('/policies', { name: 'Watch', policyType: 'Alert', rules: [rule] });
  const { eventId } = await made('/audit-events', { ...EVENT, payload: { iban: 'DE1' } });
  const { violationId } = await listed('/violations');
  const { streamId } = await listed('/event-streams');
  const policy = { name: 'Kept', policyType: 'Retention' };
  const { policyId } = await made('/policies', policy);
  const { holdId } = await made('/legal-holds', {
    name: 'Case',
    reason: 'r',
    conditions: { action: 'No.Thing' },
  });
  const keep = { effect: { retentionPeriod: 'P1Y' } };
  const named = { name: 'Another', policyType: 'Retention' };
  const hold = { name: 'Case 2', reason: 'r', conditions: { action: 'No.Thing' } };
  const erasure = { subject: { userId: 'nobody' }, reason: 'asked for' };
  return {
    'events.ingest': {
      path: '/audit-events',
      body: EVENT,
      other: { body: { ...EVENT, action: 'Do.Other' } },
    },
    'events.ingestBatch': {
      path: '/audit-events/batch',
      body: { events: [EVENT] },
      other: { body: { events: [EVENT, EVENT] } },
    },
    'events.redact': {
      path: `/audit-events/${String(eventId)}/redact`,
      body: { fields: ['payload.iban'], reason: 'asked for' },
      other: { body: { fields: ['payload.iban'], reason: 'another' } },
    },
    'erasures.create': {
      path: '/erasures',
      body: erasure,
      other: { body: { ...erasure, reason: 'another' } },
    },
    'streams.verify': {
      path: `/event-streams/${String(streamId)}/verify`,
      other: { path: `/event-streams/${UNKNOWN}/verify` },
    },
    'streams.seal': {
      path: `/event-streams/${String(streamId)}/seal`,
      other: { path: `/event-streams/${UNKNOWN}/seal` },
    },
    'policies.create': { path: '/policies', body: named, other: { body: { ...named, priority: 1 } } },
    'policies.replace': {
      path: `/policies/${String(policyId)}`,
      body: policy,
      other: { body: { ...policy, priority: 1 } },
    },
    'policies.addRule': {
      path: `/policies/${String(policyId)}/rules`,
      body: keep,
      other: { body: { ...keep, name: 'n' } },
    },
    'holds.create': { path: '/legal-holds', body: hold, other: { body: { ...hold, reason: 'another' } } },
    'holds.release': {
      path: `/legal-holds/${String(holdId)}/release`,
      body: { reason: 'over' },
      other: { body: { reason: 'another' } },
    },
    'violations.acknowledge': {
      path: `/violations/${String(violationId)}/acknowledge`,
      body: { comment: 'seen' },
      other: { body: { comment: 'another' } },
    },
  };
}

async function ofExports(): Promise<typeof rows> {
  const folder = join(app.dataDirectory, 'exports');
  rmSync(folder, { recursive: true, force: true });
  writeFileSync(folder, 'no folder');
  const { exportId: failed } = await made('/exports', { name: 'fails' });
  await until(async () => (await ask('GET', `/exports/${String(failed)}`)).body['status'] === 'Failed');
  rmSync(folder);
  /** Made when it is needed, since a redaction removes the files that are there. */
  const completed = async () => {
    const { exportId } = await made('/exports', { name: 'done' });
    const path = `/exports/${String(exportId)}`;
    await until(async () => (await ask('GET', path)).body['status'] === 'Completed');
    return path;
  };
  const destination = {
    type: 'ObjectStorage',
    provider: 'S3',
    endpoint: 'https://s3.example.com',
    region: 'eu-central-1',
    bucket: 'files',
    prefix: 'a/',
    accessKeyId: 'id',
    secretAccessKey: 'secret',
  };
  const schedule = { name: 'Daily', every: 'Day', format: 'CSV', destination };
  const { scheduleId } = await made('/export-schedules', { ...schedule, name: 'Kept' });
  return {
    'exports.create': { path: '/exports', body: { name: 'Q3' }, other: { body: { name: 'Q4' } } },
    'exports.retry': {
      path: `/exports/${String(failed)}/retry`,
      other: { path: `/exports/${UNKNOWN}/retry` },
    },
    'exports.deliver': async () => ({
      path: `${await completed()}/deliver`,
      body: { destination },
      other: { body: { destination: { ...destination, prefix: 'b/' } } },
    }),
    'exportSchedules.create': {
      path: '/export-schedules',
      body: schedule,
      other: { body: { ...schedule, name: 'X' } },
    },
    'exportSchedules.replace': {
      path: `/export-schedules/${String(scheduleId)}`,
      body: { ...schedule, name: 'Kept' },
      other: { body: { ...schedule, name: 'Y' } },
    },
  };
}

async function ofWebhooks(): Promise<typeof rows> {
  const body = { name: 'SIEM', url: consumer.url, eventTypes: ['AuditEventReceived'] };
  const { subscriptionId } = await made('/webhooks/subscriptions', body);
  const { subscriptionId: refusedId } = await made('/webhooks/subscriptions', {
    ...body,
    name: 'Refuses',
    url: consumer.url.replace('/hook', '/refused'),
    retryClientErrors: false,
  });
  await made('/audit-events', EVENT);
  const at = `/webhooks/subscriptions/${String(subscriptionId)}`;
  const elsewhere = `/webhooks/subscriptions/${String(refusedId)}`;
  const { webhookId } = await listed(`${at}/deliveries`);
  const { messageId } = await listed('/admin/dead-letter-queue?source=Webhook');
  const since = { since: '2026-01-01T00:00:00Z' };
  return {
    'subscriptions.create': {
      path: '/webhooks/subscriptions',
      body: { ...body, name: 'New' },
      other: { body: { ...body, name: 'Newer' } },
    },
    'subscriptions.replace': { path: at, body, other: { body: { ...body, name: 'Other' } } },
    'subscriptions.test': { path: `${at}/test`, other: { path: `${elsewhere}/test` } },
    'subscriptions.pause': { path: `${at}/pause`, other: { path: `${elsewhere}/pause` } },
    'subscriptions.resume': { path: `${at}/resume`, other: { path: `${elsewhere}/resume` } },
    'subscriptions.rotateSecret': {
      path: `${at}/rotate-secret`,
      body: { gracePeriod: 'P1D' },
      other: { body: { gracePeriod: 'P2D' } },
    },
    'subscriptions.recover': {
      path: `${at}/recover`,
      body: since,
      other: { body: { since: '2026-01-02T00:00:00Z' } },
    },
    'deliveries.redeliver': {
      path: `${at}/deliveries/${String(webhookId)}/redeliver`,
      other: { path: `${elsewhere}/deliveries/${String(webhookId)}/redeliver` },
    },
    'deadLetters.reprocess': {
      path: `/admin/dead-letter-queue/${String(messageId)}/reprocess`,
      other: { path: `/admin/dead-letter-queue/${UNKNOWN}/reprocess` },
    },
    'deadLetters.reprocessAll': {
      path: '/admin/dead-letter-queue/reprocess',
      body: { source: 'Webhook' },
      other: { body: { source: 'Export' } },
    },
  };
}

async function ofAdmin(): Promise<typeof rows> {
  const { keyId } = await made('/admin/api-keys', { name: 'old', tenantId: TENANT, roles: ['Viewer'] });
  await ask('PUT', `/admin/tenants/${TENANT}`, { fourEyes: true });
  const { eventId } = await made('/audit-events', { ...EVENT, payload: { iban: 'DE1' } });
  const redaction = { fields: ['payload.iban'], reason: 'asked for' };
  const { operationId } = await made(`/audit-events/${String(eventId)}/redact`, redaction);
  await ask('PUT', `/admin/tenants/${TENANT}`, { fourEyes: false });
  const key = { name: 'new', tenantId: TENANT, roles: ['Viewer'] };
  return {
    'projections.rebuild': {
      path: '/admin/projections/rebuild',
      other: { body: { projections: ['events'] } },
    },
    'operations.confirm': {
      path: `/admin/operations/${String(operationId)}/confirm`,
      other: { path: `/admin/operations/${UNKNOWN}/confirm` },
      key: (await callerOf(app, TENANT)).key,
    },
    'apiKeys.create': { path: '/admin/api-keys', body: key, other: { body: { ...key, name: 'newer' } } },
    'apiKeys.rotate': {
      path: `/admin/api-keys/${String(keyId)}/rotate`,
      body: { gracePeriod: 'P1D' },
      other: { body: { gracePeriod: 'P2D' } },
    },
    'tenants.create': {
      path: '/admin/tenants',
      body: { tenantId: 'made', tier: 'Premium' },
      other: { body: { tenantId: 'made', tier: 'Standard' } },
    },
    'tenants.replace': {
      path: '/admin/tenants/made',
      body: { tier: 'Standard' },
      other: { body: { tier: 'Premium' } },
    },
    // It has no body.
    'rateLimits.replenish': { path: '/admin/rate-limits/replenish' },
  };
}

const SECRETS = ['key', 'secret'];

/** Without what is shown once, and with `idempotent` as a repeat has it. */
function asRepeated(body: Facts): Facts {
  const shown = Object.entries(body).filter(([name]) => !SECRETS.includes(name));
  return { ...Object.fromEntries(shown), ...('idempotent' in body && { idempotent: true }) };
}

const namesOf = ({ headers }: Told) => [headers.get('location'), headers.get('x-event-id')];

const KEYED = OPERATIONS.filter(
  ({ name, rest }) =>
    ['POST', 'PUT'].includes(rest.method) && !['events.search', 'policies.validate'].includes(name),
);

for (const { name, rest } of KEYED)
  test(`${name} honours a key: a repeat gets the first answer, another request is refused`, async () => {
    const known = rows[name];
    assert.ok(known !== undefined, 'it has a row');
    const row = typeof known === 'function' ? await known() : known;
    const send = (idempotencyKey: string, { path = row.path, body = row.body }: Partial<Row> = {}) =>
      ask(rest.method, path, body, { 'Idempotency-Key': idempotencyKey }, row.key);

    for (const malformed of ['', 'a b', 'k'.repeat(256)])
      assert.equal((await send(malformed)).code, '400 INVALID_HEADER', JSON.stringify(malformed));
    const first = await send(name);
    assert.ok(first.status < 300, `${first.code} ${first.text}`);
    const again = await send(name);
    assert.equal(again.code, '200', again.text);
    // What a consumer has answered to a test is shown once, too.
    const { attempt: _, ...told } = again.body;
    const { attempt: __, ...expected } = asRepeated(first.body);
    assert.deepEqual(told, expected);
    assert.deepEqual(namesOf(again), namesOf(first));
    if (row.other !== undefined)
      assert.equal((await send(name, row.other)).code, '409 IDEMPOTENCY_KEY_REUSED');
    if (rest.body !== undefined)
      assert.equal(
        (await send(name, { body: { ...(row.body as object), another: 'x' } })).code,
        '409 IDEMPOTENCY_KEY_REUSED',
      );
  });
