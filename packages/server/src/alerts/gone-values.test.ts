// Values that are gone from the log while the follower for alerts has them in its hands.

import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { CLASSIFICATIONS } from '@tallystick/contract';
import { canonicalJson } from '@tallystick/evidence';
import type { FollowStore } from '../followers/follow-store.ts';
import type { Draft } from '../streams/log.ts';
import { append, bytesOf, draftOf, placedIn, request } from '../storage/conformance/claims.ts';
import { publish, readAll } from '../storage/conformance/tree.ts';
import { WORK_FILE } from '../storage/sqlite/work/work-database.ts';
import { openAccessStore } from '../testing/access-store.ts';
import { makePolicy } from '../testing/policy-store.ts';
import { purgeIn } from '../testing/purge.ts';
import { until } from '../testing/until.ts';
import { AlertFollower } from './alert-follower.ts';
import type { SealedValues } from './sealed-values.ts';

const IN_THE_CLEAR: Pick<SealedValues, 'seal'> = { seal: async (_, violations) => [...violations] };

const FACTS = {
  action: 'Delete.Invoice',
  actor: { actorType: 'System' },
  classification: 'Internal',
  correlationId: '7d3f0c52-6a3e-4b51-9a0e-2f6b1f3c9d11',
  outcome: 'Success',
  resource: { resourceId: 'i', resourceType: 'Invoice' },
  submittedBy: 'key:k',
  timestamp: '2026-01-02T03:04:05.000Z',
};

function counted(note: string): Draft {
  const content = { context: {}, payload: { note } };
  return draftOf({}, { texts: bytesOf(canonicalJson(FACTS), canonicalJson(content)) });
}

test('what a threshold counts under is kept as a hash that nobody can guess without a key of the tenant', async () => {
  await using store = await openAccessStore();
  const { storage, access } = store;
  const threshold = { count: 9, window: 'P1D', groupBy: 'payload.note' };
  const rules = [{ effect: { violationType: 'Counted', threshold } }];
  for (const tenant of ['acme', 'other']) {
    await makePolicy(store, tenant, 'Watch', { policyType: 'Alert', rules });
    await append(storage, request(tenant, [counted('ana'), counted('ben'), counted('ana')]));
  }
  const parts = {
    ...storage,
    ...access,
    telemetry: { error: assert.fail },
    ...store,
    values: IN_THE_CLEAR,
    notify: async () => [],
  };
  const follower = new AlertFollower({ ...parts, clock: { ...store.clock, monotonicNs: () => 0 } });
  while ((await follower.turn()).taken > 0);
  using db = new DatabaseSync(join(store.directory, WORK_FILE), { readOnly: true });
  const windows = db.prepare('SELECT group_key, matches FROM windows ORDER BY matches').all();
  assert.deepEqual(
    windows.map(({ matches }) => matches),
    [1, 1, 2, 2],
  );
  const keys = new Set(windows.map((row) => String(row['group_key'])));
  assert.equal(keys.size, 4, 'tenants have none in common');
  for (const name of ['ana', 'ben'])
    assert.ok(!keys.has(hash('sha256', canonicalJson(name), 'hex').slice(0, 32)));
});

test('what is erased while a turn of the follower counts by it is not kept by the violation', async () => {
  await using store = await openAccessStore();
  const { storage, access } = store;
  const threshold = { count: 1, window: 'P1D', groupBy: 'payload.note' };
  const rules = [{ effect: { violationType: 'Counted', threshold } }];
  await makePolicy(store, 'acme', 'Watch', { policyType: 'Alert', rules });
  const drafts = [counted('stays'), counted('goes')];
  const [stays, goes] = placedIn(await append(storage, request('acme', drafts)));
  const erase = async () => {
    await publish(storage, await readAll(storage));
    const spans = [{ firstIndex: goes!.index, endIndex: goes!.index + 1 }];
    const purge = purgeIn(storage, { tenant: 'acme', spans });
    const log = storage.log.forTenant('acme');
    await until(async () => 'purgedAtMs' in (await log.event(goes!.eventId, CLASSIFICATIONS))!.content!);
    await publish(storage, await readAll(storage));
    await purge;
    await storage.violations.forTenant('acme').forgetValues([goes!.eventId]);
  };
  let raised = 0;
  const follows: FollowStore = {
    begin: storage.follows.begin.bind(storage.follows),
    behind: storage.follows.behind.bind(storage.follows),
    async advance(name, steps) {
      if (steps.some(({ alerts }) => alerts !== undefined) && raised++ === 0) await erase();
      return storage.follows.advance(name, steps);
    },
  };
  const telemetry = { error: assert.fail };
  const parts = {
    ...storage,
    ...access,
    follows,
    telemetry,
    ...store,
    values: IN_THE_CLEAR,
    notify: async () => [],
  };
  const follower = new AlertFollower({ ...parts, clock: { ...store.clock, monotonicNs: () => 0 } });
  while ((await follower.turn()).taken > 0);
  assert.equal(raised, 1, 'the erasure came between');
  const listed = await storage.violations
    .forTenant('acme')
    .list({ classification: CLASSIFICATIONS }, { way: 'Rising', beyond: undefined, limit: 10 });
  assert.deepEqual(
    listed.map(({ eventId, groupKey }) => [eventId, groupKey]),
    [
      [stays!.eventId, 'stays'],
      [goes!.eventId, undefined],
    ],
  );
});
