// What `tallystick verify` says after purges: of true ones, of one that came before its time, and of marks that do not fit.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { EventStream, List } from '@tallystick/contract';
import { eventIdBytes } from '@tallystick/evidence';
import { checkStore } from '../check-store.ts';
import { PLATFORM_KEY } from '../testing/admin-caller.ts';
import { type PolicedTenant, policedTenant } from '../testing/policed-tenant.ts';
import { purgeBeside } from '../testing/purge.ts';
import { openRunningJournal } from '../testing/running-journal.ts';
import { startTestApp, type TestApp } from '../testing/test-app.ts';
import { until } from '../testing/until.ts';

const SHORT = { conditions: { action: 'Delete.Invoice' }, effect: { retentionPeriod: 'PT1S' } };
const INVOICE = { action: 'Delete.Invoice' };
const CONTRACT = { action: 'Sign.Contract' };

let app: TestApp;
before(async () => {
  app = await startTestApp({
    TALLYSTICK_ADMIN_KEY: PLATFORM_KEY,
    Retention__SweepInterval: 'PT1S',
    Log__CheckpointInterval: 'PT0.1S',
  });
});
after(() => app?.[Symbol.asyncDispose]());

async function faultOf(tenant: string) {
  const { faults } = await checkStore(app.dataDirectory, {
    keys: [],
    seen: [],
    tenant,
    isWithoutIndex: true,
  });
  return faults.map(({ reason, index, message }) => `${reason} ${index} ${message}`);
}

const purged = (tenant: PolicedTenant, eventId: string) =>
  until(async () => 'purgedAt' in (await tenant.ask<object>('GET', `/audit-events/${eventId}`)));

async function sealedStream(tenant: PolicedTenant): Promise<EventStream> {
  const [open] = (await tenant.ask<List<EventStream>>('GET', '/event-streams?status=Open')).data;
  return tenant.ask<EventStream>('POST', `/event-streams/${open!.streamId}/seal`);
}

function change(statement: string, value: string | Uint8Array): void {
  using db = openRunningJournal(app.dataDirectory);
  assert.equal(db.prepare(statement).run(value).changes, 1);
}

test('purges by a policy that has decided are verified, also once it was changed and deleted', async () => {
  const tenant = policedTenant(app, 'true');
  const { policyId } = await tenant.put('Retention', [SHORT], 'Short');
  const ids = await tenant.send(INVOICE, CONTRACT, INVOICE);
  await tenant.ask('PUT', `/policies/${policyId}`, {
    name: 'Long',
    policyType: 'Retention',
    status: 'Inactive',
  });
  for (const each of [ids[0]!, ids[2]!]) await purged(tenant, each);
  await tenant.ask('GET', `/audit-events/${(await tenant.send(CONTRACT))[0]}/proof`);
  assert.deepEqual(await faultOf('true'), []);
});

test('a signed purge of events whose retention cannot have ended is named, at its notice', async () => {
  const tenant = policedTenant(app, 'early');
  const ids = await tenant.send(CONTRACT, CONTRACT, CONTRACT);
  await tenant.ask('GET', `/audit-events/${ids[2]}/proof`);
  const [first] = await spansOf(tenant, ids);
  await purgeBeside(app, {
    tenant: 'early',
    cause: 'Retention',
    spans: [{ firstIndex: first!, endIndex: first! + 2 }],
  });
  const [found] = await faultOf('early');
  assert.match(
    found!,
    /^NOTICE_INVALID \d+ .*index \d+ was purged before its retention could have ended, at 20\d\d-/,
  );
});

test('an expiry that was moved later is named', async () => {
  const tenant = policedTenant(app, 'later');
  const [eventId] = await tenant.send(CONTRACT);
  await tenant.ask('GET', `/audit-events/${eventId}/proof`);
  const row = '(SELECT id FROM entries WHERE event_id = ?)';
  change(`UPDATE contents SET expires_at_ms = expires_at_ms + 1 WHERE id = ${row}`, eventIdBytes(eventId!));
  assert.match(
    (await faultOf('later'))[0]!,
    /^LEAF_MISMATCH \d+ .*expires at .*; by the settings of the tenant/,
  );
});

test('a stream that is marked as purged has no content, and is sealed', async () => {
  const tenant = policedTenant(app, 'marked');
  const [eventId] = await tenant.send(CONTRACT);
  const { streamId } = await sealedStream(tenant);
  const [later] = await tenant.send(CONTRACT);
  for (const each of [eventId, later]) await tenant.ask('GET', `/audit-events/${each}/proof`);
  assert.deepEqual(await faultOf('marked'), []);
  const mark = (at: string, id: string) =>
    change(`UPDATE streams SET purged_at_ms = ${at} WHERE stream_id = ?`, id);
  mark('1', streamId);
  assert.match(
    (await faultOf('marked'))[0]!,
    /^LEAF_MISMATCH \d+ .*is marked as purged, and the event at index/,
  );
  mark('NULL', streamId);
  const { streamId: open } = await sealedStream(tenant);
  assert.notEqual(open, streamId);
  const [last] = (await tenant.ask<List<EventStream>>('GET', '/event-streams?status=Open')).data;
  mark('1', last!.streamId);
  assert.match((await faultOf('marked'))[0]!, /^LEAF_MISMATCH \d+ .*is marked as purged, and is still open/);
});

async function spansOf(tenant: PolicedTenant, ids: readonly string[]): Promise<number[]> {
  const events = await Promise.all(
    ids.map((id) => tenant.ask<{ sequence: number }>('GET', `/audit-events/${id}`)),
  );
  return events.map(({ sequence }) => sequence - 1);
}
