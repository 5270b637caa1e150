// The Alert policies of a tenant along its log. Each version is in force for the entries between its notice and that of the next
// version: so every node that reads an entry asks the same rules, at any time.

import { CLASSIFICATIONS, type TenantId } from '@tallystick/contract';
import type { EventFacts } from '../policies/event-facts.ts';
import type { Policies } from '../policies/policies.ts';
import type { PolicyRecord } from '../policies/policy.ts';
import type { LogReader } from '../streams/log.ts';
import { type AlertRule, AlertRules } from './alert-rules.ts';

export interface AlertPoliciesParts {
  readonly policies: Pick<Policies, 'all' | 'version'>;
  readonly log: Pick<LogReader, 'forTenant'>;
}

/** A version of a policy, for the entries from `fromIndex` up to, but not including, `endIndex`. */
interface InForce {
  readonly fromIndex: number;
  readonly endIndex: number;
  readonly rules: AlertRules;
}

export interface AlertPolicies {
  /** The first index from this one on that some rule is in force for; undefined: there is none. */
  firstIndex(fromIndex: number): number | undefined;
  /** The rules that the entry matches. */
  matching(index: number, facts: EventFacts): AlertRule[];
}

/** All that is, or was, in force for entries from `fromIndex` on. */
export async function readAlertPolicies(
  tenant: TenantId,
  fromIndex: number,
  parts: AlertPoliciesParts,
): Promise<AlertPolicies> {
  const inForce: InForce[] = [];
  for (const policy of await parts.policies.all(tenant))
    inForce.push(...(await versionsOf(policy, fromIndex, parts)));
  return {
    firstIndex(index) {
      const ahead = inForce.filter(({ endIndex }) => endIndex > index);
      return ahead.length === 0
        ? undefined
        : Math.max(index, Math.min(...ahead.map((each) => each.fromIndex)));
    },
    matching: (index, facts) =>
      inForce
        .filter((each) => each.fromIndex <= index && index < each.endIndex)
        .flatMap(({ rules }) => rules.matching(facts)),
  };
}

/** From the newest back to the one that is in force at `fromIndex`. */
async function versionsOf(
  current: PolicyRecord,
  fromIndex: number,
  { policies, log }: AlertPoliciesParts,
): Promise<InForce[]> {
  const { tenantId: tenant, policyId } = current;
  const found: InForce[] = [];
  let endIndex = Infinity;
  let policy: PolicyRecord | undefined = current;
  while (policy !== undefined) {
    const noticeIndex = await indexOf(policy, log);
    // A version without its notice is in force for nothing.
    if (noticeIndex !== undefined) {
      const rules = new AlertRules(policy);
      if (!rules.isEmpty) found.push({ fromIndex: noticeIndex + 1, endIndex, rules });
      endIndex = noticeIndex;
    }
    const isLast: boolean = policy.version === 1 || endIndex <= fromIndex;
    policy = isLast ? undefined : await policies.version(tenant, policyId, policy.version - 1);
  }
  return found;
}

/** An entry keeps its index, and a policy that is unchanged is the same object. */
const indexes = new WeakMap<PolicyRecord, number>();

async function indexOf(policy: PolicyRecord, log: AlertPoliciesParts['log']): Promise<number | undefined> {
  const known = indexes.get(policy);
  if (known !== undefined) return known;
  const notice = await log.forTenant(policy.tenantId).event(policy.noticeId, CLASSIFICATIONS);
  if (notice !== undefined) indexes.set(policy, notice.index);
  return notice?.index;
}
