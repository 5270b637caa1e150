// Policies of tenants, read from their records, deleted ones too. To go on without a policy that somebody has altered might show
// what it withholds.

import { createGenuineRecords, type GenuineRecords } from '../records/genuine-records.ts';
import type { KeptRecords } from '../records/kept-records.ts';
import type { RecordReader } from '../records/records.ts';
import { POLICY_KIND, policyIn, type PolicyRecord } from './policy.ts';

export type Policies = GenuineRecords<PolicyRecord>;

export function createPolicies(
  records: Pick<RecordReader, 'forOwner'>,
  kept: Pick<KeptRecords, 'genuine'>,
): Policies {
  return createGenuineRecords(POLICY_KIND, policyIn, records, kept);
}
