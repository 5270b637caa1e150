// Which version of an Alert policy is in force for which entry of the log.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { StoredEvent } from '../streams/log.ts';
import type { PolicyRecord } from '../policies/policy.ts';
import { eventFacts, policyRecord } from '../policies/testing/policy-record.ts';
import { readAlertPolicies } from './alert-policies.ts';

const FACTS = eventFacts();
const RULE = { ruleId: 'rule', enabled: true, conditions: {}, effect: {} };

/** A version, with the index of its notice; null: the notice is missing. */
type Version = Partial<PolicyRecord> & { readonly at: number | null };

/** The versions of each policy, from the first. */
function store(policies: Readonly<Record<string, readonly Version[]>>) {
  const notices = new Map<string, number>();
  const read: string[] = [];
  const versions = Object.entries(policies).map(([policyId, ofPolicy]) =>
    ofPolicy.map(({ at, ...more }, i): PolicyRecord => {
      const noticeId = `${policyId} ${i + 1}`;
      if (at !== null) notices.set(noticeId, at);
      return policyRecord({ policyId, version: i + 1, name: policyId, rules: [RULE], noticeId, ...more });
    }),
  );
  return {
    /** The versions before the current ones that were read. */
    read,
    readFrom: (fromIndex: number) =>
      readAlertPolicies('acme', fromIndex, {
        policies: {
          all: async () => versions.map((ofPolicy) => ofPolicy.at(-1)!),
          async version(_, policyId, version) {
            read.push(`${policyId} ${version}`);
            return versions.flat().find((each) => each.policyId === policyId && each.version === version);
          },
        },
        log: {
          forTenant: () =>
            ({
              async event(noticeId: string) {
                const index = notices.get(noticeId);
                return index === undefined ? undefined : ({ index } as StoredEvent);
              },
            }) as never,
        },
      }),
  };
}

/** For each index, the versions that are in force. */
async function inForce(policies: Readonly<Record<string, readonly Version[]>>, end: number, from = 0) {
  const read = await store(policies).readFrom(from);
  return Array.from({ length: end - from }, (_, i) =>
    read
      .matching(from + i, FACTS)
      .map(({ source: { policyId, policyVersion } }) => `${policyId} ${policyVersion}`)
      .join(),
  );
}

test('a version is in force between its notice and the next, and never for a notice', async () => {
  assert.deepEqual(await inForce({ p: [{ at: 1 }, { at: 4 }, { at: 5 }] }, 8), [
    '',
    '',
    'p 1',
    'p 1',
    '',
    '',
    'p 3',
    'p 3',
  ]);
});

test('a version of another type, without rules, not active or deleted is in force for nothing', async () => {
  const without: Partial<PolicyRecord>[] = [
    { policyType: 'Access' },
    { policyType: 'Classification' },
    { rules: [] },
    { rules: [{ ...RULE, enabled: false }] },
    { status: 'Inactive' },
    { status: 'Draft' },
    { status: 'Deleted' },
  ];
  for (const more of without) {
    const told = JSON.stringify(more);
    assert.deepEqual(await inForce({ p: [{ at: 0 }, { at: 2, ...more }] }, 5), ['', 'p 1', '', '', ''], told);
    assert.deepEqual(
      await inForce({ p: [{ at: 0, ...more }, { at: 2 }] }, 5),
      ['', '', '', 'p 2', 'p 2'],
      told,
    );
  }
});

test('policies are in force each for itself', async () => {
  const policies = { p: [{ at: 0 }, { at: 3, status: 'Deleted' as const }], q: [{ at: 1 }, { at: 4 }] };
  assert.deepEqual(await inForce(policies, 7), ['', 'p 1', 'p 1,q 1', 'q 1', '', 'q 2', 'q 2']);
});

test('a version without its notice is in force for nothing, and the one before it goes on', async () => {
  assert.deepEqual(await inForce({ p: [{ at: 0 }, { at: null }, { at: 3 }] }, 5), [
    '',
    'p 1',
    'p 1',
    '',
    'p 3',
  ]);
  assert.deepEqual(await inForce({ p: [{ at: null }] }, 2), ['', '']);
});

test('the same is in force from any index on, and only the versions that it needs are read', async () => {
  const p = [{ at: 1 }, { at: 4 }, { at: 6 }, { at: 9 }];
  const whole = await inForce({ p }, 12);
  for (let from = 0; from < 12; from++)
    assert.deepEqual(await inForce({ p }, 12, from), whole.slice(from), `${from}`);
  const readFrom = async (fromIndex: number) => {
    const { read, readFrom: begin } = store({ p });
    await begin(fromIndex);
    return read;
  };
  assert.deepEqual(await readFrom(0), ['p 3', 'p 2', 'p 1']);
  assert.deepEqual(await readFrom(5), ['p 3', 'p 2']);
  assert.deepEqual(await readFrom(7), ['p 3']);
  assert.deepEqual(await readFrom(8), ['p 3']);
  // At the notice itself, and behind it.
  assert.deepEqual(await readFrom(9), []);
  assert.deepEqual(await readFrom(10), []);
});

test('the log is left out up to the first entry that a rule is in force for', async () => {
  const policies = {
    p: [{ at: 3 }, { at: 5, status: 'Inactive' as const }, { at: 9 }, { at: 12, status: 'Deleted' as const }],
    q: [{ at: 2, policyType: 'Access' as const }],
  };
  const read = await store(policies).readFrom(0);
  const asked = Array.from({ length: 14 }, (_, index) => read.firstIndex(index));
  assert.deepEqual(asked, [4, 4, 4, 4, 4, 10, 10, 10, 10, 10, 10, 11, undefined, undefined]);
  assert.equal((await store({}).readFrom(0)).firstIndex(0), undefined);
});
