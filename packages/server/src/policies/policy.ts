// A policy as the service keeps it: a record of its tenant, whose every version stays readable.

import type {
  EventId,
  Policy,
  PolicyConfiguration,
  PolicyId,
  PolicyType,
  Rule,
  RuleConfiguration,
  TenantId,
} from '@tallystick/contract';
import { parseJson } from '@tallystick/evidence';
import type { RecordContent } from '../records/record-macs.ts';
import type { StoredRecord } from '../records/records.ts';
import { instant } from '../runtime/clock.ts';

export const POLICY_KIND = 'Policy';

export type PolicyStatus = Policy['status'];

export interface PolicyRecord {
  readonly policyId: PolicyId;
  readonly tenantId: TenantId;
  readonly version: number;
  readonly name: string;
  readonly description: string | undefined;
  readonly policyType: PolicyType;
  readonly status: PolicyStatus;
  readonly priority: number;
  readonly rules: readonly Rule[];
  readonly createdAtMs: number;
  readonly createdBy: string;
  readonly updatedAtMs: number;
  readonly updatedBy: string;
  /** The notice of this version. An Alert policy is in force for the entries of the log behind it. */
  readonly noticeId: EventId;
}

/** A rule that is enabled, with its policy. */
export interface EnabledRule extends Rule {
  readonly policy: PolicyRecord;
}

/** Of policies that are active: those of one type, the highest priority first. */
export function enabledRules(policies: readonly PolicyRecord[], type: PolicyType): EnabledRule[] {
  return policies
    .filter(({ policyType }) => policyType === type)
    .toSorted((a, b) => b.priority - a.priority)
    .flatMap((policy) => policy.rules.filter(({ enabled }) => enabled).map((rule) => ({ ...rule, policy })));
}

/** Who changes it, and when. */
export interface PolicyAuthor {
  readonly by: string;
  readonly nowMs: number;
  readonly nextId: () => string;
}

/** The content of its record. The name of a deleted one is free. */
export function contentOfPolicy(policy: PolicyRecord): RecordContent {
  const { policyId: _, tenantId: __, version: ___, status, name, ...others } = policy;
  return { ...others, name, state: status, uniqueName: status === 'Deleted' ? undefined : name };
}

/** Of a genuine record. */
export function policyIn({ owner, id, version, body }: StoredRecord): PolicyRecord {
  // Written by `contentOfPolicy`.
  const {
    state,
    uniqueName: _,
    ...content
  } = parseJson(body) as RecordContent &
    Omit<PolicyRecord, 'status' | 'description'> & { readonly state: PolicyStatus; description?: string };
  const { description } = content;
  return { ...content, description, policyId: id, tenantId: owner, version, status: state };
}

/** Its members in a fixed order, whatever order they were stored in. */
export function showPolicy(policy: PolicyRecord): Policy {
  const { policyId, tenantId, name, description, policyType, status, version, priority } = policy;
  return {
    policyId,
    tenantId,
    name,
    ...(description !== undefined && { description }),
    policyType,
    status,
    active: status === 'Active',
    version,
    priority,
    rules: policy.rules.map(showRule),
    createdAt: instant(policy.createdAtMs),
    createdBy: policy.createdBy,
    updatedAt: instant(policy.updatedAtMs),
    updatedBy: policy.updatedBy,
  };
}

function showRule({ ruleId, name, enabled, conditions, effect }: Rule): Rule {
  return { ruleId, ...(name !== undefined && { name }), enabled, conditions, effect };
}

export function newPolicy(
  tenantId: TenantId,
  configuration: PolicyConfiguration,
  author: PolicyAuthor,
): PolicyRecord {
  const { by, nowMs, nextId } = author;
  return {
    ...configured(configuration, [], nextId),
    policyId: nextId(),
    tenantId,
    version: 1,
    status: statusOf(configuration),
    createdAtMs: nowMs,
    createdBy: by,
    updatedAtMs: nowMs,
    updatedBy: by,
    noticeId: nextId(),
  };
}

/** Replaces everything that a caller may set. */
export function replacedPolicy(
  policy: PolicyRecord,
  configuration: PolicyConfiguration,
  author: PolicyAuthor,
): PolicyRecord {
  const status = statusOf(withoutUnchanged(configuration, policy));
  return changedPolicy(policy, { ...configured(configuration, policy.rules, author.nextId), status }, author);
}

export function changedPolicy(
  policy: PolicyRecord,
  change: Partial<PolicyRecord>,
  { by, nowMs, nextId }: PolicyAuthor,
): PolicyRecord {
  return {
    ...policy,
    ...change,
    version: policy.version + 1,
    updatedAtMs: nowMs,
    updatedBy: by,
    noticeId: nextId(),
  };
}

/** A rule as it is stored. It keeps its id if that is one of `known`; otherwise it gets a new one. */
export function ruleOf(
  rule: RuleConfiguration,
  known: readonly Pick<Rule, 'ruleId'>[],
  nextId: () => string,
): Rule {
  const { ruleId, name, enabled = true, conditions = {}, effect } = rule;
  const isKnown = known.some((each) => each.ruleId === ruleId);
  return {
    ruleId: isKnown ? ruleId! : nextId(),
    ...(name !== undefined && { name }),
    enabled,
    conditions,
    effect,
  };
}

function configured(
  { name, description, policyType, priority, rules = [] }: PolicyConfiguration,
  known: readonly Rule[],
  nextId: () => string,
) {
  return {
    name,
    description,
    policyType,
    // The schema has filled it in.
    priority: priority!,
    rules: rules.map((rule) => ruleOf(rule, known, nextId)),
  };
}

interface Statuses {
  readonly status?: PolicyConfiguration['status'] | undefined;
  readonly active?: boolean | undefined;
}

/** `active` decides; where it is false, a draft stays a draft. */
function statusOf({ status, active }: Statuses): PolicyStatus {
  if (active === undefined) return status ?? 'Active';
  if (active) return 'Active';
  return status === 'Draft' ? 'Draft' : 'Inactive';
}

/** A caller who sends back what it has read, with one of the two changed, means the changed one. */
function withoutUnchanged({ status, active }: Statuses, policy: PolicyRecord): Statuses {
  const isActiveUnchanged = active === (policy.status === 'Active');
  return isActiveUnchanged && status !== undefined ? { status } : { status, active };
}
