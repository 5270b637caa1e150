// The policy by which content is purged: that of the Retention rule that has decided when the event was accepted.

import type { PolicyId } from '@tallystick/contract';
import { readDecidedBy } from '../policies/decided-by.ts';

export interface DecidingPolicy {
  readonly policyId: PolicyId;
  readonly policyName: string;
  readonly policyVersion: number;
}

/** Undefined: the tenant's default has decided. Of several rules with the longest retention, the first. */
export function decidingPolicy(decidedBy: string | undefined): DecidingPolicy | undefined {
  return readDecidedBy(decidedBy).retention.find(({ decided }) => decided);
}
