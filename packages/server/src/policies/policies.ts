// Policies of tenants, read from their records, deleted ones too. To go on without a policy that somebody has altered might show
// what it withholds.

import { createGenuineRecords, type GenuineParts, type GenuineRecords } from '../records/genuine-records.ts';
import type { ReadNoted } from '../records/noted-versions.ts';
import { POLICY_KIND, policyIn, type PolicyRecord } from './policy.ts';

export type Policies = GenuineRecords<PolicyRecord>;

export function createPolicies(parts: GenuineParts, readNoted: ReadNoted): Policies {
  return createGenuineRecords(POLICY_KIND, policyIn, parts, (tenant) => readNoted(tenant, POLICY_KIND));
}
