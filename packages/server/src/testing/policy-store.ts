// Policies of tenants, written to a real store as the service writes them; for tests of what is read from it.

import { KINDS } from '@tallystick/evidence';
import {
  changedPolicy,
  contentOfPolicy,
  newPolicy,
  POLICY_KIND,
  type PolicyRecord,
} from '../policies/policy.ts';
import { recordsOf } from '../records/change.ts';
import type { AccessStore } from './access-store.ts';
import { CORRELATION } from './test-call.ts';

const authorIn = ({ clock, nextId }: AccessStore) => ({ by: 'key', nowMs: clock.now(), nextId });

type Configuration = Parameters<typeof newPolicy>[1];

/** An active one; by default it makes all events secret. */
export function makePolicy(
  store: AccessStore,
  tenantId: string,
  name = 'First',
  more: Required<Pick<Configuration, 'policyType' | 'rules'>> = {
    policyType: 'Classification',
    rules: [{ effect: { classification: 'Secret' } }],
  },
): Promise<PolicyRecord> {
  const configuration = { name, priority: 100, ...more };
  return putPolicy(store, newPolicy(tenantId, configuration, authorIn(store)));
}

/** Its next version. */
export function changePolicy(
  store: AccessStore,
  policy: PolicyRecord,
  change: Partial<PolicyRecord>,
): Promise<PolicyRecord> {
  return putPolicy(store, changedPolicy(policy, change, authorIn(store)));
}

async function putPolicy({ access }: AccessStore, policy: PolicyRecord): Promise<PolicyRecord> {
  const { policyId, version, policyType, tenantId: owner, noticeId } = policy;
  const notice = {
    kind: KINDS.policyChange,
    action: 'Update.Policy',
    resource: { resourceType: 'Policy', resourceId: policyId },
    payload: { policyId, policyVersion: version, policyType, act: 'Updated' },
  } as const;
  const content = contentOfPolicy(policy);
  const write = { kind: POLICY_KIND, id: policyId, version, content, notice, noticeId } as const;
  const { correlationId } = CORRELATION;
  const put = recordsOf(await access.change({ owner, writes: [write], correlationId }));
  if ('status' in put) throw new Error(`the policy was answered ${put.status}`);
  return policy;
}
