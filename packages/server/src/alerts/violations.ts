// Violations: what the rules of Alert policies have found, and the windows in which thresholds count. Both are made from the log
// alone, and stored in one commit with the position of the follower, so each is made once. An acknowledgement is stored with its
// violation, and is in no log. Nothing here is evidence: the events and the policies are.

import type { AlertThreshold, Classification, PolicyViolation, TenantId } from '@tallystick/contract';
import type { RowsRequest } from '../paging.ts';

export interface NewViolation
  extends Readonly<
    Pick<
      PolicyViolation,
      | 'violationId'
      | 'kind'
      | 'policyId'
      | 'policyName'
      | 'policyVersion'
      | 'ruleId'
      | 'violationType'
      | 'severity'
    >
  > {
  /** Of a threshold, the one that crossed it. */
  readonly eventId: string;
  readonly classification: Classification;
  /** The highest of the events behind it. */
  readonly highest: Classification;
  readonly fields?: readonly string[] | undefined;
  readonly groupKey?: string | undefined;
  /** `groupKey` is a box: sealed-values.ts. */
  readonly isSealed?: boolean | undefined;
  readonly observedValue?: number;
  readonly threshold?: AlertThreshold | undefined;
  readonly detectedAtMs: number;
}

export interface StoredViolation extends NewViolation {
  readonly tenant: TenantId;
  /** Undefined: nobody has acknowledged it yet. */
  readonly acknowledged: ViolationNoted | undefined;
}

export interface ViolationNoted {
  readonly by: string;
  readonly comment?: string | undefined;
}

/** A rule with a threshold, and one of the values that it counts by. */
export interface WindowKey {
  readonly ruleKey: string;
  readonly groupKey: string;
}

/** Begins with the first match of its group. */
export interface ThresholdWindow extends WindowKey {
  readonly beginsAtMs: number;
  /** Exclusive. */
  readonly endsAtMs: number;
  readonly count: number;
  readonly highest: Classification;
}

/** What some entries of a log lead to. */
export interface AlertChanges {
  readonly violations: readonly NewViolation[];
  /** New ones, and those whose count has grown. */
  readonly windows: readonly ThresholdWindow[];
  /** When the last of the entries was received: windows that have ended by then are removed. */
  readonly nowMs: number;
}

export interface ViolationFilter {
  readonly policyId?: readonly string[] | undefined;
  readonly severity?: readonly string[] | undefined;
  readonly violationType?: readonly string[] | undefined;
  readonly status?: readonly PolicyViolation['status'][] | undefined;
  /** Inclusive, both. */
  readonly fromMs?: number | undefined;
  readonly toMs?: number | undefined;
  /** Of the event. */
  readonly classification: readonly Classification[];
}

/** Of one tenant. */
export interface TenantViolations {
  /** The windows with these keys that exist. */
  windows(keys: readonly WindowKey[]): Promise<ThresholdWindow[]>;
  list(filter: ViolationFilter, request: RowsRequest): Promise<StoredViolation[]>;
  /** Counted up to one more than a list's total is exact for. */
  count(filter: ViolationFilter): Promise<number>;
  find(violationId: string): Promise<StoredViolation | undefined>;
  /** The first to acknowledge it is kept. Undefined if there is no such violation. */
  acknowledge(violationId: string, acknowledged: ViolationNoted): Promise<StoredViolation | undefined>;
  /** Of violations behind these events, the value that their threshold counted by is deleted: the events have lost values. */
  forgetValues(eventIds: readonly string[]): Promise<void>;
  /** Those that may still have such a value, in the order of their ids, behind one of them. */
  withValues(
    after: string,
    limit: number,
  ): Promise<readonly Pick<StoredViolation, 'violationId' | 'eventId'>[]>;
  /** No violation of these events is left. */
  removeOf(eventIds: readonly string[]): Promise<void>;
  /** What was counted in windows that began no later counts no more. */
  removeWindows(begunUntilMs: number): Promise<void>;
}

export interface ViolationStore {
  forTenant(tenant: TenantId): TenantViolations;
}
