// Compares the policies in files with those of the service: which are to be created, which changed, which are equal. Policies
// that are in no file are left alone.

import type { Policy, PolicyConfiguration } from '@tallystick/contract';
import { withRuleIds } from './match-rules.ts';
import type { PolicyInFile } from './policy-files.ts';
import { isSameForm, type PolicyForm, policyForm } from './policy-form.ts';
import type { ServedPolicies } from './served-policies.ts';

export interface PlannedChange {
  readonly from: PolicyInFile;
  readonly kind: 'Create' | 'Change' | 'Unchanged';
  /** As the service has it; undefined if it is to be created. */
  readonly served: Policy | undefined;
  /** As the file has it. */
  readonly form: PolicyForm;
  /** What is sent. */
  readonly policy: PolicyConfiguration;
}

/** Of policies that the service has found valid. */
export async function plannedChanges(
  policies: readonly PolicyInFile[],
  service: ServedPolicies,
): Promise<PlannedChange[]> {
  const byName = new Map((await service.list()).map((policy) => [policy.name, policy]));
  return policies.map((from) => {
    const valid = from.policy as unknown as PolicyConfiguration;
    const served = byName.get(valid.name);
    const form = policyForm(valid);
    const kind =
      served === undefined ? 'Create' : isSameForm(policyForm(served), form) ? 'Unchanged' : 'Change';
    const rules = withRuleIds(valid.rules ?? [], served?.rules ?? []);
    return { from, kind, served, form, policy: { ...form, rules } as PolicyConfiguration };
  });
}
