// Content past its retention, from the policy to what readers, streams, previews and the verifier of the store say afterwards:
// through the whole service, on both backends.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import type {
  AuditEvent,
  EventStream,
  List,
  Policy,
  PolicyViolation,
  RetentionPreview,
  SearchAnswer,
} from '@tallystick/contract';
import { PLATFORM_KEY } from '../testing/admin-caller.ts';
import { ask as askOf } from '../testing/ask.ts';
import { EVENT } from '../testing/bound-operations.ts';
import { type PolicedTenant, policedTenant } from '../testing/policed-tenant.ts';
import { type Databases, openDatabases } from '../testing/postgres-server.ts';
import { startTestApp, type TestApp } from '../testing/test-app.ts';
import { until } from '../testing/until.ts';

const SHORT = { conditions: { action: 'Delete.Invoice' }, effect: { retentionPeriod: 'PT1S' } };
const INVOICE = { action: 'Delete.Invoice', payload: { note: 'zebra' } };
const CONTRACT = { action: 'Sign.Contract', payload: { note: 'zebra' } };
const SETTINGS = {
  TALLYSTICK_ADMIN_KEY: PLATFORM_KEY,
  Retention__SweepInterval: 'PT1S',
  Log__CheckpointInterval: 'PT0.1S',
};

let server: Databases;
before(async () => {
  server = await openDatabases();
});
after(() => server?.[Symbol.asyncDispose]());

const BACKENDS = {
  'the embedded store': async () => ({}),
  PostgreSQL: async () => ({ Storage__Url: await server.createDatabase() }),
};

// They wait for sweeps, each for what is its tenant's.
for (const [backend, settingsOf] of Object.entries(BACKENDS))
  describe(`on ${backend}`, { concurrency: true }, () => {
    let app: TestApp;
    before(async () => {
      app = await startTestApp({ ...SETTINGS, ...(await settingsOf()) });
    });
    after(() => app?.[Symbol.asyncDispose]());
    const statusOf = async (method: string, path: string, tenant: string, body?: object) =>
      (await askOf(app, method, `/api/v1${path}`, { key: PLATFORM_KEY, tenant, body })).status;
    const isPurged = async (tenant: PolicedTenant, eventId: string) =>
      'purgedAt' in (await tenant.ask<object>('GET', `/audit-events/${eventId}`));
    const purged = (tenant: PolicedTenant, eventId: string) => until(() => isPurged(tenant, eventId));

    test('expired events leave a tombstone, a notice that names the policy, and no trace in what is found', async () => {
      const tenant = policedTenant(app, 'expired');
      const policy = await tenant.put('Retention', [SHORT], 'Short');
      const ids = await tenant.send(INVOICE, CONTRACT, INVOICE, {
        ...INVOICE,
        eventId: '01KE0000000000000000000042',
      });
      assert.equal(await statusOf('DELETE', `/policies/${policy.policyId}`, 'expired'), 409);
      for (const each of [ids[0]!, ids[2]!, ids[3]!]) await purged(tenant, each);
      assert.equal(await isPurged(tenant, ids[1]!), false);
      const search = await tenant.ask<SearchAnswer>('POST', '/audit-events/search', {
        query: 'zebra',
        aggregations: ['byAction'],
      });
      assert.deepEqual(
        search.results.map(({ eventId }) => eventId),
        [ids[1]],
      );
      assert.equal(search.totalCount, 1);
      assert.deepEqual(search.aggregations?.byAction, [{ key: 'Sign.Contract', count: 1 }]);
      const list = await tenant.ask<List<AuditEvent>>('GET', '/audit-events');
      assert.deepEqual([list.pagination.total, list.data[0]?.eventId], [1, ids[1]]);
      const notice = await tenant.ask<AuditEvent>(
        'GET',
        `/audit-events/${await tenant.noticeOf('Purge.Events')}`,
      );
      const { policyId, policyVersion, cause } = notice.payload as Record<string, unknown>;
      assert.deepEqual([policyId, policyVersion, cause], [policy.policyId, 1, 'Retention']);
      const again = await askOf<{ error: { code: string } }>(app, 'POST', '/api/v1/audit-events', {
        key: PLATFORM_KEY,
        tenant: 'expired',
        body: { ...EVENT, ...INVOICE, eventId: ids[3] },
      });
      assert.deepEqual([again.status, again.body.error.code], [409, 'EVENT_ID_CONFLICT']);
      assert.equal(await statusOf('DELETE', `/policies/${policy.policyId}`, 'expired'), 204);
    });

    test('the value that a threshold has counted by goes with the event that it comes from', async () => {
      const tenant = policedTenant(app, 'counted');
      const threshold = { count: 2, window: 'P1D', groupBy: 'payload.note' };
      await tenant.put('Alert', [{ conditions: {}, effect: { violationType: 'Counted', threshold } }]);
      const violations = async () =>
        (await tenant.ask<List<PolicyViolation>>('GET', '/violations')).data.map(
          ({ eventId, groupKey }) => [eventId, groupKey] as const,
        );
      const noted = (note: string) => ({ ...INVOICE, payload: { note } });
      const [, stays] = await tenant.send(noted('tiger'), noted('tiger'));
      await tenant.put('Retention', [SHORT], 'Short');
      const [, goes] = await tenant.send(noted('okapi'), noted('okapi'));
      await until(async () => (await violations()).length === 2);
      await purged(tenant, goes!);
      const left = new Map<string, unknown>([
        [stays!, 'tiger'],
        [goes!, undefined],
      ]);
      await until(async () => isDeepStrictEqual(new Map(await violations()), left));
    });

    test('a stream of which everything is purged is Purged, once it is sealed', async () => {
      const tenant = policedTenant(app, 'streams');
      await tenant.put('Retention', [SHORT], 'Short');
      const streams = async (status: string) =>
        tenant.ask<List<EventStream>>('GET', `/event-streams?status=${status}`);
      const seal = async () => {
        const [open] = (await streams('Open')).data;
        return tenant.ask<EventStream>('POST', `/event-streams/${open!.streamId}/seal`);
      };
      const [first] = await tenant.send(INVOICE);
      const sealed = await seal();
      assert.equal(sealed.status, 'Sealed');
      const purgedStreams = (count: number) =>
        until(async () => (await streams('Purged')).pagination.total === count);
      await purgedStreams(1);
      const [found] = (await streams('Purged')).data;
      assert.deepEqual([found?.streamId, found?.status], [sealed.streamId, 'Purged']);
      assert.equal((await streams('Sealed')).data.length, 0);
      const [second] = await tenant.send(INVOICE);
      await purged(tenant, second!);
      assert.equal((await streams('Open')).data.length, 1);
      await seal();
      await purgedStreams(2);
      const [third] = await tenant.send(INVOICE, CONTRACT);
      await seal();
      await purged(tenant, third!);
      assert.deepEqual(
        [(await streams('Sealed')).pagination.total, (await streams('Open,Purged')).pagination.total],
        [1, 3],
      );
      const proof = `/audit-events/${first}/proof`;
      assert.equal(await statusOf('GET', proof, 'streams'), 200);
    });

    test('a preview counts what will be purged by policy, and what a hold keeps', async () => {
      const tenant = policedTenant(app, 'preview');
      const preview = (query = '') => tenant.ask<RetentionPreview>('GET', `/retention/preview${query}`);
      assert.deepEqual((await preview()).byPolicy, []);
      const days = { conditions: { action: 'Delete.Invoice' }, effect: { retentionPeriod: 'P5D' } };
      const { policyId } = await tenant.ask<Policy>('POST', '/policies', {
        name: 'Days',
        policyType: 'Retention',
        rules: [days],
      });
      await tenant.send(INVOICE, CONTRACT, INVOICE, CONTRACT, CONTRACT, INVOICE);
      const at = (day: number) => new Date(Date.now() + day * 86_400_000).toISOString();
      const { until: now, ...nothing } = await preview();
      assert.deepEqual(nothing, { byPolicy: [], heldEvents: 0 });
      assert.ok(Math.abs(Date.parse(now) - Date.now()) < 60_000);
      const later = at(6);
      assert.deepEqual(await preview(`?until=${later}`), {
        until: later,
        byPolicy: [{ policyId, policyName: 'Days', events: 3 }],
        heldEvents: 0,
      });
      const far = await preview(`?until=${at(366 * 8)}`);
      assert.deepEqual(
        new Set(far.byPolicy.map(({ policyId: id, events }) => `${id} ${events}`)),
        new Set([`${policyId} 3`, 'undefined 3']),
      );
      await tenant.put(
        'Retention',
        [{ ...days, effect: { retentionPeriod: 'P1D', legalHold: true } }],
        'Held',
      );
      assert.deepEqual((await preview(`?until=${later}`)).heldEvents, 3);
      for (const wrong of ['2020-01-01T00:00:00Z', 'tomorrow']) {
        const path = `/api/v1/retention/preview?until=${wrong}`;
        const { status, body } = await askOf<{ error: { code: string } }>(app, 'GET', path, {
          key: PLATFORM_KEY,
          tenant: 'preview',
        });
        assert.deepEqual([status, body.error.code], [400, 'INVALID_PARAMETER']);
      }
    });

    test('what a hold covers stays until the hold ends, and the events around it go', async () => {
      const tenant = policedTenant(app, 'held');
      await tenant.put('Retention', [SHORT], 'Short');
      const held = {
        conditions: { 'payload.note': 'kept' },
        effect: { retentionPeriod: 'PT1S', legalHold: true },
      };
      const policy = await tenant.put('Retention', [held], 'Held');
      const kept = { ...INVOICE, payload: { note: 'kept' } };
      const ids = await tenant.send(INVOICE, kept, INVOICE, kept, kept, INVOICE);
      for (const i of [0, 2, 5]) await purged(tenant, ids[i]!);
      const more = await tenant.send(INVOICE);
      await purged(tenant, more[0]!);
      for (const i of [1, 3, 4]) assert.equal(await isPurged(tenant, ids[i]!), false);
      await tenant.ask('PUT', `/policies/${policy.policyId}`, {
        name: 'Held',
        policyType: 'Retention',
        active: false,
      });
      for (const i of [1, 3, 4]) await purged(tenant, ids[i]!);
    });
  });
