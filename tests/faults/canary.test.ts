// A word that stands in events, and nowhere else: where it is found in what the service keeps, before and behind each way to remove it.
// What is encrypted is found nowhere from the beginning; what was removed is found nowhere any more, in no file, no write-ahead log,
// no row of a database, no piece of the index, and no copy.

import assert from 'node:assert/strict';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { AuditEvent, Erasure, List, PolicyViolation } from '@tallystick/contract';
import { Consumer } from '../../packages/server/src/testing/consumer.ts';
import { until } from '../../packages/server/src/testing/until.ts';
import { BACKENDS, type Backend } from './backends.ts';
import { event } from './client.ts';
import { Served } from './deletions/served.ts';
import { newCanary, tracesOf } from './deletions/traces.ts';
import { SIZE } from './size.ts';

/** Of a log so long the index makes a piece. */
const FILLING = 2100;
const BATCH = 700;
/** With every `npm test`, on PostgreSQL. */
const SHORT = ['redact', 'tenant'];
/** With every `npm test`, of what is encrypted: content is written anew. */
const SHORT_SEALED = ['redact'];
/** Of what the consumer is told. */
const TOLD = 'Told';
const CONSUMING = { Webhooks__AllowPrivateTargets: 'true', Webhooks__TimeScale: '0.001' };
const EXPIRING = 'Expire.Soon';
const FIELDS = ['payload', 'context', 'actor.userId', 'actor.userName'];

/** Events that tell a canary wherever they may, one of them twice, and many that do not. */
async function tell(
  { served, consumer }: Place,
  tenant: string,
  classification: string,
): Promise<CanaryTenant> {
  const canary = newCanary();
  const filters = { 'resource.resourceType': TOLD };
  const subscription = { name: 'SIEM', url: consumer.url, eventTypes: ['AuditEventReceived'], filters };
  await served.done(201, { tenant, path: '/api/v1/webhooks/subscriptions', body: subscription });
  const threshold = { count: 1, window: 'P1D', groupBy: 'payload.note' };
  const rules = [{ conditions: {}, effect: { violationType: 'Counted', threshold } }];
  const policies: [policyType: string, rules: readonly object[]][] = [
    ['Alert', rules],
    ['Retention', [{ conditions: { action: EXPIRING }, effect: { retentionPeriod: 'PT1S' } }]],
  ];
  for (const [policyType, ofType] of policies)
    await served.done(201, {
      tenant,
      path: '/api/v1/policies',
      body: { name: policyType, policyType, rules: ofType },
    });
  const telling = (eventId?: string) => ({
    ...event('m'),
    ...(eventId !== undefined && { eventId }),
    actor: { actorType: 'User', userId: canary, userName: `${canary}@acme.test` },
    resource: { resourceType: TOLD, resourceId: 'r' },
    action: tenant.startsWith('purge') ? EXPIRING : 'Approve.Invoice',
    classification,
    context: { device: canary, deeper: { [canary]: 1 } },
    payload: { note: canary, list: [canary, { of: `what ${canary} is` }] },
  });
  const eventIds: string[] = [];
  for (const [i, id] of [undefined, '01KE0000000000000000000042'].entries()) {
    const asking = { tenant, key: `once-${i}`, body: telling(id) };
    const { eventId } = await served.done<{ eventId: string }>(201, asking);
    assert.equal((await served.done<{ eventId: string }>(200, asking)).eventId, eventId);
    eventIds.push(eventId);
  }
  for (let sent = 0; sent < FILLING; sent += BATCH) {
    const events = Array.from({ length: BATCH }, (_, i) => ({
      ...event(`filling ${sent + i}`),
      classification,
    }));
    await served.done(201, { tenant, path: '/api/v1/audit-events/batch', body: { events } });
  }
  await until(() => consumer.got.some(({ text }) => text.includes(canary)));
  return { tenant, canary, eventIds };
}

interface Place {
  readonly served: Served;
  readonly consumer: Consumer;
}

interface CanaryTenant {
  readonly tenant: string;
  readonly canary: string;
  readonly eventIds: readonly string[];
}

/** The service finds it, and so do its alerts. */
async function requireFound(served: Served, { tenant, canary, eventIds }: CanaryTenant): Promise<void> {
  const search = { tenant, path: '/api/v1/audit-events/search', body: { query: canary } };
  const { results } = await served.done<{ results: AuditEvent[] }>(200, search);
  assert.equal(results.length, eventIds.length);
  const listing = { tenant, method: 'GET', path: '/api/v1/violations' };
  await until(async () => {
    const { data } = await served.done<List<PolicyViolation>>(200, listing);
    return data.some(({ groupKey }) => groupKey === canary);
  });
}

async function erase(served: Served, { tenant }: CanaryTenant, scope: object): Promise<void> {
  const asking = { tenant, path: '/api/v1/erasures', body: { ...scope, reason: 'asked for' } };
  const { erasureId } = await served.done<Erasure>(202, asking);
  const path = `/api/v1/erasures/${erasureId}`;
  await until(async () => {
    const { status } = await served.done<Erasure>(200, { tenant, method: 'GET', path });
    return status === 'Completed';
  });
}

const WAYS: Readonly<Record<string, (served: Served, known: CanaryTenant) => Promise<void>>> = {
  async redact(served, { tenant, eventIds }) {
    for (const eventId of eventIds) {
      const path = `/api/v1/audit-events/${eventId}/redact`;
      await served.done(200, { tenant, path, body: { fields: FIELDS, reason: 'asked for' } });
    }
  },
  async purge(served, { tenant, eventIds }) {
    for (const eventId of eventIds)
      await until(async () => {
        const path = `/api/v1/audit-events/${eventId}`;
        return 'purgedAt' in (await served.done(200, { tenant, method: 'GET', path }));
      });
  },
  person: (served, known) => erase(served, known, { subject: { userId: known.canary } }),
  tenant: (served, known) => erase(served, known, { tenantId: known.tenant }),
};

for (const [name, open] of Object.entries(BACKENDS) as [string, () => Promise<Backend>][])
  describe(`on ${name}`, () => {
    let backend: Backend;
    let served: Served;
    let consumer: Consumer;
    before(async () => {
      backend = await open();
      consumer = await Consumer.start();
      // Deliveries of what it refuses become dead letters; its answer repeats what it was told. A purge leaves answers to their own end.
      consumer.reply =
        ({ text }) =>
        (response) =>
          void response.writeHead(500).end(text.includes(EXPIRING) ? '' : text);
      served = new Served(backend, { env: CONSUMING });
      await served.start();
    });
    after(async () => {
      await served?.[Symbol.asyncDispose]();
      await consumer?.[Symbol.asyncDispose]();
      await backend?.[Symbol.asyncDispose]();
    });

    /** Of the embedded store, by the command: what is in it. */
    const isInCopy = async (canary: string): Promise<boolean> => {
      if (name !== 'SQLite') return false;
      const path = join(backend.start.dataDirectory, '..', 'backup.db');
      await served.command('backup', path);
      const isThere = readFileSync(path).includes(canary);
      rmSync(path);
      return isThere;
    };

    for (const [way, remove] of Object.entries(WAYS)) {
      if (!SIZE.isLong && name === 'PostgreSQL' && !SHORT.includes(way)) continue;
      test(`nothing is left of what was in the clear, behind: ${way}`, async () => {
        const known = await tell({ served, consumer }, `${way}-clear`, 'Internal');
        const { canary } = known;
        if (way !== 'purge') {
          await requireFound(served, known);
          await until(async () => {
            const places = (await tracesOf([canary], backend)).join();
            return [/contents/, /blocks/, /violations/].every((place) => place.test(places));
          });
          assert.equal(await isInCopy(canary), name === 'SQLite', 'control');
        }
        await remove(served, known);
        if (way === 'purge') await until(async () => (await tracesOf([canary], backend)).length === 0);
        assert.deepEqual(await tracesOf([canary], backend), []);
        assert.equal(await isInCopy(canary), false);
      });

      if (!SIZE.isLong && !SHORT_SEALED.includes(way)) continue;
      test(`what is encrypted is nowhere, before and behind: ${way}`, async () => {
        const known = await tell({ served, consumer }, `${way}-sealed`, 'Confidential');
        if (way !== 'purge') await requireFound(served, known);
        assert.deepEqual(await tracesOf([known.canary], backend), []);
        assert.equal(await isInCopy(known.canary), false);
        await remove(served, known);
        assert.deepEqual(await tracesOf([known.canary], backend), []);
      });
    }
  });
