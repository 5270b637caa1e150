// Claims about violations and the windows of thresholds: stored with the position of the follower that found them, kept for
// their tenant alone, listed in the order in which they were found.

import assert from 'node:assert/strict';
import type { TenantId } from '@tallystick/contract';
import type {
  AlertChanges,
  NewViolation,
  StoredViolation,
  ThresholdWindow,
  ViolationFilter,
} from '../../alerts/violations.ts';
import type { RowsRequest } from '../../paging.ts';
import type { Storage } from '../storage.ts';
import { type Claims, nextId, NOW_MS, openWith } from './claims.ts';

/** More than a list is counted for exactly. */
const MANY = 10_050;
const COUNTED_MAX = 10_001;
const WINDOWS_MAX = 10_000;

const ANY: ViolationFilter = { classification: ['Public', 'Internal', 'Confidential', 'Secret'] };
const NEWEST: RowsRequest = { way: 'Falling', beyond: undefined, limit: 100 };

function violationOf(more: Partial<NewViolation> = {}): NewViolation {
  return {
    violationId: nextId(),
    kind: 'Violation',
    policyId: 'policy',
    policyName: 'Watch ÄÖ',
    policyVersion: 1,
    ruleId: 'rule',
    violationType: 'PolicyBreach',
    severity: 'Medium',
    eventId: nextId(),
    classification: 'Internal',
    highest: 'Internal',
    detectedAtMs: NOW_MS,
    ...more,
  };
}

function windowOf(groupKey: string, more: Partial<ThresholdWindow> = {}): ThresholdWindow {
  return {
    ruleKey: 'rule',
    groupKey,
    beginsAtMs: NOW_MS,
    endsAtMs: NOW_MS + 1000,
    count: 1,
    highest: 'Internal',
    ...more,
  };
}

/** Takes one more entry of a tenant's log, which leads to this; whether it was saved. */
async function take(
  { follows }: Storage,
  tenant: TenantId,
  nextIndex: number,
  { violations = [], windows = [], nowMs = NOW_MS }: Partial<AlertChanges>,
): Promise<boolean> {
  const alerts = { violations, windows, nowMs };
  const [isSaved] = await follows.advance('Alerts', [{ tenant, nextIndex, endIndex: nextIndex + 1, alerts }]);
  return isSaved!;
}

/** Those of the windows that are there, by rule and group. */
async function windowsIn(
  { violations }: Storage,
  keys: readonly ThresholdWindow[],
  tenant: TenantId = 'acme',
): Promise<ThresholdWindow[]> {
  return inOrder(await violations.forTenant(tenant).windows(keys));
}

function inOrder(windows: readonly ThresholdWindow[]): ThresholdWindow[] {
  const nameOf = ({ ruleKey, groupKey }: ThresholdWindow) => `${ruleKey} ${groupKey}`;
  return windows.toSorted((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1));
}

const groupsOf = (windows: readonly ThresholdWindow[]) => windows.map(({ groupKey }) => groupKey);

async function idsIn(
  storage: Storage,
  filter: Partial<ViolationFilter> = {},
  request: Partial<RowsRequest> = {},
): Promise<string[]> {
  const found = await storage.violations
    .forTenant('acme')
    .list({ ...ANY, ...filter }, { ...NEWEST, ...request });
  return found.map(({ violationId }) => violationId);
}

const newestFirst = (violations: readonly NewViolation[]) =>
  violations.map(({ violationId }) => violationId).toReversed();

const opened = (violation: NewViolation): StoredViolation => ({
  ...violation,
  tenant: 'acme',
  acknowledged: undefined,
});

export const violationClaims: Claims = {
  'a violation is there as it was found, for its tenant alone, and after a restart': async (place) => {
    const whole = violationOf({
      kind: 'Threshold',
      highest: 'Secret',
      fields: ['payload.card', 'payload."Ä\u0000"'],
      groupKey: 'ana \u0000\ud83d\ude00',
      observedValue: 3,
      threshold: { count: 3, window: 'PT1H', groupBy: 'actor.userId' },
    });
    const plain = violationOf();
    {
      await using storage = await openWith(place, 'acme', 'other');
      assert.ok(await take(storage, 'acme', 0, { violations: [whole, plain] }));
    }
    await using storage = await place.open();
    const violations = storage.violations.forTenant('acme');
    assert.deepEqual(await violations.find(whole.violationId), opened(whole));
    assert.deepEqual(await violations.list(ANY, NEWEST), [opened(plain), opened(whole)]);
    assert.equal(await violations.find(nextId()), undefined);

    const others = storage.violations.forTenant('other');
    assert.equal(await others.find(whole.violationId), undefined);
    assert.equal(await others.acknowledge(whole.violationId, { by: 'b' }), undefined);
    assert.deepEqual([await others.list(ANY, NEWEST), await others.count(ANY)], [[], 0]);
    // The id belongs to its tenant.
    assert.ok(await take(storage, 'other', 0, { violations: [{ ...plain, severity: 'Low' }] }));
    assert.equal((await others.find(plain.violationId))?.severity, 'Low');
    assert.deepEqual(await violations.find(plain.violationId), opened(plain));
  },

  'violations and windows are stored with the position, or not at all': async (place) => {
    await using storage = await openWith(place, 'acme', 'other');
    const alerts = (group: string) => ({
      violations: [violationOf({ groupKey: group })],
      windows: [windowOf(group)],
      nowMs: NOW_MS,
    });
    assert.ok(await take(storage, 'acme', 0, alerts('first')));
    const step = { nextIndex: 0, endIndex: 1 };
    const moved = await storage.follows.advance('Alerts', [
      { tenant: 'other', ...step, alerts: alerts('of another tenant') },
      { tenant: 'acme', ...step, alerts: alerts('late') },
    ]);
    assert.deepEqual(moved, [true, false], 'another process was there before');
    const unsound = { ...alerts('unsound'), windows: [windowOf('unsound', { count: NaN })] };
    await assert.rejects(take(storage, 'acme', 1, unsound));
    assert.ok(await take(storage, 'acme', 1, alerts('second')), 'the position has not moved');
    for (const [tenant, groups] of [
      ['acme', ['second', 'first']],
      ['other', ['of another tenant']],
    ] as const) {
      const violations = storage.violations.forTenant(tenant);
      const listed = await violations.list(ANY, NEWEST);
      assert.deepEqual(
        listed.map(({ groupKey }) => groupKey),
        groups,
      );
      const keys = ['first', 'second', 'late', 'unsound', 'of another tenant'].map((group) =>
        windowOf(group),
      );
      assert.deepEqual(groupsOf(await windowsIn(storage, keys, tenant)), groups.toSorted());
    }
  },

  'of many that take the same entries at once, one stores what it found': async (place) => {
    await using storage = await openWith(place, 'acme');
    const kept: string[] = [];
    for (let index = 0; index < 3; index++) {
      const found = Array.from({ length: 8 }, () => violationOf({ groupKey: 'ana' }));
      const windows = found.map((_, i) => [windowOf('ana', { count: 10 * index + i })]);
      const saved = await Promise.all(
        found.map((violation, i) =>
          take(storage, 'acme', index, { violations: [violation], windows: windows[i]! }),
        ),
      );
      assert.deepEqual(
        saved.filter((isSaved) => isSaved),
        [true],
      );
      const winner = saved.indexOf(true);
      kept.push(found[winner]!.violationId);
      assert.deepEqual(await windowsIn(storage, [windowOf('ana')]), windows[winner]);
    }
    assert.deepEqual(await idsIn(storage), kept.toReversed());
  },

  'violations are listed by each filter, in both directions, as many as are asked for': async (place) => {
    await using storage = await openWith(place, 'acme');
    const found = [
      violationOf({ severity: 'Low', detectedAtMs: NOW_MS - 1 }),
      violationOf({ policyId: 'second', severity: 'High' }),
      violationOf({ violationType: 'Anomaly', classification: 'Secret' }),
      violationOf({ policyId: 'second', violationType: 'Anomaly', detectedAtMs: NOW_MS + 1 }),
    ];
    await take(storage, 'acme', 0, { violations: found });
    await storage.violations.forTenant('acme').acknowledge(found[0]!.violationId, { by: 'a', comment: '' });
    const table: [filter: Partial<ViolationFilter>, expected: number[]][] = [
      [{}, [3, 2, 1, 0]],
      [{ policyId: ['second'] }, [3, 1]],
      [{ policyId: ['second', 'policy'] }, [3, 2, 1, 0]],
      [{ policyId: ['nowhere'] }, []],
      [{ severity: ['Low', 'High'] }, [1, 0]],
      [{ violationType: ['Anomaly'] }, [3, 2]],
      [{ status: ['Acknowledged'] }, [0]],
      [{ status: ['Open'] }, [3, 2, 1]],
      [{ status: ['Open', 'Acknowledged'] }, [3, 2, 1, 0]],
      [{ fromMs: NOW_MS }, [3, 2, 1]],
      [{ toMs: NOW_MS }, [2, 1, 0]],
      [{ fromMs: NOW_MS, toMs: NOW_MS }, [2, 1]],
      [{ classification: ['Public', 'Internal'] }, [3, 1, 0]],
      [{ classification: [] }, []],
      [{ policyId: ['second'], violationType: ['Anomaly'], status: ['Open'] }, [3]],
    ];
    for (const [filter, expected] of table) {
      const ids = expected.map((i) => found[i]!.violationId);
      const told = JSON.stringify(filter);
      assert.deepEqual(await idsIn(storage, filter), ids, told);
      assert.deepEqual(await idsIn(storage, filter, { way: 'Rising' }), ids.toReversed(), told);
      assert.equal(await storage.violations.forTenant('acme').count({ ...ANY, ...filter }), ids.length, told);
    }
    const ids = newestFirst(found);
    const beyond = ids[1];
    assert.deepEqual(await idsIn(storage, {}, { limit: 2 }), ids.slice(0, 2));
    assert.deepEqual(await idsIn(storage, {}, { beyond, limit: 1 }), [ids[2]]);
    assert.deepEqual(await idsIn(storage, {}, { way: 'Rising', limit: 1 }), [ids[3]]);
    assert.deepEqual(await idsIn(storage, {}, { way: 'Rising', beyond }), [ids[0]]);
    const ofSecond = { policyId: ['second'] };
    assert.deepEqual(await idsIn(storage, ofSecond, { beyond: ids[0] }), [ids[2]]);
  },

  'violations are counted up to one more than a total is exact for': async (place) => {
    await using storage = await openWith(place, 'acme');
    const violations = Array.from({ length: MANY }, (_, i) =>
      violationOf({ severity: i < 3 ? 'High' : 'Low' }),
    );
    await take(storage, 'acme', 0, { violations });
    const acme = storage.violations.forTenant('acme');
    const filters = [ANY, { ...ANY, severity: ['Low'] }, { ...ANY, severity: ['High'] }];
    const counts = await Promise.all(filters.map((filter) => acme.count(filter)));
    assert.deepEqual(counts, [COUNTED_MAX, COUNTED_MAX, 3]);
    const high = { severity: ['High'] };
    assert.deepEqual(await idsIn(storage, high), newestFirst(violations.slice(0, 3)));
  },

  'a violation is acknowledged once: the first to note it is kept, with any comment': async (place) => {
    const [one, two, open] = [violationOf(), violationOf(), violationOf()];
    const comment = `seen\u0000 Ä ${'x'.repeat(4000)}`;
    const first = { ...opened(one), acknowledged: { by: 'ana', comment } };
    {
      await using storage = await openWith(place, 'acme');
      await take(storage, 'acme', 0, { violations: [one, two, open] });
      const acme = storage.violations.forTenant('acme');
      assert.deepEqual(await acme.acknowledge(one.violationId, { by: 'ana', comment }), first);
      assert.deepEqual(await acme.acknowledge(one.violationId, { by: 'ben', comment: 'again' }), first);
      assert.equal(await acme.acknowledge(nextId(), { by: 'ana' }), undefined);
      const noted = await Promise.all(
        Array.from({ length: 10 }, (_, i) => acme.acknowledge(two.violationId, { by: `caller ${i}` })),
      );
      assert.equal(new Set(noted.map((each) => each?.acknowledged?.by)).size, 1);
      assert.equal(noted[0]?.acknowledged?.comment, undefined);
    }
    await using storage = await place.open();
    assert.deepEqual(await storage.violations.forTenant('acme').find(one.violationId), first);
    assert.deepEqual(await idsIn(storage, { status: ['Open'] }), [open.violationId]);
  },

  'a window is kept as it was set last, for its rule, group and tenant, and after a restart': async (
    place,
  ) => {
    const groups = [windowOf(''), windowOf('ana'), windowOf('ana', { ruleKey: 'second', highest: 'Secret' })];
    const again: ThresholdWindow = { ...groups[1]!, count: 7, highest: 'Confidential' };
    {
      await using storage = await openWith(place, 'acme', 'other');
      await take(storage, 'acme', 0, { windows: groups });
      await take(storage, 'acme', 1, { windows: [again] });
    }
    await using storage = await place.open();
    assert.deepEqual(await windowsIn(storage, groups), [groups[0], again, groups[2]]);
    assert.deepEqual(await windowsIn(storage, [windowOf('ben'), groups[2]!]), [groups[2]]);
    assert.deepEqual(await windowsIn(storage, []), []);
    assert.deepEqual(await windowsIn(storage, groups, 'other'), []);
  },

  'of events that lose values, violations lose theirs or go, however many events there are': async (
    place,
  ) => {
    await using storage = await openWith(place, 'acme', 'other');
    const others = Array.from({ length: MANY }, () => nextId());
    // A value may look like what else is kept of a violation.
    const shown = (eventId: string) => ({ groupKey: `"eventId":"${eventId}" \u0000` });
    const [punctured, gone, kept] = [nextId(), nextId(), nextId()];
    const behind = (eventId: string) => [
      violationOf({ eventId, ...shown(kept) }),
      violationOf({ eventId, ...shown(gone), severity: 'High' }),
    ];
    const violations = [punctured, gone, kept].flatMap(behind);
    for (const tenant of ['acme', 'other']) await take(storage, tenant, 0, { violations });
    const acme = storage.violations.forTenant('acme');
    await acme.acknowledge(violations[2]!.violationId, { by: 'ana', comment: 'seen' });
    const valued = violations.map(({ violationId, eventId }) => ({ violationId, eventId }));
    assert.deepEqual(await acme.withValues('', 2), valued.slice(0, 2));
    assert.deepEqual(await acme.withValues(valued[1]!.violationId, 9), valued.slice(2));
    await acme.forgetValues([...others, punctured]);
    await acme.removeOf([...others, gone]);
    const withoutValue = violations.slice(0, 2).map((found) => {
      const { groupKey, ...rest } = opened(found);
      assert.ok(groupKey !== undefined);
      return rest;
    });
    const left = [...withoutValue, ...violations.slice(4).map(opened)];
    assert.deepEqual(await acme.list(ANY, NEWEST), left.toReversed());
    await acme.forgetValues([punctured]);
    await acme.removeOf([gone]);
    assert.equal(await acme.count(ANY), 4);
    assert.deepEqual(await acme.withValues('', 9), valued.slice(4));
    const elsewhere = await storage.violations.forTenant('other').list(ANY, NEWEST);
    assert.deepEqual(
      elsewhere.map(({ violationId, groupKey }) => [violationId, groupKey]),
      violations.toReversed().map(({ violationId, groupKey }) => [violationId, groupKey]),
    );
  },

  'windows that began by a moment are forgotten, of one tenant': async (place) => {
    await using storage = await openWith(place, 'acme', 'other');
    const windows = [-1, 0, 1].map((by) => windowOf(`began ${by}`, { beginsAtMs: NOW_MS + by }));
    for (const tenant of ['acme', 'other']) await take(storage, tenant, 0, { windows });
    await storage.violations.forTenant('acme').removeWindows(NOW_MS);
    assert.deepEqual(groupsOf(await windowsIn(storage, windows)), ['began 1']);
    assert.equal((await windowsIn(storage, windows, 'other')).length, 3);
  },

  'windows are gone when their time is over, and those of other tenants stay': async (place) => {
    await using storage = await openWith(place, 'acme', 'other');
    const at = (endsAtMs: number) => windowOf(`until ${endsAtMs - NOW_MS}`, { endsAtMs });
    const windows = [at(NOW_MS + 1), at(NOW_MS + 2), at(NOW_MS + 3)];
    for (const tenant of ['acme', 'other']) await take(storage, tenant, 0, { windows });
    const next = windowOf('next', { ruleKey: 'second', endsAtMs: NOW_MS + 9 });
    await take(storage, 'acme', 1, { windows: [next], nowMs: NOW_MS + 2 });
    const asked = [...windows, next];
    assert.deepEqual(groupsOf(await windowsIn(storage, asked)), ['until 3', 'next']);
    assert.deepEqual(groupsOf(await windowsIn(storage, asked, 'other')), groupsOf(windows));
  },

  'of the windows of a rule the newest are kept': async (place) => {
    await using storage = await openWith(place, 'acme');
    // Some begin in the same moment, also at the edge.
    const windows = Array.from({ length: MANY }, (_, i) =>
      windowOf(String(i).padStart(6, '0'), { beginsAtMs: NOW_MS + Math.floor(i / 100) }),
    );
    const older = windowOf('of another rule', { ruleKey: 'second', beginsAtMs: NOW_MS - 1 });
    await take(storage, 'acme', 0, { windows: [older, ...windows.slice(0, 500)] });
    await take(storage, 'acme', 1, { windows: windows.slice(500) });
    const newest = windows.slice(MANY - WINDOWS_MAX);
    assert.deepEqual(groupsOf(await windowsIn(storage, [...windows, older])), groupsOf([...newest, older]));
    const next = windowOf('next', { beginsAtMs: NOW_MS + MANY });
    await take(storage, 'acme', 2, { windows: [next] });
    const edge = newest.slice(0, 2);
    assert.deepEqual(await windowsIn(storage, [...edge, next]), [edge[1], next]);
  },
};
